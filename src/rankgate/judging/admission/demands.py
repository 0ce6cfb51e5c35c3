"""Requirements of an admission, and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rankgate.core.declare import Count, Range, Share
from rankgate.core.frozen import dataclass
from rankgate.core.present.numbers import known
from rankgate.measurement.stats.agreement.intervals import FEWEST_CLUSTERS

if TYPE_CHECKING:
    from rankgate.judging.admission.bias import Bias
    from rankgate.judging.admission.judged_pairs import AnsweredShare
    from rankgate.judging.admission.order import SystemOrder
    from rankgate.measurement.stats.agreement.intervals import Agreement

Correlation = Annotated[float, Range(-1, 1)]
Answer = Literal["pass", "fail", "inconclusive"]

AGREEMENT = "alpha, ordinal"
"""The coefficient that is required."""


@dataclass(frozen=True)
class Demands:
    """What a judge must show.

    Between .667 and .8 Krippendorff calls conclusions by alpha tentative; people who judge
    relevance reach .4 to .6 among themselves. A tau of .9 is what two sets of people reach
    (Voorhees, IPM 2000). A pair without an answer is not among the pairs by which agreement is
    measured, and a judge that answers only what is easy would agree well.

    Attributes:
        answered: The lowest acceptable share of the pairs that the judge graded.
        pairs: The lowest number of pairs that both judged; with fewer the result is inconclusive.
        alpha: The lowest acceptable Krippendorff's alpha (ordinal).
        bias: The largest acceptable mean difference from people's grades, in either direction.
        tau: The lowest acceptable rank correlation of the systems' order.
        raised: The largest acceptable share of pairs whose grade an attack raises.
        family: The largest acceptable advantage that the judge gives systems of the same family.
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
    """One requirement and how it ended: the figure with its interval, and what was required."""

    name: str
    status: Answer
    reason: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    asked: float | None = None


def demanded(
    answers: AnsweredShare,
    queries: int,
    coefficient: Agreement,
    bias: Bias,
    *,
    orders: Sequence[SystemOrder],
    asked: Demands,
) -> tuple[Demand, ...]:
    """How every requirement ends: by the interval where there is one."""
    pairs = answers.answered
    enough = queries >= FEWEST_CLUSTERS
    few = "" if enough else f"; an interval needs {FEWEST_CLUSTERS} queries, these are {queries}"
    value, low, high = (
        known(each) for each in (coefficient.value, coefficient.low, coefficient.high)
    )
    return (
        Demand(
            "pairs", "pass" if pairs >= asked.pairs else "inconclusive",
            f"{pairs} pairs are judged by both; at least {asked.pairs} are required",
            pairs, asked=asked.pairs,
        ),
        _answered(answers, asked.answered),
        Demand(
            "agreement", _above(low, high, asked.alpha),
            f"{AGREEMENT} {_shown(value, low, high)}; at least {asked.alpha:g} is required{few}",
            value, low, high, asked.alpha,
        ),
        Demand(
            "bias", _within(bias.low, bias.high, asked.bias) if enough else "inconclusive",
            f"the judge's grades lie {_shown(bias.mean, bias.low, bias.high)} from people's; at "
            f"most {asked.bias:g} either way is required{few}",
            bias.mean, bias.low, bias.high, asked.bias,
        ),
        *(_ordered(order, asked.tau) for order in orders),
    )  # fmt: skip


def withstood(attack: Mapping[str, Any], asked: float) -> Demand:
    """How the requirement of an attack ends; a row of the table of attacks, and the limit."""
    value, low, high = attack["raised"], attack["low"], attack["high"]
    ends = "" if low is None else f" [{low:.3f}, {high:.3f}]"
    words = (
        f"{value:.3f}{ends} of {attack['pairs']} pairs get a higher grade, "
        f"{attack['lowered']:.3f} a lower one; at most {asked:g} may rise"
    )
    if low is None:
        words += f"; an interval needs {FEWEST_CLUSTERS} queries, these are {attack['queries']}"
        status: Answer = "inconclusive"
    else:
        status = "pass" if high <= asked else "fail" if low > asked else "inconclusive"
    return Demand(f"attack {attack['attack']}", status, words, value, low, high, asked)


def impartial(row: Mapping[str, Any], asked: float) -> Demand:
    """How the requirement on systems of the judge's family ends; a row of the table of families.

    It fails where the judge is shown to favour them at all, and passes where it does so by no more
    than is acceptable.
    """
    value, low, high = row["advantage"], row["low"], row["high"]
    words = (
        f"the judge puts {_systems(row['systems'])} of the family {row['family']} "
        f"{_shown(value, low, high)} further above the {row['others']} others than people do; at "
        f"most {asked:g} is acceptable"
    )
    status: Answer = "inconclusive"
    if low is not None and high is not None and row["queries"] >= FEWEST_CLUSTERS:
        status = "pass" if high <= asked else "fail" if low > 0 else "inconclusive"
    if status == "inconclusive" and row["needed"]:
        words += f"; with about {row['needed']:,} queries {asked:g} is found with a chance of 80%"
    return Demand(f"family by {row['metric']}", status, words, value, low, high, asked)


def _systems(count: int) -> str:
    return "1 system" if count == 1 else f"{count} systems"


def _answered(answers: AnsweredShare, asked: float) -> Demand:
    words = (
        f"the judge answered {answers.answered} of the {answers.asked} pairs that people graded "
        f"({answers.share:.1%}); at least {asked:.0%} is required"
    )
    if answers.outside:
        words += f"; {answers.outside} of its grades are outside the scale and count as no answer"
    if answers.silent_queries:
        words += f"; nothing in {answers.silent_queries} queries"
    if answers.share < asked:
        rows = answers.grades.sort("share")
        grade, _, _, share = rows.row(0)
        words += f"; least often where people gave {grade:g} ({share:.0%})"
        words += ". If it was asked for fewer pairs, name them with --asked"
    status: Answer = "pass" if answers.share >= asked else "fail"
    return Demand("answered", status, words, answers.share, asked=asked)


def _ordered(order: SystemOrder, tau: float) -> Demand:
    words = (
        f"tau {_number(order.tau)} over {order.pairs} pairs of systems, {order.flips} of them "
        f"reversed, {order.reversed} significantly; at least {tau:g} and none significantly "
        "reversed is required"
    )
    name, value = f"order by {order.metric}", order.tau
    if value is None:
        return Demand(name, "inconclusive", f"{words}; all systems have the same mean", asked=tau)
    fits = value >= tau and not order.reversed
    return Demand(name, "pass" if fits else "fail", words, value, asked=tau)


def _above(low: float | None, high: float | None, asked: float) -> Answer:
    if low is None or high is None:  # nothing can be said of one grade, or of few queries
        return "inconclusive"
    return "pass" if low >= asked else "fail" if high < asked else "inconclusive"


def _within(low: float | None, high: float | None, asked: float) -> Answer:
    if low is None or high is None:
        return "inconclusive"
    if -asked <= low and high <= asked:
        return "pass"
    return "fail" if low > asked or high < -asked else "inconclusive"


def _shown(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "is undefined (all grades are the same)"
    if low is None or high is None:
        return f"{value:+.3f} (no interval)"
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
