"""The list of records: filters, search, pages, addresses that can be shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from rankgate.core.present.document import PlainRows
from rankgate.store.records import search
from rankgate.store.records.search import RecordFilter
from rankgate.workspace.web.dashboard.found import kind_word, view
from rankgate.workspace.web.replies import Page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from rankgate.store.records.records import Record
    from rankgate.workspace.web.asked import Asked

MOST = 50
"""Records on a page."""

_ALL = 10_000
"""Records in an answer, at most."""

_GIVEN = ("kind", "system", "branch", "verdict", "label", "words", "since", "until")
_COLUMNS = ("sha256", "evaluated_at", "kind", "name", "system", "branch", "revision", "verdict",
            "convention", "qrels_sha256", "recorded_at")  # fmt: skip

GROUPS = (
    ("Gates", ("verdict", "gate_check", "ramp_verdict")),
    ("Comparisons", ("comparison", "comparisons", "rank_similarity", "engine_comparison")),
    ("Runs", ("evaluation", "tradeoff", "scorecard")),
    ("Snapshots", ("snapshot", "engine_check")),
    ("Sweeps", ("sweep",)),
    ("Experiments", ("experiment", "preference", "off_policy_estimate", "counterfactual_replay")),
    ("KPIs", ("kpi_table",)),
)
"""Kinds of results as the tabs of the list name them."""


def page(asked: Asked) -> Page:
    """The records that fit, the latest first."""
    given = asked.values
    which = _filter(given)
    most = min(max(given["most"] or MOST, 1), _ALL)
    with asked.store.read() as connection:
        rows = search.found(connection, asked.project.id, which, before=given["before"], most=most)
        total = search.count(connection, asked.project.id, which)
        choices = search.choices(connection, asked.project.id)
    words = {name: _word(given[name]) for name in _GIVEN if given[name] is not None}
    data = {
        "project": asked.project.name,
        "records": [view(each) for each in rows],
        "total": total,
        "filter": words,
        "choices": choices,
        "next": rows[-1].id if len(rows) == most and len(rows) < total else None,
    }
    tabs = _tabs(choices["kind"], given["kind"])
    extra = {"tabs": tabs, "kept": _address(words), "kind_word": kind_word,
             "without_kind": _address({k: v for k, v in words.items() if k != "kind"})}  # fmt: skip
    return Page("records.html", data, extra, rows=_rows(rows))


def _filter(given: Mapping[str, Any]) -> RecordFilter:
    kind = given["kind"]
    kinds: Sequence[str] = {name.lower(): some for name, some in GROUPS}.get(kind or "", (kind,))
    return RecordFilter(
        kinds=kinds if kind else (), system=given["system"], branch=given["branch"],
        verdict=given["verdict"], label=given["label"], words=given["words"],
        since=given["since"], until=given["until"],
    )  # fmt: skip


def _word(value: str | datetime) -> str:
    return value if isinstance(value, str) else value.isoformat().replace("+00:00", "Z")


def _address(words: Mapping[str, str]) -> str:
    return urlencode(words, quote_via=quote)


def _tabs(kinds: Mapping[str, int], chosen: str | None) -> list[dict[str, Any]]:
    """The groups and other kinds that there are, with how many records each has."""
    grouped = {kind for _, some in GROUPS for kind in some}
    tabs = [(name.lower(), name, sum(kinds.get(kind, 0) for kind in some)) for name, some in GROUPS]
    tabs += [(kind, kind_word(kind), n) for kind, n in kinds.items() if kind not in grouped]
    return [
        {"kind": kind, "label": label, "count": n, "here": kind == chosen}
        for kind, label, n in tabs
        if n
    ]


def _rows(found: Sequence[Record]) -> PlainRows:
    rows = [tuple(_cell(getattr(each, name)) for name in _COLUMNS) for each in found]
    return PlainRows(_COLUMNS, rows)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _word(value)
