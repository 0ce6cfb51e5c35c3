"""The highest value that any reranker of some candidates can reach."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.data import read_run
from rankgate.measurement.evaluation.metric_selection import find_ranking_metrics
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from rankgate.measurement.scoring.run_sources import score

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.scored_system import Scorer
    from rankgate.measurement.metrics.metric_declaration import Metric

CEILING_METRICS = tuple(metric.name for metric in CATALOGUE if metric.ideal_order_optimal)
"""Our metrics that no order of some documents raises above the order of falling grades."""

_RETRIEVED_IDEALS = ("retrieved", "shown")  # ideals that consist of retrieved documents


def choose_target(scorer: Scorer, target: str | Metric | None) -> tuple[str, Metric]:
    """The metric of the ceiling: the given metric, else the first nDCG with a cutoff.

    Raises:
        UsageError: the metric has no known best order, no cutoff, or a cutoff below the depth.
    """
    if target is None:
        usable = [pair for pair in scorer.metrics if _has_ceiling(pair[1], scorer.depth)]
        usable.sort(key=lambda pair: pair[1].name != "nDCG")
        if not usable:
            raise UsageError(
                f"no metric has a ceiling within {count_noun(scorer.depth, 'document')}; name another one "
                "with --target, such as nDCG@10.",
                code="no-ceiling",
            )
        return usable[0]
    label, metric = find_ranking_metrics(target, scorer.how)[0]
    if not metric.ideal_order_optimal:
        raise UsageError(
            f"{label}: a ceiling is not defined for it; choose one of {', '.join(CEILING_METRICS)}.",
            code="no-ceiling",
        )
    cutoff = cutoff_of(metric)
    if cutoff is None:
        raise UsageError(f"{label}: a ceiling needs a cutoff; use {metric.name}@10.", code="missing-cutoff")
    if cutoff > scorer.depth:
        raise UsageError(
            f"{label} looks deeper than the first {count_noun(scorer.depth, 'candidate')}; add --depth "
            f"{cutoff}.",
            code="depth-too-small",
        )
    return label, metric


def cutoff_of(metric: Metric) -> int | None:
    """The last rank that counts; None if all ranks count."""
    cutoff = dict(metric.given).get("cutoff")
    return None if cutoff is None else int(cutoff)


def has_retrieved_ideal(scorer: Scorer, metric: Metric) -> bool:
    """True if the ideal ranking has only retrieved documents, so that every ceiling is 1."""
    metric_convention = scorer.how.for_metric(metric)
    return bool(metric.bound(metric_convention.defaults(metric)).get("ideal") in _RETRIEVED_IDEALS)


def best_ranking_values(scorer: Scorer, target: tuple[str, Metric]) -> pl.DataFrame:
    """``query_id`` and ``value`` of the ranking of all judged documents, best first."""
    return ceiling(scorer, target, scorer.qrels.table.select("query_id", "doc_id", "grade"))


def ceiling(scorer: Scorer, target: tuple[str, Metric], candidates: pl.DataFrame) -> pl.DataFrame:
    """The value of the best order of candidates.

    Args:
        scorer: judgments and convention.
        target: label and metric; the best order for the metric is by falling grades.
        candidates: ``query_id``, ``doc_id``, ``grade`` (null or below 0: unjudged); with ``rank``
            and ``movable`` if some documents keep their order below those that can be reordered.

    Returns:
        ``query_id`` and ``value``, a row for each judged query that counts; null where undefined.
    """
    grade = pl.col("grade").fill_null(-1.0).clip(-1.0)
    if "movable" not in candidates.columns:
        candidates = candidates.with_columns(rank=0, movable=True)
    fixed = pl.col("rank") * (~pl.col("movable")).cast(pl.Int64)
    ranked_rows = candidates.sort(
        "query_id", fixed, grade, descending=[False, False, True], maintain_order=True
    ).select(
        "query_id",
        "doc_id",
        (pl.len() - pl.int_range(pl.len())).over("query_id").cast(pl.Float64).alias("score"),
    )
    if ranked_rows.is_empty():
        return pl.DataFrame(
            {"query_id": scorer.index.query_ids, "value": None}, schema_overrides=_VALUE_SCHEMA
        )
    # a query without candidates has an empty list, even if tools require every query
    used_convention = replace(scorer.how, missing="zero") if scorer.how.missing == "error" else scorer.how
    result = score(scorer.index, read_run(ranked_rows), [target], used_convention)
    return result.table.select("query_id", "value")


_VALUE_SCHEMA = {"query_id": pl.String, "value": pl.Float64}


def _has_ceiling(metric: Metric, depth: int) -> bool:
    cutoff = cutoff_of(metric)
    return metric.ideal_order_optimal and cutoff is not None and cutoff <= depth
