"""Events of logs on Spark: the view ``events``, and Spark SQL where a database is expected."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data.spark_tables import SparkTable
from rankgate.online.database import Database
from rankgate.online.events.event_log import EventLog
from rankgate.online.events.events import Events
from rankgate.online.events.ingest import MANIFEST, TIME_ZONE_KEY
from rankgate.online.events.table import COLUMNS
from rankgate.online.indicators.tables import load_ibis
from rankgate.spark.files import format_of, label_of, paths_of, read_files, refuse_unknown
from rankgate.spark.sessions import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TYPES = {
    "VARCHAR": "string",
    "INTEGER": "int",
    "BIGINT": "bigint",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "TIMESTAMPTZ": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
}


class SparkDatabase(Database):
    """Spark SQL with the interface of a database; tables are views whose rows are kept.

    Attributes:
        spark: the session.
    """

    dialect = "pyspark"

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._kept: list[DataFrame] = []

    def use_zone(self, time_zone: str) -> None:
        """Set the time zone of dates, and so of days and weeks."""
        self.spark.conf.set("spark.sql.session.timeZone", time_zone)
        self.time_zone = time_zone

    def run(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Carry out a statement."""
        self.spark.sql(sql, [*values] or None)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> pl.DataFrame:
        """The rows of a query, which come to the driver; times are in UTC without a zone."""
        frame = pl.DataFrame(pl.from_arrow(self.spark.sql(sql, [*values] or None).toArrow()))
        zoned = pl.selectors.datetime(time_zone="*").dt.convert_time_zone("UTC")
        return frame.with_columns(zoned.dt.replace_time_zone(None))

    def text(self, expression: Any) -> str:  # noqa: ANN401 - of Ibis
        """An expression of Ibis as SQL of Spark."""
        lib = load_ibis()
        if lib.options.pyspark is None:  # its backend sets this, and needs more packages
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
        """Release the kept frames."""
        for frame in self._kept:
            frame.unpersist()


def refuse_preparation(events: Events, *, success: bool = True) -> None:
    """Check that events need no mapping or other preparation, which Spark does not do.

    Args:
        events: of a table on Spark.
        success: True if rules of success are accepted.

    Raises:
        UsageError: a mapping, or another setting that Spark does not have.
    """
    for field in fields(Events):
        if field.name == "log" or (success and field.name == "success"):
            continue
        if getattr(events, field.name) != field.default:
            raise UsageError(
                f"events on Spark take no {field.name}, as they are read as they are; leave it "
                "out, or ingest the log first (rankgate online ingest).",
                code="unused-option",
            )


def open_events(log: Any) -> SparkDatabase:  # noqa: ANN401 - a SparkTable, or its source
    """Make the view ``events``, with null for columns that the table does not have.

    Args:
        log: a DataFrame with the columns of events; ``table:NAME``; files with them; or the folder
            that ``rankgate online ingest`` made.

    Raises:
        InputError: a table without the columns of events.
        UsageError: an unknown format.
        MissingExtraError: PySpark is not installed.
    """
    events, form = source_of(log)
    active = session()
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    active.conf.set("spark.sql.session.timeZone", "UTC")
    frame = events if isinstance(events, DataFrame) else _read(active, events, form)
    if "kind" not in frame.columns:
        have = ", ".join(frame.columns)
        problem = f"not events: there is no column kind; the columns are {have}."
        raise InputError(problem, source=events_label(events), code="missing-column")
    columns = [
        (F.col(name) if name in frame.columns else F.lit(None)).cast(_TYPES[kind]).alias(name)
        for name, kind in COLUMNS.items()
    ]
    frame.select(*columns).createOrReplaceTempView("events")
    base = SparkDatabase(active)
    base.use_zone(_time_zone(events))
    return base


def _time_zone(events: Any) -> str:  # noqa: ANN401 - as of open_events
    """The time zone of an ingested folder; UTC for anything else."""
    path = Path(events, MANIFEST) if isinstance(events, str | Path) else None
    if path is None or not path.is_file():
        return "UTC"
    return str(json.loads(path.read_text(encoding="utf-8")).get(TIME_ZONE_KEY, "UTC"))


def _read(spark: SparkSession, events: Any, stated_format: str | None) -> DataFrame:  # noqa: ANN401 - as there
    if isinstance(events, str) and events.startswith("table:"):
        return spark.table(events.removeprefix("table:"))
    paths = paths_of(events)
    ingested_folders = [path for path in paths if Path(path, MANIFEST).is_file()]
    if ingested_folders:  # its manifest is no table
        return spark.read.option("pathGlobFilter", "*.parquet").parquet(*paths)
    form = stated_format or format_of(paths[0])
    refuse_unknown(form)
    return read_files(spark, paths, form)


def source_of(log: Any) -> tuple[Any, str | None]:  # noqa: ANN401 - as of open_events
    """The source of a table, and its format where one is stated."""
    if isinstance(log, EventLog):
        return log.folder, None
    return (log.source, log.format) if isinstance(log, SparkTable) else (log, None)


def events_label(events: Any) -> str:  # noqa: ANN401 - as of open_events
    """The name of events in errors."""
    paths = paths_of(source_of(events)[0])
    return label_of(paths).removeprefix("table:") if paths else "events"
