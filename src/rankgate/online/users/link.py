"""How KPIs go with ranking metrics of the lists that were shown, per query and per day."""

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

_FEW = 4  # pairs that an interval needs
_SHOWN = (
    'SELECT t.query, CAST(t."at" AS DATE) AS day, l.docs, count(*) AS searches FROM (SELECT '
    "query_event_id, list(doc_id ORDER BY rank, doc_id) AS docs FROM (SELECT query_event_id, "
    "doc_id, min(rank) AS rank FROM events WHERE kind = 'impression' AND rank IS NOT NULL AND "
    "doc_id IS NOT NULL AND query_event_id IS NOT NULL GROUP BY 1, 2) GROUP BY 1) l JOIN (SELECT "
    'query_event_id, max(query) AS query, min("at") AS "at" FROM events WHERE query_event_id IS '
    "NOT NULL GROUP BY 1) t USING (query_event_id) WHERE t.query IS NOT NULL GROUP BY 1, 2, 3 "
    "ORDER BY 1, 2, 3"
)


def correlated(
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
    values = _values(base, qrels, metrics)
    rows = []
    for per, column in (("query", "query"), ("day", "day")):
        weighted = pl.col("value") * pl.col("searches")
        mean = values.group_by("metric", column).agg(
            metric_value=weighted.sum() / pl.col("searches").sum()
        )
        for each in kpis:
            figures = _figures(base, each, column, success)
            if figures is None:
                continue
            for (metric,), part in mean.group_by("metric", maintain_order=True):
                both = part.join(figures, on=column).drop_nulls()
                found = spearman(both["metric_value"].to_numpy(), both["value"].to_numpy())
                ends = (found.value, found.low, found.high, found.p_value)
                known = (float(x) if math.isfinite(x) and len(both) >= _FEW else None for x in ends)
                rows.append((per, metric, each.name, len(both), *known))
    return pl.DataFrame(rows, schema=CORRELATIONS, orient="row").sort("per", "metric", "kpi")


def _values(base: Database, qrels: QrelsLike, metrics: Sequence[str]) -> pl.DataFrame:
    """``query``, ``day``, ``searches``, ``metric``, ``value`` of each list that was shown."""
    lists = base.rows(_SHOWN).with_row_index("list").with_columns(pl.col("list").cast(pl.String))
    judged = read_qrels(qrels).by_document().table.select("query_id", "doc_id", "grade")
    known = lists.join(judged.select(query="query_id").unique(), on="query")
    if known.is_empty():
        problem = "no query of the log is judged; its words must be the ids of judged queries."
        raise InputError(problem, code="no-common-queries")
    run = known.select(query_id="list", doc_id="docs").explode("doc_id")
    run = run.with_columns(score=-pl.int_range(pl.len()).over("query_id").cast(pl.Float64))
    grades = known.select("list", query_id="query").join(judged, on="query_id")
    grades = grades.select("doc_id", "grade", query_id="list")
    found = evaluate(grades.select("query_id", "doc_id", "grade"), run, list(metrics)).runs[0]
    refuse_no_shared_document("the log", found.counts.cautions)
    table = found.table.select(list="query_id", metric="metric", value="value")
    return known.select("list", "query", "day", "searches").join(table, on="list").drop_nulls()


def _figures(base: Database, each: Kpi, column: str, success: Sequence[str]) -> pl.DataFrame | None:
    """The KPI by query or by day; None where its table has no such column."""
    built = KpiTables(base, success, [each], [column])
    rows = built[each.table]
    if column not in rows.columns:
        return None
    sums = rows.group_by(rows[column]).aggregate(**each.columns(rows))
    found = base.rows(str(tables.ibis().to_sql(sums, dialect="duckdb")))
    return found.filter(pl.col(f"{each.name}.n") > 0).select(column, value=f"{each.name}.value")
