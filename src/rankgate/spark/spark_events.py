"""Events, KPIs and click counts of logs on Spark.

Spark SQL makes the view ``events``, in place of a database. KPIs are the expressions of
`rankgate.online`, run by Spark SQL. Click models are fitted to the click counts on one machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.declare import Count
from rankgate.core.errors import InputError, UsageError
from rankgate.data.spark_tables import SparkTable
from rankgate.online.clicks import packed_searches as counting
from rankgate.online.clicks.packed_searches import DEFAULT_RANKS
from rankgate.online.events.event_log import EventLog
from rankgate.online.events.event_table import COLUMNS
from rankgate.online.events.events import Events, OpenEvents
from rankgate.online.events.ingest import MANIFEST, read_manifest
from rankgate.online.indicators import search_tables
from rankgate.online.indicators.search_tables import load_ibis
from rankgate.online.log_database import Database
from rankgate.spark.sessions import session, translate_errors
from rankgate.spark.table_rows import format_of, label_of, paths_of, read_files, refuse_unknown

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
        """Set the time zone of dates, days and weeks."""
        self.spark.conf.set("spark.sql.session.timeZone", time_zone)
        self.time_zone = time_zone

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        """Run a statement."""
        self.spark.sql(sql, [*values] or None)

    def rows(self, sql: str, values: Sequence[object] = ()) -> pl.DataFrame:
        """The rows of a query, which come to the driver; times are in UTC without a zone."""
        frame = pl.DataFrame(pl.from_arrow(self.spark.sql(sql, [*values] or None).toArrow()))
        zoned = pl.selectors.datetime(time_zone="*").dt.convert_time_zone("UTC")
        return frame.with_columns(zoned.dt.replace_time_zone(None))

    def text(self, expression: Any) -> str:  # noqa: ANN401 - of Ibis
        """An expression of Ibis as SQL of Spark."""
        lib = load_ibis()
        if lib.options.pyspark is None:  # the Ibis backend sets this, but needs more packages
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
        events: the events of a table on Spark.
        success: True if rules of success are accepted.

    Raises:
        UsageError: a mapping, or another setting that Spark does not have.
    """
    for field in fields(Events):
        if field.name == "log" or (success and field.name == "success"):
            continue
        if getattr(events, field.name) != field.default:
            raise UsageError(
                f"events on Spark take no {field.name}, as they are read as they are; leave it out, or "
                "ingest the log first (rankgate online ingest).",
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
    return read_manifest(path).get("time_zone", "UTC")


def _read(spark: SparkSession, events: Any, stated_format: str | None) -> DataFrame:  # noqa: ANN401 - as there
    if isinstance(events, str) and events.startswith("table:"):
        return spark.table(events.removeprefix("table:"))
    paths = paths_of(events)
    ingested_folders = [path for path in paths if Path(path, MANIFEST).is_file()]
    if ingested_folders:  # the manifest is not a table
        return spark.read.option("pathGlobFilter", "*.parquet").parquet(*paths)
    form = stated_format or format_of(paths[0])
    refuse_unknown(form)
    return read_files(spark, paths, form)


def source_of(log: Any) -> tuple[Any, str | None]:  # noqa: ANN401 - as of open_events
    """The source of a table, and its format if one is given."""
    if isinstance(log, EventLog):
        return log.folder, None
    return (log.source, log.format) if isinstance(log, SparkTable) else (log, None)


def events_label(events: Any) -> str:  # noqa: ANN401 - as of open_events
    """The name of events in errors."""
    paths = paths_of(source_of(events)[0])
    return label_of(paths).removeprefix("table:") if paths else "events"


@contextmanager
def open_log(events: Events, *, checks: bool) -> Iterator[OpenEvents]:
    """Open events of a table on Spark; arguments as of `Events.open`.

    Raises:
        InputError: no such file; a table without the columns of events.
        UsageError: an unknown format; checks, or a fact of how a log is read, that Spark does not have.
        MissingExtraError: PySpark or Ibis is not installed.
    """
    if checks:
        raise UsageError(
            "the log doctor does not run on Spark; set checks=False, and run it over a part of the log on "
            "one machine (rankgate online doctor).",
            code="unused-option",
        )
    refuse_preparation(events)
    with translate_errors(events_label(events.log)):
        base = open_events(events.log)
        try:
            yield OpenEvents(base, {"time_zone": base.time_zone})
        finally:
            base.close()


def click_counts(
    events: Any,  # noqa: ANN401 - Events, or their table
    *,
    ranks: Count = DEFAULT_RANKS,
    min_searches: Count = 1,
) -> DataFrame:
    """Count the searches that had the same words, list and clicks.

    The counts are sums, and all that ``rankgate.online.judgments`` and its click models need: it
    takes them as ``counts.toArrow()``, or as the Parquet files that ``counts.write`` makes. A
    document gets a judgment from so many looks (``min_examined``) that a query with fewer searches
    has none; ``min_searches`` leaves such queries out, which are most of the rows.

    Args:
        events: a table on Spark with the columns of events (a DataFrame, ``rankgate.spark.table``
            of Parquet, Delta, CSV, TSV or JSON files or of ``table:NAME``); the folder that
            ``rankgate online ingest`` made; or ``Events`` of one of these.
        ranks: the number of ranks of each list that count.
        min_searches: the lowest number of searches of a query.

    Returns:
        ``query_id`` (the words), ``list`` (an array of ``rank``, ``doc_id``, ``clicked``) and
        ``searches``, one row for each combination.

    Raises:
        InputError: no such file or table; a table without the columns of events.
        UsageError: an unknown format; a mapping, or another fact of how a log is read.
        MissingExtraError: PySpark or Ibis is not installed.
    """
    events = Events.of(events)
    refuse_preparation(events, success=False)
    log = events.log
    with translate_errors(events_label(log)):
        base = open_events(log)
        expression = counting.click_counts(search_tables.events(), ranks, min_searches)
        return base.spark.sql(base.text(expression))


def collect_click_counts(events: Events, ranks: int) -> pl.DataFrame:
    """Click counts of events on Spark, which judgments are learned from on one machine."""
    counts = click_counts(events, ranks=ranks)
    with translate_errors(events_label(events.log)):
        return pl.DataFrame(pl.from_arrow(counts.toArrow()))
