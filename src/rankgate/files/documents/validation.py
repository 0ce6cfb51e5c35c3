"""What is wrong with files, or strange: as text, Markdown and JSON; and what is looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present.document import PlainRows, Table
from rankgate.present.document import document as made
from rankgate.present.forms import as_json, as_markdown
from rankgate.present.forms.as_text import WIDTH
from rankgate.present.forms.paragraphs import beside
from rankgate.present.grid import Grid, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.files.validate import CheckFacts
    from rankgate.files.validation import Looked, Problem, Validation
    from rankgate.present.document import Document

FORMS = ("table", "json", "markdown")
"""The forms of what was found, by the name that ``--format`` takes."""

_SCHEMA_VERSION = 1
_ROOM = [len("warning")]
_PAGE = """# What `rankgate validate` looks for

    rankgate validate FILE... --against QRELS

An error stops rankgate from reading or scoring, a warning moves numbers, a note is good to know.
Every finding comes with file, line, count, an example and how to mend it; `--format json` has the
same for programs. The command exits with 2 if there are errors, with 0 otherwise.

What a check looks at: `failure`, why a file cannot be read; `bytes`, how it is written; `contents`,
what its reader saw; `qrels`, `ratings` and `run`, its rows as they stand; `runs`, all runs that
were given; `both`, a run with the judgments that it is held against; `queries`, a file of queries
with these.
"""


def document(result: Validation) -> Document:
    """How many problems of each severity, and a row for each."""
    grid = problems(result)
    return made(verdict(result), Table("", grid), rows=PlainRows(grid.head, grid.rows))


def render(result: Validation, form: str, width: int = WIDTH) -> str:
    """What was found in one of `FORMS`."""
    if form == "json":
        return as_json.dumped(result.to_dict())
    if form == "markdown":
        table = as_markdown.table(problems(result)) + "\n\n" if result.problems else ""
        return f"{table}{verdict(result)}\n"
    blocks = []
    for label in dict.fromkeys([*(each.file for each in result.files), *_places(result)]):
        found = [each for each in result.problems if each.file == label]
        looked = next((each for each in result.files if each.file == label), None)
        lines = "".join(_lines(each, width) for each in found)
        blocks.append(f"{_head(label, looked)}\n{lines or '  no problems found' + chr(10)}")
    return "\n".join([*blocks, f"{verdict(result)}\n"])


def render_checks(facts: Sequence[CheckFacts], form: str, width: int = WIDTH) -> str:
    """Every check, in one of `FORMS`."""
    if form == "json":
        listed = [
            {"name": each.name, "severity": each.severity, "needs": each.needs, "title": each.title}
            for each in facts
        ]
        return as_json.dumped({"schema_version": _SCHEMA_VERSION, "checks": listed})
    if form == "markdown":
        return f"{_PAGE}\n{as_markdown.table(checks(facts))}\n"
    room = [max(len(each.name) for each in facts), *_ROOM]
    return "".join(beside([each.name, each.severity], [each.title], room, width) for each in facts)


def problems(result: Validation) -> Grid:
    """What was found, one row each."""
    rows = [
        (each.severity, each.check, _where(each), each.what, each.example, each.mend)
        for each in result.problems
    ]
    head = ("severity", "check", "where", "what", "example", "mend")
    return Grid(head, tuple(rows), frozenset(range(len(head))))


def checks(facts: Sequence[CheckFacts]) -> Grid:
    """Every check, one row each."""
    rows = [(each.name, each.severity, each.needs, each.title) for each in facts]
    head = ("check", "severity", "looks at", "finds")
    return Grid(head, tuple(rows), frozenset(range(len(head))))


def verdict(result: Validation) -> str:
    """One line: how many errors, warnings and notes."""
    counts = [
        f"{count} {severity}{'s' * (count != 1)}"
        for severity, count in result.counts.items()
        if count
    ]
    return ", ".join(counts) or "no errors, no warnings, nothing to note"


def _places(result: Validation) -> list[str]:
    """Where problems are that are not of one file."""
    return [each.file for each in result.problems]


def _head(label: str, looked: Looked | None) -> str:
    if looked is None:
        return printable(label)
    held = [
        f"{count:,} {words}"
        for count, words in (
            (looked.judgments, "judgments"),
            (looked.ranked, "ranked documents"),
        )
        if count
    ]
    known = [f"read as {looked.format}"] if looked.format not in {"?", "memory"} else []
    text = ", ".join([*known, *held])
    return printable(label) + (f": {text}" if text else "")


def _lines(each: Problem, width: int) -> str:
    where = f"line {each.line}: " if each.line else ""
    lines = [f"{where}{printable(each.what)} [{each.check}]"]
    if each.example:
        lines.append(f"example: {printable(each.example)}")
    if each.mend:
        lines.append(f"mend: {printable(each.mend)}")
    return beside([each.severity], lines, _ROOM, width)


def _where(each: Problem) -> str:
    return f"{each.file}:{each.line}" if each.line else each.file
