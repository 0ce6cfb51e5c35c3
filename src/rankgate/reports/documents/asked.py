"""What a language model made of a pool, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankgate.judging.llm.model_ratings import Asked


def render(told: Asked) -> str:
    """A few lines: pairs, why some have no grade, tokens and money."""
    known = f", {told.known} of them known before" if told.known else ""
    lines = [f"{told.rater} graded {told.graded} of {told.pairs} pairs{known}"]
    lines += [f"no grade   {count}  {reason}" for reason, count in told.reasons.items()]
    if told.left:
        lines.append(f"not asked  {told.left}  {told.stopped}")
    if told.asked:
        lines.append(f"tokens     {told.input_tokens:,} of input, {told.output_tokens:,} of output")
    if told.cost is not None:
        lines.append(f"cost       {_money(told.cost)} now, {_money(told.spent or 0)} in all")
    name, sha256 = told.template
    lines.append(f"template   {name} ({sha256[:12]})")
    if told.left or told.unanswered:
        lines.append("the same command asks again for what has no answer")
    return "\n".join(lines) + "\n"


def _money(amount: float) -> str:
    return f"{amount:.2f}" if amount >= 1 or not amount else f"{amount:.3g}"
