"""The sentences in which rules say how they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.gate.declare import Outcome
from rankgate.gate.whole import Drawn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankgate.gate.bounds import Held
    from rankgate.gate.declare import Evidence, Rule


def number(value: float | None) -> str:
    """Four decimals at most.

    >>> number(0.01), number(0.123456), number(None)
    ('0.01', '0.1235', 'unknown')
    """
    return "unknown" if value is None else f"{value:.4f}".rstrip("0").rstrip(".") or "0"


def signed(value: float | None) -> str:
    """The same with a sign.

    >>> signed(-0.25), signed(0.00001)
    ('-0.25', '0')
    """
    if value is None:
        return "unknown"
    digits = number(abs(value))
    return digits if digits == "0" else ("+" if value > 0 else "-") + digits


def unmoved(
    rule: Rule, evidence: Evidence, margin: float, *, passes: bool = True
) -> Outcome | None:
    """How a rule ends where nothing moved; None where something did.

    Where the lists are the same, nothing can be worse. Where they are not, the metric is blind
    to the change, and its silence says nothing.
    """
    metric, gains = rule["metric"], evidence.gains(rule["metric"], rule.slice)
    whole = isinstance(gains, Drawn)
    if _moved(gains):
        return None
    table = evidence.queries(None if whole else metric, rule.slice)
    queries = table["query_id"].unique()
    lists = evidence.comparison.lists.filter(pl.col("query_id").is_in(queries.implode()))
    changed = lists.filter(pl.col("moved").is_null() | (pl.col("moved") != 0))["query_id"]
    n, depth = len(queries), evidence.comparison.depth
    figures: dict[str, Any] = {"n": n, "delta": 0.0, "low": 0.0, "high": 0.0, "margin": margin}
    if not len(changed):
        reason = f"no list changed in its first {depth} documents, so nothing differs"
        if passes:
            return Outcome("pass", reason, "", **figures)
        return Outcome("fail", reason, "there is no improvement to be shown", **figures)
    reason = (
        f"{metric} {'did not move' if whole else f'moved for none of {n} queries'}, though the "
        f"first {depth} documents of {changed.n_unique()} changed: it does not see this change"
    )
    return Outcome("inconclusive", reason, "add a metric that sees it (rankgate blindspots)",
                   **figures)  # fmt: skip


def _moved(gains: NDArray[np.float64] | Drawn) -> bool:
    """Whether anything did, or there is nothing to be told at all."""
    if isinstance(gains, Drawn):
        return bool(gains.value) or gains.redrawn.error != 0
    return not gains.size or bool(gains.any())


def settled(rule: Rule, evidence: Evidence, told: Held, margin: float, bad: str) -> Outcome:
    """The outcome of a gain that was held against a bound; told as a difference."""
    metric = rule["metric"]
    lower = evidence.lower(metric)
    shown = told.turned if lower else told
    worst = tuple(evidence.losses(metric, rule.slice)["query_id"].to_list())
    figures: dict[str, Any] = {
        "n": told.n, "delta": shown.mean, "low": shown.low, "high": shown.high, "margin": margin,
        "mde": told.mde, "queries": worst,
    }  # fmt: skip
    where = f" for {rule.slice}" if rule.slice else ""
    whole = (metric, rule.slice) in evidence.wholes
    if told.why:
        more = "add users" if whole else "add queries"
        return Outcome("inconclusive", f"{told.why}{where}", more, **figures)
    less = " (less is better)" if lower else ""
    interval = (
        f"{metric} {signed(shown.mean)} [{signed(shown.low)}, {signed(shown.high)}]{less}{where}"
    )
    hidden = _hidden(metric, evidence)
    if hidden and told.status != "inconclusive":
        return Outcome("inconclusive", f"{interval}, but {hidden[0]}", hidden[1], **figures)
    if told.status == "pass":
        limit = -margin if rule.kind == "noninferiority" else margin
        side = f"below {signed(-limit)}" if lower else f"above {signed(limit)}"
        return Outcome("pass", f"{interval} lies {side}", "", **figures)
    if told.status == "fail":
        look = "look at what the lists show" if whole else "look at the worst queries"
        return Outcome("fail", f"{interval}: {bad}", look, **figures)
    reason = f"{interval} does not tell whether it is {bad}"
    return Outcome("inconclusive", reason, _next(told, margin, whole=whole), **figures)


def _next(told: Held, margin: float, *, whole: bool) -> str:
    steps = []
    if told.mde is not None and margin and told.mde > margin:
        steps.append(
            f"the margin {number(margin)} is smaller than this set can detect ({number(told.mde)})"
        )
    if told.more:
        steps.append(f"add about {told.more:,} queries like these if the difference stays")
    return "; ".join(steps) or f"add {'users' if whole else 'queries'}, or ask for less"


def _hidden(metric: str, evidence: Evidence) -> tuple[str, str] | None:
    """Whether the holes in the judgments could turn what was decided."""
    hole = evidence.holes.get(metric)
    if hole is None or hole.flip is None or hole.flip <= evidence.flip:
        return None
    words = (
        f"unjudged documents could turn it with a probability of {hole.flip:.0%} (the difference "
        f"could be from {signed(hole.worst)} to {signed(hole.best)})"
    )
    return words, f"judge these {hole.judge} documents (rankgate holes --judge-next {hole.judge})"
