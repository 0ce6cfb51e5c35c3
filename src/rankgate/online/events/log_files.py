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
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.checksums import check_file
from rankgate.core.declare.flag_words import FLAG_WORDS, normalize_flag
from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import suffix_of
from rankgate.data.formats import registry
from rankgate.data.streams.input_parts import is_folder, list_part_files
from rankgate.data.streams.source import InputFile, open_source
from rankgate.online.events.event_lists import EventList, read_event_lists
from rankgate.online.events.event_table import ACTIONS, KINDS, UBI_ACTIONS
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
    """Read a mapping from a TOML file: ``[log]``, ``[columns]``, ``[kinds]``, ``[flags]``, ``[lists]``.

    Without ``[columns]`` the columns are those of User Behavior Insights, and ``[kinds]`` adds to
    its actions.

    Raises:
        InputError: an unknown key, or a value that does not fit; with its line.
    """
    toml = TomlFile.read(path, code=_ERROR_CODE)
    toml.check_keys(toml.values, ("log", "columns", "kinds", "flags", "lists"))
    log = toml.values.get("log", {})
    toml.check_keys(log, ("format", "time_zone", "time_format", "rank_base", "kind"), "log")
    columns = toml.values.get("columns", {})
    toml.check_keys(columns, FIELDS, "columns")
    if not columns and ("columns" in toml.values or not toml.values):
        raise toml.error("[columns] names no column; name at least query and doc_id.", "columns")
    columns_by_field = {
        name: _column_names(toml, name, value) for name, value in columns.items()
    } or UBI.columns
    kinds = {
        re.sub("[- ]", "_", action.lower()): kind
        for kind, actions in toml.values.get("kinds", {}).items()
        for action in _action_names(toml, kind, actions)
    }
    flags = dict(toml.values.get("flags", {}))
    flag_words = {
        **FLAG_WORDS,
        **{
            normalize_flag(word): flag
            for name, flag in _DECLARED_WORDS.items()
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
    )


_DECLARED_WORDS = {"yes": True, "no": False}


def _flag_words(toml: TomlFile, name: str, value: object) -> list[object]:
    declared_words = value if isinstance(value, list) else [value]
    if not all(isinstance(word, str | int | float) for word in declared_words):
        raise toml.error(f"{name} is a value of the columns of flags, or a list of them.", "flags", name)
    return declared_words


def _check_log(toml: TomlFile, log: JsonObject, columns: JsonObject) -> None:
    from zoneinfo import ZoneInfo

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


def _column_names(toml: TomlFile, name: str, value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise toml.error(f"{name} is the name of a column, or a list of them.", "columns", name)
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
    """A file that DuckDB reads: the file itself, or its table as Parquet."""
    if origin.path is None or not origin.path.is_file():
        raise InputError("there is no such file.", source=origin.label, code="cannot-read")
    form = "" if name is None else {"tsv": "csv"}.get(name, name)
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
    return {"kind", "at", "query_event_id"} <= set(names)


def first_records(base: Database, file: LogFile, mapping: LogMapping) -> list[JsonObject]:
    """Some of the first records, by columns or keys; empty if no line is a JSON object."""
    kind = format_of(file, mapping)
    if kind == "jsonl":
        load_log(base, file, mapping)
        lines = base.rows(f"SELECT line FROM lines WHERE json_valid(line) LIMIT {_FIRST_RECORDS}")
    else:
        options = ", all_varchar=true" if kind == "csv" else ""
        reader = f"read_{kind}({quote_text(str(file.path))}{options})"
        lines = base.rows(f"SELECT to_json(record)::VARCHAR FROM {reader} AS record LIMIT {_FIRST_RECORDS}")
    return [record for line in lines.to_series() if isinstance(record := json.loads(line), dict)]


def load_log(base: Database, file: LogFile, mapping: LogMapping) -> None:
    """Make the view ``raw`` with ``source_line``, ``invalid``, and each field as text.

    Raises:
        InputError: a file that cannot be read as its format, such as UTF-16 or an archive; a
            column that it does not have.
    """
    import duckdb

    kind = format_of(file, mapping)
    if problem := registry.unsupported_problem(InputFile(file.path).head()):
        raise InputError(problem, source=file.label, code="cannot-read")
    try:
        if kind == "jsonl":
            _load_json_lines(base, file.path, mapping)
        else:
            _load_table(base, file, mapping, kind)
    except InputError as error:  # the database's error does not name the file
        raise InputError(error.problem, source=file.label, code=error.code) from None
    except duckdb.Error as error:
        message = str(error).splitlines()[0]
        problem = f"cannot be read as {kind}: {message}"
        raise InputError(problem, source=file.label, code="cannot-read") from None


def _load_json_lines(base: Database, path: Path, mapping: LogMapping) -> None:
    """Load one JSON record per line; also bulk files of OpenSearch and ``index<TAB>json``."""
    base.run(
        "CREATE OR REPLACE TEMP TABLE lines AS SELECT row_number() OVER () AS number, CASE WHEN line LIKE "
        "'{%' THEN line ELSE regexp_replace(line, '^[^{]*\t\\s*', '') END AS line FROM "
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
    paths = list(dict.fromkeys(path for path in _column_paths(mapping) if path))
    json_paths = ", ".join(quote_text(_json_path(path)) for path in [*paths, "index", "create"])
    sql_of_path = {path: f"found[{index}]" for index, path in enumerate(paths, 1)}
    container_mark = f"coalesce(found[{len(paths) + 1}], found[{len(paths) + 2}])"
    texts = ", ".join(f"{_field_sql(name, mapping, sql_of_path)} AS f_{name}" for name in FIELDS)
    flags = _flag_columns_sql(mapping, sql_of_path) + _list_columns_sql(mapping, sql_of_path)
    base.run(
        f"CREATE OR REPLACE TEMP VIEW raw AS SELECT number{shift} AS source_line, {texts}, {flags}"
        f"found IS NULL AS invalid, {container_mark} IS NOT NULL AS container FROM (SELECT number, CASE WHEN "
        f"json_valid(line) THEN json_extract_string(line, [{json_paths}]) END AS found FROM lines WHERE "
        "trim(line, ' \t\r') != '')"
    )
    base.run(
        "CREATE OR REPLACE TEMP TABLE counts AS SELECT (SELECT count(*) FROM lines) + "
        f"{rejected} AS lines, {rejected} AS undecoded"
    )


def _load_table(base: Database, file: LogFile, mapping: LogMapping, kind: str) -> None:
    path_sql = quote_text(str(file.path))
    source = f"read_parquet({path_sql}, file_row_number=true)"
    if kind == "csv":
        source = (
            f"read_csv({path_sql}, all_varchar=true, header=true, store_rejects=true, null_padding=false, "
            f"max_line_size={_MAX_LINE_LENGTH}, sample_size=2048)"
        )
    types = dict(base.rows(f"DESCRIBE SELECT * FROM {source}")["column_name", "column_type"].iter_rows())
    columns = list(types)
    sql_of_path = {path: _column_sql(path, types) for path in _column_paths(mapping)}
    if not mapping.ubi:
        _refuse_missing(mapping, sql_of_path, file, columns)
    texts = ", ".join(f"{_field_sql(name, mapping, sql_of_path)} AS f_{name}" for name in FIELDS)
    number = "file_row_number + 1" if kind == "parquet" else "row_number() OVER () + 1"
    base.run(
        f"CREATE OR REPLACE TEMP VIEW raw AS SELECT {number} AS source_line, {texts}, "
        f"{_flag_columns_sql(mapping, sql_of_path)}{_list_columns_sql(mapping, sql_of_path)}"
        f"false AS invalid, false AS container FROM {source}"
    )
    base.run("CREATE OR REPLACE TEMP TABLE counts AS SELECT NULL::BIGINT AS lines, 0 AS undecoded")


def _refuse_missing(
    mapping: LogMapping, sql_of_path: dict[str, str], file: LogFile, columns: list[str]
) -> None:
    names = [
        *mapping.columns.items(),
        *((kind, (column,)) for kind, column in mapping.flags.items()),
        *((kind, (elements.column,)) for kind, elements in mapping.lists.items()),
    ]
    for name, alternatives in names:
        if all(path not in sql_of_path for alternative in alternatives for path in alternative.split("+")):
            continue
        if all(
            sql_of_path[path] == "NULL" for alternative in alternatives for path in alternative.split("+")
        ):
            problem = (
                f"there is no column {' or '.join(alternatives)} for {name}; the columns are "
                f"{', '.join(columns)}."
            )
            raise InputError(problem, source=file.label, code="missing-column")


def _column_paths(mapping: LogMapping) -> list[str]:
    joined_paths = [joined_path for names in mapping.columns.values() for joined_path in names]
    return [
        path for joined_path in [*joined_paths, *mapping.flags.values()] for path in joined_path.split("+")
    ] + [elements.column for elements in mapping.lists.values()]


def _json_path(path: str) -> str:
    return "$" + "".join(f".{json.dumps(key, ensure_ascii=False)}" for key in path.split("."))


def _column_sql(path: str, types: Mapping[str, str]) -> str:
    """SQL of a column, of a part of a nested column, or of a part of a column with JSON."""
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


def _field_sql(name: str, mapping: LogMapping, sql_of_path: dict[str, str]) -> str:
    """SQL of a field as text: the first of its columns that is not empty."""
    parts = []
    for alternative in mapping.columns.get(name, ()):
        texts = [f"nullif({sql_of_path[path]}, '')" for path in alternative.split("+")]
        parts.append(texts[0] if len(texts) == 1 else f"({' || chr(31) || '.join(texts)})")
    return f"coalesce({', '.join([*parts, 'NULL'])})" if parts else "CAST(NULL AS VARCHAR)"


def _list_columns_sql(mapping: LogMapping, sql_of_path: dict[str, str]) -> str:
    """SQL of a column for each list, as JSON."""
    return "".join(
        f"{sql_of_path[elements.column]} AS list_{kind}, " for kind, elements in mapping.lists.items()
    )


_MAX_COUNT = "[0-9]{1,3}"  # a larger number is no count of the clicks on one result


def _flag_columns_sql(mapping: LogMapping, sql_of_path: dict[str, str]) -> str:
    """SQL of columns for each flag: its text, and how many events of this kind the row is.

    The number is null without a text, and -1 for a text that is neither yes nor no.
    """
    text_of_flag = {kind: sql_of_path[column] for kind, column in mapping.flags.items()}
    text_of_flag["cache_hit"] = _field_sql("cache_hit", mapping, sql_of_path)
    yes, no = (
        ", ".join(quote_text(word) for word, flag in mapping.flag_words.items() if flag is meaning)
        for meaning in (True, False)
    )
    columns = []
    for kind, text in text_of_flag.items():
        word = f"nullif(regexp_replace(lower(trim({text}, ' \t\r')), '\\.0+$', ''), '')"
        count = f"WHEN regexp_full_match({word}, '{_MAX_COUNT}') THEN CAST({word} AS INTEGER) "
        columns.append(
            f"{text} AS text_{kind}, CASE WHEN {word} IS NULL THEN NULL WHEN {word} IN ({yes}) THEN 1 WHEN "
            f"{word} IN ({no}) THEN 0 {count * (kind == 'click')}ELSE -1 END AS flag_{kind}, "
        )
    return "".join(columns)


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
