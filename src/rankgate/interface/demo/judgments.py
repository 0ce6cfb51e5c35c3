"""The two bundled sets of judgments: the standard library's documentation, and five movie queries.

The queries on the documentation were written as a programmer would type them.
Both engines' first twelve documents on Python 3.11, 3.12 and 3.13 were pooled
and judged by reading the docstring; documents that neither engine found but
that answer a query were added. Grades: 3 the thing itself, 2 a good part of
the answer, 1 points the right way, 0 not useful.

The movie queries, their grades and their one ranking are those of a published
guide to ranking metrics (S. Srivastava, "Beyond Accuracy", 2025).
"""

from __future__ import annotations

import csv
from importlib.resources import files

from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class Judgment:
    """The grade of one document for one query, 0 to 3, with the reason."""

    query_id: str
    doc_id: str
    grade: int
    reason: str


@dataclass(frozen=True)
class Movie:
    """One line of the movie set: what the ranking has at a rank of a query, and its grade."""

    query_id: str
    query: str
    rank: int
    doc_id: str
    grade: int


def queries() -> dict[str, str]:
    """The text of every query on the documentation, by query_id, in file order."""
    return {row["query_id"]: row["text"] for row in _rows("queries.tsv", delimiter="\t")}


def judgments() -> list[Judgment]:
    """The judgments of the queries on the documentation, on all Python versions."""
    return [
        Judgment(row["query_id"], row["doc_id"], int(row["grade"]), row["reason"])
        for row in _rows("qrels.csv")
    ]


def movies() -> list[Movie]:
    """The movie set, query by query, best rank first."""
    return [
        Movie(row["query_id"], row["query"], int(row["rank"]), row["doc_id"], int(row["grade"]))
        for row in _rows("movies.csv")
    ]


def _rows(name: str, delimiter: str = ",") -> list[dict[str, str]]:
    text = (files("rankgate.interface.demo") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter=delimiter))
