"""Correlation of KPIs with ranking metrics of the lists that were shown, per query and per day."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data import read_qrels
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.scoring.input_cautions import refuse_no_shared_document
from rankgate.measurement.stats.ranks.correlation import spearman
from rankgate.online.indicators import tables
from rankgate.online.indicators.built import KpiTables
from rankgate.online.users.satisfaction import CORRELATIONS

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike
    from rankgate.online.database import Database
    from rankgate.online.indicators.kpi import Kpi

_MIN_PAIRS = 4  # pairs that an interval needs
_SHOWN_LISTS = (
    'SELECT t.query, CAST(t."at" AS DATE) AS day, l.docs, count(*) AS searches FROM (SELECT '
    "query_event_id, list(doc_id ORDER BY rank, doc_id) AS docs FROM (SELECT query_event_id, "
    "doc_id, min(rank) AS rank FROM events WHERE kind = 'impression' AND rank IS NOT NULL AND "
    "doc_id IS NOT NULL AND query_event_id IS NOT NULL GROUP BY 1, 2) GROUP BY 1) l JOIN (SELECT "
    'query_event_id, max(query) AS query, min("at") AS "at" FROM events WHERE query_event_id IS '
    "NOT NULL GROUP BY 1) t USING (query_event_id) WHERE t.query IS NOT NULL GROUP BY 1, 2, 3 "
    "ORDER BY 1, 2, 3"
)


def correlate_kpis(
    base: Database,
    kpis: Sequence[Kpi],
    success: Sequence[str],
    qrels: QrelsLike | None,
    metrics: Sequence[str],
) -> pl.DataFrame:
    """Spearman's correlation of each metric and KPI over queries, and over days.

    Raises:
        InputError: no query of the log is judged.
    """
    if qrels is None:
        return pl.DataFrame(schema=CORRELATIONS)
    values = _metric_values(base, qrels, metrics)
    rows = []
    for level, column in (("query", "query"), ("day", "day")):
        weighted = pl.col("value") * pl.col("searches")
        mean = values.group_by("metric", column).agg(
            metric_value=weighted.sum() / pl.col("searches").sum()
        )
        for kpi in kpis:
            figures = _kpi_values(base, kpi, column, success)
            if figures is None:
                continue
            for (metric,), metric_values in mean.group_by("metric", maintain_order=True):
                joined = metric_values.join(figures, on=column).drop_nulls()
                correlation = spearman(
                    joined["metric_value"].to_numpy(), joined["value"].to_numpy()
                )
                statistics = (
                    correlation.value,
                    correlation.low,
                    correlation.high,
                    correlation.p_value,
                )
                reported = (
                    float(statistic)
                    if math.isfinite(statistic) and len(joined) >= _MIN_PAIRS
                    else None
                    for statistic in statistics
                )
                rows.append((level, metric, kpi.name, len(joined), *reported))
    return pl.DataFrame(rows, schema=CORRELATIONS, orient="row").sort("per", "metric", "kpi")


def _metric_values(base: Database, qrels: QrelsLike, metrics: Sequence[str]) -> pl.DataFrame:
    """``query``, ``day``, ``searches``, ``metric``, ``value`` of each list that was shown."""
    lists = (
        base.rows(_SHOWN_LISTS).with_row_index("list").with_columns(pl.col("list").cast(pl.String))
    )
    judged = read_qrels(qrels).by_document().table.select("query_id", "doc_id", "grade")
    judged_lists = lists.join(judged.select(query="query_id").unique(), on="query")
    if judged_lists.is_empty():
        problem = "no query of the log is judged; its words must be the ids of judged queries."
        raise InputError(problem, code="no-common-queries")
    run = judged_lists.select(query_id="list", doc_id="docs").explode("doc_id")
    run = run.with_columns(score=-pl.int_range(pl.len()).over("query_id").cast(pl.Float64))
    grades = judged_lists.select("list", query_id="query").join(judged, on="query_id")
    grades = grades.select("doc_id", "grade", query_id="list")
    evaluated_run = evaluate(grades.select("query_id", "doc_id", "grade"), run, list(metrics)).runs[
        0
    ]
    refuse_no_shared_document("the log", evaluated_run.counts.cautions)
    table = evaluated_run.table.select(list="query_id", metric="metric", value="value")
    return (
        judged_lists.select("list", "query", "day", "searches").join(table, on="list").drop_nulls()
    )


def _kpi_values(
    base: Database, kpi: Kpi, column: str, success: Sequence[str]
) -> pl.DataFrame | None:
    """The KPI by query or by day; None where its table has no such column."""
    kpi_tables = KpiTables(base, success, [kpi], [column])
    rows = kpi_tables[kpi.table]
    if column not in rows.columns:
        return None
    sums = rows.group_by(rows[column]).aggregate(**kpi.columns(rows))
    kpi_values = base.rows(str(tables.load_ibis().to_sql(sums, dialect="duckdb")))
    return kpi_values.filter(pl.col(f"{kpi.name}.n") > 0).select(column, value=f"{kpi.name}.value")
