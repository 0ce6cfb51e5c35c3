"""Events of logs on Spark: the view ``events``, and Spark SQL where a database is expected."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.online.database import Database
from rankgate.online.events.events import Events
from rankgate.online.events.ingest import MANIFEST, ZONE
from rankgate.online.events.table import COLUMNS
from rankgate.online.indicators.tables import ibis
from rankgate.spark.files import format_of, label_of, paths_of, read_files, refuse_unknown
from rankgate.spark.sessions import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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

    def use_zone(self, time_zone: str) -> None:
        """Let dates of times, and so days and weeks, be those of a time zone."""
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


def on_spark(events: Any, *, success: bool = True) -> Events:  # noqa: ANN401 - Events or a log
    """Return the events of a log for Spark, which reads events as they are.

    Args:
        events: events, or a log.
        success: whether rules of success count.

    Raises:
        UsageError: a mapping, or another fact of how they are read that Spark does not have.
    """
    if not isinstance(events, Events):
        return Events(events)
    for each in fields(Events):
        if each.name in ("log", "memory") or (success and each.name == "success"):
            continue
        if getattr(events, each.name) != each.default:
            problem = (
                f"--{each.name.replace('_', '-')} is not there with --backend spark; leave it out."
            )
            raise UsageError(problem, code="unused-option")
    return events


def open_events(
    events: Any,  # noqa: ANN401 - a DataFrame, a table or paths
    from_: str | None = None,
    spark: SparkSession | None = None,
) -> SparkDatabase:
    """Make the view ``events``, with null for columns that the table does not have.

    Args:
        events: a DataFrame with the columns of events; ``table:NAME``; files with them; or the
            folder that ``rankgate online ingest`` made.
        from_: the format of files; by their names if not given.
        spark: the session.

    Raises:
        InputError: a table without the columns of events.
        UsageError: an unknown format.
        MissingExtraError: PySpark is not installed.
    """
    active = spark or session()
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    active.conf.set("spark.sql.session.timeZone", "UTC")
    found = events if isinstance(events, DataFrame) else _read(active, events, from_)
    if "kind" not in found.columns:
        have = ", ".join(found.columns)
        problem = f"not events: there is no column kind; the columns are {have}."
        raise InputError(problem, source=events_label(events), code="missing-column")
    columns = [
        (F.col(name) if name in found.columns else F.lit(None)).cast(_TYPES[kind]).alias(name)
        for name, kind in COLUMNS.items()
    ]
    found.select(*columns).createOrReplaceTempView("events")
    base = SparkDatabase(active)
    base.use_zone(_zone(events))
    return base


def _zone(events: Any) -> str:  # noqa: ANN401 - as of open_events
    """The time zone of a folder that was ingested; UTC for anything else."""
    path = Path(events, MANIFEST) if isinstance(events, str | Path) else None
    if path is None or not path.is_file():
        return "UTC"
    return str(json.loads(path.read_text(encoding="utf-8")).get(ZONE, "UTC"))


def _read(spark: SparkSession, events: Any, from_: str | None) -> DataFrame:  # noqa: ANN401 - as there
    if isinstance(events, str) and events.startswith("table:"):
        return spark.table(events.removeprefix("table:"))
    paths = paths_of(events)
    made = [path for path in paths if Path(path, MANIFEST).is_file()]
    if made:  # its manifest is no table
        return spark.read.option("pathGlobFilter", "*.parquet").parquet(*paths)
    form = from_ or format_of(paths[0])
    refuse_unknown(form)
    return read_files(spark, paths, form)


def events_label(events: Any) -> str:  # noqa: ANN401 - as of open_events
    """What errors call events."""
    paths = paths_of(events)
    return label_of(paths).removeprefix("table:") if paths else "events"
