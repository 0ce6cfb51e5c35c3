"""A page of comparisons: the sentence, what changed, the worst queries with both lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.comparison.documents import changes
from rankgate.comparison.documents.comparison import notes
from rankgate.comparison.documents.leaderboard import leaderboard
from rankgate.comparison.documents.systems import of_many
from rankgate.present.document import Document, Section, Table

if TYPE_CHECKING:
    from rankgate.comparison.comparison import Comparisons
    from rankgate.present.document import Block
    from rankgate.present.result import ReportOptions

_LONG = 20  # rows from which on a table is searched


def document(result: Comparisons, options: ReportOptions) -> Document:
    """Every candidate against the baseline; of several, all systems first.

    Args:
        result: the comparisons.
        options: texts of queries and documents, and how many queries are shown with their lists.
    """
    first, several = result.only, len(result.comparisons) > 1
    systems = _systems(result)
    changed = [
        section
        for place, each in enumerate(result.comparisons)
        for section in changes.sections(
            each,
            f"{options.place}-{place}",
            options.worst,
            options.queries,
            options.documents,
            led=not several,
        )
    ]
    others = len(result.comparisons) - 1
    more = f" and {others} more" if others else ""
    return Document(
        f"{first.candidate.name}{more} against {first.baseline.name}",
        lead=(changes.overall(result), changes.ground(first)),
        sections=(*systems, *changed) if several else (*changed, *systems),
    )


def _systems(result: Comparisons) -> list[Section]:
    """All systems by all metrics, and what can be said of three or more."""
    grid, words = leaderboard(result)
    blocks: list[Block] = [Table("", grid), words, notes(result.only)]
    if result.many:
        of_all = of_many(result.many)[1:]  # the first are the means, which are above
        blocks += [Table(heading, each, find=len(each.rows) > _LONG) for heading, each in of_all]
    return [Section("systems", "All systems", tuple(blocks))]
