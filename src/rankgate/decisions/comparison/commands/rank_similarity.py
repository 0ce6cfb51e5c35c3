"""``rankgate rank-similarity``: how alike the rankings of two runs are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result
from rankgate.core.console.sections import SectionedCommand
from rankgate.core.present.write import FORMS
from rankgate.decisions.comparison.similarity import TIES, rank_similarity
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.data.collection import Collection


@click.command("rank-similarity", cls=SectionedCommand)
@click.argument("first", type=click.Path(), metavar="RUN_A")
@click.argument("second", type=click.Path(), metavar="RUN_B")
@options_of(rank_similarity, "p", "ties", "depth N", choices={"ties": TIES})
@click.option(
    "--qrels", type=click.Path(), metavar="QRELS",
    help="Judgments, for the reproduction of values.",
)  # fmt: skip
@click.option(
    "-m", "--metric", "metrics", multiple=True, metavar="METRIC",
    help="A metric whose reproduction is measured; may be given several times.",
)  # fmt: skip
@click.option(
    "--baselines", nargs=2, type=click.Path(), metavar="A B",
    help="The runs that RUN_A and RUN_B were to improve on.",
)  # fmt: skip
@metric_options.convention
@options.form(*FORMS)
@options.output
@of_collection("first", "second")
def command(
    collection: Collection, first: str, second: str, *, form: str, output: str | None, **chosen: Any
) -> None:
    """Compare the rankings of RUN_A and RUN_B without judgments.

    \b
    rankgate rank-similarity old.run new.run
    rankgate rank-similarity old.run new.run --p 0.98 --ties b --depth 1000
    rankgate rank-similarity original.run again.run --qrels qrels.txt -m nDCG@10
    """
    chosen["baselines"] = chosen["baselines"] or None
    print_result(rank_similarity(first, second, collection=collection, **chosen), form, output)
