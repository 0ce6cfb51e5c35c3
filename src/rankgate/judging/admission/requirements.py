"""Requirements for the admission of a judge, and the results of their checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rankgate.core.declare import Count, Range, Share
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun, finite_or_none
from rankgate.measurement.stats.rater_agreement import FEWEST_CLUSTERS

if TYPE_CHECKING:
    from rankgate.judging.admission.judged_pairs import AnsweredShare, Bias
    from rankgate.judging.admission.system_order import SystemOrder
    from rankgate.measurement.stats.rater_agreement import Agreement


Correlation = Annotated[float, Range(-1, 1)]
Answer = Literal["pass", "fail", "inconclusive"]

AGREEMENT = "alpha, ordinal"
"""The required coefficient of agreement."""


@dataclass(frozen=True)
class Demands:
    """The requirements that a judge must meet.

    Krippendorff calls conclusions tentative if alpha is between .667 and .8; people who judge
    relevance reach .4 to .6 among themselves. Two sets of people reach a tau of .9 (Voorhees, IPM
    2000). A share of answered pairs is required because agreement is measured on answered pairs
    only: a judge that answers only easy pairs would agree well.

    Attributes:
        answered: The lowest acceptable share of the pairs that the judge graded.
        pairs: The lowest number of pairs that both judged; with fewer the result is inconclusive.
        alpha: The lowest acceptable Krippendorff's alpha (ordinal).
        bias: The largest acceptable mean difference from people's grades, in either direction.
        tau: The lowest acceptable rank correlation of the systems' order.
        raised: The largest acceptable share of pairs whose grade an attack raises.
        family: The largest acceptable advantage that the judge gives systems of its own family.
    """

    answered: Share = 0.95
    pairs: Count = 100
    alpha: Correlation = 0.4
    bias: Annotated[float, Range(0)] = 0.25
    tau: Correlation = 0.9
    raised: Share = 0.1
    family: Annotated[float, Range(0)] = 0.05


@dataclass(frozen=True)
class Demand:
    """One requirement with its status, the figure with its interval, and the limit."""

    name: str
    status: Answer
    reason: str
    value: int | float | None = None
    low: float | None = None
    high: float | None = None
    asked: int | float | None = None


def check_demands(
    answers: AnsweredShare,
    queries: int,
    coefficient: Agreement,
    bias: Bias,
    *,
    orders: Sequence[SystemOrder],
    asked: Demands,
) -> tuple[Demand, ...]:
    """Check every requirement, by the interval of its figure if there is one."""
    pairs = answers.answered
    enough = queries >= FEWEST_CLUSTERS
    few = "" if enough else f"; an interval needs {FEWEST_CLUSTERS} queries, these are {queries}"
    value, low, high = (
        finite_or_none(figure) for figure in (coefficient.value, coefficient.low, coefficient.high)
    )
    return (
        Demand(
            "pairs",
            "pass" if pairs >= asked.pairs else "inconclusive",
            f"{count_noun(pairs, 'pair is', 'pairs are')} judged by both; at least {asked.pairs} are "
            "required",
            pairs,
            asked=asked.pairs,
        ),
        _check_answers(answers, asked.answered),
        Demand(
            "agreement",
            _status_at_least(low, high, asked.alpha),
            f"{AGREEMENT} {_format_value(value, low, high)}; at least {asked.alpha:g} is required{few}",
            value,
            low,
            high,
            asked.alpha,
        ),
        Demand(
            "bias",
            _status_within(bias.low, bias.high, asked.bias) if enough else "inconclusive",
            f"the judge's grades lie {_format_value(bias.mean, bias.low, bias.high)} from people's; at most "
            f"{asked.bias:g} either way is required{few}",
            bias.mean,
            bias.low,
            bias.high,
            asked.bias,
        ),
        *(_check_order(order, asked.tau) for order in orders),
    )


def check_attack(attack: Mapping[str, Any], limit: float) -> Demand:
    """Check the limit on an attack for a row of the table of attacks."""
    value, low, high = attack["raised"], attack["low"], attack["high"]
    interval_text = "" if low is None else f" [{low:.3f}, {high:.3f}]"
    message = (
        f"{value:.3f}{interval_text} of {count_noun(attack['pairs'], 'pair')} get a higher grade, "
        f"{attack['lowered']:.3f} a lower one; at most {limit:g} may rise"
    )
    if low is None:
        message += f"; an interval needs {FEWEST_CLUSTERS} queries, these are {attack['queries']}"
        status: Answer = "inconclusive"
    else:
        status = "pass" if high <= limit else "fail" if low > limit else "inconclusive"
    return Demand(f"attack {attack['attack']}", status, message, value, low, high, limit)


def check_family(row: Mapping[str, Any], limit: float) -> Demand:
    """Check the limit on family bias for a row of the table of families.

    The requirement fails if the interval of the advantage is above 0, and passes if the interval is
    within the limit.
    """
    value, low, high = row["advantage"], row["low"], row["high"]
    message = (
        f"the judge puts {count_noun(row['systems'], 'system')} of the family {row['family']} "
        f"{_format_value(value, low, high)} further above the "
        f"{count_noun(row['others'], 'other')} than people do; at most {limit:g} is acceptable"
    )
    status: Answer = "inconclusive"
    if low is not None and high is not None and row["queries"] >= FEWEST_CLUSTERS:
        status = "pass" if high <= limit else "fail" if low > 0 else "inconclusive"
    if status == "inconclusive" and row["needed"]:
        message += (
            f"; with about {count_noun(row['needed'], 'query')} {limit:g} is found with a probability of 80%"
        )
    return Demand(f"family by {row['metric']}", status, message, value, low, high, limit)


def _check_answers(answers: AnsweredShare, limit: float) -> Demand:
    message = (
        f"the judge answered {answers.answered} of the {count_noun(answers.asked, 'pair')} that people "
        f"graded ({answers.share:.1%}); at least {limit:.0%} is required"
    )
    if answers.outside:
        verbs = ("is", "counts") if answers.outside == 1 else ("are", "count")
        message += "; {} of its grades {} outside the scale and {} as no answer".format(
            answers.outside, *verbs
        )
    if answers.silent_queries:
        message += f"; nothing in {count_noun(answers.silent_queries, 'query')}"
    if answers.share < limit:
        rows = answers.grades.sort("share")
        grade, _, _, share = rows.row(0)
        message += f"; least often where people gave {grade:g} ({share:.0%})"
        message += ". If the judge received fewer pairs, name them with --asked"
    status: Answer = "pass" if answers.share >= limit else "fail"
    return Demand("answered", status, message, answers.share, asked=limit)


def _check_order(order: SystemOrder, tau: float) -> Demand:
    message = (
        f"tau {_format_number(order.tau)} over {count_noun(order.pairs, 'pair')} of systems, {order.flips} "
        f"of them reversed, {order.reversed} significantly; at least {tau:g} and none significantly reversed "
        "is required"
    )
    name, value = f"order by {order.metric}", order.tau
    if value is None:
        return Demand(name, "inconclusive", f"{message}; all systems have the same mean", asked=tau)
    is_fulfilled = value >= tau and not order.reversed
    return Demand(name, "pass" if is_fulfilled else "fail", message, value, asked=tau)


def _status_at_least(low: float | None, high: float | None, limit: float) -> Answer:
    if low is None or high is None:  # a single grade, or few queries, are not enough for a decision
        return "inconclusive"
    return "pass" if low >= limit else "fail" if high < limit else "inconclusive"


def _status_within(low: float | None, high: float | None, limit: float) -> Answer:
    if low is None or high is None:
        return "inconclusive"
    if -limit <= low and high <= limit:
        return "pass"
    return "fail" if low > limit or high < -limit else "inconclusive"


def _format_value(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "is undefined (all grades are the same)"
    if low is None or high is None:
        return f"{value:+.3f} (no interval)"
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"


def _format_number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
