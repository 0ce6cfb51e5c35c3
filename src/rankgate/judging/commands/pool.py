"""``rankgate pool``: what to judge, from the lists of several systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import value_options, verb_options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result, print_summary
from rankgate.core.console.places import check_paths, input_paths, write_output
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.present.suffixes import check_suffix
from rankgate.judging.pooling.document import summary, undrawn_judgments
from rankgate.judging.pooling.pool import order_facts, pool
from rankgate.judging.pooling.pool_design import PoolDesign
from rankgate.measurement import metric_options, store_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.store.rating.batches import Strategy
    from rankgate.store.stored_project import StoredProject


@click.command("pool", cls=DefiningCommand, definitions={"Orders": order_facts()})
@options.runs
@click.option(
    "--qrels",
    type=click.Path(),
    metavar="QRELS",
    help="Existing judgments: their documents are left out, and guide move-to-front and influence.",
)
@value_options(
    "design",
    PoolDesign,
    *("depth", "order", "metric METRIC -m", "strata RANK:RATE,..."),
    *("queries N", "query_sampling", "sizes FILE", "seed"),
)
@click.option(
    "--rest",
    "rest_to",
    type=click.Path(writable=True),
    metavar="FILE",
    help="Write the pool's documents that were not drawn to FILE, graded -1, for infAP.",
)
@verb_options(pool, "batch N")
@click.option(
    "--blind",
    is_flag=True,
    help="Shuffle within each batch and leave out ranks and systems, so that raters cannot see "
    "them.",
)
@metric_options.convention
@of_collection("runs", stored=True)
@store_options.save_as("Make a batch of this name of the pool, for raters, in the project.")
@click.option(
    "--strategy",
    type=click.Choice(["1", "2", "3", "agree"]),
    default="1",
    show_default=True,
    help="How many people grade a pair of the batch; agree: until two of them do.",
)
@options.form("csv", "json")
@options.output
def command(
    runs: tuple[str, ...],
    rest_to: str | None,
    blind: bool,
    stored: StoredProject | None,
    save_as: str | None,
    strategy: Strategy,
    form: str,
    output: str | None,
    **values: Any,
) -> None:
    """List the documents to judge: those that the runs rank first and nobody has judged.

    The list is the input of rankgate sheet and rankgate rate.

    \b
    rankgate pool old.run new.run --depth 10 -o pool.csv
    rankgate pool *.run --qrels qrels.txt --order move-to-front --batch 50 -o pool.csv
    rankgate pool old.run new.run --qrels qrels.txt --order influence -m nDCG@10
    rankgate pool *.run --strata 100:0.3 --rest rest.qrels -o sample.csv
    rankgate pool bm25 dense --project shop --save-as first --strategy 2
    """
    check_paths(input_paths(), rest_to)
    check_suffix(rest_to, "trec")
    with TerminalProgress(len(runs)):
        result = pool(runs, blind=blind, **values)
    if stored is not None and save_as is not None:
        stored.add_batch(result.table, save_as, strategy)
    print_result(result, form, output, **({"blind": blind} if form == "csv" else {}))
    if rest_to:
        write_output(undrawn_judgments(result), rest_to)
    print_summary(summary(result))
