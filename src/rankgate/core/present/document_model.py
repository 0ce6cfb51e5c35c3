"""The document of a result: headline, notices, tables, charts and paragraphs.

A `Document` is a result in the form for readers. Each result makes it once (`Result.document`), and
every form is made from it: text for a terminal, Markdown, LaTeX, CSV, one HTML page, a notebook. It
holds text and figures that are already rounded for people; files for programs come from the
result's ``to_dict``.

Before it come the grids: tables of texts that become text, Markdown or LaTeX.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Protocol, Self
from urllib.parse import quote

from rankgate.core.frozen import dataclass
from rankgate.core.present.lazy_names import load_name

SOFT = "\u00ad"  # the soft hyphen; its name would load a table of names while modules are compiled
"""Placed before a newline in a column name where a word without a hyphen is broken."""


@dataclass(frozen=True)
class Grid:
    """Columns with a head, and rows.

    Attributes:
        head: the name of each column; a newline is where a narrow medium may break it.
        rows: one word a column.
        left: the columns that hold words, which are flush left; numbers are right.
        keys: the number of first columns that identify a row; they stay with every piece.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[int] = frozenset({0})
    keys: int = 1

    @classmethod
    def of(cls, columns: dict[str, list[str]], left: tuple[int, ...] = (0,)) -> Grid:
        """A grid from its columns, in their order."""
        return cls(tuple(columns), tuple(zip(*columns.values(), strict=True)), frozenset(left))

    @property
    def flat(self) -> Grid:
        """The same grid with every column name in one line."""
        heads = (
            name.replace(f"{SOFT}\n", "").replace("-\n", "-").replace("/\n", "/").replace("\n", " ")
            for name in self.head
        )
        return replace(self, head=tuple(heads))

    @property
    def turned(self) -> Grid:
        """Rows as columns; the first column gives the heads."""
        corner_name, *names = self.flat.head
        first, *other_columns = zip(*self.rows, strict=True)
        rows = tuple((name, *cells) for name, cells in zip(names, other_columns, strict=True))
        return Grid((corner_name, *first), rows)

    def columns(self, begin: int, end: int) -> Grid:
        """The columns that are keys, and some of the others."""
        column_indices = [*range(self.keys), *range(max(begin, self.keys), end)]
        return replace(
            self,
            head=tuple(self.head[i] for i in column_indices),
            rows=tuple(tuple(row[i] for i in column_indices) for row in self.rows),
            left=frozenset(position for position, i in enumerate(column_indices) if i in self.left),
        )


def make_printable(text: str) -> str:
    r"""A text on one line, without characters that move a cursor.

    >>> make_printable("a\n\x1b[1mb")
    'a �[1mb'
    """
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else "�" for c in line)


def shorten_name(text: str, max_length: int = 32) -> str:
    """A name on one line; a long name is cut in the middle.

    >>> shorten_name("covidex.r1.t5.automatic.reranked.with.a.long.name", 20)
    'covidex.r1…long.name'
    """
    line = make_printable(text)
    if len(line) <= max_length:
        return line
    tail = (max_length - 1) // 2
    return f"{line[: max_length - 1 - tail]}…{line[-tail:]}"


SIGNS = {"pass": "✔", "fail": "✘", "inconclusive": "?"}
"""The sign before the word of a verdict."""


@dataclass(frozen=True)
class Points:
    """Sentences, one below the other."""

    lines: tuple[str, ...]


class _Notice(Protocol):
    """A notice of a result; a protocol, because its class is in a package above this module."""

    @property
    def text(self) -> str: ...

    @property
    def subject(self) -> str: ...


@dataclass(frozen=True)
class Warnings:
    """Texts of notices; the reader should see them before the figures are used."""

    lines: tuple[str, ...]

    @classmethod
    def from_notices(cls, notices: Iterable[_Notice]) -> Self:
        """The notices of a result as warnings; those of the same words about several runs are one."""
        subjects_by_text: dict[str, list[str]] = {}
        for notice in notices:
            begin = f"{notice.subject}: " if notice.subject else ""
            text = notice.text.removeprefix(begin)
            subjects = subjects_by_text.setdefault(text, [])
            if text != notice.text and notice.subject not in subjects:
                subjects.append(notice.subject)
        return cls(
            tuple(
                f"{', '.join(subjects)}: {text}" if subjects else text
                for text, subjects in subjects_by_text.items()
            )
        )


