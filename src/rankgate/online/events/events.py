"""`Events`: a log with its mapping and the options for reading it; every verb on logs takes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, fields
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, TypeAlias, cast

from rankgate.core.checksums import check_file
from rankgate.core.declare import Count
from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.adapters import repeatable
from rankgate.data.column_map import source_label
from rankgate.data.foreign_frames import is_frame, polars_frame
from rankgate.data.spark_tables import is_on_spark, run_on_spark
from rankgate.online.events.event_log import EventLog
from rankgate.online.events.event_sql import Privacy, events_sql
from rankgate.online.events.event_table import PRICED, is_event_schema, parse_goals
from rankgate.online.events.ingest import MANIFEST, count_unmapped, ingest_files, read_manifest
from rankgate.online.events.log_checks import COUNT_EVENTS
from rankgate.online.events.log_files import (
    UBI,
    LogFile,
    LogMapping,
    is_event_table,
    list_log_files,
    read_mapping,
)
from rankgate.online.events.warehouse_events import make_events, needs_file_reader
from rankgate.online.log_database import MEMORY, Database, open_database, quote_identifier, quote_text
from rankgate.online.warehouse import WarehouseTable, attach, find_warehouse_table, open_postgresql

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from rankgate.data.input_types import Frame, OnSpark, Rows, Source
    from rankgate.online.events.manifest import IngestedFile, Manifest

LogLike: TypeAlias = "Source | Sequence[Source] | Frame | Rows | EventLog | OnSpark"
"""A folder of events, a Parquet file or a frame with their columns, files of logs, a frame or rows
of a log, the result of ``ingest``, or a table on Spark."""

EventsLike: TypeAlias = "Events | LogLike"
"""Events, or a log that is read as it is."""

_MEMORY = re.compile(r"(?i)\d+(\.\d+)?\s*([kmgt](i?b)?|b|%)")


@dataclass(frozen=True)
class Events(ByContent):
    """The actions of users: a log, and how it is read.

    The log is read when a verb needs it. Mapping and rules are checked at once.

    Attributes:
        log: A folder of events, a table of them (here, on Spark or in a database), or files of
            logs.
        mapping: A TOML file with the columns of a log, or a product: ga4, segment, snowplow;
            without it the log is UBI (User Behavior Insights).
        without_bots: Leave out sessions with more than 50 searches, or 1,000 events and more.
        without_duplicates: Count an event once that is in the log several times.
        success: The rules: any of them means that a session reached its goal, instead of
            add_to_cart and purchase: an action, with a value as in dwell>=30, or several together
            as in click and survey>=4.
        despite: Also give figures that a fault forbids.
        memory: The memory that DuckDB may use before it uses the disk.
        threads: The number of threads that DuckDB uses; one for each core by default.

    Raises:
        InputError: A mapping that cannot be read.
        UsageError: No log, a rule of success that cannot be read, a memory that is not a size.

    >>> Events("ubi.ndjson", without_bots=True)
    Events('ubi.ndjson', without_bots=True)
    """

    log: LogLike
    mapping: str | Path | LogMapping | None = None
    without_bots: bool = False
    without_duplicates: bool = False
    success: Sequence[str] = ()
    despite: bool = False
    memory: str = field(default=MEMORY, compare=False)
    threads: Count | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.log is None or (isinstance(self.log, Sequence) and not len(self.log)):
            raise UsageError("name a log, or a folder of events.", code="missing-input")
        self.__dict__["log"] = repeatable(self.log, "the log")
        parse_goals(self.success)
        if not _MEMORY.fullmatch(self.memory):
            problem = f"memory {self.memory!r} is not a size; write it as 2GB."
            raise UsageError(problem, code="invalid-size")
        if self.threads is not None and self.threads < 1:
            raise UsageError("threads are at least 1.", code="invalid-parameter")
        if self.mapping is not None:
            _ = self.log_mapping

    @classmethod
    def of(cls, events: EventsLike) -> Events:
        """Return events as they are, or those of a log."""
        return events if isinstance(events, Events) else cls(events)

    @cached_property
    def log_mapping(self) -> LogMapping:
        """The mapping of the log's columns."""
        if isinstance(self.mapping, LogMapping):
            return self.mapping
        return UBI if self.mapping is None else read_mapping(self.mapping)

    @cached_property
    def declarations(self) -> tuple[TomlFile | None, tuple[str, ...]]:
        """The file that declares KPIs, if any, and the names of dimensions that they can use.

        They are those of the mapping, or of a folder of events those of the mapping that it was
        read with.
        """
        mapping = self.log_mapping
        kpis, dimensions = mapping.kpis, list(mapping.dimensions)
        folder = self.log.folder if isinstance(self.log, EventLog) else self.log
        if isinstance(folder, str | Path) and (path := Path(folder) / MANIFEST).is_file():
            manifest = read_manifest(path)
            dimensions += manifest.get("dimensions", [])
            if kpis is None and "kpis" in manifest:
                kpis = TomlFile({"kpis": manifest["kpis"]}, str(path), {}, code="invalid-mapping")
        return kpis, tuple(dict.fromkeys(dimensions))

    @contextmanager
    def open(self, verb: str = "", *, checks: bool = False) -> Iterator[OpenEvents]:
        """Open a database with the view ``events``.

        Args:
            verb: the verb, if it measures a table on Spark there; others refuse such a table.
            checks: True if the log doctor looks at the events.

        Raises:
            InputError: files that cannot be read; a table without the columns of events.
            UsageError: a need that the database does not meet.
            MissingExtraError: DuckDB, or what reads the table, is not installed.
        """
        if verb and is_on_spark(self.log):
            with run_on_spark(verb, self, checks=checks) as log:
                yield log
            return
        table = find_warehouse_table(self.log)
        if table and table.is_postgresql:
            with open_postgresql(table) as (base, source):
                self._check_postgresql(table)
                unchecked = ("the checks of the log doctor, which PostgreSQL does not compute",)
                yield OpenEvents(base, self._view_of_table(base, source, table), unchecked)
            return
        with open_database(self.memory, self.threads) as base:
            yield self.read_into(base)

    def _check_postgresql(self, table: WarehouseTable) -> None:
        """Check that PostgreSQL can compute the events of a table.

        Raises:
            UsageError: a part of the mapping or an option that only files have.
        """
        for name in ("without_bots", "without_duplicates"):
            if getattr(self, name):
                problem = f"{name} is not computed in PostgreSQL; leave such events out in a view there."
                raise UsageError(problem, code="unused-option")
        if setting := needs_file_reader(self.log_mapping):
            problem = (
                f"{table.label}: {setting} of a mapping is not computed in PostgreSQL; make a view there "
                "with a "
                "row for each event, or export the table and read the file."
            )
            raise UsageError(problem, code="unused-option")

    def _view_of_table(self, base: Database, source: ir.Table, table: WarehouseTable) -> Manifest:
        """Make the view ``events`` of a table of a database; return its manifest."""
        zone = self.log_mapping.time_zone
        base.use_zone(zone)
        has_events = is_event_schema(source.columns)
        if not has_events and self.log_mapping.ubi:
            columns = ", ".join(source.columns)
            problem = f"map the columns with --mapping FILE.toml; the columns are {columns}."
            command = f"rankgate online map {quote(str(self.log))} -o log.toml"
            raise InputError(problem, source=table.label, code="no-usable-events", suggestions=(command,))
        expression = make_events(source, None if has_events else self.log_mapping, table.label)
        base.run(f"CREATE TEMP VIEW events AS {base.text(expression)}")
        if not base.first_value(COUNT_EVENTS):
            raise InputError("no events found.", source=table.label, code="no-events")
        if has_events:
            return {"time_zone": zone}
        files = {table.name: _describe_table(base, self.log_mapping, table.label)}
        return {"time_zone": zone, "files": files}

    def read_into(self, base: Database) -> OpenEvents:
        """Make the view ``events`` of a database, without bots and duplicates where these are out.

        Days and weeks are those of the mapping's time zone; of a folder without a mapping, of the
        zone of the mapping that it was read with; else of UTC.

        Raises:
            InputError: files that cannot be read; a table without the columns of events.
        """
        table = find_warehouse_table(self.log)
        if table and not needs_file_reader(self.log_mapping):
            manifest = self._view_of_table(base, attach(base, table), table)
        else:
            manifest = _create_view(base, self)
        has_mapping = self.mapping is not None
        zone = self.log_mapping.time_zone if has_mapping else manifest.get("time_zone", "UTC")
        base.use_zone(zone)
        excluded = _exclude(base, bots=self.without_bots, duplicates=self.without_duplicates)
        return OpenEvents(base, {**manifest, "time_zone": zone}, excluded)

    def __repr__(self) -> str:
        arguments = [_short_repr(self.log)]
        for attribute in fields(self)[1:]:
            value = getattr(self, attribute.name)
            if value != attribute.default:
                arguments.append(f"{attribute.name}={value!r}")
        return f"Events({', '.join(arguments)})"


