"""Blocks that plug-ins add to reports: tables, charts and sentences about a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Declared, Registry
from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.document_model import Block, Section, nonempty_blocks

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result


@dataclass(frozen=True)
class ReportBlock(Declared):
    """A section that a report shows on request.

    Attributes:
        name: as ``--add`` takes it.
        title: its heading.
        of: the kinds of results that it is about, such as ``comparison``.
        blocks: from such a result its paragraphs, tables and charts, the most important first;
            nothing where there is nothing to show.
    """

    of: tuple[str, ...]
    blocks: Callable[[Any], Sequence[Block]]


REPORT_BLOCKS = Registry(ReportBlock, "report block", (), "rankgate.report_blocks")
"""Blocks by name; all of them come from plug-ins."""


def make_added_sections(result: Result, names: Sequence[str]) -> Iterator[Section]:
    """The sections that blocks make of one result.

    Raises:
        UsageError: there is no such block, or it fails.
    """
    for name in names:
        block = REPORT_BLOCKS.find(name)
        if result.kind not in block.of:
            continue
        try:
            blocks = nonempty_blocks(tuple(block.blocks(result)))
        except RankgateError:
            raise
        except Exception as error:  # any failure is the plug-in's
            raise UsageError(
                f"the report block {name!r} fails ({type(error).__name__}: {error}); fix it, or "
                f"leave out --add {name}.",
                code="invalid-plugin",
            ) from error
        if blocks:
            yield Section(name, block.title, blocks)


def refuse_unused_blocks(results: Sequence[Result], names: Sequence[str]) -> None:
    """Check that each block is about one of the results.

    Raises:
        UsageError: there is no such block, or none of the results is of its kind.
    """
    kinds = {result.kind for result in results}
    for name in names:
        block_kinds = REPORT_BLOCKS.find(name).of
        if kinds.isdisjoint(block_kinds):
            raise UsageError(
                f"the report block {name!r} is about {' or '.join(block_kinds)}; the report has "
                f"{', '.join(sorted(kinds))}.",
                code="nothing-to-show",
            )
