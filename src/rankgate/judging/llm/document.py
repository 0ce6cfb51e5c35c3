"""Document of model ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Entries, Entry
from rankgate.core.present.document import make_document as made

if TYPE_CHECKING:
    from rankgate.judging.llm.model_ratings import ModelRatings


def document(result: ModelRatings) -> Document:
    """Graded pairs, reasons for missing grades, tokens and cost."""
    known_text = f", {result.known} of them known before" if result.known else ""
    entries = [Entry("no grade", (f"{n} {reason}",)) for reason, n in result.reasons.items()]
    if result.left:
        entries.append(Entry("not asked", (f"{result.left} {result.stopped}",)))
    if result.asked:
        tokens = f"{result.input_tokens:,} of input, {result.output_tokens:,} of output"
        entries.append(Entry("tokens", (tokens,)))
    if result.cost is not None:
        cost = f"{_money(result.cost)} now, {_money(result.spent or 0)} in all"
        entries.append(Entry("cost", (cost,)))
    name, sha256 = result.template
    entries.append(Entry("template", (f"{name} ({sha256[:12]})",)))
    sentence = "The same command asks again for what has no answer."
    return made(
        f"{result.rater} graded {result.graded} of {result.pairs} pairs{known_text}",
        Entries(tuple(entries)),
        sentence if result.left or result.unanswered else "",
    )


def _money(amount: float) -> str:
    return f"{amount:.2f}" if amount >= 1 or not amount else f"{amount:.3g}"
