"""Documents of a validation: findings, and the list of checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Entries, Entry, PlainRows, Table
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable

if TYPE_CHECKING:
    from rankgate.core.present.document import Document
    from rankgate.data.files.checklist import Checklist
    from rankgate.data.files.validation import Looked, Problem, Validation


def document(result: Validation) -> Document:
    """How many problems of each severity, then those of each file."""
    files = [each.file for each in result.files] + [each.file for each in result.problems]
    parts = [_file(result, label) for label in dict.fromkeys(files)]
    grid = problems(result)
    return made(summary(result), *parts, rows=PlainRows(grid.head, grid.rows))


def checklist(result: Checklist) -> Document:
    """Every check."""
    grid = checks(result)
    rows = tuple((name, severity, title) for name, severity, _, title in grid.rows)
    short = Grid(("check", "severity", "finds"), rows, frozenset(range(3)))
    words = f"rankgate validate looks for {len(result)} problems"
    return made(words, Table("", short, prose=True), rows=PlainRows(grid.head, grid.rows))


def problems(result: Validation) -> Grid:
    """What was found, one row each."""
    rows = [
        (each.severity, each.check, _where(each), each.what, each.example, each.mend)
        for each in result.problems
    ]
    head = ("severity", "check", "where", "what", "example", "mend")
    return Grid(head, tuple(rows), frozenset(range(len(head))))


def checks(result: Checklist) -> Grid:
    """Every check, one row each."""
    rows = [(each.name, each.severity, each.needs, each.title) for each in result.checks]
    head = ("check", "severity", "looks at", "finds")
    return Grid(head, tuple(rows), frozenset(range(len(head))))


def summary(result: Validation) -> str:
    """One line: how many errors, warnings and notes."""
    counts = [
        f"{count} {severity}{'s' * (count != 1)}"
        for severity, count in result.counts.items()
        if count
    ]
    return ", ".join(counts) or "no errors, no warnings, nothing to note"


def _file(result: Validation, label: str) -> Entries:
    """What was found in one file."""
    looked = next((each for each in result.files if each.file == label), None)
    found = [_entry(each) for each in result.problems if each.file == label]
    return Entries(tuple(found or [Entry("", ("no problems found",))]), _head(label, looked))


def _head(label: str, looked: Looked | None) -> str:
    if looked is None:
        return printable(label)
    content = [
        f"{count:,} {words}"
        for count, words in (
            (looked.judgments, "judgments"),
            (looked.ranked, "ranked documents"),
        )
        if count
    ]
    known = [f"read as {looked.format}"] if looked.format not in {"?", "memory"} else []
    text = ", ".join([*known, *content])
    return printable(label) + (f": {text}" if text else "")


def _entry(each: Problem) -> Entry:
    where = f"line {each.line}: " if each.line else ""
    lines = [f"{where}{each.what} [{each.check}]"]
    lines += [f"example: {each.example}"] if each.example else []
    lines += [f"mend: {each.mend}"] if each.mend else []
    return Entry(each.severity, tuple(lines))


def _where(each: Problem) -> str:
    return f"{each.file}:{each.line}" if each.line else each.file
