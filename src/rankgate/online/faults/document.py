"""A diagnosis as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Entries, Entry, PlainRows, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from rankgate.online.faults.diagnosis import Diagnosis
    from rankgate.online.faults.finding import LogFinding

_SEVERITY_LABELS = {"block": "✘ blocks", "annotate": "! warns"}


def document(result: Diagnosis) -> Document:
    """The findings with their count, what they spoil, examples and the fix."""
    blocks = sum(finding.severity == "block" for finding in result.findings)
    counts = ", ".join(f"{events:,} {kind}" for kind, events in result.counts.iter_rows())
    period = f"{result.first} to {result.last}" if result.first else "without times"
    if not result.findings:
        title = f"No faults in {len(result.passed)} checks"
    else:
        count = len(result.findings)
        title = f"{count} fault{'s' * (count > 1)} in the log, {blocks} of which block figures"
    columns = ("code", "severity", "count", "total", "share", "spoils", "words", "examples", "fix")
    rows = [
        (
            finding.code,
            finding.severity,
            finding.count,
            finding.total,
            finding.share,
            ", ".join(finding.spoils),
            finding.words,
            ", ".join(finding.examples),
            finding.fix,
        )
        for finding in result.findings
    ]
    return made(
        title,
        Table("", _grid(result.findings)),
        Entries(tuple(map(_finding_entry, result.findings))),
        f"Not checked, as the log has nothing for them: {', '.join(result.skipped)}."
        if result.skipped
        else "",
        lead=(f"{counts or 'no events'}; {period}.",),
        rows=PlainRows(columns, rows),
    )


def _grid(findings: tuple[LogFinding, ...]) -> Grid:
    rows = tuple(
        (
            finding.code,
            f"{finding.count:,}",
            f"{finding.total:,}",
            f"{finding.share:.2%}",
            ", ".join(finding.spoils) or "–",
        )
        for finding in findings
    )
    return Grid(("finding", "faults", "of", "share", "spoils"), rows, frozenset({0, 4}))


def _finding_entry(finding: LogFinding) -> Entry:
    sentence = f"{finding.code}: {finding.count:,} of {finding.total:,}: {finding.words}."
    lines = [sentence]
    if finding.examples:
        lines.append(f"For example {', '.join(map(make_printable, finding.examples))}.")
    if finding.fix:
        lines.append(f"{finding.fix[:1].upper()}{finding.fix[1:]}.")
    return Entry(_SEVERITY_LABELS[finding.severity], tuple(lines))