@dataclass(frozen=True)
class Entry:
    """A label with paragraphs to its right.

    Attributes:
        label: a word or two; a status such as ``✔ pass`` gets its colour.
        lines: paragraphs; the first one names the subject of the entry.
    """

    label: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Entries:
    """Labelled paragraphs, such as the rules of a verdict or the details of a metric."""

    entries: tuple[Entry, ...]
    heading: str = ""


@dataclass(frozen=True)
class Table:
    """A grid with its heading.

    Attributes:
        heading: the heading; may be empty.
        grid: its words.
        find: True if it is so long that readers search it; LaTeX leaves it out.
        folded: True if a page shows it only when asked for; text leaves it out.
        spans: for each row low end, middle and high end of an interval, to be drawn.
        links: for each row the anchor of what it is about; may be empty.
        clear: for each row whether its interval is of a significant difference.
        bold: the cells, by row and column, that LaTeX prints bold.
        prose: True if the last column holds paragraphs, which text wraps.
        plain: the same for text and LaTeX, where rows may depend on those above them: the widest
            first; text takes the first that fits.
    """

    heading: str
    grid: Grid
    find: bool = False
    folded: bool = False
    spans: tuple[tuple[float | None, float | None, float | None], ...] = ()
    links: tuple[str, ...] = ()
    clear: tuple[bool, ...] = ()
    bold: frozenset[tuple[int, int]] = frozenset()
    prose: bool = False
    plain: tuple[Grid, ...] = ()


@dataclass(frozen=True)
class Code:
    """Text for the reader to type exactly."""

    text: str


@dataclass(frozen=True)
class Bar:
    """The value of a query.

    Attributes:
        name: the query.
        value: the value of its bar; above 0 is better.
        link: the anchor of the query's own part of the page; may be empty.
    """

    name: str
    value: float
    link: str = ""


@dataclass(frozen=True)
class Bars:
    """Values of queries as bars, the largest first.

    Attributes:
        bars: the queries.
        words: the description of the bars.
        axis: the label of the values.
        along: the label of the bars.
    """

    bars: tuple[Bar, ...]
    words: str
    axis: str = ""
    along: str = ""


@dataclass(frozen=True)
class Chart:
    """A picture that a page and a notebook draw, if the extra ``plots`` is installed.

    Attributes:
        draw: the name of one of the result's charts; or ``module:function`` from `result` to a
            ``present.charts.picture.Picture``.
        result: the result.
    """

    draw: str
    result: Any

    def picture(self) -> Any:  # noqa: ANN401 - its package needs this module
        """The ``present.charts.picture.Picture``.

        Raises:
            UsageError: there are no values to draw.
            MissingExtraError: the extra ``plots`` is not installed.
        """
        return load_name(self.draw)(self.result) if ":" in self.draw else self.result.plot(self.draw)


@dataclass(frozen=True)
class ListedDocument:
    """A document in a list: its grade (None: unjudged), its change of rank as text, its text."""

    doc_id: str
    grade: float | None
    move: str
    text: str


@dataclass(frozen=True)
class ListPair:
    """One query with the lists of both systems.

    Attributes:
        anchor: the name that links use.
        query_id: the query.
        text: the text of the query, if it is known.
        change: its values as text.
        names: the names of both systems.
        ranks: each rank with the document of each system at that rank.
        top: the best grade of the report.
    """

    anchor: str
    query_id: str
    text: str
    change: str
    names: tuple[str, str]
    ranks: tuple[tuple[int, ListedDocument | None, ListedDocument | None], ...]
    top: float


def format_move(row: Mapping[str, Any]) -> str:
    """The ranks that a document rises from the baseline to the candidate, as text.

    >>> [format_move({"system": side, "moved": n})
    ...  for side, n in (("baseline", -2), ("candidate", 2))]
    ['+2', '+2']
    >>> [format_move({"system": side, "moved": None}) for side in ("baseline", "candidate")]
    ['gone', 'new']
    """
    if row["moved"] is None:
        return "gone" if row["system"] == "baseline" else "new"
    ranks_gained = -row["moved"] if row["system"] == "baseline" else row["moved"]
    return f"{ranks_gained:+d}" if ranks_gained else ""


