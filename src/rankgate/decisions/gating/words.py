"""Sentences for the outcomes of rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.decisions.comparison.whole import Drawn
from rankgate.decisions.gating.intervals import SLACK
from rankgate.decisions.gating.more_people import more_people
from rankgate.decisions.gating.rule import Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankgate.decisions.gating.bounds import BoundCheck
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule

_MOST = 9  # decimals


def number(value: float | None) -> str:
    """What a policy says, as short as it can be said; four decimals at most.

    >>> number(0.01), number(0.123456), number(None)
    ('0.01', '0.1235', 'unknown')
    """
    return "unknown" if value is None else f"{value:.4f}".rstrip("0").rstrip(".") or "0"


def measured(value: float | None, *bounds: float) -> str:
    """What was measured: four decimals, more where it would look like a bound that it is not at.

    >>> measured(0.25), measured(0.69996, 0.7), measured(None)
    ('0.2500', '0.69996', 'unknown')
    """
    return "unknown" if value is None else f"{value:.{decimals(value, bounds)}f}"


def signed(value: float | None, *bounds: float) -> str:
    """The same with a sign.

    >>> signed(-0.25), signed(0.00001), signed(-0.04998, -0.05)
    ('-0.2500', '0.0000', '-0.04998')
    """
    if value is None:
        return "unknown"
    words = f"{value:+.{decimals(value, bounds)}f}"
    return words if float(words) else words[1:]


def limit(share: float) -> str:
    """A share that a policy says.

    >>> limit(0.05), limit(0.125)
    ('5%', '12.5%')
    """
    return f"{100 * share:.6g}%"


def percent(share: float, *bounds: float) -> str:
    """A share; one decimal, more where it would look like a bound that it is not at.

    >>> percent(0.25), percent(0.05004, 0.05)
    ('25.0%', '5.004%')
    """
    return f"{100 * share:.{decimals(share, bounds, 3) - 2}f}%"


def decimals(value: float, bounds: Iterable[float], least: int = 4) -> int:
    """As many as tell a value from bounds that it is not at, and `least` of them anyway."""
    apart = [bound for bound in bounds if abs(bound - value) > SLACK]
    return next(
        (n for n in range(least, _MOST) if all(round(value, n) != round(b, n) for b in apart)),
        _MOST,
    )


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
    if evidence.inputs.values_only:
        why = f"{metric} is the same for all {len(queries)} queries, and without lists nobody knows"
        return Outcome(
            "inconclusive", f"{why} whether anything changed",
            "give judgments and runs instead of scores", n=len(queries), delta=0.0, margin=margin,
        )  # fmt: skip
    changed = lists.filter(pl.col("moved").is_null() | (pl.col("moved") != 0))["query_id"]
    n, depth = len(queries), evidence.comparison.depth
    figures: dict[str, Any] = {"n": n, "delta": 0.0, "low": 0.0, "high": 0.0, "margin": margin}
    design = evidence.inputs.design
    elsewhere = 0 if design is None else design.changed_elsewhere(metric, rule.slice)
    if elsewhere:
        return Outcome(
            "inconclusive",
            f"{metric} moved for none of the {n} queries that people judged, and by the model for "
            f"{elsewhere:,} of the others",
            "let people judge more queries, drawn at random", n=n, delta=0.0, margin=margin,
        )  # fmt: skip
    if not len(changed):
        reason = f"no list changed in its first {depth} documents, so nothing differs"
        if passes:
            return Outcome("pass", reason, "", **figures)
        return Outcome("fail", reason, "there is no improvement to be shown", **figures)
    reason = (
        f"{metric} {'did not move' if whole else f'moved for none of {n} queries'}, though the "
        f"first {depth} documents of {changed.n_unique()} changed: it does not see this change"
    )
    return Outcome(
        "inconclusive", reason, "add a metric that sees it (rankgate blindspots)", **figures
    )


def _moved(gains: NDArray[np.float64] | Drawn) -> bool:
    """Whether anything did, or there is nothing to report."""
    if isinstance(gains, Drawn):
        return bool(gains.value) or gains.redrawn.error != 0
    return not gains.size or bool(gains.any())


def settled(
    rule: Rule, evidence: Evidence, result: BoundCheck, margin: float, *, loss: bool
) -> Outcome:
    """The outcome of a gain that was compared with a bound, as a difference.

    With ``loss`` the bound is the largest loss, else the gain that must be exceeded.
    """
    metric = rule["metric"]
    lower, whole = evidence.lower(metric), (metric, rule.slice) in evidence.inputs.wholes
    shown = result.turned if lower else result
    worst = tuple(evidence.losses(metric, rule.slice)["query_id"].to_list())
    figures: dict[str, Any] = {
        "n": result.n,
        "delta": shown.mean,
        "low": shown.low,
        "high": shown.high,
        "margin": margin,
        "mde": result.mde,
        "queries": worst,
    }
    where = f" for {rule.slice}" if rule.slice else ""
    if result.why:
        more = "add users" if whole else "add queries"
        return Outcome(
            "inconclusive",
            f"{rule.slice}: {result.why}" if rule.slice else result.why,
            evidence.terms.advice if result.code else more,
            code=result.code,
            **figures,
        )
    bound = -margin if loss != lower else margin
    ends = f"(bounds {signed(shown.low, bound)} and {signed(shown.high, bound)})"
    less = " (less is better)" if lower else ""
    interval = f"{metric} {signed(shown.mean)} {ends}{less}{where}"
    claim = _claim(margin, loss=loss)
    if result.status == "inconclusive":
        reason = f"{interval} does not show whether it is {claim}"
        after = _next(result, margin, loss=loss, whole=whole)
        if (design := evidence.inputs.design) is not None and design.predicted is not None:
            found = evidence.represented(metric, rule.slice, evidence.gained(metric))
            after = more_people(found, -margin if loss else margin, evidence, design, rule)
        return Outcome("inconclusive", reason, after, **figures)
    reason = f"{interval}: {'not ' * ((result.status == 'pass') == loss)}{claim}"
    look = "look at what the lists show" if whole else "look at the worst queries"
    return Outcome(
        result.status,
        reason,
        "" if result.status == "pass" else look,
        caution=unseen_value(rule, result, lower=lower),
        **figures,
    )


def within(
    rule: Rule, evidence: Evidence, sides: tuple[BoundCheck, BoundCheck], margin: float
) -> Outcome:
    """The outcome of a gain, and of its negative, that were both compared with −margin."""
    metric, where = rule["metric"], f" for {rule.slice}" if rule.slice else ""
    loss, gain = sides
    rise, fall = (gain.turned, loss) if not evidence.lower(metric) else (loss.turned, gain)
    low, high = fall.low, rise.high
    worst = evidence.losses(metric, rule.slice)
    figures: dict[str, Any] = {
        "n": loss.n, "delta": fall.mean, "low": low, "high": high, "margin": margin,
        "mde": loss.mde, "queries": tuple(worst["query_id"].to_list()),
    }  # fmt: skip
    if loss.why:
        why = f"{rule.slice}: {loss.why}" if rule.slice else loss.why
        after = evidence.terms.advice if loss.code else "add queries"
        return Outcome("inconclusive", why, after, code=loss.code, **figures)
    ends = f"(bounds {signed(low, -margin, margin)} and {signed(high, -margin, margin)})"
    interval, claim = f"{metric} {signed(fall.mean)} {ends}{where}", f"within ±{number(margin)}"
    if "fail" in (loss.status, gain.status):
        return Outcome("fail", f"{interval}: not {claim}", "look at the worst queries", **figures)
    if loss.status == gain.status == "pass":
        caution = unseen_value(rule, loss, lower=evidence.lower(metric))
        return Outcome("pass", f"{interval}: {claim}", caution=caution, **figures)
    more = max((each.more or 0 for each in sides if each.status != "pass"), default=0)
    after = f"add about {more:,} queries like these, if the difference stays" if more else ""
    return Outcome(
        "inconclusive", f"{interval} does not show whether it is {claim}",
        after or "add queries, or allow more", **figures,
    )  # fmt: skip


def _claim(margin: float, *, loss: bool) -> str:
    """What the interval confirms or rules out."""
    if loss:
        return f"worse by more than the margin {number(margin)}" if margin else "worse"
    return f"better by more than {number(margin)}" if margin else "better"


def _next(result: BoundCheck, margin: float, *, loss: bool, whole: bool) -> str:
    steps, these = [], "users" if whole else "queries"
    if result.mde is not None and loss and margin and result.mde > margin:
        steps.append(
            f"the margin {number(margin)} is smaller than these {these} can detect "
            f"({measured(result.mde)})"
        )
    elif result.mde is not None and not loss:
        steps.append(
            f"these {these} can show a gain of about {measured(margin + result.mde)} or more"
        )
    if result.more:
        steps.append(f"add about {result.more:,} {these} like these, if the difference stays")
    return "; ".join(steps) or f"add {these}, or ask for less"


def unseen_value(
    rule: Rule, result: BoundCheck, *, lower: bool = False, ceiling: bool = False
) -> str:
    """What a pass cannot exclude: a share of queries that the sample may show none of.

    Args:
        rule: the rule that passed.
        result: its sample; of gains for a rule on a difference, else of the candidate's values.
        lower: whether less of the metric is better.
        ceiling: whether the values are limited from above.
    """
    if result.unseen is None or result.status != "pass":
        return ""
    share, value, metric = percent(result.unseen.share), result.unseen.value, rule["metric"]
    some = f"{share} of all queries are"
    if result.unseen.by_weight:
        some = f"queries with {share} of the weight of all are"
    head = (
        f"{result.n} queries cannot exclude that up to {some} unlike any of these; if such queries "
        "on average "
    )
    if rule.kind == "floor":
        side, kind = ("more", "ceiling") if ceiling else ("less", "floor")
        return f"{head}have {side} than {measured(value)} in {metric}, the {kind} does not hold"
    if value > 0:
        return f"{head}gain less than {measured(value)} in {metric}, the rule does not hold"
    verb = "rise" if lower else "lose"
    return f"{head}{verb} more than {measured(-value)} in {metric}, the rule does not hold"