@dataclass(frozen=True)
class OpenEvents:
    """Events in a database.

    Attributes:
        base: the database with the view ``events``.
        manifest: the manifest of the log; a manifest without files if the log has none.
        excluded: a description of the rows that were left out.
    """

    base: Database
    manifest: Manifest
    excluded: tuple[str, ...] = ()

    @property
    def kinds(self) -> set[str]:
        """The kinds of events in the log."""
        return kinds_of(self.base)


def kinds_of(base: Database) -> set[str]:
    """The kinds of events in the view ``events``, and `PRICED` if a purchase has a value."""
    kinds = base.rows(
        f"SELECT DISTINCT CASE WHEN kind = 'purchase' AND value IS NOT NULL THEN {quote_text(PRICED)} ELSE "
        "kind END AS kind FROM events"
    )["kind"]
    return {*kinds, *(["purchase"] if PRICED in kinds else [])}


def _short_repr(log: object) -> str:
    """A short description of a log; for a table its size."""
    if isinstance(log, str | Path):
        return repr(str(log))
    if isinstance(log, EventLog):
        return repr(log.folder)
    if isinstance(log, Sequence):
        return repr([str(path) for path in log])
    shape = getattr(log, "shape", None)
    return f"<table of {count_noun(shape[0], 'row')}>" if shape else f"<{type(log).__name__}>"


