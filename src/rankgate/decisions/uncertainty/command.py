"""``rankgate total-error``: one interval for queries, judgments and engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import value_options
from rankgate.core.console.output import print_result
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.sections import TEST, SectionedCommand
from rankgate.core.present.write import FORMS
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.uncertainty.total_error import total_error
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.data.collection import Collection


@click.command("total-error", cls=SectionedCommand)
@click.argument("qrels", nargs=-1, required=True, metavar="[FACET:LEVEL,...=]QRELS...")
@click.option(
    "--baseline",
    multiple=True,
    required=True,
    type=click.Path(),
    metavar="RUN",
    help="A run of the baseline; several are snapshots of the same system.",
)
@click.option(
    "--candidate",
    multiple=True,
    required=True,
    type=click.Path(),
    metavar="RUN",
    help="A run of the candidate; as many as of the baseline.",
)
@metric_options.metrics
@metric_options.metrics_from
@metric_options.convention
@click.option(
    "--holes/--no-holes",
    default=True,
    show_default=True,
    help="Count what unjudged documents could change, by drawn grades.",
)
@value_options("test", Test, "level", "seed", section=TEST)
@options.form(*FORMS)
@options.output
@of_collection("baseline", "candidate")
def command(
    collection: Collection,
    baseline: tuple[str, ...],
    candidate: tuple[str, ...],
    *,
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Estimate how far a difference could be another with other queries, judgments and snapshots.

    Judgments are repeated by raters, judges or prompts, and labelled so: judge:A,prompt:1=FILE.
    One set is enough where documents are unjudged.

    \b
    rankgate total-error ann.qrels bob.qrels eve.qrels --baseline old.run --candidate new.run
    rankgate total-error judge:A=a.qrels judge:B=b.qrels --baseline old1.run --baseline old2.run \\
        --candidate new1.run --candidate new2.run -m nDCG@10
    """
    judgments = collection.judgments
    with TerminalProgress((len(judgments) if isinstance(judgments, tuple) else 1) + 1):
        result = total_error(collection, list(baseline), list(candidate), **settings)
    print_result(result, form, output)
