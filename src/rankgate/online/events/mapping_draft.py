"""The mapping of a log as a TOML file: what names and values suggest, what the user says, and questions.

Nothing unknown is guessed: it is asked on a terminal, and an error elsewhere.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.guessed_column_names import Tables, normalize_name, toml_lines, with_search_id
from rankgate.online.events.event_lists import normalize_action
from rankgate.online.events.event_table import ACTIONS, DIMENSION, KINDS
from rankgate.online.events.guessed_mapping import (
    NUMBER_NAMES,
    OTHER_KIND,
    guess_tables,
    preset_of,
    search_tables,
    suggested_kind,
    time_formats,
)
from rankgate.online.events.log_files import (
    FIELDS,
    PRESETS,
    UBI,
    LogFile,
    column_paths,
    first_records,
    list_log_files,
    load_log,
    parse_mapping,
    preset_text,
)
from rankgate.online.log_database import Database, open_database, quote_identifier
from rankgate.online.warehouse import find_warehouse_table, write_sample

Question: TypeAlias = Callable[[str, Sequence[str], str], str]
"""A question to the user: the text, the possible answers, the default answer (may be empty)."""

_MAX_ACTIONS = 200  # a column with more values holds no actions
_EXAMPLES = 2


def draft_mapping(
    log: str | Path,
    *,
    preset: str | None = None,
    columns: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    time_format: str = "",
    ask: Question | None = None,
) -> str:
    """The text of a mapping for a log, with its values as evidence.

    Args:
        log: a file of the log, or a table of a database, of which the first rows are read.
        preset: the product that wrote it; recognized by its columns by default.
        columns: the columns of fields that are known, by field.
        kinds: the kinds of actions that are known, by action.
        time_format: the format of times.
        ask: the function that asks the user; without it, unknown facts are errors.

    Raises:
        InputError: a log that cannot be read, or whose columns are not recognized.
        UsageError: an unknown field, kind or preset; a fact that cannot be known.
    """
    columns, kinds = dict(columns or {}), dict(kinds or {})
    _check_names(preset, columns, kinds)
    with open_database() as base:
        if table := find_warehouse_table(log):
            path = Path(base.folder) / "sample.parquet"
            write_sample(base, table, path)
            file = LogFile(path, table.label, "parquet")
        else:
            file = list_log_files(log, Path(base.folder))[0]
        records = first_records(base, file, UBI)
        names = list(dict.fromkeys(name for record in records for name in record))
        preset = preset or preset_of(names)
        if preset == "ubi":
            return preset_text(preset)
        tables = tomllib.loads(preset_text(preset)) if preset else guess_tables(records, columns)
        tables = tables or search_tables(records, columns)
        if not tables and "query" not in columns:
            columns = _ask_columns(file, names, columns, ask)
        if not preset:
            _add_other_columns(tables, records)
        tables["columns"] = {**tables.get("columns", {}), **columns}
        has_action = "action" in tables["columns"]
        if not (has_action or tables.get("log", {}).get("kind")):
            tables.setdefault("log", {})["kind"] = "search"
        mapping = parse_mapping("\n".join(toml_lines(tables)), file.label)
        load_log(base, file, replace(mapping, preset=bool(preset)))
        if preset:
            _keep_present_columns(base, tables)
        _add_time_format(base, file, tables, time_format, ask)
        if has_action and not preset:
            _add_search_ids(base, tables)
        actions = _count_actions(base, tables) if has_action else {}
        _add_kinds(tables, actions, kinds, preset, ask)
        comments = _examples(base, tables)
        for kind, kind_actions in tables["kinds"].items():
            record_count = sum(actions[action][0] for action in kind_actions if action in actions)
            records_text = count_noun(record_count, "record")
            advice = "; in no KPI, unless you name another kind" * (kind == OTHER_KIND)
            comments["kinds", kind] = records_text + advice
        lines = [f"\n{line}" if line.startswith("[") else line for line in toml_lines(tables, comments)]
        used = {name for path in column_paths(mapping) for name in (path, re.split(r"[.\[]", path)[0])}
        unused_names = [name for name in names if not preset and name not in used]
        unused = [f"\n# not used: {_comment(', '.join(unused_names))}"] if unused_names else []
        return "\n".join([f"# {_comment(f'Mapping of {file.label}')}: check each line", *lines, *unused, ""])


def _check_names(preset: str | None, columns: Mapping[str, str], kinds: Mapping[str, str]) -> None:
    for name, allowed_names, noun in (
        *((name, FIELDS, "field") for name in columns),
        *((kind, KINDS, "kind of event") for kind in kinds.values()),
        *([(preset, PRESETS, "preset")] if preset else []),
    ):
        if name not in allowed_names:
            raise UsageError(
                f"unknown {noun} {name!r}; there are {', '.join(allowed_names)}.", code="unknown-name"
            )


def _ask_columns(
    file: LogFile, names: Sequence[str], columns: dict[str, str], ask: Question | None
) -> dict[str, str]:
    """Ask for the columns of a log whose names suggest nothing."""
    if ask is None:
        problem = f"no column is recognized as the query; the columns are {', '.join(names)}; name them:"
        example = "--column query=COLUMN --column action=COLUMN --column at=COLUMN --column session=COLUMN"
        raise InputError(problem, source=file.label, code="unknown-columns", suggestions=(example,))
    for field, description in (
        ("query", "the words of the search"),
        ("action", "the action of each row, such as search or click"),
        ("at", "the time"),
        ("session", "the visit"),
        ("user", "the user"),
        ("doc_id", "the document or product"),
        ("rank", "its rank in the list"),
        ("variant", "the arm of an A/B test"),
    ):
        free_names = [name for name in names if name not in columns.values()]
        if field not in columns and free_names:
            answer = ask(f"Which column has {description}?", ["-", *free_names], "-")
            columns |= {field: answer} if answer != "-" else {}
    if "query" not in columns:
        raise UsageError("a log has the words of searches; name their column.", code="unknown-columns")
    return columns


_DIMENSIONS = (
    "country land device devicetype platform os browser language lang locale region market shop channel "
    "source"
)


def _add_other_columns(tables: Tables, records: Sequence[Mapping[str, Any]]) -> None:
    """Add numbers and dimensions that names suggest and values do not contradict."""
    columns = tables.setdefault("columns", {})
    used = {*columns.values(), *(rows["column"] for rows in tables.get("lists", {}).values())}
    used |= {*tables.get("flags", {}).values()}
    dimensions = {}
    for name in dict.fromkeys(name for record in records for name in record if name not in used):
        values = [value for record in records if (value := record.get(name)) not in (None, "")]
        word = normalize_name(name)
        field = next((field for field in FIELDS if word in NUMBER_NAMES.get(field, "").split()), "")
        if values and field and field not in columns and all(map(_is_number, values)):
            columns[field] = name
        elif values and word in _DIMENSIONS.split() and all(isinstance(value, str) for value in values):
            dimensions[re.sub(r"\W+", "_", name.lower())] = name
    if dimensions:
        tables["dimensions"] = dimensions


def _is_number(value: object) -> bool:
    try:
        return isfinite(float(str(value).replace(",", ".", 1)))
    except ValueError:
        return False


def _add_search_ids(base: Database, tables: Tables) -> None:
    """Name a search by its visit and words; events without words belong to the last search."""
    columns = tables["columns"] = with_search_id(tables["columns"])
    if "query_event_id" in columns and base.first_value("SELECT bool_or(f_query IS NULL) FROM raw"):
        tables.setdefault("log", {})["last_search"] = True


def _keep_present_columns(base: Database, tables: Tables) -> None:
    """Leave out what a preset maps and the log does not have."""
    prefixes = {"columns": "f_", "dimensions": f"f_{DIMENSION}", "lists": "list_"}
    keys = [(table, name) for table in prefixes for name in tables.get(table, {})]
    columns = (quote_identifier(f"{prefixes[table]}{name}") for table, name in keys)
    sums = ", ".join(f"bool_or({column} IS NOT NULL)" for column in columns)
    present = base.rows(f"SELECT {sums} FROM raw").row(0)
    for (table, name), is_present in zip(keys, present, strict=True):
        if not is_present:
            del tables[table][name]


def _add_time_format(
    base: Database, file: LogFile, tables: Tables, time_format: str, ask: Question | None
) -> None:
    """Add the format of times that are neither ISO 8601 nor numbers; ask where several fit."""
    if "at" not in tables["columns"]:
        return
    days = base.rows(
        "SELECT any_value(f_at) AS at FROM raw WHERE try_cast(f_at AS DOUBLE) IS NULL AND try_cast(f_at AS "
        "TIMESTAMPTZ) IS NULL AND f_at IS NOT NULL GROUP BY left(f_at, 10)"
    )["at"].to_list()
    formats = [time_format] if time_format or not days else time_formats(days)
    if len(formats) > 1:
        if ask is None:
            choices = tuple(f"--time-format '{form}'" for form in formats)
            problem = f"no time such as {days[0]!r} tells the day from the month; give one of"
            raise InputError(problem, source=file.label, code="unknown-time-format", suggestions=choices)
        formats = [ask(f"Which format has the time {days[0]}?", formats, "")]
    if not formats:
        problem = (
            f"times such as {days[0]!r} have no known format; give it as --time-format '%d.%m.%Y %H:%M'."
        )
        raise InputError(problem, source=file.label, code="unknown-time-format")
    if formats[0]:
        tables.setdefault("log", {})["time_format"] = formats[0]


def _count_actions(base: Database, tables: Tables) -> dict[str, tuple[int, int]]:
    """The records with each action, and how many of them name a document; the most frequent first."""
    rows = base.rows(
        "SELECT f_action AS action, count(*) AS records, count(f_doc_id) AS documents FROM raw WHERE "
        f"f_action IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_MAX_ACTIONS + 1}"
    )
    if len(rows) > _MAX_ACTIONS:
        column = tables["columns"]["action"]
        problem = f"the column {column} has over {_MAX_ACTIONS} values, which are no actions"
        raise UsageError(f"{problem}; name another with --column action=COLUMN.", code="unknown-columns")
    return {action: (records, documents) for action, records, documents in rows.iter_rows()}


def _add_kinds(
    tables: Tables,
    actions: Mapping[str, tuple[int, int]],
    given_kinds: Mapping[str, str],
    preset: str | None,
    ask: Question | None,
) -> None:
    """Add the kind of each action: given, of the preset, usual or suggested by its name; else asked.

    Names mean no shown or clicked document where only records of other actions have documents.
    """
    action_kinds = [(action, kind) for kind, names in tables.pop("kinds", {}).items() for action in names]
    action_kinds = [*(action_kinds if preset else []), *given_kinds.items()]
    kind_of_action = {**ACTIONS, **{normalize_action(action): kind for action, kind in action_kinds}}
    has_documents = any(documents for _, documents in actions.values())
    by_kind: dict[str, list[str]] = {}
    for action, (records, documents) in actions.items():
        name = normalize_action(action)
        kind = OTHER_KIND if preset else suggested_kind(action)
        if kind in ("impression", "click") and has_documents and not documents:
            kind = OTHER_KIND
        kind = kind_of_action.get(name, kind)
        if kind == OTHER_KIND and name not in kind_of_action and ask is not None:
            kind = ask(f"What is the action {action} ({count_noun(records, 'record')})?", KINDS, OTHER_KIND)
        by_kind.setdefault(kind, []).append(action)
    for action, kind in action_kinds:  # rare actions may be in later files
        if action not in actions:
            by_kind.setdefault(kind, []).append(action)
    tables["kinds"] = {kind: by_kind[kind] for kind in KINDS if kind in by_kind}


def _examples(base: Database, tables: Tables) -> dict[tuple[str, str], str]:
    """The first values of each field, as a comment of its column."""
    examples = {}
    for name in tables["columns"]:
        column = quote_identifier(f"f_{name}")
        rows = base.rows(
            f"SELECT {column} AS text FROM (SELECT {column}, min(source_line) AS line FROM raw WHERE "
            f"{column} IS NOT NULL GROUP BY 1) ORDER BY line LIMIT {_EXAMPLES}"
        )
        texts = (_comment(text.replace("\x1f", "+"))[:30] for text in rows["text"])
        examples["columns", name] = ", ".join(texts) or "no value"
    return examples


def _comment(text: str) -> str:
    """A text as a comment of TOML, which has no control characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
