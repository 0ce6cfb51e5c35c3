"""The log doctor: every check over the events of a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankgate.online.database import Database
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.events.unmapped import (
    format_actions,
    mapping_advice,
    suggested_kind,
    unmapped_actions,
)
from rankgate.online.faults.check import Check
from rankgate.online.faults.checks import CHECKS, VIEWS
from rankgate.online.faults.diagnosis import COUNTS, Diagnosis
from rankgate.online.faults.finding import UNMAPPED, LogFinding
from rankgate.online.faults.ratio import check_mean_weight, check_sample_ratio

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
"""The data that a problem in a file spoils, by its code; other codes are not faults of a log."""

_SUBJECTS: Mapping[str, str] = {
    "search": "searches",
    "impression": "impressions",
    "click": "clicks",
    "add_to_cart": "carts",
    "purchase": "purchases",
    "refund": "revenue",
    "dwell": "time",
}
"""The data that is wrong without events of a kind, by kind."""

_UNREAD_PROBLEMS = ("invalid-json", "truncated-last-line", "not-utf-8", "not-an-event")
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
        return diagnose_events(log.base, log.manifest, split)


def diagnose_events(
    base: Database, manifest: Mapping[str, Any], split: Mapping[str, float] | None = None
) -> Diagnosis:
    """The diagnosis of the view ``events``."""
    import polars as pl

    for sql in VIEWS:
        base.run(sql)
    findings, passed, skipped = _find_unreadable_lines(manifest), list[str](), list[str]()
    for check in CHECKS.values():
        total = int(base.one(check.total) or 0)
        finding = _run_check(base, check, total) if total else None
        if finding:
            findings.append(finding)
        else:
            (passed if total else skipped).append(check.name)
    for code, tested in (
        ("sample-ratio", check_sample_ratio(base, split)),
        ("mean-weight", check_mean_weight(base)),
    ):
        if isinstance(tested, LogFinding):
            findings.append(tested)
        else:
            (passed if tested else skipped).append(code)
    if unmapped := _find_unmapped_actions(manifest):
        findings.append(unmapped)
    counts = base.rows("SELECT kind, count(*) AS events FROM events GROUP BY 1 ORDER BY 1")
    times = base.rows(
        "SELECT coalesce(strftime(timezone('UTC', min(\"at\")), '%Y-%m-%dT%H:%M:%SZ'), '') "
        "AS first, coalesce(strftime(timezone('UTC', max(\"at\")), '%Y-%m-%dT%H:%M:%SZ'), '') "
        "AS last FROM events"
    ).row(0, named=True)
    findings.sort(key=lambda finding: (finding.severity != "block", -finding.share))
    return Diagnosis(
        tuple(findings),
        tuple(passed),
        tuple(skipped),
        pl.DataFrame(counts, schema_overrides=COUNTS),
        times["first"],
        times["last"],
        manifest.get("privacy", {}),
    )


def _run_check(base: Database, check: Check, total: int) -> LogFinding | None:
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
        check.name,
        check.severity(share),
        count,
        total,
        check.spoils,
        check.title,
        tuple(str(example) for example in rows["example"]),
        check.fix,
    )


def _find_unmapped_actions(manifest: Mapping[str, Any]) -> LogFinding | None:
    """Actions that no kind is known for, with the lines of a mapping that name them."""
    files = manifest.get("files", {}).values()
    actions = unmapped_actions(files)
    if not actions:
        return None
    kinds = dict.fromkeys(map(suggested_kind, actions))
    return LogFinding(
        UNMAPPED,
        "annotate",
        sum(actions.values()),
        sum(sum(file["kinds"].values()) for file in files),
        tuple(dict.fromkeys(_SUBJECTS[kind] for kind in kinds if kind in _SUBJECTS)),
        f"events have an action that no kind is known for: {format_actions(actions)}",
        (),
        mapping_advice([*actions]),
    )


def _find_unreadable_lines(manifest: Mapping[str, Any]) -> list[LogFinding]:
    """Findings about lines that could not be read when the log became events."""
    findings = []
    for file in manifest.get("files", {}).values():
        left_out = sum(
            problem["count"] for problem in file["problems"] if problem["code"] in _UNREAD_PROBLEMS
        )
        total = sum(file["kinds"].values()) + left_out
        for problem in file["problems"]:
            if problem["code"] not in _UNREADABLE:
                continue
            severity = "annotate"
            if problem["count"] / total >= _BLOCKS_FROM and problem["code"] != "time-without-zone":
                severity = "block"
            findings.append(
                LogFinding(
                    problem["code"],
                    severity,
                    problem["count"],
                    total,
                    _UNREADABLE[problem["code"]],
                    problem["words"],
                    tuple(f"{file['file']}:{line}" for line in problem["lines"].split(", ")),
                )
            )
    return findings
