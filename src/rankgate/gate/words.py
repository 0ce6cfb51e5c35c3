"""The sentences in which rules say how they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.gate.declare import Outcome

if TYPE_CHECKING:
    from rankgate.gate.bounds import Held
    from rankgate.gate.declare import Evidence, Rule


def number(value: float | None) -> str:
    """Four decimals at most.

    >>> number(0.01), number(0.123456), number(None)
    ('0.01', '0.1235', 'unknown')
    """
    return "unknown" if value is None else f"{value:.4f}".rstrip("0").rstrip(".") or "0"


def signed(value: float | None) -> str:
    """The same with a sign."""
    return "unknown" if value is None else ("+" if value >= 0 else "-") + number(abs(value))


def unmoved(
    rule: Rule, evidence: Evidence, table: pl.DataFrame, margin: float, *, passes: bool = True
) -> Outcome | None:
    """How a rule ends where no query moved; None where one did.

    Where the lists are the same, nothing can be worse. Where they are not, the metric is blind
    to the change, and its silence says nothing.
    """
    if table.is_empty() or (table["delta"] != 0).any():
        return None
    queries = table["query_id"].implode()
    lists = evidence.comparison.lists.filter(pl.col("query_id").is_in(queries))
    changed = lists.filter(pl.col("moved").is_null() | (pl.col("moved") != 0))["query_id"]
    n, depth = len(table), evidence.comparison.depth
    figures: dict[str, Any] = {"n": n, "delta": 0.0, "low": 0.0, "high": 0.0, "margin": margin}
    if not len(changed):
        reason = f"no list changed in its first {depth} documents, so nothing differs"
        if passes:
            return Outcome("pass", reason, "", **figures)
        return Outcome("fail", reason, "there is no improvement to be shown", **figures)
    reason = (
        f"{rule['metric']} moved for none of {n} queries, though the first {depth} documents of "
        f"{changed.n_unique()} changed: it does not see this change"
    )
    return Outcome("inconclusive", reason, "add a metric that sees it (rankgate blindspots)",
                   **figures)  # fmt: skip


def settled(  # noqa: PLR0917 - all that a rule knows
    rule: Rule, evidence: Evidence, told: Held, margin: float, table: pl.DataFrame, bad: str
) -> Outcome:
    """The outcome of a difference that was held against a bound."""
    figures: dict[str, Any] = {
        "n": told.n, "delta": told.mean, "low": told.low, "high": told.high, "margin": margin,
        "mde": told.mde,
    }  # fmt: skip
    metric = rule["metric"]
    worst = tuple(table.filter(pl.col("delta") < 0)["query_id"].to_list())
    where = f" for {rule.slice}" if rule.slice else ""
    if told.why:
        return Outcome(
            "inconclusive", f"{told.why}{where}", "add queries", **figures, queries=worst
        )
    interval = f"{signed(told.mean)} [{signed(told.low)}, {signed(told.high)}]"
    hidden = _hidden(metric, evidence)
    if hidden and told.status != "inconclusive":
        reason = f"{metric} {interval}{where}, but {hidden[0]}"
        return Outcome("inconclusive", reason, hidden[1], **figures, queries=worst)
    if told.status == "pass":
        limit = signed(-margin if rule.kind == "noninferiority" else margin)
        return Outcome("pass", f"{metric} {interval}{where} lies above {limit}", "", **figures,
                       queries=worst)  # fmt: skip
    if told.status == "fail":
        reason = f"{metric} {interval}{where}: {bad}"
        return Outcome("fail", reason, "look at the worst queries", **figures, queries=worst)
    reason = f"{metric} {interval}{where} does not tell whether it is {bad}"
    return Outcome("inconclusive", reason, _next(told, margin), **figures, queries=worst)


def _next(told: Held, margin: float) -> str:
    steps = []
    if told.mde is not None and margin and told.mde > margin:
        steps.append(
            f"the margin {number(margin)} is smaller than this set can detect ({number(told.mde)})"
        )
    if told.more:
        steps.append(f"add about {told.more:,} queries like these if the difference stays")
    return "; ".join(steps) or "add queries, or ask for less"


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
