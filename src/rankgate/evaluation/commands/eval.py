"""``rankgate eval``: score runs against judgments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankgate.console import options
from rankgate.console.hooks import hook
from rankgate.console.output import print_result
from rankgate.console.places import refuse_clashes
from rankgate.console.progress import Progress
from rankgate.errors import UsageError
from rankgate.evaluation.commands.list_options import context, drop_seen, judged_users_only, paths
from rankgate.evaluation.evaluate import evaluate
from rankgate.metrics.plugins import from_file
from rankgate.present.write import FORMS

if TYPE_CHECKING:
    from rankgate.evaluation.context import Context
    from rankgate.scoring import Convention

FROM_RATINGS = ("searchtweak", "quepid")
"""The tools that go all the way from single ratings to values."""


@click.command("eval")
@options.qrels
@options.runs
@options.metrics
@options.metrics_from
@options.convention
@click.option("--per-query", is_flag=True, help="Every query too, not only the means.")
@click.option(
    "--bounds",
    is_flag=True,
    help="Beside each value the least and the greatest that any grades of the unjudged "
    "documents give.",
)
@options.scale
@context
@drop_seen
@judged_users_only
@options.form(*FORMS)
@options.output
def command(
    qrels: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    metrics_from: str | None,
    convention: Convention,
    per_query: bool,
    bounds: bool,
    scale: str | None,
    context: Context,
    drop_seen: bool,
    judged_users_only: bool,
    form: str,
    output: str | None,
) -> None:
    """Score each RUN against the judgments in QRELS; `-` is standard input.

    QRELS may hold the ratings of single raters under a convention whose tool scores by them
    (searchtweak, quepid): grades are converted to the metric's scale, several grades become one by
    the tool's rule, and the runs are scored.

    \b
    rankgate eval qrels.txt bm25.run dense.run -m nDCG@10 -m RR@10
    rankgate eval test.qrels.csv knn.run -m Coverage@10 -m Novelty@10 --items books.csv \
        --train train.csv
    """
    refuse_clashes((qrels, *runs, *paths(context)), output)
    extra = from_file(metrics_from)
    context = replace(context, drop_seen=drop_seen, judged_users_only=judged_users_only)
    given: dict[str, Any] = {"bounds": bounds, "extra": extra, "context": context}
    if convention.name in FROM_RATINGS:
        with Progress(len(runs)) as progress:
            rated = hook("score_ratings")(
                qrels, runs, metrics, convention, scale=scale, on_progress=progress, **given
            )
        if rated is not None:
            print_result(rated, form, output, per_query=per_query)
            return
    if scale is not None:
        raise UsageError(
            "--scale is for the grades of single raters under a convention that takes them "
            f"({', '.join(FROM_RATINGS)}), and this is not such an evaluation; leave it out, or "
            "check judgments with rankgate validate --scale.",
            code="unused-option",
        )
    with Progress(len(runs)) as progress:
        result = evaluate(qrels, runs, metrics, convention, on_progress=progress, **given)
    print_result(result, form, output, per_query=per_query)
