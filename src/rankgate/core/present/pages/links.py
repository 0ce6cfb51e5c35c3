"""Links of a page of the server: files of its tables and charts, pages of its queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.core.present.document import Chart, FoldedBlock, QueryLists, Table
from rankgate.core.present.forms.documents import query_lists_grid

if TYPE_CHECKING:
    from rankgate.core.present.document import Block, Document

QUERY_COLUMNS = frozenset({"query", "query_id"})
"""The head of a first column that holds queries."""


def _no_address(query: str) -> str:  # noqa: ARG001 - as every such function
    return ""


@dataclass(frozen=True)
class Links:
    """Addresses that a page links to; a page on disk has none.

    Attributes:
        tables: of each table, before its anchor; the files end in ``.csv`` and ``.json``.
        charts: of each chart, before its anchor; the files end in ``.svg`` and ``.png``.
        query: the address of a query's own page; empty where it has none.
    """

    tables: str = ""
    charts: str = ""
    query: Callable[[str], str] = _no_address


NO_LINKS = Links()


def anchored_tables(document: Document) -> Iterator[tuple[str, Table]]:
    """Every table with its anchor, both lists of a query among them."""
    for anchor, block in _anchored_blocks(document):
        if isinstance(block, Table) and block.grid.rows:
            yield anchor, block
        elif isinstance(block, QueryLists):
            for query in block.queries:
                if query.ranks:
                    heading = f"query {query.query_id}, {query.change}"
                    yield query.anchor, Table(heading, query_lists_grid(query))


def anchored_charts(document: Document) -> Iterator[tuple[str, Chart]]:
    """Every chart with its anchor."""
    for anchor, block in _anchored_blocks(document):
        if isinstance(block, Chart):
            yield anchor, block


def _anchored_blocks(document: Document) -> Iterator[tuple[str, Block]]:
    for section in document.sections:
        yield from _blocks_inside(section.anchor, section.blocks)


def _blocks_inside(anchor: str, blocks: tuple[Block, ...]) -> Iterator[tuple[str, Block]]:
    for i, block in enumerate(blocks):
        if isinstance(block, FoldedBlock):
            yield from _blocks_inside(block.anchor, block.blocks)
        else:
            yield f"{anchor}_{i}", block
