"""``rankgate rank-similarity``: measure the similarity of the rankings of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.name_types import METRIC
from rankgate.core.console.output import print_result
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.sections import SectionedCommand
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS
from rankgate.decisions.comparison.similarity import MATRIX_MEASURES, TIES, rank_similarity
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.data.collection import Collection


@click.command("rank-similarity", cls=SectionedCommand)
@click.argument("first", type=click.Path(), metavar="RUN_A")
@click.argument("second", type=click.Path(), metavar="RUN_B")
@click.argument("others", type=click.Path(), nargs=-1, metavar="[RUN...]")
@click.option(
    "--measure",
    type=click.Choice(MATRIX_MEASURES),
    metavar="MEASURE",
    help="Of three runs or more the measure of the matrix: RBO if not given; "
    f"{', '.join(MATRIX_MEASURES[1:])}.",
)
@verb_options(rank_similarity, "p", "ties", "depth N", choices={"ties": TIES})
@click.option(
    "--qrels",
    type=click.Path(),
    metavar="QRELS",
    help="Judgments, for the reproduction of values by RUN_B.",
)
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="METRIC",
    type=METRIC,
    help="A metric whose reproduction is measured; may be given several times.",
)
@click.option(
    "--baselines",
    nargs=2,
    type=click.Path(),
    metavar="A B",
    help="The runs that RUN_A and RUN_B were to improve on.",
)
@metric_options.convention
@options.form(*FORMS)
@options.output
@of_collection("first", "second", "others")
def command(
    collection: Collection,
    first: str,
    second: str,
    others: tuple[str, ...],
    *,
    measure: str | None,
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Compare the rankings of RUN_A and RUN_B, or of each pair of several runs, without judgments.

    \b
    rankgate rank-similarity old.run new.run
    rankgate rank-similarity old.run new.run --p 0.98 --ties b --depth 1000
    rankgate rank-similarity bm25.run dense.run rerank.run --measure overlap@10
    rankgate rank-similarity original.run again.run --qrels qrels.txt -m nDCG@10
    """
    if measure and not others:
        raise UsageError(
            "--measure is for the matrix of three runs or more; two runs show every measure.",
            code="conflicting-options",
        )
    source = click.get_current_context().get_parameter_source("metrics")
    if collection.judgments is None and source is ParameterSource.DEFAULT_MAP:
        settings["metrics"] = ()  # the project's file names them for commands that measure
    settings["baselines"] = settings["baselines"] or None
    count = len(others) + 2
    with TerminalProgress(count * (count - 1) // 2 if others else 0):
        result = rank_similarity(first, second, *others, collection=collection, **settings)
    document_options = {"measure": measure} if measure and form != "json" else {}
    print_result(result, form, output, **document_options)
