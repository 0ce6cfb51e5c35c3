"""KPIs of logs on Spark: the expressions of `rankgate.online`, carried out by Spark SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.online.indicators.catalogue import KPIS, SLICES, has_events
from rankgate.online.indicators.compute import table_of
from rankgate.spark.failures import translated
from rankgate.spark.logs import events_label, open_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rankgate.online.indicators.kpi_table import KpiTable


def kpi(
    events: Any,  # noqa: ANN401 - a DataFrame or paths
    names: Sequence[str] = (),
    *,
    by: Sequence[str] = ("day",),
    success: Sequence[str] = (),
    from_: str | None = None,
    spark: SparkSession | None = None,
) -> KpiTable:
    """Compute KPIs of a table of events; the log doctor does not run on Spark.

    Args:
        events: a DataFrame with the columns of events; ``table:NAME``; Parquet, Delta, CSV, TSV or
            JSON files with them; or the folder that ``rankgate online ingest`` made.
        names: the KPIs, such as search_ctr; all by default.
        by: what divides the log, as of ``rankgate.online.kpi``.
        success: the rules of success, as there.
        from_: the format of files; by their names if not given.
        spark: the session.

    Raises:
        InputError: no such file; a table without the columns of events.
        UsageError: no such KPI, or nothing that divides a log; an unknown format.
        MissingExtraError: PySpark or Ibis is not installed.
    """
    chosen = [KPIS.named(name) for name in names] or list(KPIS.values())
    for each in by:
        if each not in SLICES:
            problem = f"nothing divides a log by {each!r}; there are {', '.join(SLICES)}."
            raise UsageError(problem, code="unknown-slice")
    with translated(events_label(events)):
        base = open_events(events, from_, spark)
        try:
            kinds = set(base.rows("SELECT DISTINCT kind FROM events")["kind"])
            known = [each for each in chosen if has_events(each, kinds, success)]
            return table_of(base, chosen, known, by, success)
        finally:
            base.close()
