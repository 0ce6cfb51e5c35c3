"""The commands ``cwl_eval``, ``ndeval`` and ``gdeval`` of rankgate."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options, value_options, verb_options
from rankgate.core.declare import Range
from rankgate.measurement.evaluation.trec.cwl_eval import MEASURES, Limits, cwl_eval, read_metrics
from rankgate.measurement.evaluation.trec.web_track import gdeval, ndeval

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command, Decorator


@click.command("cwl_eval")
@shared_options.paths("gains GAINS", "run RUN")
@own_options("costs FILE -c --cost_file", "metrics FILE -m --metrics_file", "colnames -n", "residuals -r")
@value_options(
    "ends", Limits, *(f"{end} --{end}" for end in ("max_gain", "min_gain", "max_cost", "min_cost"))
)
@own_options("max_depth --max_depth")
def cwl_eval_command(
    gains: str,
    run: str,
    *,
    costs: str | None = None,
    metrics: str | None = None,
    colnames: bool = False,
    residuals: bool = False,
    ends: Limits,
    max_depth: Annotated[int, Range(2)] = 1000,
) -> None:
    """Print what cwl_eval prints: expected utility, cost and depth of each query and metric.

    \b
    rankgate cwl_eval gains.txt bm25.run -n
    rankgate cwl_eval gains.txt bm25.run -c costs.txt -m metrics.txt -n -r
    \f

    Options:
        costs: The cost of each type of element, which is the second field of RUN: lines of type, cost.
        metrics: Metrics, one a line, such as INSTCWLMetric(2.0).
        colnames: Print the names of columns first.
        residuals: Also print values that are not known.
        max_depth: The number of ranks that count.
    """
    chosen_metrics = read_metrics(metrics) if metrics else ()
    rows = list(cwl_eval(gains, run, chosen_metrics, costs=costs, ends=ends, depth=max_depth))
    if colnames:
        headers = [*MEASURES, *(f"Res{measure}" for measure in MEASURES if residuals)]
        click.echo("\t".join(("Topic", "Metric", *headers)))
    for row in rows:
        numbers = (*row.values, *(row.residuals if residuals else ()))
        click.echo("\t".join((row.query_id, row.metric, *(f"{number:z.4f}" for number in numbers))))


def web_track_options(verb: Command) -> Decorator:
    """The arguments and options of both programs."""
    declared = (
        click.argument("qrels", type=click.Path(), metavar="QRELS"),
        click.argument("run", type=click.Path(), metavar="RUN"),
        click.option(
            "-c", "complete", is_flag=True, help="Divide by all judged topics, not by those that RUN has."
        ),
        verb_options(verb, "baseline RUN -baseline"),
        click.option(
            "-riskAlpha",
            "risk",
            default="0",
            show_default=True,
            metavar="A",
            callback=_parse_number_text,
            help="With -baseline: a loss weighs 1 + A times as much as a gain.",
        ),
    )
    return lambda function: functools.reduce(lambda made, add: add(made), reversed(declared), function)


def _parse_number_text(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
    """The text of a number that is not below 0; it is printed as it is written."""
    try:
        if float(value) >= 0:
            return value
    except ValueError:
        pass
    raise click.BadParameter(f"'{value}' is not a number from 0 on.", ctx, parameter)


@click.command("ndeval")
@web_track_options(ndeval)
@verb_options(ndeval, "alpha -alpha", "beta -beta", "traditional -traditional")
@click.option(
    "-M",
    "depth",
    type=click.IntRange(1),
    metavar="DEPTH",
    help="The number of documents of each topic that count.",
)
def ndeval_command(qrels: str, run: str, **arguments: object) -> None:
    """Print what ndeval prints: novelty and diversity of a run of the TREC web track, as CSV.

    QRELS has lines of topic, subtopic, document, grade.

    \b
    rankgate ndeval diversity.qrels bm25.run
    rankgate ndeval -traditional -c -alpha 0.7 diversity.qrels bm25.run
    """
    for line in ndeval(qrels, run, **arguments):  # type: ignore[arg-type]
        click.echo(line)


@click.command("gdeval")
@web_track_options(gdeval)
@click.option(
    "-k",
    "cutoff",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="K",
    help="The number of documents of each topic that count.",
)
def gdeval_command(qrels: str, run: str, **arguments: object) -> None:
    """Print what gdeval prints: nDCG and ERR of a run of the TREC web track, as CSV.

    \b
    rankgate gdeval qrels.txt bm25.run
    rankgate gdeval -c -k 10 qrels.txt bm25.run
    """
    for line in gdeval(qrels, run, **arguments):  # type: ignore[arg-type]
        click.echo(line)
