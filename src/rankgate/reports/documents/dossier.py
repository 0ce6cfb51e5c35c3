"""A report on candidates against a baseline: verdict, change, queries, blind spots, holes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.blind_spots import document as blindspots
from rankgate.comparison.documents import changes
from rankgate.comparison.documents.systems import of_many
from rankgate.evaluation.documents.basis import basis, of_comparisons
from rankgate.evaluation.documents.leaderboard import leaderboard
from rankgate.gating.documents.verdict_parts import verdict_section
from rankgate.present.document import Document, Points, Section, Table
from rankgate.unjudged import document as holes

if TYPE_CHECKING:
    from rankgate.comparison.compare import Comparisons
    from rankgate.data.comparison import Comparison
    from rankgate.present.document import Block
    from rankgate.reports.report_data import Dossier


_LONG = 20


def outline(told: Dossier, worst: int = changes.WORST) -> Document:
    """What there is to say, the verdict first.

    Args:
        told: what was gathered.
        worst: how many of the queries that lost are shown with both lists.
    """
    comparisons = told.comparisons.comparisons
    first = comparisons[0]
    others = len(comparisons) - 1
    gated = told.verdict is not None  # the verdict is of the first candidate alone
    more = f" and {others} more" if others and not gated else ""
    also = ", ".join(each.candidate.name for each in comparisons[1:])
    lead = [changes.sentence(first), changes.ground(first)]
    lead += [f"Compared too, without a verdict: {also}."] if gated and others else []
    sections = []
    if told.verdict is not None:
        sections.append(verdict_section(told.verdict.to_dict(), known=first.warnings))
    sections += systems(told.comparisons) if others else []
    for place, each in enumerate(comparisons):
        sections += changes.sections(each, place, worst, told.queries, told.documents)
        sections += _unseen(told, each, place)
    sections += [] if others else systems(told.comparisons)
    policy = told.verdict.policy if told.verdict else ""
    sections.append(basis(of_comparisons(comparisons, policy), told.again))
    return Document(
        f"{first.candidate.name}{more} against {first.baseline.name}",
        told.verdict.verdict if told.verdict else "",
        tuple(lead),
        tuple(sections),
    )


def systems(told: Comparisons, place: str = "") -> list[Section]:
    """All systems by all metrics, and what can be said of three or more."""
    grid, words = leaderboard(told)
    tables: list[Block] = [Table("", grid), words]
    if told.many:
        of_all = of_many(told.many)[1:]  # the first are the means, which stand above
        tables += [Table(heading, each, find=len(each.rows) > _LONG) for heading, each in of_all]
    return [Section(f"systems{place}", "All systems", tuple(tables))]


def _unseen(told: Dossier, each: Comparison, place: int) -> list[Section]:
    """What metrics do not see of a candidate, and what is not judged."""
    if place >= len(told.blindness):
        return []
    blind = told.blindness[place]
    whose = f" of {each.candidate.name}" if len(told.comparisons.comparisons) > 1 else ""
    tables = (Table(heading, grid) for heading, grid in blindspots.grids(blind))
    words = Points(tuple(blindspots.sentences(blind)))
    seen = Section(f"blind-{place}", f"What metrics do not see{whose}", (*tables, words),
                   "Blind spots")  # fmt: skip
    title = f"What unjudged documents could hide{whose}"
    if place >= len(told.hidden):
        none = (
            f"No metric here looks only at the first {each.depth} documents; one such as "
            f"nDCG@{each.depth} can be asked."
        )
        return [seen, Section(f"holes-{place}", title, (none,), "Holes")]
    hidden = told.hidden[place]
    headings = ("", "", "what to judge next, the most influential first")
    found = [Table(heading, grid)
             for heading, grid in zip(headings, holes.grids(hidden), strict=True)
             if grid.rows]  # fmt: skip
    return [seen, Section(f"holes-{place}", title, (*found, holes.notes(hidden)), "Holes")]
