"""A verdict as one page: the word, the rules, what changed, the worst queries with both lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.comparison.documents import changes
from rankgate.evaluation.documents.basis import basis, of_comparisons, of_convention, of_hashes
from rankgate.gating.documents.verdict_parts import verdict_section
from rankgate.present.document import Document
from rankgate.present.page import page as drawn

if TYPE_CHECKING:
    from rankgate.gating.verdict import Verdict


def page(told: Verdict) -> str:
    """The whole page."""
    return drawn(outline(told))


def outline(told: Verdict) -> Document:
    """The verdict, then what it rests on."""
    baseline, candidate = told.names
    comparison = told.comparison
    sections = [verdict_section(told.to_dict(), known=comparison.warnings if comparison else ())]
    if comparison is not None:
        sections += changes.sections(comparison, 0, changes.WORST, {}, None, led=True)
        blocks = of_comparisons((comparison,), told.policy)
    else:
        hashes = [(name, "", digest) for name, digest in told.hashes.items() if digest]
        blocks = [*([of_hashes(hashes)] if hashes else []), f"Policy: {told.policy}."]
        blocks += of_convention(told.convention) if told.convention else []
    lead = (changes.sentence(comparison), changes.ground(comparison)) if comparison else ()
    return Document(
        f"{candidate} against {baseline}", told.verdict, lead, (*sections, basis(blocks))
    )
