"""Tables of shown results with clicks, from which judgments are learned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from rankgate.core.errors import InputError
from rankgate.data.column_names import name_fit, normalize_name
from rankgate.data.columns import map_columns

_COLUMN_ALIASES: Mapping[str, str] = {
    "session": "session sessionid sessid visit visitid visitorsession",
    "user": "user userid uid visitor visitorid client clientid customer customerid",
    "variant": "arm variant abvariant testvariant bucket testgroup abgroup experimentgroup",
    "at": "timestamp time ts datetime at eventtime createdat date",
    "click": "clicked click clicks isclick isclicked wasclicked hasclick",
    "purchase": "purchased purchase bought ordered ispurchase converted conversion",
    "add_to_cart": "addtocart addedtocart cart incart",
}
"""Column names for fields of a mapping and kinds of events, in the form of `normalize_name`."""

_FLAGS = ("click", "add_to_cart", "purchase")


def mapping_lines(names: Sequence[str]) -> tuple[str, ...]:
    """The lines of a mapping for ``--mapping`` that the names suggest; none without clicks.

    >>> mapping_lines(["session", "query", "rank", "doc", "clicked"])[-1]
    'click = "clicked"'
    """
    by_name = {normalize_name(name): name for name in reversed(names)}
    column_of_field: dict[str, str] = {
        field: by_name[word]
        for field, alias_text in _COLUMN_ALIASES.items()
        for word in reversed(alias_text.split())
        if word in by_name
    }
    known_columns = map_columns(
        [name for name in names if name not in column_of_field.values()],
        ("query_id", "doc_id", "rank"),
    )
    for field in ("query_id", "doc_id", "rank"):
        fits = [
            name for name in names if name_fit(name, field) and name not in column_of_field.values()
        ]
        if field not in known_columns and fits:
            known_columns[field] = fits[0]
    if "click" not in column_of_field or not {"query_id", "doc_id", "rank"} <= set(known_columns):
        return ()
    columns: dict[str, str] = {
        "query": known_columns["query_id"],
        "doc_id": known_columns["doc_id"],
        "rank": known_columns["rank"],
        **{
            field: column_of_field[field]
            for field in ("session", "user", "variant", "at")
            if field in column_of_field
        },
    }
    if owner_column := column_of_field.get("session") or column_of_field.get("user"):
        columns["query_event_id"] = f"{owner_column}+{known_columns['query_id']}"
    flags = {kind: column_of_field[kind] for kind in _FLAGS if kind in column_of_field}
    return (
        "[log]",
        'kind = "impression"',
        "[columns]",
        *(f"{field} = {_quote(name)}" for field, name in columns.items()),
        "[flags]",
        *(f"{kind} = {_quote(name)}" for kind, name in flags.items()),
    )


def log_mapping(names: Sequence[str]) -> tuple[str, ...]:
    """The lines of a mapping for a table with clicks and sessions; none for other tables."""
    lines = mapping_lines(names)
    return lines if any(line.startswith("query_event_id") for line in lines) else ()


def refuse_click_log(names: Sequence[str], label: str) -> None:
    """Check that a table is not a log of shown results with clicks.

    Args:
        names: its columns.
        label: the file.

    Raises:
        InputError: it is one; with the mapping and the command that learns judgments from it.
    """
    lines = log_mapping(names)
    if not lines:
        return
    problem = (
        f"a log of shown results with clicks ({', '.join(names[:8])}), from which judgments are "
        "learned; if this guess is right, save it as log.toml:"
    )
    command = f"rankgate online judgments {label} --mapping log.toml -o qrels.csv"
    raise InputError(
        problem,
        source=label,
        line=1,
        code="log-not-judgments",
        suggestions=(*lines, "and run", command),
    )


def _quote(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)
