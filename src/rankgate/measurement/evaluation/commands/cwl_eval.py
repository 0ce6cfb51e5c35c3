"""``rankgate cwl_eval``: cwl_eval's options, cwl_eval's output."""

from __future__ import annotations

import click

from rankgate.measurement.evaluation.cwl.cwl_eval import MEASURES, Limits, cwl_eval, read_metrics


@click.command("cwl_eval")
@click.argument("gains", type=click.Path(), metavar="GAINS")
@click.argument("run", type=click.Path(), metavar="RUN")
@click.option(
    "-c",
    "--cost_file",
    "costs",
    type=click.Path(),
    metavar="FILE",
    help="The cost of each type of element, which is the second field of RUN: lines of type, cost.",
)
@click.option(
    "-m",
    "--metrics_file",
    "metrics",
    type=click.Path(),
    metavar="FILE",
    help="Metrics, one a line, such as INSTCWLMetric(2.0).",
)
@click.option("-n", "--colnames", is_flag=True, help="Print the names of columns first.")
@click.option("-r", "--residuals", is_flag=True, help="Print what is not known as well.")
@click.option("--max_gain", type=float, default=1.0, show_default=True, help="The highest gain.")
@click.option("--min_gain", type=float, default=0.0, show_default=True, help="The lowest gain.")
@click.option("--max_cost", type=float, default=1.0, show_default=True, help="The highest cost.")
@click.option("--min_cost", type=float, default=1.0, show_default=True, help="The lowest cost.")
@click.option(
    "--max_depth",
    type=click.IntRange(min=2),
    default=1000,
    show_default=True,
    help="How many ranks count.",
)
def command(
    gains: str,
    run: str,
    *,
    costs: str | None,
    metrics: str | None,
    colnames: bool,
    residuals: bool,
    max_depth: int,
    **ends: float,
) -> None:
    """Print what cwl_eval prints: expected utility, cost and depth of each query and metric.

    \b
    rankgate cwl_eval gains.txt bm25.run -n
    rankgate cwl_eval gains.txt bm25.run -c costs.txt -m metrics.txt -n -r
    """
    chosen_metrics = read_metrics(metrics) if metrics else ()
    rows = list(
        cwl_eval(gains, run, chosen_metrics, costs=costs, ends=Limits(**ends), depth=max_depth)
    )
    if colnames:
        headers = [*MEASURES, *(f"Res{measure}" for measure in MEASURES if residuals)]
        click.echo("\t".join(("Topic", "Metric", *headers)))
    for row in rows:
        numbers = (*row.values, *(row.residuals if residuals else ()))
        click.echo("\t".join((row.query_id, row.metric, *(f"{number:z.4f}" for number in numbers))))
