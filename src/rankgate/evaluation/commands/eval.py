"""``rankgate eval``: score runs against judgments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from rankgate.console import options
from rankgate.console.output import print_result
from rankgate.console.places import deliver, refuse_clashes
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

    Where QRELS has the grades of single raters and the convention's tool has a way from them to
    values (searchtweak, quepid), that way is gone: carry grades to the metric's scale, make one of
    several, score.

    \b
    rankgate eval qrels.txt bm25.run dense.run -m nDCG@10 -m RR@10
    rankgate eval test.qrels.csv knn.run -m Coverage@10 -m Novelty@10 --items books.csv \
        --train train.csv
    """
    refuse_clashes((qrels, *runs, *paths(context)), output)
    extra = from_file(metrics_from)
    context = replace(context, drop_seen=drop_seen, judged_users_only=judged_users_only)
    if convention.name in FROM_RATINGS and not bounds:
        found = _from_ratings(
            qrels, runs, metrics, metrics_from, convention, scale, form, per_query
        )
        if found is not None:
            deliver(found, output)
            return
    if scale is not None:
        raise UsageError(
            "--scale is for the grades of single raters under a convention that takes them "
            f"({', '.join(FROM_RATINGS)}), and this is not such an evaluation; leave it out, or "
            "check judgments with rankgate validate --scale.",
            code="unused-option",
        )
    with Progress(len(runs)) as progress:
        result = evaluate(
            qrels,
            runs,
            metrics,
            convention,
            bounds=bounds,
            extra=extra,
            context=context,
            on_progress=progress,
        )
    print_result(result, form, output, per_query=per_query)


def _from_ratings(
    ratings: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    metrics_from: str | None,
    convention: Convention,
    scale: str | None,
    form: str,
    per_query: bool,
) -> str | None:
    """What the tool makes of single ratings; None where there are none."""
    # loaded only where a tool has a way from ratings to values
    from rankgate.evaluation.documents.rated import render_parts
    from rankgate.judging.resolution.from_ratings import from_ratings, holds_ratings

    if not holds_ratings(ratings, convention):
        return None
    with Progress(len(runs)) as progress:
        parts = from_ratings(
            ratings,
            runs,
            metrics,
            convention,
            scale=scale,
            extra=from_file(metrics_from),
            on_progress=progress,
        )
    return render_parts(parts, form, per_query=per_query)
