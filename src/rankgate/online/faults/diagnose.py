"""The log doctor: every check over the events of a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankgate.online.database import Database
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.events.unmapped import (
    advice,
    named_actions,
    suggested_kind,
    unmapped_actions,
)
from rankgate.online.faults.check import Check
from rankgate.online.faults.checks import CHECKS, VIEWS
from rankgate.online.faults.diagnosis import COUNTS, Diagnosis
from rankgate.online.faults.finding import UNMAPPED, LogFinding
from rankgate.online.faults.ratio import mean_weight, sample_ratio

_EXAMPLES = 5
_UNREADABLE: Mapping[str, tuple[str, ...]] = {
    "invalid-json": ("searches", "clicks", "impressions"),
    "truncated-last-line": (),
    "not-utf-8": (),
    "not-an-event": ("searches", "clicks", "impressions"),
    "unreadable-time": ("time",),
    "time-without-zone": ("time",),
    "unreadable-rank": ("ranks",),
    "negative-rank": ("ranks",),
    "unreadable-value": ("revenue",),
}
"""By code of a problem in a file what it spoils; others are no faults of a log."""

_SUBJECTS: Mapping[str, str] = {
    "search": "searches", "impression": "impressions", "click": "clicks",
    "add_to_cart": "carts", "purchase": "purchases", "refund": "revenue", "dwell": "time",
}  # fmt: skip
"""By kind what is wrong without its events."""

_LEFT_OUT = ("invalid-json", "truncated-last-line", "not-utf-8", "not-an-event")
_BLOCKS_FROM = 0.01


def doctor(
    events: EventsLike,
    *,
    split: Mapping[str, float] | None = None,
) -> Diagnosis:
    """Look for faults in a log, and for the figures that they spoil.

    Args:
        events: what users did: a folder of events, a table of them, files of logs, or ``Events``.
        split: the planned share of each variant, as in a=0.5; equal shares by default.

    Raises:
        InputError: a log that cannot be read.
        MissingExtraError: DuckDB is not installed.
    """
    with Events.of(events).open() as log:
        return diagnosed(log.base, log.manifest, split)


def diagnosed(
    base: Database, manifest: Mapping[str, Any], split: Mapping[str, float] | None = None
) -> Diagnosis:
    """The diagnosis of the view ``events``."""
    import polars as pl

    for sql in VIEWS:
        base.run(sql)
    found, passed, skipped = _unreadable(manifest), list[str](), list[str]()
    for check in CHECKS.values():
        total = int(base.one(check.total) or 0)
        finding = _finding(base, check, total) if total else None
        if finding:
            found.append(finding)
        else:
            (passed if total else skipped).append(check.name)
    for code, tested in (("sample-ratio", sample_ratio(base, split)),
                         ("mean-weight", mean_weight(base))):  # fmt: skip
        if isinstance(tested, LogFinding):
            found.append(tested)
        else:
            (passed if tested else skipped).append(code)
    if unmapped := _unmapped(manifest):
        found.append(unmapped)
    counts = base.rows("SELECT kind, count(*) AS events FROM events GROUP BY 1 ORDER BY 1")
    times = base.rows(
        "SELECT coalesce(strftime(timezone('UTC', min(\"at\")), '%Y-%m-%dT%H:%M:%SZ'), '') "
        "AS first, coalesce(strftime(timezone('UTC', max(\"at\")), '%Y-%m-%dT%H:%M:%SZ'), '') "
        "AS last FROM events"
    ).row(0, named=True)
    found.sort(key=lambda each: (each.severity != "block", -each.share))
    return Diagnosis(
        tuple(found), tuple(passed), tuple(skipped), pl.DataFrame(counts, schema_overrides=COUNTS),
        times["first"], times["last"], manifest.get("privacy", {}),
    )  # fmt: skip


def _finding(base: Database, check: Check, total: int) -> LogFinding | None:
    base.run(f"CREATE OR REPLACE TEMP TABLE faults AS {check.faults}")
    columns = base.rows("DESCRIBE faults")["column_name"].to_list()
    sums = "sum(n)" if "n" in columns else "count(*)"
    count = int(base.one(f"SELECT {sums} FROM faults") or 0)
    share = count / total
    if not count or share < check.ignore_below:
        return None
    order = "size DESC, example" if "size" in columns else "example"
    rows = base.rows(f"SELECT example FROM faults ORDER BY {order} LIMIT {_EXAMPLES}")
    return LogFinding(
        check.name, check.severity(share), count, total, check.spoils, check.title,
        tuple(str(each) for each in rows["example"]), check.fix,
    )  # fmt: skip


def _unmapped(manifest: Mapping[str, Any]) -> LogFinding | None:
    """Actions that no kind is known for, with the lines of a mapping that name them."""
    files = manifest.get("files", {}).values()
    actions = unmapped_actions(files)
    if not actions:
        return None
    kinds = dict.fromkeys(map(suggested_kind, actions))
    return LogFinding(
        UNMAPPED, "annotate", sum(actions.values()),
        sum(sum(file["kinds"].values()) for file in files),
        tuple(dict.fromkeys(_SUBJECTS[kind] for kind in kinds if kind in _SUBJECTS)),
        f"events have an action that no kind is known for: {named_actions(actions)}", (),
        advice([*actions]),
    )  # fmt: skip


def _unreadable(manifest: Mapping[str, Any]) -> list[LogFinding]:
    """What could not be read when the log became events."""
    found = []
    for file in manifest.get("files", {}).values():
        left = sum(each["count"] for each in file["problems"] if each["code"] in _LEFT_OUT)
        total = sum(file["kinds"].values()) + left
        for each in file["problems"]:
            if each["code"] not in _UNREADABLE:
                continue
            severity = "annotate"
            if each["count"] / total >= _BLOCKS_FROM and each["code"] != "time-without-zone":
                severity = "block"
            found.append(
                LogFinding(each["code"], severity, each["count"], total,
                           _UNREADABLE[each["code"]], each["words"],
                           tuple(f"{file['file']}:{line}" for line in each["lines"].split(", ")))
            )  # fmt: skip
    return found
