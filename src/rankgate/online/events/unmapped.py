"""Actions of a log that no kind of event is known for, and the lines of a mapping that name it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.data.click_logs import mapping_lines
from rankgate.online.events.sources import column_names
from rankgate.online.events.table import SURVEY_PATTERN

if TYPE_CHECKING:
    from rankgate.online.database import Database
    from rankgate.online.events.mapping import LogMapping
    from rankgate.online.events.sources import LogFile

_SUGGESTIONS = (
    ("add_to_cart", "cart|basket|bag"),
    ("refund", "refund|return"),
    ("purchase", "purchase|order|buy|bought|checkout|transaction|payment|sale"),
    ("click", "click|tap|select|open"),
    ("impression", "impression|view|show|display|expos"),
    ("dwell", "dwell|time_on"),
    ("search", "search|query"),
)
"""Kinds by what names of actions contain, the first that fits."""

_NO_EVENTS = ("not-an-event", "invalid-json", "not-utf-8")
_MAX_NAMED = 10  # actions that a message names
_OTHER = "other"


def suggested_kind(action: str) -> str:
    """The kind that the name of an action suggests; ``other`` without one.

    >>> suggested_kind("product_view"), suggested_kind("Tap"), suggested_kind("login")
    ('impression', 'click', 'other')
    """
    name = re.sub("[- ]", "_", action.lower())
    return next((kind for kind, pattern in _SUGGESTIONS if re.search(pattern, name)), _OTHER)


def count_unmapped(base: Database) -> dict[str, int]:
    """Count the events in ``staged`` by action without a kind; answers of surveys have one.

    The most frequent action is first.
    """
    rows = base.rows(
        "SELECT action, count(*) AS events FROM staged WHERE unmapped AND NOT invalid AND NOT "
        f"regexp_matches(lower(action), '{SURVEY_PATTERN}') GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return dict(rows.iter_rows())


def unmapped_actions(files: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The same over the files of a manifest."""
    total: dict[str, int] = {}
    for file in files:
        for action, events in file.get("unmapped", {}).items():
            total[action] = total.get(action, 0) + events
    return dict(sorted(total.items(), key=lambda pair: (-pair[1], pair[0])))


def format_actions(actions: Mapping[str, int]) -> str:
    """The most frequent actions with their numbers of events.

    >>> format_actions({"view": 7200, "login": 3})
    'view (7,200), login (3)'
    """
    names = [f"{action} ({events:,})" for action, events in list(actions.items())[:_MAX_NAMED]]
    more = len(actions) - len(names)
    return ", ".join([*names, f"{more:,} more"] if more else names)


def suggest_kinds(actions: Sequence[str]) -> str:
    """The lines of a mapping's ``[kinds]`` with the kinds that names suggest.

    >>> print(suggest_kinds(["view", "login", "tap", "logout"]))
    impression = ["view"]; other = ["login", "logout"]; click = ["tap"]
    """
    by_kind: dict[str, list[str]] = {}
    for action in actions[:_MAX_NAMED]:
        by_kind.setdefault(suggested_kind(action), []).append(action)
    return "; ".join(
        f"{kind} = {json.dumps(names, ensure_ascii=False)}" for kind, names in by_kind.items()
    )


def mapping_advice(actions: Sequence[str]) -> str:
    """Advice about actions without a kind."""
    return (
        "name their kinds in a file for --mapping, under [kinds], after checking what they mean: "
        f"{suggest_kinds(actions)}"
    )


def refuse_unusable(
    base: Database,
    log_file: LogFile,
    mapping: LogMapping,
    files: Collection[Mapping[str, Any]],
) -> None:
    """Refuse files without a single event that has a kind.

    Args:
        base: reads the columns of the first file.
        log_file: the first file.
        mapping: with which they were read.
        files: what the manifest has about them.

    Raises:
        InputError: no event can be used.
    """
    kinds = {kind for file in files for kind, events in file["kinds"].items() if events}
    unreadable = sum(
        problem["count"]
        for file in files
        for problem in file["problems"]
        if problem["code"] in _NO_EVENTS
    )
    actions = unmapped_actions(files)
    if kinds - {_OTHER} or not (actions or unreadable):
        return
    suggestions: tuple[str, ...] = ()
    if actions:
        advice = mapping_advice([*actions])
        problem = f"no event has a kind; actions are {format_actions(actions)}: {advice}."
    else:
        columns = column_names(base, log_file, mapping)
        read_as = "of User Behavior Insights" if mapping.ubi else "of this mapping"
        suggestions = mapping_lines(columns) if mapping.ubi else ()
        suggestions += ("and run the command again with --mapping log.toml",) * bool(suggestions)
        problem = (
            f"none of {unreadable:,} records is an event {read_as}; say with --mapping FILE.toml "
            "what is "
            f"in which column; the columns are {', '.join(columns[:12]) or 'unknown'}."
        )
        if suggestions:
            problem = f"{problem[:-1]}; if this guess is right, save it as log.toml:"
    raise InputError(
        problem, source=log_file.label, code="no-usable-events", suggestions=suggestions
    )