def _describe_table(base: Database, mapping: LogMapping, label: str) -> IngestedFile:
    """A table of a database as an entry of a manifest: its actions without a kind, and states."""
    return {
        "file": label,
        "part": "",
        "kinds": {},
        "first": None,
        "last": None,
        "ranks": [],
        "problems": [],
        "unmapped": count_unmapped(base, "events", mapping),
        "states": "state" in mapping.columns,
    }


def _create_view(base: Database, events: Events) -> Manifest:
    """Make the view ``events``; return the manifest of the log, which may be empty."""
    log = Path(events.log.folder) if isinstance(events.log, EventLog) else events.log
    if isinstance(log, str | Path) and (Path(log) / MANIFEST).is_file():
        for part_path in Path(log).glob("*.parquet"):
            check_file(part_path)
        return _view_of_folder(base, Path(log), str(log))
    if isinstance(log, str | Path):
        files = list_log_files(log, Path(base.folder))
        if all(is_event_table(base, file) for file in files):
            path_list = ", ".join(quote_text(str(file.path)) for file in files)
            _view_of_source(base, f"read_parquet([{path_list}], union_by_name = true)", str(log))
            return {}
    elif is_frame(log) or isinstance(log, Mapping):
        table = polars_frame(log, "the log")
        if "kind" in table.columns:
            base.connection.register("given_frame", table.to_arrow())
            base.run("CREATE TEMP TABLE given_events AS SELECT * FROM given_frame")
            _view_of_source(base, "given_events", "events")
            return {}
        path = Path(base.folder) / "log.parquet"  # a normal log with mapped columns
        table.write_parquet(path)
        files = [LogFile(path, "the log", "parquet")]
    else:
        files = list_log_files(cast("Source | Sequence[Source]", log), Path(base.folder))
    folder = Path(base.folder) / "events"
    ingest_files(base, files, folder, events.log_mapping, None, Privacy())
    return _view_of_folder(base, folder, source_label(log))


def _view_of_folder(base: Database, folder: Path, name: str) -> Manifest:
    manifest = read_manifest(folder / MANIFEST)
    parts = [quote_text(str(folder / file["part"])) for file in manifest["files"].values()]
    if not parts:
        raise InputError("no events found.", source=name, code="no-events")
    _view_of_source(base, f"read_parquet([{', '.join(parts)}])", name)
    return manifest


def _view_of_source(base: Database, source: str, name: str) -> None:
    """Make the view ``events``, with null for columns that the table does not have.

    Raises:
        InputError: the log has no event, or its table has no column ``kind``.
    """
    table = base.rows(f"DESCRIBE SELECT * FROM {source}")["column_name"].to_list()
    if "kind" not in table:
        problem = f"not events: there is no column kind; the columns are {', '.join(table)}."
        raise InputError(problem, source=name, code="missing-column")
    columns = {name: quote_identifier(name) for name in table}
    base.run(f"CREATE OR REPLACE TEMP VIEW events AS SELECT {events_sql(columns)} FROM {source}")
    if not base.first_value(COUNT_EVENTS):
        raise InputError("no events found.", source=name, code="no-events")


def _exclude(base: Database, *, bots: bool, duplicates: bool) -> tuple[str, ...]:
    """Leave rows out of ``events``; return a description with the number of rows."""
    excluded = []
    if duplicates:
        count_before = base.first_value(COUNT_EVENTS)
        base.run(
            'CREATE TEMP TABLE once AS SELECT * FROM events QUALIFY "at" IS NULL OR kind NOT IN '
            "('impression', 'click', 'add_to_cart', 'purchase', 'refund') OR row_number() OVER ("
            'PARTITION BY kind, action, "at", query_event_id, session, "user", doc_id, rank, value ORDER BY '
            "source_file, source_line) = 1"
        )
        base.run("CREATE OR REPLACE TEMP VIEW events AS SELECT * FROM once")
        count_after = base.first_value(COUNT_EVENTS)
        excluded.append(f"{count_noun(count_before - count_after, 'event')} that were in the log before")
    if bots:
        base.run(
            "CREATE TEMP TABLE robots AS SELECT session FROM events WHERE session IS NOT NULL GROUP BY 1 "
            "HAVING count(*) >= 1000 OR count(DISTINCT query_event_id) FILTER (WHERE kind IN ('search', "
            "'impression')) > 50"
        )
        base.run(
            "CREATE TEMP TABLE people AS SELECT * FROM events WHERE session IS NULL AND query_event_id NOT "
            "IN (SELECT query_event_id FROM events WHERE session IN (FROM robots) AND query_event_id IS NOT "
            "NULL) OR session NOT IN (FROM robots)"
        )
        base.run("CREATE OR REPLACE TEMP VIEW events AS SELECT * FROM people")
        excluded.append(f"{count_noun(base.first_value('SELECT count(*) FROM robots'), 'session')} of bots")
    return tuple(excluded)
