"""Declare checks and their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from rankgate.core.frozen import dataclass

Severity = Literal["error", "warning", "note"]
"""An error stops rankgate from reading or scoring; a warning changes values; a note is for
information."""

Needs = Literal[
    "failure", "bytes", "contents", "qrels", "ratings", "run", "runs", "both", "queries", "texts"
]
"""The input of a check: why a file cannot be read (InputError), its `Bytes`, its `Contents`, its
judgments (`Judged`), `Ratings`, a run (`Ranked`), all runs (`Outline`), a run with judgments
(`Both`), a file of queries with judgments (`Asked`), a table of queries with their texts."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The severities, the gravest first."""


@dataclass(frozen=True)
class Found:
    """One finding of a check.

    Attributes:
        what: a sentence with the figures.
        count: how many rows, queries or ids it is about.
        mend: what to do about it.
        example: one of them.
        row: the row of the first one in the table; None if it has no row.
        line: its line, if the line is known but the row is not.
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
    """One possible problem of a file.

    Attributes:
        name: how findings and documentation call it.
        severity: the severity of its findings.
        needs: the input that `find` is given.
        title: the problem that it looks for, in a sentence.
        find: yields its findings; nothing if all is well.
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


def first_few(rows: Iterable[object], max_count: int = 5) -> str:
    """The first few of some values, between commas.

    >>> first_few([1, 2, 3], 2)
    '1, 2, …'
    """
    texts = list(map(str, rows))
    return ", ".join(texts[:max_count]) + (", …" if len(texts) > max_count else "")


def count_noun(count: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> count_noun(1, "query", "queries"), count_noun(2000, "row")
    ('1 query', '2,000 rows')
    """
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"
