"""A report as Markdown, as LaTeX tables, or as one table of its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present import as_csv, as_latex, as_markdown
from rankgate.present.grid import Grid, printable
from rankgate.present.numbers import grade
from rankgate.present.outline import SIGNS, Bars, Code, Opened, Points, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankgate.present.outline import Block, Lists, Outline, Place, Section

FORMS = ("html", "markdown", "latex", "csv", "pdf")
"""The forms of a report, by the name that ``--format`` takes."""


def markdown(told: Outline) -> str:
    """The whole report, the lists of queries one below the other."""
    escaped = as_markdown.escaped
    sign = f"{SIGNS[told.status]} {told.status.upper()}: " if told.status else ""
    parts = [f"# {sign}{escaped(told.title)}", *(escaped(each) for each in told.lead if each)]
    for section in told.sections:
        parts.append(f"## {escaped(section.title)}")
        parts += [part for block in section.blocks for part in _markdown(block)]
    return "\n\n".join(parts) + "\n"


def _markdown(told: Block) -> Iterator[str]:
    escaped = as_markdown.escaped
    if isinstance(told, str):
        yield escaped(told)
    elif isinstance(told, Points):
        if told.lines:
            yield "\n".join(f"- {escaped(each)}" for each in told.lines)
    elif isinstance(told, Code):
        yield f"    {printable(told.text)}"
    elif isinstance(told, Bars):
        yield f"{escaped(told.words)}."
    elif isinstance(told, Table):
        if told.grid.rows:
            yield from [f"### {escaped(told.heading)}"] if told.heading else []
            yield as_markdown.table(told.grid)
    else:
        yield f"### {escaped(told.heading)}"
        for query in told.queries:
            text = f" {escaped(query.text)}" if query.text else ""
            yield f"**{escaped(query.query_id)}**{text}: {escaped(query.change)}"
            if query.ranks:
                yield as_markdown.table(lists(query))


def latex(told: Outline) -> str:
    """Every table that is not for searching, each after a remark that says what it is.

    Marks of significance are superscript letters. The tables need the package booktabs.
    """
    parts = [
        f"% {_remark(section, table)}\n{as_latex.table(table.grid)}"
        for section, table in _tables(told)
        if not table.find
    ]
    return "\n\n".join(parts) + "\n"


def csv(told: Outline) -> str:
    """Every cell of every table, one a line; no cell is taken for a formula by a spreadsheet."""
    rows = [
        (section.title, table.heading, str(i), name, word)
        for section, table in _tables(told)
        for i, row in enumerate(table.grid.rows, 1)
        for name, word in zip(table.grid.flat.head, row, strict=True)
    ]
    return as_csv.shown(("part", "table", "row", "column", "value"), rows)


def lists(told: Lists) -> Grid:
    """Both lists of a query as words."""
    one, two = told.names
    rows = tuple((str(rank), *_words(first), *_words(second)) for rank, first, second in told.ranks)
    head = ("rank", one, "grade", "moved", two, "grade ", "moved ")
    return Grid(head, rows, frozenset({1, 3, 4, 6}))


def _words(place: Place | None) -> tuple[str, str, str]:
    if place is None:
        return "", "", ""
    text = f" {place.text}" if place.text else ""
    return f"{place.doc_id}{text}", grade(place.grade), place.move


def _tables(told: Outline) -> Iterator[tuple[Section, Table]]:
    for section in told.sections:
        for block in section.blocks:
            if isinstance(block, Table) and block.grid.rows:
                yield section, block
            elif isinstance(block, Opened):
                for query in block.queries:
                    if query.ranks:
                        heading = f"query {query.query_id}, {query.change}"
                        yield section, Table(heading, lists(query), find=True)


def _remark(section: Section, table: Table) -> str:
    heading = f": {table.heading}" if table.heading else ""
    return printable(f"{section.title}{heading}")
