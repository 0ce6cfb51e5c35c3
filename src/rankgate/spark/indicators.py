"""KPIs of logs on Spark: the expressions of `rankgate.online`, carried out by Spark SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.errors import InputError, UsageError
from rankgate.online.database import Database
from rankgate.online.events.table import COLUMNS
from rankgate.online.indicators.catalogue import KPIS, SLICES, has_events
from rankgate.online.indicators.compute import table_of
from rankgate.online.indicators.tables import ibis
from rankgate.spark.failures import translated
from rankgate.spark.sessions import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rankgate.online.indicators.kpi_table import KpiTable

_TYPES = {
    "VARCHAR": "string", "INTEGER": "int", "BIGINT": "bigint", "DOUBLE": "double",
    "BOOLEAN": "boolean", "TIMESTAMPTZ": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamp",
}  # fmt: skip


class SparkDatabase(Database):
    """Spark SQL where a database is expected; tables are views whose rows are kept.

    Attributes:
        spark: the session.
    """

    dialect = "pyspark"

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._kept: list[DataFrame] = []

    def run(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Carry out a statement."""
        self.spark.sql(sql, [*values] or None)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> pl.DataFrame:
        """The rows of a query, which come to the driver; times are in UTC without a zone."""
        found = pl.DataFrame(pl.from_arrow(self.spark.sql(sql, [*values] or None).toArrow()))
        return found.with_columns(pl.selectors.datetime().dt.replace_time_zone(None))

    def text(self, expression: Any) -> str:  # noqa: ANN401 - of Ibis
        """An expression of Ibis as SQL of Spark."""
        lib = ibis()
        if lib.options.pyspark is None:  # what its backend sets, which needs more packages
            from ibis.config import Config

            options = type("Options", (Config,), {"__annotations__": {"treat_nan_as_null": bool}})
            lib.options.pyspark = options(treat_nan_as_null=False)
        return str(lib.to_sql(expression, dialect=self.dialect))

    def keep(self, name: str, expression: Any) -> None:  # noqa: ANN401 - of Ibis
        """Make a view of an expression, whose rows stay in memory and on the executors' disks."""
        frame = self.spark.sql(self.text(expression)).persist()
        frame.createOrReplaceTempView(name)
        self._kept.append(frame)

    def close(self) -> None:
        """Let go of what was kept."""
        for frame in self._kept:
            frame.unpersist()


def kpi(
    events: Any,  # noqa: ANN401 - a DataFrame or paths
    names: Sequence[str] = (),
    *,
    by: Sequence[str] = ("day",),
    success: Sequence[str] = (),
    spark: SparkSession | None = None,
) -> KpiTable:
    """Compute KPIs of a table of events; the log doctor does not run on Spark.

    Args:
        events: a DataFrame with the columns of events, or Parquet files, or the folder that
            ``rankgate online ingest`` made.
        names: the KPIs, such as search_ctr; all by default.
        by: what divides the log, as of ``rankgate.online.kpi``.
        success: the rules of success, as there.
        spark: the session.

    Raises:
        InputError: no such file; a table without the columns of events.
        UsageError: no such KPI, or nothing that divides a log.
        MissingExtraError: PySpark or Ibis is not installed.
    """
    chosen = [KPIS.named(name) for name in names] or list(KPIS.values())
    for each in by:
        if each not in SLICES:
            problem = f"nothing divides a log by {each!r}; there are {', '.join(SLICES)}."
            raise UsageError(problem, code="unknown-slice")
    active = spark or session()
    active.conf.set("spark.sql.session.timeZone", "UTC")
    base = SparkDatabase(active)
    try:
        with translated(str(events)):
            _open(active, events)
            kinds = set(base.rows("SELECT DISTINCT kind FROM events")["kind"])
            known = [each for each in chosen if has_events(each, kinds, success)]
            return table_of(base, chosen, known, by, success)
    finally:
        base.close()


def _open(spark: SparkSession, events: Any) -> None:  # noqa: ANN401 - as of kpi
    """Make the view ``events``, with null for columns that the table does not have."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    if isinstance(events, DataFrame):
        found = events
    else:
        paths = [events] if isinstance(events, str) else [str(each) for each in events]
        found = (
            spark.read.option("recursiveFileLookup", "true")
            .option("pathGlobFilter", "*.parquet")
            .parquet(*paths)
        )
    if "kind" not in found.columns:
        have = ", ".join(found.columns)
        problem = f"not events: there is no column kind; the columns are {have}."
        raise InputError(problem, source=str(events), code="missing-column")
    columns = [
        (F.col(name) if name in found.columns else F.lit(None)).cast(_TYPES[kind]).alias(name)
        for name, kind in COLUMNS.items()
    ]
    found.select(*columns).createOrReplaceTempView("events")
