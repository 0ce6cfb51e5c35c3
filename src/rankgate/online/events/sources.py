"""Files of logs as SQL: the fields of a mapping as text, with the line of each record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.core.target import suffix_of
from rankgate.data.formats import unsupported
from rankgate.data.streams.source import InputFile
from rankgate.online.database import named, quoted
from rankgate.online.events.mapping import FIELDS

if TYPE_CHECKING:
    from rankgate.online.database import Database
    from rankgate.online.events.mapping import LogMapping

_SUFFIXES = {
    ".json": "jsonl", ".jsonl": "jsonl", ".ndjson": "jsonl", ".log": "jsonl", ".txt": "jsonl",
    ".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_LONGEST = 16_000_000  # bytes of a line


def format_of(path: Path, mapping: LogMapping) -> str:
    """``jsonl``, ``csv`` or ``parquet``.

    Raises:
        InputError: a suffix that says nothing, and no format in the mapping.
    """
    if mapping.format:
        return mapping.format
    suffix = suffix_of(path)
    if suffix not in _SUFFIXES:
        problem = f"cannot tell the format of {suffix or 'a file without suffix'}; use a mapping."
        raise InputError(problem, source=str(path), code="unknown-format")
    return _SUFFIXES[suffix]


def is_event_table(base: Database, path: Path) -> bool:
    """True if a file is a Parquet table of events."""
    if path.suffix not in (".parquet", ".pq") or not path.is_file():
        return False
    names = base.rows(f"DESCRIBE SELECT * FROM read_parquet({quoted(str(path))})")["column_name"]
    return {"kind", "at", "query_event_id"} <= set(names)


def column_names(base: Database, path: Path, mapping: LogMapping) -> list[str]:
    """The columns of a table, or the keys of the first JSON record."""
    kind = format_of(path, mapping)
    if kind == "jsonl":
        load(base, path, mapping)
        keys = base.one("SELECT json_keys(line) FROM lines WHERE json_valid(line) LIMIT 1")
        return list(keys if keys is not None else [])
    reader = f"read_{kind}({quoted(str(path))}{', all_varchar=true' if kind == 'csv' else ''})"
    return base.rows(f"DESCRIBE SELECT * FROM {reader}")["column_name"].to_list()


def load(base: Database, path: Path, mapping: LogMapping) -> None:
    """Make the view ``raw``: ``source_line``, ``invalid``, and a text for each field.

    Raises:
        InputError: a file that cannot be read as its format, such as UTF-16 or an archive; a
            column that it does not have.
    """
    import duckdb

    kind = format_of(path, mapping)
    if problem := unsupported.problem(InputFile(path).head()):
        raise InputError(problem, source=str(path), code="cannot-read")
    try:
        if kind == "jsonl":
            _lines(base, path, mapping)
        else:
            _table(base, path, mapping, kind)
    except InputError as error:  # of the database, which does not know what file it reads
        raise InputError(error.problem, source=str(path), code=error.code) from None
    except duckdb.Error as error:
        words = str(error).splitlines()[0]
        problem = f"cannot be read as {kind}: {words}"
        raise InputError(problem, source=str(path), code="cannot-read") from None


def _lines(base: Database, path: Path, mapping: LogMapping) -> None:
    """One JSON record a line; bulk files of OpenSearch and ``index<TAB>json`` too."""
    base.run(
        "CREATE OR REPLACE TEMP TABLE lines AS SELECT row_number() OVER () AS number, "
        "CASE WHEN line LIKE '{%' THEN line ELSE regexp_replace(line, '^[^{]*\t\\s*', '') END "
        f"AS line FROM read_csv({quoted(str(path))}, columns={{'line': 'VARCHAR'}}, "
        f"delim='\x01', quote='', escape='', header=false, auto_detect=false, new_line='\\n', "
        f"max_line_size={_LONGEST}, null_padding=true, strict_mode=false, store_rejects=true)"
    )
    base.run(
        "CREATE OR REPLACE TEMP TABLE gaps AS SELECT line - row_number() OVER (ORDER BY line) "
        "AS kept FROM (SELECT DISTINCT line FROM reject_errors)"
    )
    shift = ""
    if rejected := base.one("SELECT count(*) FROM gaps"):
        shift = " + (SELECT count(*) FROM gaps WHERE kept < number)"
    base.run("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
    paths = list(dict.fromkeys(each for each in _paths(mapping) if each))
    asked = ", ".join(quoted(_json_path(each)) for each in [*paths, "index", "create"])
    at = {each: f"found[{place}]" for place, each in enumerate(paths, 1)}
    marks = f"coalesce(found[{len(paths) + 1}], found[{len(paths) + 2}])"
    texts = ", ".join(f"{_text(name, mapping, at)} AS f_{name}" for name in FIELDS)
    flags = _flags(mapping, at)
    base.run(
        f"CREATE OR REPLACE TEMP VIEW raw AS SELECT number{shift} AS source_line, {texts}, {flags}"
        f"found IS NULL AS invalid, {marks} IS NOT NULL AS container FROM (SELECT number, CASE "
        f"WHEN json_valid(line) THEN json_extract_string(line, [{asked}]) END AS found FROM lines "
        "WHERE trim(line, ' \t\r') != '')"
    )
    base.run("CREATE OR REPLACE TEMP TABLE counts AS SELECT (SELECT count(*) FROM lines) "
             f"+ {rejected} AS lines, {rejected} AS undecoded")  # fmt: skip


def _table(base: Database, path: Path, mapping: LogMapping, kind: str) -> None:
    place = quoted(str(path))
    source = f"read_parquet({place}, file_row_number=true)"
    if kind == "csv":
        source = (
            f"read_csv({place}, all_varchar=true, header=true, store_rejects=true, "
            f"null_padding=false, max_line_size={_LONGEST}, sample_size=2048)"
        )
    columns = base.rows(f"DESCRIBE SELECT * FROM {source}")["column_name"].to_list()
    at = {each: _column(each, columns) for each in _paths(mapping)}
    if not mapping.ubi:
        _refuse_missing(mapping, at, path, columns)
    texts = ", ".join(f"{_text(name, mapping, at)} AS f_{name}" for name in FIELDS)
    number = "file_row_number + 1" if kind == "parquet" else "row_number() OVER () + 1"
    base.run(
        f"CREATE OR REPLACE TEMP VIEW raw AS SELECT {number} AS source_line, {texts}, "
        f"{_flags(mapping, at)} false AS invalid, false AS container FROM {source}"
    )
    base.run("CREATE OR REPLACE TEMP TABLE counts AS SELECT NULL::BIGINT AS lines, 0 AS undecoded")


def _refuse_missing(
    mapping: LogMapping, at: dict[str, str], path: Path, columns: list[str]
) -> None:
    names = [*mapping.columns.items(), *((kind, (each,)) for kind, each in mapping.flags.items())]
    for name, alternatives in names:
        if all(part not in at for each in alternatives for part in each.split("+")):
            continue
        if all(at[part] == "NULL" for each in alternatives for part in each.split("+")):
            problem = (
                f"there is no column {' or '.join(alternatives)} for {name}; the columns are "
                f"{', '.join(columns)}."
            )
            raise InputError(problem, source=str(path), code="missing-column")


def _paths(mapping: LogMapping) -> list[str]:
    every = [each for names in mapping.columns.values() for each in names]
    return [part for each in [*every, *mapping.flags.values()] for part in each.split("+")]


def _json_path(path: str) -> str:
    return "$" + "".join(f".{json.dumps(part, ensure_ascii=False)}" for part in path.split("."))


def _column(path: str, columns: list[str]) -> str:
    """A column, a part of a nested column, or a part of a column that holds JSON."""
    if path in columns:
        return f"CAST({named(path)} AS VARCHAR)"
    first, _, rest = path.partition(".")
    if rest and first in columns:
        column = named(first)
        whole = f"CASE WHEN json_valid(to_json({column})->>'$') THEN to_json({column})->>'$' END"
        return f"json_extract_string({whole}, {quoted(_json_path(rest))})"
    return "NULL"


def _text(name: str, mapping: LogMapping, at: dict[str, str]) -> str:
    """A field as text: the first of its columns that is not empty."""
    parts = []
    for each in mapping.columns.get(name, ()):
        words = [f"nullif({at[part]}, '')" for part in each.split("+")]
        parts.append(words[0] if len(words) == 1 else f"({' || chr(31) || '.join(words)})")
    return f"coalesce({', '.join([*parts, 'NULL'])})" if parts else "CAST(NULL AS VARCHAR)"


def _flags(mapping: LogMapping, at: dict[str, str]) -> str:
    """A column for each flag: whether the row is also an event of this kind."""
    return "".join(
        f"coalesce(lower({at[column]}) IN ('true', 't', '1', '1.0', 'yes'), false) AS flag_{kind}, "
        for kind, column in mapping.flags.items()
    )
