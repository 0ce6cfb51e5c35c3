"""A diagnosis as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Entries, Entry, PlainRows, Table
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable

if TYPE_CHECKING:
    from rankgate.online.faults.diagnosis import Diagnosis
    from rankgate.online.faults.finding import LogFinding

_WORDS = {"block": "✘ blocks", "annotate": "! warns"}


def document(result: Diagnosis) -> Document:
    """The findings with their count, what they spoil, examples and the fix."""
    blocks = sum(each.severity == "block" for each in result.findings)
    counts = ", ".join(f"{events:,} {kind}" for kind, events in result.counts.iter_rows())
    period = f"{result.first} to {result.last}" if result.first else "without times"
    if not result.findings:
        title = f"No faults in {len(result.passed)} checks"
    else:
        found = len(result.findings)
        title = f"{found} fault{'s' * (found > 1)} in the log, {blocks} of which block figures"
    head = ("code", "severity", "count", "total", "share", "spoils", "words", "examples", "fix")
    rows = [
        (each.code, each.severity, each.count, each.total, each.share, ", ".join(each.spoils),
         each.words, ", ".join(each.examples), each.fix)
        for each in result.findings
    ]  # fmt: skip
    return made(
        title,
        Table("", _grid(result.findings)),
        Entries(tuple(map(_entry, result.findings))),
        f"Nothing to look at for: {', '.join(result.skipped)}." if result.skipped else "",
        lead=(f"{counts or 'no events'}; {period}.",),
        rows=PlainRows(head, rows),
    )


def _grid(findings: tuple[LogFinding, ...]) -> Grid:
    rows = tuple(
        (each.code, f"{each.count:,}", f"{each.total:,}", f"{each.share:.2%}",
         ", ".join(each.spoils) or "–")
        for each in findings
    )  # fmt: skip
    return Grid(("finding", "faults", "of", "share", "spoils"), rows, frozenset({0, 4}))


def _entry(each: LogFinding) -> Entry:
    words = f"{each.code}: {each.count:,} of {each.total:,}: {each.words}."
    lines = [words]
    if each.examples:
        lines.append(f"For example {', '.join(map(printable, each.examples))}.")
    if each.fix:
        lines.append(f"{each.fix[:1].upper()}{each.fix[1:]}.")
    return Entry(_WORDS[each.severity], tuple(lines))
