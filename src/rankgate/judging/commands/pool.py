"""``rankgate pool``: what to judge, from the lists of several systems."""

from __future__ import annotations

import click

from rankgate.console import options
from rankgate.console.places import deliver, refuse_clashes
from rankgate.console.progress import Progress
from rankgate.judging.pooling.document import FORMS, render, rest, summary
from rankgate.judging.pooling.pool import (
    DEPTH,
    ORDER_NAMES,
    order_facts,
    pool,
)
from rankgate.judging.pooling.sampling import QUERY_SAMPLINGS, QuerySampling
from rankgate.scoring import Convention


def _orders() -> str:
    return "  ".join(f"{name}: {title};" for name, title in order_facts()).rstrip(";") + "."


@click.command("pool", epilog=f"Orders; what comes first. {_orders()}")
@options.runs
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=DEPTH,
    show_default=True,
    help="How far each list goes into the pool.",
)
@click.option(
    "--order",
    type=click.Choice(ORDER_NAMES),
    default="rank",
    show_default=True,
    help="What is judged first.",
)
@click.option(
    "--qrels",
    type=click.Path(),
    metavar="QRELS",
    help="Judgments that there are: their documents are left out, and teach move-to-front and "
    "influence what to ask next.",
)
@click.option(
    "-m",
    "--metric",
    default="nDCG@10",
    show_default=True,
    metavar="METRIC",
    help="The metric that influence is about.",
)
@click.option(
    "--strata",
    metavar="RANK:RATE,...",
    help="Draw a sample: 10:1,50:0.3 takes all of the first ten ranks and 30 % of the others down "
    "to rank 50. Each document has its probability in the column inclusion.",
)
@click.option(
    "--rest",
    "rest_to",
    type=click.Path(),
    metavar="FILE",
    help="Write the pool's documents that were not drawn to FILE, graded -1, for infAP.",
)
@click.option("--queries", type=click.IntRange(min=1), metavar="N", help="Draw N queries.")
@click.option(
    "--query-sampling",
    type=click.Choice(QUERY_SAMPLINGS),
    default="random",
    show_default=True,
    help="Each query alike; as many of head, torso and tail; or in proportion to frequency (pps).",
)
@click.option(
    "--sizes",
    type=click.Path(),
    metavar="FILE",
    help="A table of query_id and frequency, for --query-sampling stratified and pps.",
)
@click.option("--batch", type=click.IntRange(min=1), metavar="N", help="Documents of a batch.")
@click.option(
    "--blind",
    is_flag=True,
    help="In random order within a batch, without ranks and systems: what raters may see.",
)
@options.seed
@options.convention
@options.form(*FORMS)
@options.output
def command(
    runs: tuple[str, ...],
    depth: int,
    order: str,
    qrels: str | None,
    metric: str,
    strata: str | None,
    rest_to: str | None,
    queries: int | None,
    query_sampling: QuerySampling,
    sizes: str | None,
    batch: int | None,
    blind: bool,
    seed: int,
    convention: Convention,
    form: str,
    output: str | None,
) -> None:
    """List the documents to judge: those that the runs rank first and nobody has judged.

    The list is the input of rankgate sheet and rankgate rate.

    \b
    rankgate pool old.run new.run --depth 10 -o pool.csv
    rankgate pool *.run --qrels qrels.txt --order move-to-front --batch 50 -o pool.csv
    rankgate pool old.run new.run --qrels qrels.txt --order influence -m nDCG@10
    rankgate pool *.run --strata 100:0.3 --rest rest.qrels -o sample.csv
    """
    inputs = tuple(each for each in (*runs, qrels, sizes) if each)
    refuse_clashes(inputs, output)
    refuse_clashes(inputs, rest_to)
    with Progress(len(runs)) as progress:
        result = pool(
            runs, depth=depth, order=order, qrels=qrels, metric=metric, strata=strata,
            queries=queries, query_sampling=query_sampling, sizes=sizes, batch=batch,
            shuffle=blind, seed=seed, convention=convention, on_progress=progress,
        )  # fmt: skip
    deliver(render(result, form, blind=blind), output)
    if rest_to:
        deliver(rest(result), rest_to)
    click.echo(summary(result), err=True, nl=False)