def list_pair(
    query_id: str,
    rows: Iterable[Mapping[str, Any]],
    names: tuple[str, str],
    *,
    position: str = "",
    text: str = "",
    change: str = "",
    documents: Mapping[str, str] | None = None,
    top: float = 0.0,
) -> ListPair:
    """Both lists of a query, rank by rank.

    Args:
        query_id: the query.
        rows: its rows: `system` (baseline or candidate), `rank`, `doc_id`, `grade`, `moved`.
        names: the names of both systems.
        position: the position of the lists on a page, for links.
        text: the text of the query.
        change: its values as text.
        documents: the texts of documents, by id.
        top: the best grade of the report.
    """
    lists: dict[str, dict[int, ListedDocument]] = {"baseline": {}, "candidate": {}}
    for row in rows:
        document, title = row["doc_id"], (documents or {}).get(row["doc_id"], "")
        lists[row["system"]][row["rank"]] = ListedDocument(document, row["grade"], format_move(row), title)
    baseline, candidate = lists.values()
    last_rank = max((*baseline, *candidate), default=0)
    ranks = tuple((rank, baseline.get(rank), candidate.get(rank)) for rank in range(1, last_rank + 1))
    return ListPair(f"q{position}-{quote(query_id, safe='')}", query_id, text, change, names, ranks, top)


@dataclass(frozen=True)
class QueryLists:
    """Queries that a reader opens one by one."""

    heading: str
    queries: tuple[ListPair, ...]


@dataclass(frozen=True)
class FoldedBlock:
    """A part of a section that a page shows only when it is opened, and omits on paper.

    Attributes:
        anchor: its name in links.
        title: its heading.
        blocks: its content.
        words: its most important figures, next to the heading.
    """

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    words: str = ""


Block = str | Points | Warnings | Entries | Table | Code | Bars | Chart | QueryLists | FoldedBlock
"""A part of a section; a text is a paragraph."""


@dataclass(frozen=True)
class Section:
    """A part of a document with a heading and an anchor for links.

    Attributes:
        anchor: its name in links.
        title: its heading; empty in a document with a single part.
        blocks: its content.
        short: its name in the table of contents; by default the heading.
    """

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    short: str = ""


@dataclass(frozen=True)
class PlainRows:
    """The figures of a result for spreadsheets and programs: one fact per line, all digits.

    Attributes:
        head: the names of the columns.
        rows: a cell for each column.
        data: True if the file is read again, so that texts stay as they are; other files are for
            spreadsheets, which must not take a text for a formula.
    """

    head: tuple[str, ...]
    rows: Sequence[Sequence[str | float | None]]
    data: bool = False


@dataclass(frozen=True)
class Document:
    """A result in text and tables, before it becomes text, Markdown or HTML.

    Attributes:
        title: a title, in a line.
        status: pass, fail or inconclusive; empty where nothing was decided.
        lead: the most important sentence, then what it is based on.
        sections: the parts, the most important first.
        rows: the rows of the CSV form; None for every cell of every table.
    """

    title: str
    status: str = ""
    lead: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    rows: PlainRows | None = field(default=None, compare=False)

    @property
    def tables(self) -> Iterator[tuple[Section, Table]]:
        """Every table that has rows, with its section."""
        for section in self.sections:
            for subsection, block in unfold_section(section):
                if isinstance(block, Table) and block.grid.rows:
                    yield subsection, block


def make_document(
    title: str, *blocks: Block, lead: Sequence[str] = (), status: str = "", rows: PlainRows | None = None
) -> Document:
    """A document with one part and no heading; tables without rows and empty blocks are left out.

    >>> make_document("a title", "a paragraph", Points(())).sections[0].blocks
    ('a paragraph',)
    """
    return Document(title, status, tuple(lead), (Section("result", "", nonempty_blocks(blocks)),), rows)


def unfold_section(section: Section) -> Iterator[tuple[Section, Block]]:
    """The blocks of a section, and those of its folded parts as separate sections."""
    for block in section.blocks:
        if isinstance(block, FoldedBlock):
            yield from unfold_section(Section(block.anchor, block.title, block.blocks))
        else:
            yield section, block


def nonempty_blocks(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks that are not empty."""
    return tuple(block for block in blocks if not _is_empty(block))


def _is_empty(block: Block) -> bool:
    if isinstance(block, Table):
        return not block.grid.rows
    if isinstance(block, Points | Warnings):
        return not block.lines
    if isinstance(block, Entries):
        return not block.entries
    if isinstance(block, QueryLists):
        return not block.queries
    return block == ""
