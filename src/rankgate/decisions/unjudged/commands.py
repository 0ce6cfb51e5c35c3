"""The commands ``rankgate holes`` and ``rankgate total-error``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options, value_options, verb_options
from rankgate.core.console.option_types import TEST, SectionedCommand
from rankgate.core.console.shared_options import write_output
from rankgate.core.console.terminal_output import TerminalProgress, print_result, prints
from rankgate.core.declare import Range
from rankgate.core.present.csv_form import guarded_csv
from rankgate.core.present.write_results import FORMS
from rankgate.decisions.comparison import commands as comparing
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.unjudged.holes import holes
from rankgate.decisions.unjudged.total_error import total_error
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.data.collection import Collection


@click.command("holes", cls=SectionedCommand)
@shared_options.qrels
@shared_options.paths("baseline", "candidate")
@metric_options.metrics
@metric_options.convention
@verb_options(holes, "depth", "draws")
@value_options("test", Test, "seed", section=TEST)
@comparing.loss_margin("The allowed loss (margin) of the decision.")
@own_options("count N --judge-next")
@shared_options.form(*FORMS, "pool")
@shared_options.output
@of_collection("baseline", "candidate")
def holes_command(
    collection: Collection,
    baseline: str,
    candidate: str,
    *,
    count: Annotated[int, Range(0)] = 10,
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Estimate how unjudged documents could change the result of CANDIDATE against BASELINE.

    \b
    rankgate holes qrels.txt old.run new.run -m nDCG@10
    rankgate holes qrels.txt old.run new.run -m nDCG@10 --judge-next 50 --format pool -o pool.csv
    \f

    Options:
        count: The number of documents to suggest for judging next.
    """
    with TerminalProgress(3):
        analysis = holes(collection, baseline, candidate, **settings)
    if form == "pool":
        rows = analysis.judge_next.head(count).select("query_id", "doc_id", "why").iter_rows()
        write_output(guarded_csv(("query", "document", "why"), rows), output)
    elif form == "json":
        print_result(analysis, form, output)
    else:
        print_result(analysis, form, output, count=count)


@click.command("total-error", cls=SectionedCommand)
@click.argument("qrels", nargs=-1, required=True, metavar="[FACET:LEVEL,...=]QRELS...")
@verb_options(total_error, "baseline RUN", "candidate RUN")
@metric_options.metrics
@metric_options.metrics_from
@metric_options.convention
@verb_options(total_error, "holes")
@value_options("test", Test, "level", "seed", section=TEST)
@prints
@of_collection("baseline", "candidate")
def total_error_command(
    collection: Collection, baseline: tuple[str, ...], candidate: tuple[str, ...], **settings: Any
) -> Result:
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
        return total_error(collection, list(baseline), list(candidate), **settings)
