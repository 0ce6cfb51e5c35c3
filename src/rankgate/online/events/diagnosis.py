"""The log doctor: runs every check over the events of a log, and reports the faults.

The module has `LogFinding`, the result of ``doctor``; tests of the shares of users
by variant and of the mean of weights; and the verb ``doctor``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Entries, Entry, make_printable
from rankgate.core.present.layout import Sentence, View
from rankgate.core.value_types import JsonObject
from rankgate.measurement.stats.sequential_experiments import sequential_sample_ratio
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.events.guessed_mapping import suggested_kind
from rankgate.online.events.ingest import format_actions, mapping_advice, unmapped_actions
from rankgate.online.events.log_checks import CHECKS, VIEWS, Check, Subject
from rankgate.online.log_database import Database

if TYPE_CHECKING:
    from rankgate.online.events.manifest import Manifest


UNMAPPED = "unmapped-actions"
"""The code of the finding about actions that no kind is known for."""


@dataclass(frozen=True)
class LogFinding:
    """A fault of a log.

    Attributes:
        code: the code of the check.
        severity: ``block``: figures that it spoils are not given; ``annotate``: with a warning.
        count: the number of faults.
        total: the number of rows that were checked.
        spoils: the figures that the fault makes wrong, by their parts.
        words: a description of the problem.
        examples: locations of some faults.
        fix: the remedy.
    """

    code: str
    severity: str
    count: int
    total: int
    spoils: tuple[str, ...]
    words: str
    examples: tuple[str, ...] = ()
    fix: str = ""

    @property
    def share(self) -> float:
        """The number of faults divided by the number of checked rows."""
        return self.count / self.total if self.total else 0.0


def spoiled_text(faults: Iterable[str], spoiled: str) -> str:
    """The figures that the faults of a log make wrong, as the start of a sentence."""
    return f"the log doctor found {', '.join(faults)}, which makes {spoiled} wrong"


def spoiled_notice(code: str, spoiled: str) -> NoticeText:
    """The notice of a result that was computed despite faults of the log."""
    return NoticeText(code, f"{spoiled_text(['{faults}'], spoiled)}: see rankgate online doctor", "faults")


COUNTS = Columns(
    "One row per kind of event.",
    Column("kind", pl.String, "the kind of event"),
    Column("events", pl.Int64, "how many there are"),
)


FAULTS = Columns(
    "One row per finding, the worst first.",
    Column("code", pl.String, "the code of the check", header="finding"),
    Column("severity", pl.String, "block or annotate"),
    Column("count", pl.Int64, "the number of faults", header="faults"),
    Column("total", pl.Int64, "the number of rows that were checked", header="of"),
    Column("share", pl.Float64, "count / total", ".2%"),
    Column("spoils", pl.String, "the figures that the fault makes wrong", empty="–"),
    Column("words", pl.String, "the problem"),
    Column("examples", pl.String, "where some of the faults are"),
    Column("fix", pl.String, "the remedy"),
)
_SEVERITY_LABELS = {"block": "✘ blocks", "annotate": "! warns"}


def _finding_entries(result: Diagnosis) -> Iterator[Entries]:
    """Each finding with examples and its remedy."""
    entries = []
    for finding in result.findings:
        lines = [f"{finding.code}: {finding.count:,} of {finding.total:,}: {finding.words}."]
        if finding.examples:
            lines.append(f"For example {', '.join(map(make_printable, finding.examples))}.")
        if finding.fix:
            lines.append(f"{finding.fix[:1].upper()}{finding.fix[1:]}.")
        entries.append(Entry(_SEVERITY_LABELS[finding.severity], tuple(lines)))
    yield Entries(tuple(entries))


@dataclass(frozen=True)
class Diagnosis(Result):
    """Faults of a log.

    Attributes:
        findings: what was found, the worst first.
        passed: codes of the checks that found nothing.
        skipped: codes of the checks for which the log has nothing to look at.
        counts: the columns of `COUNTS`.
        first: the time of the first event.
        last: the time of the last event.
        privacy: what was left out or hashed when the log was read.
    """

    kind = "diagnosis"
    label = "Faults of the log"
    order = 61
    SCHEMAS: ClassVar = {"faults": FAULTS, "counts": COUNTS}
    lead = ("{event_counts}; {period}.",)
    layout = (
        View("faults", cells=("code", "count", "total", "share", "spoils")),
        _finding_entries,
        Sentence("Not checked, because the log has no data for them: {unchecked}.", "unchecked"),
    )
    notice_texts = (
        NoticeText(
            "{row.code}",
            "{row.count:,} of {row.total:,} {row.words}",
            source="findings",
            subject="{row.code}",
        ),
    )
    headline_text = (
        Sentence("No faults in {passed:n check}", lambda diagnosis: not diagnosis.findings),
        Sentence(
            "{findings:n fault} in the log, of which {blocks} {blocks:v blocks/block} figures", "findings"
        ),
    )

    findings: tuple[LogFinding, ...]
    passed: tuple[str, ...]
    skipped: tuple[str, ...]
    counts: pl.DataFrame
    first: str
    last: str
    privacy: JsonObject

    def blocking(self, subjects: tuple[str, ...]) -> tuple[LogFinding, ...]:
        """The findings that block figures with any of these parts."""
        return tuple(
            finding
            for finding in self.findings
            if finding.severity == "block" and set(finding.spoils) & set(subjects)
        )

    @property
    def blocks(self) -> int:
        """The number of faults that block figures."""
        return sum(finding.severity == "block" for finding in self.findings)

    @property
    def event_counts(self) -> str:
        """The number of events of each kind."""
        return ", ".join(f"{events:,} {kind}" for kind, events in self.counts.iter_rows()) or "no events"

    @property
    def period(self) -> str:
        """The times of the first and the last event."""
        return f"{self.first} to {self.last}" if self.first else "without times"

    @property
    def unchecked(self) -> str:
        """The checks that were skipped."""
        return ", ".join(self.skipped)

    @property
    def faults(self) -> pl.DataFrame:
        """The columns of `FAULTS`."""
        rows = [
            {
                **asdict(finding),
                "share": finding.share,
                "spoils": ", ".join(finding.spoils),
                "examples": ", ".join(finding.examples),
            }
            for finding in self.findings
        ]
        return pl.DataFrame(rows, FAULTS)


def check_sample_ratio(base: Database, split: Mapping[str, float] | None = None) -> LogFinding | bool:
    """Compare the users of each variant with the planned split, by a test that holds at any time.

    Args:
        base: has ``events``.
        split: the planned share, by variant; equal shares by default.

    Returns:
        The finding; True if the split is as planned; False without variants to compare.
    """
    rows = base.rows(
        'SELECT variant, count(DISTINCT coalesce("user", session, query_event_id)) AS users FROM events '
        "WHERE variant IS NOT NULL GROUP BY 1 ORDER BY 1"
    )
    if len(rows) < 2:
        return False
    total = int(rows["users"].sum())
    planned = [(split or {}).get(name, 0.0 if split else 1.0) for name in rows["variant"]]
    if min(planned) <= 0:
        return False
    ratio = sequential_sample_ratio(rows["users"].to_list(), planned)
    if ratio.p_value >= ratio.levels[0]:
        return True
    user_counts = ", ".join(f"{name} {users:,}" for name, users in rows.iter_rows())
    return LogFinding(
        "sample-ratio",
        "block",
        total,
        total,
        ("variants",),
        f"variants do not have the planned shares of users (p = {ratio.p_value:.2g} at any look)",
        (user_counts,),
        "find out which users are lost or assigned twice before comparing variants",
    )


def check_mean_weight(base: Database) -> LogFinding | bool:
    """Check that logged importance weights have a mean of 1, within two standard errors.

    Returns:
        The finding; True if the mean is right; False without weights.
    """
    row = base.rows(
        "SELECT count(w) AS n, avg(w) AS mean, stddev_samp(w) AS deviation FROM (SELECT "
        "try_cast(attributes->>'$.weight' AS DOUBLE) AS w FROM events WHERE attributes LIKE '%\"weight\"%')"
    ).row(0, named=True)
    if row["n"] < 2:
        return False
    if abs(row["mean"] - 1) <= 2 * row["deviation"] / row["n"] ** 0.5:
        return True
    return LogFinding(
        "mean-weight",
        "block",
        row["n"],
        row["n"],
        ("variants",),
        f"importance weights have the mean {row['mean']:.4g}, not 1: logged propensities are wrong",
        (),
        "log the probability of the shown list",
    )


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
    "empty-flag": (),
}
"""The data that a problem in a file spoils, by its code; other codes are not faults of a log."""

_FIXES = {
    "unreadable-time": "write the format of the times under [log] in the mapping, as in "
    'time_format = "%d.%m.%Y %H:%M:%S"'
}

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


def doctor(events: EventsLike, *, split: Mapping[str, float] | None = None) -> Diagnosis:
    """Look for faults in a log, and for the figures that they spoil.

    Args:
        events: the log: a folder of events, a table of them, files of logs, or ``Events``.
        split: the planned share of each variant, as in a=0.5; equal shares by default.

    Raises:
        InputError: a log that cannot be read.
        MissingExtraError: DuckDB is not installed.
    """
    with Events.of(events).open() as log:
        if log.base.dialect != "duckdb":
            problem = "the log doctor reads files and DuckDB; export a part of the table, and check that."
            raise UsageError(problem, code="unused-option")
        return diagnose_events(log.base, log.manifest, split)


def diagnose_events(
    base: Database,
    manifest: Manifest,
    split: Mapping[str, float] | None = None,
    subjects: Collection[Subject] | None = None,
) -> Diagnosis:
    """The diagnosis of the view ``events``; nothing is checked in databases other than DuckDB.

    Args:
        base: has ``events``.
        manifest: the manifest of the log.
        split: the planned share, by variant.
        subjects: the data whose faults matter: other checks are left out; all by default.
    """
    import polars as pl

    if base.dialect != "duckdb":
        codes = (*CHECKS, "sample-ratio", "mean-weight")
        return Diagnosis((), (), codes, pl.DataFrame(schema=COUNTS), "", "", {})
    checks = [
        check for check in CHECKS.values() if subjects is None or not {*subjects}.isdisjoint(check.spoils)
    ]
    for name, sql in VIEWS.items():
        if any(name in check.faults or name in check.total for check in checks):
            base.run(sql)
    findings, passed, skipped = _find_unreadable_lines(manifest), list[str](), list[str]()
    count_total = cache(lambda sql: int(base.first_value(sql) or 0))  # several checks have one total
    for check in checks:
        total = count_total(check.total)
        finding = _run_check(base, check, total) if total else None
        if finding:
            findings.append(finding)
        else:
            (passed if total else skipped).append(check.name)
    arms: dict[str, LogFinding | bool] = {}
    if subjects is None or "variants" in subjects:
        arms = {"sample-ratio": check_sample_ratio(base, split), "mean-weight": check_mean_weight(base)}
    for code, tested in arms.items():
        if isinstance(tested, LogFinding):
            findings.append(tested)
        else:
            (passed if tested else skipped).append(code)
    if unmapped := _find_unmapped_actions(manifest):
        findings.append(unmapped)
    counts = base.rows("SELECT kind, count(*) AS events FROM events GROUP BY 1 ORDER BY 1")
    times = base.rows(
        "SELECT coalesce(strftime(timezone('UTC', min(\"at\")), '%Y-%m-%dT%H:%M:%SZ'), '') AS first, "
        "coalesce(strftime(timezone('UTC', max(\"at\")), '%Y-%m-%dT%H:%M:%SZ'), '') AS last FROM events"
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
    count = int(base.first_value(f"SELECT {sums} FROM faults") or 0)
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


def _find_unmapped_actions(manifest: Manifest) -> LogFinding | None:
    """The finding about actions of unknown kind, with the lines that a mapping needs."""
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
        f"events have an action without a known kind: {format_actions(actions)}",
        (),
        mapping_advice([*actions]),
    )


def _find_unreadable_lines(manifest: Manifest) -> list[LogFinding]:
    """Findings about lines that could not be read when the log was ingested."""
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
            if problem["count"] / total >= _BLOCKS_FROM and problem["code"] not in (
                "time-without-zone",
                "empty-flag",
            ):
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
                    _FIXES.get(problem["code"], ""),
                )
            )
    return findings
