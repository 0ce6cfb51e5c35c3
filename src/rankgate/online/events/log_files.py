"""Mapping of a log's columns to events, and files of logs as SQL.

The mapping is UBI's, or comes from a TOML file. Files of logs become SQL: the fields of a mapping
as text, with the line of each record.

DuckDB reads JSON lines, CSV and Parquet itself. Any other table format is first converted by its
reader to a Parquet file in the database's folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.checksums import check_file
from rankgate.core.declare.flag_words import FLAG_WORDS, normalize_flag
from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import suffix_of
from rankgate.data.formats import registry
from rankgate.data.formats.tables.csv_tables import likely_separator, separator_of
from rankgate.data.streams.input_parts import is_folder, list_part_files
from rankgate.data.streams.source import InputFile, open_source
from rankgate.data.text.json_text import read_document
from rankgate.online.events.event_lists import EventList, list_sql, normalize_action, read_event_lists
from rankgate.online.events.event_table import (
    ACTIONS,
    COLUMNS,
    DIMENSION,
    KINDS,
    SLICES,
    UBI_ACTIONS,
    is_event_schema,
)
from rankgate.online.log_database import quote_identifier, quote_text

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.data.input_types import Source
    from rankgate.online.log_database import Database


FIELDS = (
    "event_id",
    "at",
    "action",
    "query_event_id",
    "query",
    "session",
    "user",
    "doc_id",
    "rank",
    "value",
    "variant",
    "page",
    "latency_ms",
    "cache_hit",
    "state",
    "hits",
    "response_ids",
    "application",
    "attributes",
    "seconds",
)
"""The fields of a mapping; ``hits`` is how many results a search had, and
``response_ids`` the list of them; ``seconds`` is the value of a dwell."""

_ERROR_CODE = "invalid-mapping"
PRESETS = ("ga4", "segment", "snowplow", "ubi")
"""The products whose logs have a mapping: a file of the folder ``presets``."""


def preset_text(name: str) -> str:
    """The mapping of a product, as TOML."""
    return (Path(__file__).parent / "presets" / f"{name}.toml").read_text(encoding="utf-8")


@dataclass(frozen=True)
class LogMapping:
    """The columns of a log by field, and the rules for reading values.

    Attributes:
        columns: the columns of each field; the first that is not empty counts; parts of a nested
            value are joined by dots, and ``a+b`` joins two columns to one id.
        kinds: the kind of event for each action, in lower case and with ``_`` for blanks and
            hyphens.
        flags: a column for each kind that is true if the row is also an event of this kind; a
            number in a column of clicks is how many clicks there were.
        kind: the kind of rows without an action; empty if every row has one.
        time_zone: the time zone of times that do not name one, and of days and weeks.
        rank_base: the first rank of the log, 0 or 1; None to find out.
        format: ``jsonl``, ``csv`` or ``parquet``; empty: by the file's suffix.
        ubi: True if records without an action are queries of UBI.
        zone_declared: true if the mapping names its time zone, so that times need none.
        flag_words: the boolean of each word in columns of flags.
        lists: the lists in each record whose elements are events, by their kind.
        time_format: the format of times that are neither ISO 8601 nor numbers, as ``%d.%m.%Y``; empty
            if they need none.
        last_search: true if events without a search belong to the last one of their session.
        dimensions: the columns of each dimension, by which figures can be divided.
        preset: true if the columns are those of a product, which a log may lack.
        kpis: the file, if it declares KPIs in tables ``[[kpis]]``.
    """

    columns: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, str] = field(default_factory=lambda: ACTIONS)
    flags: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    time_zone: str = "UTC"
    rank_base: int | None = None
    format: str = ""
    ubi: bool = False
    zone_declared: bool = False
    flag_words: Mapping[str, bool] = field(default_factory=lambda: FLAG_WORDS)
    lists: Mapping[str, EventList] = field(default_factory=dict)
    time_format: str = ""
    last_search: bool = False
    dimensions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    preset: bool = False
    kpis: TomlFile | None = None

    @property
    def fields(self) -> dict[str, tuple[str, ...]]:
        """The columns of all fields, dimensions included."""
        dimensions = {f"{DIMENSION}{name}": columns for name, columns in self.dimensions.items()}
        return {**dict.fromkeys(FIELDS, ()), **self.columns, **dimensions}


_ATTRIBUTES = "event_attributes"
_OBJECT = f"{_ATTRIBUTES}.object"
UBI = LogMapping(
    {
        "at": ("timestamp",),
        "action": ("action_name",),
        "query_event_id": ("query_id", "ext.ubi.query_id"),
        "query": ("user_query", "ext.ubi.user_query"),
        "session": ("session_id", f"{_ATTRIBUTES}.session_id"),
        "user": ("user_id", "client_id"),
        "doc_id": (f"{_OBJECT}.object_id", f"{_OBJECT}.internal_id"),
        "rank": (
            f"{_ATTRIBUTES}.position.ordinal",
            f"{_ATTRIBUTES}.position.index",
            f"{_ATTRIBUTES}.position",
        ),
        "value": (
            f"{_ATTRIBUTES}.value",
            f"{_OBJECT}.object_detail.price",
            f"{_OBJECT}.object_detail.cost",
            f"{_OBJECT}.price",
        ),
        "seconds": (f"{_ATTRIBUTES}.dwell_time",),
        "variant": (f"{_ATTRIBUTES}.variant", "query_attributes.variant"),
        "page": ("query_attributes.page", f"{_ATTRIBUTES}.page"),
        "latency_ms": ("query_attributes.latency_ms", f"{_ATTRIBUTES}.latency_ms"),
        "cache_hit": ("query_attributes.cache_hit",),
        "hits": ("query_attributes.hits", f"{_ATTRIBUTES}.result_count"),
        "response_ids": ("query_response_hit_ids", "query_response_object_ids"),
        "application": ("application",),
        "attributes": (_ATTRIBUTES, "query_attributes"),
    },
    kinds=UBI_ACTIONS,
    ubi=True,
)
"""User Behavior Insights 1.0 to 1.3, with the variants that its exports have."""


def read_mapping(path: str | Path) -> LogMapping:
    """Read a mapping from a TOML file; the name of a preset stands for its file.

    Without ``[columns]`` the columns are those of User Behavior Insights, and ``[kinds]`` adds to
    its actions.

    Raises:
        InputError: an unknown key, or a value that does not fit; with its line.
    """
    if str(path) in PRESETS and not Path(path).exists():
        return replace(parse_mapping(preset_text(str(path)), str(path)), preset=True)
    return _make_mapping(TomlFile.read(path, code=_ERROR_CODE))


def parse_mapping(text: str, source: str) -> LogMapping:
    """Read a mapping from the text of a TOML file.

    Raises:
        InputError: as `read_mapping`.
    """
    return _make_mapping(TomlFile.parse(text, source, code=_ERROR_CODE))


def _make_mapping(toml: TomlFile) -> LogMapping:
    toml.check_keys(toml.values, ("log", "columns", "kinds", "flags", "lists", "dimensions", "kpis"))
    log = toml.values.get("log", {})
    log_keys = ("format", "time_zone", "time_format", "rank_base", "kind", "last_search")
    toml.check_keys(log, log_keys, "log")
    columns = toml.values.get("columns", {})
    toml.check_keys(columns, FIELDS, "columns")
    if not columns and ("columns" in toml.values or not toml.values):
        raise toml.error("[columns] names no column; name at least query and doc_id.", "columns")
    columns_by_field = {
        name: _column_names(toml, "columns", name, value) for name, value in columns.items()
    } or UBI.columns
    kinds = {
        normalize_action(action): kind
        for kind, actions in toml.values.get("kinds", {}).items()
        for action in _action_names(toml, kind, actions)
    }
    flags = dict(toml.values.get("flags", {}))
    flag_words = {
        **FLAG_WORDS,
        **{
            normalize_flag(word): flag
            for name, flag in (("yes", True), ("no", False))
            for word in _flag_words(toml, name, flags.pop(name, []))
        },
    }
    for kind, column in flags.items():
        _check_kind(toml, kind, "flags", kind)
        if not isinstance(column, str):
            raise toml.error(f"{kind} is the name of a column.", "flags", kind)
    _check_log(toml, log, columns_by_field)
    return LogMapping(
        columns_by_field,
        {**(ACTIONS if columns else UBI_ACTIONS), **kinds},
        flags,
        log.get("kind", ""),
        log.get("time_zone", "UTC"),
        log.get("rank_base"),
        log.get("format", ""),
        not columns,
        "time_zone" in log,
        flag_words,
        read_event_lists(toml, KINDS),
        log.get("time_format", ""),
        log.get("last_search", False),
        _dimensions(toml),
        kpis=toml if "kpis" in toml.values else None,
    )


def _dimensions(toml: TomlFile) -> dict[str, tuple[str, ...]]:
    dimensions = toml.values.get("dimensions", {})
    if not isinstance(dimensions, dict):
        raise toml.error("[dimensions] is a table of names and their columns.", "dimensions")
    for name in dimensions:
        if not re.fullmatch(r"[^\W\d]\w*", name) or name in (*COLUMNS, *SLICES):
            problem = f"no dimension can be called {name!r}; a name is a word such as country."
            raise toml.error(problem, "dimensions", name)
    return {name: _column_names(toml, "dimensions", name, value) for name, value in dimensions.items()}


def _flag_words(toml: TomlFile, name: str, value: object) -> list[object]:
    declared_words = value if isinstance(value, list) else [value]
    if not all(isinstance(word, str | int | float) for word in declared_words):
        raise toml.error(f"{name} is a value of the columns of flags, or a list of them.", "flags", name)
    return declared_words


def _check_log(toml: TomlFile, log: JsonObject, columns: JsonObject) -> None:
    from zoneinfo import ZoneInfo

    if not isinstance(log.get("last_search", False), bool):
        raise toml.error("last_search is true or false.", "log", "last_search")
    if log.get("rank_base") not in (None, 0, 1):
        raise toml.error("rank_base is 0 or 1.", "log", "rank_base")
    if log.get("format", "jsonl") not in ("jsonl", "csv", "parquet"):
        raise toml.error("format is jsonl, csv or parquet.", "log", "format")
    if "kind" in log:
        _check_kind(toml, log["kind"], "log", "kind")
    elif "action" not in columns:
        problem = "no column has the action; name it, or give kind in [log] for all rows."
        raise toml.error(problem, "columns")
    try:
        ZoneInfo(str(log.get("time_zone", "UTC")))
    except (KeyError, ValueError, OSError):
        problem = f"unknown time zone {log['time_zone']!r}; write it as Europe/Berlin."
        raise toml.error(problem, "log", "time_zone") from None
    time_format = log.get("time_format", "%Y")
    if not isinstance(time_format, str) or not re.search("%[yYsc]", time_format):
        problem = "time_format is a format with a year, such as %d.%m.%Y %H:%M:%S."
        raise toml.error(problem, "log", "time_format")


def _check_kind(toml: TomlFile, kind: object, *key: str) -> None:
    if kind not in KINDS:
        raise toml.error(f"unknown kind {kind!r}; known: {', '.join(KINDS)}.", *key)


def _action_names(toml: TomlFile, kind: str, actions: object) -> list[str]:
    _check_kind(toml, kind, "kinds", kind)
    names = [actions] if isinstance(actions, str) else actions
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise toml.error(f"{kind} is an action of the log, or a list of them.", "kinds", kind)
    return names


def _column_names(toml: TomlFile, table: str, name: str, value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(n, str) and n for n in names):
        raise toml.error(f"{name} is the name of a column, or a list of them.", table, name)
    return tuple(names)


_SUFFIXES = {
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".log": "jsonl",
    ".txt": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_READ_BY_DUCKDB = ("jsonl", "csv", "parquet")
_FIRST_RECORDS = 1000
_MAX_LINE_LENGTH = 16_000_000  # bytes of a line


@dataclass(frozen=True)
class LogFile:
    """A file of a log, or a table in one.

    Attributes:
        path: the path of the file that DuckDB reads.
        label: the user's name for it: ``FILE``, or ``FILE:TABLE``.
        format: the name of the format, if the user or the file states it; else empty.
    """

    path: Path
    label: str
    format: str = ""

    @property
    def name(self) -> str:
        """The label without its folders."""
        return Path(self.label).name

    def sha256(self) -> str:
        """The hash of the contents."""
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()


def list_log_files(logs: Source | Sequence[Source], folder: Path) -> list[LogFile]:
    """The files of a log; a folder gives its part files.

    Args:
        logs: paths; ``FORMAT:PATH`` names the format, ``FILE:TABLE`` a table of a database.
        folder: the folder for Parquet files of tables that DuckDB does not read.

    Raises:
        InputError: a file that does not exist or is not a table; a folder without part files.
    """
    log_paths = [logs] if isinstance(logs, str | Path) else logs
    files: list[LogFile] = []
    for path in log_paths:
        name, plain = registry.split_prefix(path)
        origin = open_source(plain)
        for file in list_part_files(origin) if is_folder(origin) else [origin]:
            files.append(_log_file(file, name, folder / f"table{len(files)}.parquet"))
    return files


def _log_file(origin: InputFile, name: str | None, target: Path) -> LogFile:
    """A file that DuckDB reads: the file itself, its table as Parquet, or its JSON list as lines."""
    if origin.path is None or not origin.path.is_file():
        raise InputError("there is no such file.", source=origin.label, code="cannot-read")
    form = "" if name is None else {"tsv": "csv"}.get(name, name)
    if form in ("", "jsonl") and origin.head().lstrip()[:1] == b"[":
        lines = target.with_suffix(".jsonl")
        lines.write_text("".join(f"{json.dumps(record)}\n" for record in read_document(origin)))
        return LogFile(lines, origin.label, "jsonl")
    if form in _READ_BY_DUCKDB or (not form and not _is_other_table(origin)):
        return LogFile(origin.path, origin.label, form)
    table_input, table_format = registry.open_table(origin if name is None else f"{name}:{origin.label}")
    assert table_format is not None
    assert table_format.table is not None
    table_format.table(table_input).frame().collect().write_parquet(target)
    return LogFile(target, origin.label, "parquet")


def _is_other_table(origin: InputFile) -> bool:
    """True for binary files that DuckDB does not read as logs: databases, workbooks, Arrow."""
    first_bytes = origin.head()
    return not first_bytes.startswith(b"PAR1") and any(
        registry.find_format(name).sniff(first_bytes, "") for name in ("arrow", "sqlite", "duckdb", "excel")
    )


def format_of(file: LogFile, mapping: LogMapping) -> str:
    """``jsonl``, ``csv`` or ``parquet``.

    Raises:
        InputError: an unknown suffix, and no format in the mapping.
    """
    if file.format or mapping.format:
        return file.format or mapping.format
    suffix = suffix_of(file.path)
    if suffix not in _SUFFIXES:
        problem = (
            f"cannot tell the format of {suffix or 'a file without suffix'}; name it with --from "
            f"{', '.join(_READ_BY_DUCKDB)}, or FORMAT:{file.label}."
        )
        raise InputError(problem, source=file.label, code="unknown-format")
    return _SUFFIXES[suffix]


def is_event_table(base: Database, file: LogFile) -> bool:
    """True if a file is a Parquet table of events."""
    if file.format != "parquet" and file.path.suffix not in (".parquet", ".pq"):
        return False
    check_file(file.path)
    path_sql = quote_text(str(file.path))
    names = base.rows(f"DESCRIBE SELECT * FROM read_parquet({path_sql})")["column_name"]
    return is_event_schema(names)


def first_records(base: Database, file: LogFile, mapping: LogMapping) -> list[JsonObject]:
    """Some of the first records, by columns or keys; empty if no line is a JSON object."""
    kind = format_of(file, mapping)
    if kind == "jsonl":
        load_log(base, file, mapping)
        lines = base.rows(f"SELECT line FROM lines WHERE json_valid(line) LIMIT {_FIRST_RECORDS}")
    else:
        path_sql = quote_text(str(file.path))
        options = f", all_varchar=true, delim={quote_text(_separator(file.path))}" if kind == "csv" else ""
        reader = f"read_{kind}({path_sql}{options})"
        with _errors_of_file(file, kind):
            lines = base.rows(
                f"SELECT to_json(record)::VARCHAR FROM {reader} AS record LIMIT {_FIRST_RECORDS}"
            )
    return [record for line in lines.to_series() if isinstance(record := json.loads(line), dict)]


def load_log(base: Database, file: LogFile, mapping: LogMapping) -> None:
    """Make the view ``raw`` with ``source_line``, ``invalid``, and each field as text.

    Raises:
        InputError: a file that cannot be read as its format, such as UTF-16 or an archive; a
            column that it does not have.
    """
    kind = format_of(file, mapping)
    with _errors_of_file(file, kind):
        if kind == "jsonl":
            _load_json_lines(base, file.path, mapping)
        else:
            _load_table(base, file, mapping, kind)


@contextmanager
def _errors_of_file(file: LogFile, kind: str) -> Iterator[None]:
    """Turn errors of the database into errors that name the file."""
    import duckdb

    if problem := registry.unsupported_problem(InputFile(file.path).head()):
        raise InputError(problem, source=file.label, code="cannot-read")
    try:
        yield
    except InputError as error:  # the database's error does not name the file
        raise InputError(error.problem, source=file.label, code=error.code) from None
    except duckdb.Error as error:
        problem = f"cannot be read as {kind}: {str(error).splitlines()[0]}"
        raise InputError(problem, source=file.label, code="cannot-read") from None


def _load_json_lines(base: Database, path: Path, mapping: LogMapping) -> None:
    """Load one JSON record per line; also bulk files of OpenSearch and ``index<TAB>json``."""
    base.run(
        "CREATE OR REPLACE TEMP TABLE lines AS SELECT row_number() OVER () AS number, CASE WHEN NOT line "
        "LIKE '{%' THEN regexp_replace(line, '^[^{]*\t\\s*', '') WHEN line LIKE '%\"_source\"%' AND "
        "json_valid(line) THEN coalesce(json_extract(line, '$._source')::VARCHAR, line) ELSE line END AS "
        "line FROM "
        f"read_csv({quote_text(str(path))}, columns={{'line': 'VARCHAR'}}, delim='\x01', quote='', "
        f"escape='', header=false, auto_detect=false, new_line='\\n', max_line_size={_MAX_LINE_LENGTH}, "
        f"null_padding=true, strict_mode=false, store_rejects=true)"
    )
    base.run(
        "CREATE OR REPLACE TEMP TABLE gaps AS SELECT line - row_number() OVER (ORDER BY line) AS kept FROM "
        "(SELECT DISTINCT line FROM reject_errors)"
    )
    shift = ""
    if rejected := base.first_value("SELECT count(*) FROM gaps"):
        shift = " + (SELECT count(*) FROM gaps WHERE kept < number)"
    base.run("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
    mapped_paths = dict.fromkeys(path for path in column_paths(mapping) if path)
    paths = list(dict.fromkeys(_KEYED.sub("", path) for path in mapped_paths))
    json_paths = ", ".join(quote_text(_json_path(path)) for path in [*paths, "index", "create"])
    sql_of_path = {
        path: _element_sql(path, f"found[{paths.index(_KEYED.sub('', path)) + 1}]") for path in mapped_paths
    }
    container_mark = f"coalesce(found[{len(paths) + 1}], found[{len(paths) + 2}])"
    base.run(
        f"CREATE OR REPLACE TEMP VIEW raw AS SELECT number{shift} AS source_line, "
        f"{_mapped_sql(mapping, sql_of_path)}, found IS NULL AS invalid, {container_mark} IS NOT NULL AS "
        "container FROM (SELECT number, CASE WHEN json_valid(line) THEN json_extract_string(line, "
        f"[{json_paths}]) END AS found FROM lines WHERE "
        "trim(line, ' \t\r') != '')"
    )
    base.run(
        "CREATE OR REPLACE TEMP TABLE counts AS SELECT (SELECT count(*) FROM lines) + "
        f"{rejected} AS lines, {rejected} AS undecoded"
    )
    if not (mapping.ubi or mapping.preset):
        _refuse_missing_keys(base, mapping, path)


_CHECKED_RECORDS = 10_000  # before all records are searched for a path


def _refuse_missing_keys(base: Database, mapping: LogMapping, path: Path) -> None:
    """Refuse a mapping with a path that no record has; a null is a value of a record that has it."""
    mapped = dict(_mapped_columns(mapping))
    texts = {name: f"f_{name}" for name in mapping.fields} | {name: f"text_{name}" for name in mapping.flags}
    columns = {name: quote_identifier(texts.get(name, f"list_{name}")) for name in mapped}
    sums = ", ".join(f"bool_or({column} IS NOT NULL)" for column in columns.values())
    first_rows = f"(SELECT * FROM raw WHERE NOT invalid LIMIT {_CHECKED_RECORDS})"
    has_value = base.rows(f"SELECT {sums} FROM {first_rows}").row(0)
    is_object = "json_valid(line) AND json_type(line) = 'OBJECT'"
    for (name, paths), is_present in zip(mapped.items(), has_value, strict=True):
        steps = [quote_text(_json_path(_KEYED.sub("", path))) for path in paths]
        exists = " OR ".join(f"json_exists(line, {step})" for step in steps)
        if is_present is False and not base.first_value(
            f"SELECT bool_or(CASE WHEN {is_object} THEN {exists} END) FROM lines"
        ):
            keys = base.rows(
                f"SELECT DISTINCT unnest(json_keys(line)) FROM (SELECT line FROM lines WHERE {is_object} "
                f"LIMIT {_FIRST_RECORDS})"
            )
            raise _missing_column(name, paths, sorted(keys.to_series()), str(path))


def _separator(path: Path) -> str:
    """The separator of the columns of a CSV file, found as for tables of judgments: lists may hold others."""
    first_bytes = InputFile(path).head()
    if 0 < first_bytes.count(b"\r\n") < first_bytes.count(b"\n"):  # DuckDB takes one end for all lines
        problem = "some lines end in CR LF and others in LF alone; write the same end for all."
        raise InputError(problem, source=str(path), code="cannot-read")
    return separator_of(first_bytes) or likely_separator(first_bytes)


def _load_table(base: Database, file: LogFile, mapping: LogMapping, kind: str) -> None:
    path_sql = quote_text(str(file.path))
    source, separator = f"read_parquet({path_sql}, file_row_number=true)", ""
    if kind == "csv":
        separator = _separator(file.path)
        source = (
            f"read_csv({path_sql}, all_varchar=true, header=true, delim={quote_text(separator)}, "
            f"store_rejects=true, null_padding=false, max_line_size={_MAX_LINE_LENGTH}, sample_size=2048)"
        )
    types = dict(base.rows(f"DESCRIBE SELECT * FROM {source}")["column_name", "column_type"].iter_rows())
    sql_of_path = {path: _column_sql(path, types) for path in column_paths(mapping)}
    may_lack_columns = mapping.ubi or mapping.preset
    for name, paths in _mapped_columns(mapping):
        if not may_lack_columns and all(sql_of_path[path] == "NULL" for path in paths):
            raise _missing_column(name, paths, [*types], file.label)
    mapped = _mapped_sql(mapping, sql_of_path, separator)
    number = "file_row_number + 1" if kind == "parquet" else "row_number() OVER () + 1"
    base.run(
        f"CREATE OR REPLACE TEMP VIEW raw AS SELECT {number} AS source_line, {mapped}, false AS invalid, "
        f"false AS container FROM {source}"
    )
    base.run("CREATE OR REPLACE TEMP TABLE counts AS SELECT NULL::BIGINT AS lines, 0 AS undecoded")


def _mapped_columns(mapping: LogMapping) -> Iterator[tuple[str, list[str]]]:
    """The paths of each field, flag and list that a mapping names."""
    for name, alternatives in mapping.fields.items():
        if alternatives:
            yield name, [path for alternative in alternatives for path in alternative.split("+")]
    for kind, column in mapping.flags.items():
        yield kind, [column]
    for kind, elements in mapping.lists.items():
        yield kind, [elements.column]


def _missing_column(name: str, paths: Sequence[str], columns: Sequence[str], label: str) -> InputError:
    problem = f"there is no column {' or '.join(paths)} for {name}; the columns are {', '.join(columns)}."
    return InputError(problem, source=label, code="missing-column")


def column_paths(mapping: LogMapping) -> list[str]:
    """The columns and paths of all fields, flags and lists that a mapping names."""
    return [path for _, paths in _mapped_columns(mapping) for path in paths]


_KEYED = re.compile(r"\[[^\]]*\].*")


def _element_sql(path: str, text: str) -> str:
    """SQL of ``list[0].key``, or of the value with a key in a list of keys and values: ``params[term]``.

    The value of an object with one member is that member, as in ``{"string_value": "tv"}``.
    """
    match = _KEYED.search(path)
    if not match:
        return text
    key, _, inner_path = match[0][1:].partition("]")
    array = f"CASE WHEN json_valid({text}) THEN {text} END"
    if key.isdigit():
        return f"json_extract_string({array}, {quote_text(f'$[{key}]' + inner_path)})"
    elements = f"from_json(CASE WHEN json_type({array}) = 'ARRAY' THEN {array} END, '[\"JSON\"]')"
    name = "coalesce(e->>'$.key', e->>'$.name')"
    element = f"[e FOR e IN {elements} IF {name} = {quote_text(key)}][1]"
    if inner_path:
        return f"json_extract_string({element}, {quote_text('$' + inner_path)})"
    value = f"json_extract({element}, '$.value')"
    members = f"[m FOR m IN json_extract_string({value}, '$.*') IF m IS NOT NULL]"
    return f"CASE WHEN json_type({value}) = 'OBJECT' THEN {members}[1] ELSE {value}->>'$' END"


def _json_path(path: str) -> str:
    return "$" + "".join(f".{json.dumps(key, ensure_ascii=False)}" for key in path.split("."))


def _column_sql(path: str, types: Mapping[str, str]) -> str:
    """SQL of a column, of a part of a nested column, or of a part of a column with JSON."""
    if path not in types and _KEYED.search(path):
        array_sql = _column_sql(_KEYED.sub("", path), types)
        return array_sql if array_sql == "NULL" else _element_sql(path, array_sql)
    if path in types:
        is_nested = types[path].endswith("]") or types[path].startswith(("STRUCT", "MAP"))
        column = quote_identifier(path)
        return f"CAST({f'to_json({column})' if is_nested else column} AS VARCHAR)"
    first, _, inner_path = path.partition(".")
    if inner_path and first in types:
        column = quote_identifier(first)
        json_text = f"CASE WHEN json_valid(to_json({column})->>'$') THEN to_json({column})->>'$' END"
        return f"json_extract_string({json_text}, {quote_text(_json_path(inner_path))})"
    return "NULL"


_DECIMALS = ("value", "latency_ms", "seconds")


def _mapped_sql(mapping: LogMapping, sql_of_path: dict[str, str], separator: str = "") -> str:
    """SQL of fields as texts in columns ``f_NAME``, of flags, and of lists as JSON in ``list_KIND``.

    Files with semicolons between columns have decimal commas. An empty cell of the results of a search
    is an empty list, as in tables of judgments; a null of JSON or Parquet says nothing.
    """
    texts = {name: _field_sql(name, mapping, sql_of_path) for name in mapping.fields}
    texts["response_ids"] = list_sql(texts["response_ids"])
    if separator and mapping.kind == "search" and mapping.fields["response_ids"]:
        texts["response_ids"] = f"coalesce({texts['response_ids']}, '[]')"
    if separator == ";":
        for name in _DECIMALS:
            text = texts[name]
            texts[name] = (
                f"CASE WHEN regexp_full_match({text}, '-?[0-9.]*,[0-9]+') THEN replace(replace({text}, '.', "
                f"''), ',', '.') ELSE {text} END"
            )
    fields = (f"{text} AS {quote_identifier(f'f_{name}')}" for name, text in texts.items())
    lists = (
        f"{text if elements.doc_id else list_sql(text)} AS list_{kind}"
        for kind, elements in mapping.lists.items()
        for text in [sql_of_path[elements.column]]
    )
    return ", ".join([*fields, *_flag_columns_sql(mapping, sql_of_path), *lists])


def _field_sql(name: str, mapping: LogMapping, sql_of_path: dict[str, str]) -> str:
    """SQL of a field as text: the first of its columns that is not empty."""
    parts = []
    for alternative in mapping.fields[name]:
        texts = [f"nullif({sql_of_path[path]}, '')" for path in alternative.split("+")]
        parts.append(texts[0] if len(texts) == 1 else f"({' || chr(31) || '.join(texts)})")
    return f"coalesce({', '.join([*parts, 'NULL'])})" if parts else "CAST(NULL AS VARCHAR)"


_MAX_COUNT = "[0-9]{1,3}"  # a larger number is no count of the clicks on one result


def _flag_columns_sql(mapping: LogMapping, sql_of_path: dict[str, str]) -> Iterator[str]:
    """SQL of columns for each flag: its text, and how many events of this kind the row is.

    The number is null without a text, and -1 for a text that is neither yes nor no.
    """
    text_of_flag = {kind: sql_of_path[column] for kind, column in mapping.flags.items()}
    text_of_flag["cache_hit"] = _field_sql("cache_hit", mapping, sql_of_path)
    yes, no = (
        ", ".join(quote_text(word) for word, flag in mapping.flag_words.items() if flag is meaning)
        for meaning in (True, False)
    )
    for kind, text in text_of_flag.items():
        word = f"nullif(regexp_replace(lower(trim({text}, ' \t\r')), '\\.0+$', ''), '')"
        count = f"WHEN regexp_full_match({word}, '{_MAX_COUNT}') THEN CAST({word} AS INTEGER) "
        yield (
            f"{text} AS text_{kind}, CASE WHEN {word} IS NULL THEN NULL WHEN {word} IN ({yes}) THEN 1 WHEN "
            f"{word} IN ({no}) THEN 0 {count * (kind == 'click')}ELSE -1 END AS flag_{kind}"
        )


def refuse_unclear_flags(base: Database, file: LogFile, mapping: LogMapping) -> None:
    """Refuse a log whose columns of flags have values other than yes and no.

    Args:
        base: the database with the view ``raw`` and the table ``staged``.
        file: the file that was read.
        mapping: the mapping with which the file was read.

    Raises:
        InputError: a value that is neither, with its line and the values that the column has.
    """
    for kind in (*mapping.flags, "cache_hit"):
        line = base.first_value(f"SELECT min(source_line) FROM staged WHERE flag_{kind} = -1")
        if line is None:
            continue
        values = base.rows(
            f"SELECT text_{kind} AS text, count(*) AS n, min(flag_{kind}) AS flag FROM raw WHERE "
            f"text_{kind} IS NOT NULL GROUP BY 1 ORDER BY flag, n DESC, text LIMIT {_MAX_VALUES}"
        )
        counts = ", ".join(f"{text!r} ({n:,})" for text, n, _ in values.iter_rows())
        unclear = json.dumps(values["text"][0], ensure_ascii=False)
        column = mapping.flags.get(kind) or " or ".join(mapping.columns["cache_hit"])
        count = ", or a number of clicks up to 999" * (kind == "click")
        problem = (
            f"{column} is neither yes nor no; its values are {counts}. Write "
            f"{', '.join(FLAG_WORDS)}{count}; or say in the mapping, under [flags], what a value means: "
            f"yes = [{unclear}] or no = [{unclear}]."
        )
        raise InputError(problem, source=file.label, line=line, code="invalid-flag")


_MAX_VALUES = 5  # values that a message names
