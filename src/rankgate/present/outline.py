"""What a report says, part by part, before it becomes a page, Markdown, LaTeX or a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankgate.present.grid import Grid

SIGNS = {"pass": "✔", "fail": "✘", "inconclusive": "?"}
"""What stands before the word of a verdict."""


@dataclass(frozen=True)
class Points:
    """Sentences, one below the other."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A grid with its heading.

    Attributes:
        heading: what it shows; may be empty.
        grid: its words.
        find: whether it is so long that readers search it.
        folded: whether it is shown only when asked for.
        spans: for each row where an interval begins, its middle and its end, to be drawn.
        links: for each row the anchor of what it is about; empty where there is none.
    """

    heading: str
    grid: Grid
    find: bool = False
    folded: bool = False
    spans: tuple[tuple[float | None, float | None, float | None], ...] = ()
    links: tuple[str, ...] = ()


@dataclass(frozen=True)
class Code:
    """Words to be typed as they are."""

    text: str


@dataclass(frozen=True)
class Bars:
    """Differences of all queries, the largest first, and what they say in words."""

    values: tuple[float, ...]
    words: str


@dataclass(frozen=True)
class Place:
    """A document in a list: its grade (None: unjudged), its move in words, its text."""

    doc_id: str
    grade: float | None
    move: str
    text: str


@dataclass(frozen=True)
class Lists:
    """One query with the lists of both systems.

    Attributes:
        anchor: what links to it name.
        query_id: the query.
        text: its words, where they are known.
        change: its values, in words.
        names: of both systems.
        ranks: rank, and what each system has there.
        top: the best grade of the report.
    """

    anchor: str
    query_id: str
    text: str
    change: str
    names: tuple[str, str]
    ranks: tuple[tuple[int, Place | None, Place | None], ...]
    top: float


@dataclass(frozen=True)
class Opened:
    """Queries that are opened one by one."""

    heading: str
    queries: tuple[Lists, ...]


Block = str | Points | Table | Code | Bars | Opened


@dataclass(frozen=True)
class Section:
    """A part with a heading, that links can name.

    Attributes:
        anchor: its name in links.
        title: its heading.
        blocks: what it says; a text is a paragraph.
        short: its name among the links; without it the heading.
    """

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    short: str = ""


@dataclass(frozen=True)
class Outline:
    """A whole report.

    Attributes:
        title: what it is about.
        status: the verdict, or nothing.
        lead: the most important sentence, then what it is of.
        sections: the parts, the most important first.
    """

    title: str
    status: str
    lead: tuple[str, ...]
    sections: tuple[Section, ...]
