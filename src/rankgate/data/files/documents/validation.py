"""Documents of a validation: findings, and the list of checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Entries, Entry, PlainRows, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from rankgate.core.present.document import Document
    from rankgate.data.files.checklist import Checklist
    from rankgate.data.files.validation import CheckedFile, Problem, Validation


def document(result: Validation) -> Document:
    """The number of problems of each severity, then the problems of each file."""
    files = [subject.file for subject in result.files] + [
        subject.file for subject in result.problems
    ]
    parts = [_file(result, label) for label in dict.fromkeys(files)]
    grid = problems(result)
    return made(summary(result), *parts, rows=PlainRows(grid.head, grid.rows))


def checklist(result: Checklist) -> Document:
    """Every check."""
    grid = checks(result)
    rows = tuple((name, severity, title) for name, severity, _, title in grid.rows)
    short_grid = Grid(("check", "severity", "finds"), rows, frozenset(range(3)))
    heading = f"rankgate validate looks for {len(result)} problems"
    return made(heading, Table("", short_grid, prose=True), rows=PlainRows(grid.head, grid.rows))


def problems(result: Validation) -> Grid:
    """The problems, one row each."""
    rows = [
        (
            problem.severity,
            problem.check,
            _location_label(problem),
            problem.what,
            problem.example,
            problem.mend,
        )
        for problem in result.problems
    ]
    column_names = ("severity", "check", "where", "what", "example", "mend")
    return Grid(column_names, tuple(rows), frozenset(range(len(column_names))))


def checks(result: Checklist) -> Grid:
    """Every check, one row each."""
    rows = [(check.name, check.severity, check.needs, check.title) for check in result.checks]
    column_names = ("check", "severity", "looks at", "finds")
    return Grid(column_names, tuple(rows), frozenset(range(len(column_names))))


def summary(result: Validation) -> str:
    """One line with the numbers of errors, warnings and notes."""
    counts = [
        f"{count} {severity}{'s' * (count != 1)}"
        for severity, count in result.counts.items()
        if count
    ]
    return ", ".join(counts) or "no errors, no warnings, nothing to note"


def _file(result: Validation, label: str) -> Entries:
    """The problems of one file."""
    checked_file = next((file for file in result.files if file.file == label), None)
    entries = [_entry(problem) for problem in result.problems if problem.file == label]
    return Entries(
        tuple(entries or [Entry("", ("no problems found",))]), _file_heading(label, checked_file)
    )


def _file_heading(label: str, checked_file: CheckedFile | None) -> str:
    if checked_file is None:
        return make_printable(label)
    content = [
        f"{count:,} {noun}"
        for count, noun in (
            (checked_file.judgments, "judgments"),
            (checked_file.ranked, "ranked documents"),
        )
        if count
    ]
    format_notes = (
        [f"read as {checked_file.format}"] if checked_file.format not in {"?", "memory"} else []
    )
    text = ", ".join([*format_notes, *content])
    return make_printable(label) + (f": {text}" if text else "")


def _entry(problem: Problem) -> Entry:
    line_label = f"line {problem.line}: " if problem.line else ""
    lines = [f"{line_label}{problem.what} [{problem.check}]"]
    lines += [f"example: {problem.example}"] if problem.example else []
    lines += [f"mend: {problem.mend}"] if problem.mend else []
    return Entry(problem.severity, tuple(lines))


def _location_label(problem: Problem) -> str:
    return f"{problem.file}:{problem.line}" if problem.line else problem.file
