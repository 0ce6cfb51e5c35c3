"""The list of records: filters, search, pages, addresses that can be shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from rankgate.core.present.document import PlainRows
from rankgate.store.records import search
from rankgate.store.records.search import RecordFilter
from rankgate.workspace.web.dashboard.found import kind_label, record_view
from rankgate.workspace.web.replies import PageReply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from rankgate.store.records.records import Record
    from rankgate.workspace.web.asked import WebRequest

DEFAULT_RECORDS = 50
"""Records on a page."""

_MAX_RECORDS = 10_000
"""Records in an answer, at most."""

_FILTER_FIELDS = ("kind", "system", "branch", "verdict", "label", "words", "since", "until")
_COLUMNS = (
    "sha256",
    "evaluated_at",
    "kind",
    "name",
    "system",
    "branch",
    "revision",
    "verdict",
    "convention",
    "qrels_sha256",
    "recorded_at",
)

KIND_GROUPS = (
    ("Gates", ("verdict", "gate_check", "ramp_verdict")),
    (
        "Comparisons",
        ("comparison", "comparisons", "rank_similarity", "rank_similarities", "engine_comparison"),
    ),
    ("Runs", ("evaluation", "tradeoff", "scorecard")),
    ("Snapshots", ("snapshot", "engine_check")),
    ("Sweeps", ("sweep",)),
    ("Experiments", ("experiment", "preference", "off_policy_estimate", "counterfactual_replay")),
    ("KPIs", ("kpi_table",)),
)
"""Kinds of results as the tabs of the list name them."""


def records_page(request: WebRequest) -> PageReply:
    """The records that fit, the latest first."""
    fields = request.values
    record_filter = _make_filter(fields)
    page_size = min(max(fields["most"] or DEFAULT_RECORDS, 1), _MAX_RECORDS)
    with request.store.read() as connection:
        rows = search.find_records(
            connection, request.project.id, record_filter, before=fields["before"], most=page_size
        )
        total = search.count_matches(connection, request.project.id, record_filter)
        choices = search.count_choices(connection, request.project.id)
    filter_texts = {
        name: _filter_text(fields[name]) for name in _FILTER_FIELDS if fields[name] is not None
    }
    data = {
        "project": request.project.name,
        "records": [record_view(record) for record in rows],
        "total": total,
        "filter": filter_texts,
        "choices": choices,
        "next": rows[-1].id if len(rows) == page_size and len(rows) < total else None,
    }
    tabs = _make_tabs(choices["kind"], fields["kind"])
    extra = {
        "tabs": tabs,
        "kept": _query_string(filter_texts),
        "kind_word": kind_label,
        "without_kind": _query_string({k: v for k, v in filter_texts.items() if k != "kind"}),
    }
    return PageReply("records.html", data, extra, rows=_plain_rows(rows))


def _make_filter(fields: Mapping[str, Any]) -> RecordFilter:
    kind = fields["kind"]
    kinds: Sequence[str] = {name.lower(): group_kinds for name, group_kinds in KIND_GROUPS}.get(
        kind or "", (kind,)
    )
    return RecordFilter(
        kinds=kinds if kind else (),
        system=fields["system"],
        branch=fields["branch"],
        verdict=fields["verdict"],
        label=fields["label"],
        words=fields["words"],
        since=fields["since"],
        until=fields["until"],
    )


def _filter_text(value: str | datetime) -> str:
    return value if isinstance(value, str) else value.isoformat().replace("+00:00", "Z")


def _query_string(parameters: Mapping[str, str]) -> str:
    return urlencode(parameters, quote_via=quote)


def _make_tabs(kinds: Mapping[str, int], current_kind: str | None) -> list[dict[str, Any]]:
    """The groups and other kinds that there are, with how many records each has."""
    grouped_kinds = {kind for _, group_kinds in KIND_GROUPS for kind in group_kinds}
    tabs = [
        (name.lower(), name, sum(kinds.get(kind, 0) for kind in group_kinds))
        for name, group_kinds in KIND_GROUPS
    ]
    tabs += [(kind, kind_label(kind), n) for kind, n in kinds.items() if kind not in grouped_kinds]
    return [
        {"kind": kind, "label": label, "count": n, "here": kind == current_kind}
        for kind, label, n in tabs
        if n
    ]


def _plain_rows(records: Sequence[Record]) -> PlainRows:
    rows = [tuple(_cell_text(getattr(record, name)) for name in _COLUMNS) for record in records]
    return PlainRows(_COLUMNS, rows)


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _filter_text(value)
