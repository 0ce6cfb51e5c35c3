"""Declare checks and their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from rankgate.core.frozen import dataclass

Severity = Literal["error", "warning", "note"]
"""An error stops rankgate from reading or scoring; a warning moves numbers; a note is good to
know."""

Needs = Literal[
    "failure", "bytes", "contents", "qrels", "ratings", "run", "runs", "both", "queries", "texts"
]
"""What a check looks at: why a file cannot be read (InputError), its `Bytes`, its `Contents`, its
judgments (`Judged`), `Ratings`, a run (`Ranked`), all runs (`Outline`), a run with judgments
(`Both`), a file of queries with judgments (`Asked`), a table of queries with their texts."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The gravest first."""


@dataclass(frozen=True)
class Found:
    """One thing that a check found.

    Attributes:
        what: a sentence with the figures.
        count: how many rows, queries or ids it is about.
        mend: what to do about it.
        example: one of them.
        row: the row of the table where the first one is; None where there is no such row.
        line: its line, where that is known and no row is.
        severity: other than the check's.
    """

    what: str
    count: int
    mend: str
    example: str = ""
    row: int | None = None
    line: int | None = None
    severity: Severity | None = None


@dataclass(frozen=True)
class Check:
    """One thing that can be wrong with a file.

    Attributes:
        name: how findings and documentation call it.
        severity: of what it finds.
        needs: what it looks at, which `find` is given.
        title: what it looks for, in a sentence.
        find: gives what it found; nothing where all is well.
    """

    name: str
    severity: Severity
    needs: Needs
    title: str
    find: Callable[[Any], Iterable[Found]]


def check(
    name: str, severity: Severity, needs: Needs, title: str
) -> Callable[[Callable[[Any], Iterable[Found]]], Check]:
    """Return a decorator that makes a check of the function that finds; fields as of `Check`."""
    return lambda find: Check(name, severity, needs, title, find)


def some(rows: Iterable[object], most: int = 5) -> str:
    """The first few of some values, between commas.

    >>> some([1, 2, 3], 2)
    '1, 2, …'
    """
    listed = list(map(str, rows))
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "")


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "query", "queries"), counted(2000, "row")
    ('1 query', '2,000 rows')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
