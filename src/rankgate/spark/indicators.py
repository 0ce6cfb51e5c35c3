"""KPIs of logs on Spark: the expressions of `rankgate.online`, carried out by Spark SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankgate.online.indicators.catalogue import KPIS, has_events
from rankgate.online.indicators.compute import check_slices, table_of
from rankgate.spark.failures import translated
from rankgate.spark.logs import events_label, on_spark, open_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rankgate.online.indicators.kpi_table import KpiTable


def kpi(
    events: Any,  # noqa: ANN401 - Events, a DataFrame or paths
    names: Sequence[str] = (),
    *,
    by: Sequence[str] = ("day",),
    from_: str | None = None,
    spark: SparkSession | None = None,
) -> KpiTable:
    """Compute KPIs of a table of events; the log doctor does not run on Spark.

    Args:
        events: a DataFrame with the columns of events; ``table:NAME``; Parquet, Delta, CSV, TSV or
            JSON files with them; the folder that ``rankgate online ingest`` made; or ``Events`` of
            one of these, with rules of success.
        names: the KPIs, such as search_ctr; all by default.
        by: what divides the log, as of ``rankgate.online.kpi``.
        from_: the format of files; by their names if not given.
        spark: the session.

    Raises:
        InputError: no such file; a table without the columns of events.
        UsageError: no such KPI, or nothing that divides a log; an unknown format.
        MissingExtraError: PySpark or Ibis is not installed.
    """
    kpis = [KPIS.named(name) for name in names] or list(KPIS.values())
    check_slices(by)
    events = on_spark(events)
    with translated(events_label(events.log)):
        base = open_events(events.log, from_, spark)
        try:
            kinds = set(base.rows("SELECT DISTINCT kind FROM events")["kind"])
            measured = [each for each in kpis if has_events(each, kinds, events.success)]
            return table_of(base, kpis, measured, by, events.success)
        finally:
            base.close()
