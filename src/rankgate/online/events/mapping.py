"""Mapping of a log's columns to events: UBI's own way, or a TOML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from rankgate.core.declare.toml import TomlFile
from rankgate.core.frozen import dataclass
from rankgate.online.events.table import ACTIONS, KINDS, UBI_ACTIONS

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
    """The columns of a log by field, and how its values are read.

    Attributes:
        columns: by field its columns, of which the first that is not empty counts; parts of a
            nested value are joined by dots, and ``a+b`` joins two columns to one id.
        kinds: by action, in lower case and with ``_`` for blanks and hyphens, the kind of event.
        flags: by kind a column that is true where the row is also an event of this kind.
        kind: of rows without an action; empty where every row has one.
        time_zone: of times that do not name one, and of days and weeks.
        rank_base: the first rank of the log, 0 or 1; None to find out.
        format: ``jsonl``, ``csv`` or ``parquet``; empty: by the file's suffix.
        ubi: whether records without an action are queries of UBI.
        zone_declared: true if the mapping names its time zone, so that times need not.
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
    """Read a mapping from a TOML file: ``[log]``, ``[columns]``, ``[kinds]``, ``[flags]``.

    Without ``[columns]`` they are those of User Behavior Insights, and ``[kinds]`` adds to its
    actions.

    Raises:
        InputError: a key that there is not, a value that does not fit; with its line.
    """
    toml = TomlFile.read(path, code=_ERROR_CODE)
    toml.check_keys(toml.values, ("log", "columns", "kinds", "flags"))
    log = toml.values.get("log", {})
    toml.check_keys(log, ("format", "time_zone", "rank_base", "kind"), "log")
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
    flags = toml.values.get("flags", {})
    for kind in flags:
        _check_kind(toml, kind, "flags", kind)
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
    )


def _check_log(toml: TomlFile, log: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
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
        problem = f"no time zone is called {log['time_zone']!r}; write it as Europe/Berlin."
        raise toml.error(problem, "log", "time_zone") from None


def _check_kind(toml: TomlFile, kind: object, *key: str) -> None:
    if kind not in KINDS:
        raise toml.error(f"no kind is called {kind!r}; there are {', '.join(KINDS)}.", *key)


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
