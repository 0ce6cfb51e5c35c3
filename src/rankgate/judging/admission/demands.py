"""May a judge's grades stand beside people's? Agreement, bias, and what they do to systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankgate.data.ratings import Ratings
from rankgate.errors import InputError
from rankgate.judging.standing import PAIR
from rankgate.stats.interval import t_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.data.qrels import Qrels
    from rankgate.judging.agreement.figures import Agreements

Answer = Literal["pass", "fail", "inconclusive"]

PEOPLE, JUDGE = "people", "judge"
"""How the two raters are called in the agreement."""

AGREEMENT = "alpha, ordinal"
"""The coefficient that admission asks of."""


@dataclass(frozen=True)
class Demands:
    """What a judge must show.

    Attributes:
        pairs: judged by both; fewer decide nothing.
        alpha: the least ordinal alpha of Krippendorff. Between .667 and .8 he calls conclusions
            tentative; people who judge relevance reach .4 to .6 among themselves.
        bias: the largest mean difference from people, in grades, either way.
        tau: the least rank correlation of systems under both; .9 is what two sets of people reach
            (Voorhees, IPM 2000).
    """

    pairs: int = 100
    alpha: float = 0.4
    bias: float = 0.25
    tau: float = 0.9


@dataclass(frozen=True)
class Demand:
    """One demand and how it ended: the figure with its interval, and what was asked."""

    name: str
    status: Answer
    reason: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    asked: float | None = None


@dataclass(frozen=True)
class Bias:
    """How far the judge's grades lie above people's.

    Attributes:
        mean, low, high: the mean difference over pairs with a 95 % interval; pairs of a query
            count as one observation.
        grades: ``grade`` (people's), ``pairs``, ``mean`` (of the judge), ``bias``, ``equal``
            (share).
        confusion: ``people``, ``judge``, ``pairs``.
    """

    mean: float
    low: float
    high: float
    grades: pl.DataFrame
    confusion: pl.DataFrame


@dataclass(frozen=True)
class Order:
    """How one metric orders systems under people and under the judge.

    Attributes:
        metric: its label.
        tau, tau_ap: rank correlation of the systems' means.
        flips: pairs of systems that the judge puts the other way round.
        lost: pairs that people tell apart (paired t, 5 %) and the judge does not.
        reversed: pairs that both tell apart, the other way round.
        pairs: of systems.
    """

    metric: str
    tau: float
    tau_ap: float
    flips: int
    lost: int
    reversed: int
    pairs: int


@dataclass(frozen=True)
class Admission:
    """Whether a judge is admitted, and why.

    Attributes:
        people, judge: names and hashes of both sets of judgments.
        pairs, queries: judged by both.
        agreement: of both as two raters.
        bias: of the judge.
        systems: ``metric``, ``system``, ``people``, ``judge``, ``delta``; empty without runs.
        orders: one a metric; empty with fewer than three runs.
        demands: every demand, how it ended.
    """

    people: tuple[str, str]
    judge: tuple[str, str]
    pairs: int
    queries: int
    agreement: Agreements
    bias: Bias
    systems: pl.DataFrame
    orders: tuple[Order, ...] = ()
    demands: tuple[Demand, ...] = field(default=())

    @property
    def verdict(self) -> Answer:
        """Fail if a demand failed; else inconclusive if one is; else pass."""
        ends = {each.status for each in self.demands}
        return "fail" if "fail" in ends else "inconclusive" if "inconclusive" in ends else "pass"


def overlap(people: Qrels, judge: Qrels) -> pl.DataFrame:
    """``query_id``, ``doc_id``, ``people``, ``judge``: pairs that both graded.

    Raises:
        InputError: there are none.
    """
    ours = people.table.filter(pl.col("grade") >= 0).rename({"grade": PEOPLE})
    theirs = judge.table.filter(pl.col("grade") >= 0).rename({"grade": JUDGE})
    both = ours.select(*PAIR, PEOPLE).join(
        theirs.select(*PAIR, JUDGE), on=PAIR, maintain_order="left"
    )
    if both.is_empty():
        problem = f"no pair is judged in {people.name} too; judge some of the same pairs."
        raise InputError(problem, source=judge.place.label, code="no-common-pairs")
    return both


def ratings_of(both: pl.DataFrame) -> Ratings:
    """The overlap as ratings of two raters."""
    return Ratings(both.unpivot([PEOPLE, JUDGE], index=PAIR, variable_name="rater",
                                value_name="grade"))  # fmt: skip


def bias_of(both: pl.DataFrame) -> Bias:
    """The judge's mean grade minus people's, as a whole and for each grade of people."""
    gap = pl.col(JUDGE) - pl.col(PEOPLE)
    by_query = both.group_by("query_id", maintain_order=True).agg(gap.mean().alias("gap"), pl.len())
    told = t_interval(by_query["gap"].to_numpy(), weights=by_query["len"].to_numpy().astype(float))
    grades = both.group_by(pl.col(PEOPLE).alias("grade")).agg(
        pl.len().cast(pl.Int64).alias("pairs"),
        pl.col(JUDGE).mean().alias("mean"),
        gap.mean().alias("bias"),
        (gap == 0).mean().alias("equal"),
    )
    confusion = both.group_by(PEOPLE, JUDGE).agg(pl.len().cast(pl.Int64).alias("pairs"))
    return Bias(float(told.mean[0]), float(told.low[0]), float(told.high[0]),
                grades.sort("grade"), confusion.sort(PEOPLE, JUDGE))  # fmt: skip


def demanded(told: Admission, asked: Demands) -> tuple[Demand, ...]:
    """How every demand ends: by the interval where there is one."""
    coefficient = told.agreement.coefficients[AGREEMENT]
    bias, enough = told.bias, told.pairs >= asked.pairs
    demands = [
        Demand(
            "pairs", "pass" if enough else "inconclusive",
            f"{told.pairs} pairs are judged by both; {asked.pairs} are asked for",
            told.pairs, asked=asked.pairs,
        ),
        Demand(
            "agreement", _above(coefficient.low, coefficient.high, asked.alpha),
            f"{AGREEMENT} {_shown(coefficient.value, coefficient.low, coefficient.high)}; at "
            f"least {asked.alpha:g} is asked for",
            coefficient.value, coefficient.low, coefficient.high, asked.alpha,
        ),
        Demand(
            "bias", _within(bias.low, bias.high, asked.bias),
            f"the judge's grades lie {_shown(bias.mean, bias.low, bias.high)} from people's; at "
            f"most {asked.bias:g} either way is asked for",
            bias.mean, bias.low, bias.high, asked.bias,
        ),
    ]  # fmt: skip
    for order in told.orders:
        words = (
            f"{order.metric}: tau {order.tau:.3f} of {order.pairs} pairs of systems, {order.flips} "
            f"the other way round, {order.reversed} of them though both tell them apart; tau of at "
            f"least {asked.tau:g} is asked for"
        )
        fits = order.tau >= asked.tau and not order.reversed
        demands.append(Demand(f"order by {order.metric}", "pass" if fits else "fail", words,
                              order.tau, asked=asked.tau))  # fmt: skip
    return tuple(demands)


def _above(low: float, high: float, asked: float) -> Answer:
    if not low <= high:  # NaN: nothing can be said of one grade
        return "inconclusive"
    return "pass" if low >= asked else "fail" if high < asked else "inconclusive"


def _within(low: float, high: float, asked: float) -> Answer:
    if not low <= high:
        return "inconclusive"
    if -asked <= low and high <= asked:
        return "pass"
    return "fail" if low > asked or high < -asked else "inconclusive"


def _shown(value: float, low: float, high: float) -> str:
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"


def to_dict(told: Admission) -> Mapping[str, object]:
    """Plain values for JSON."""
    return {
        "schema_version": 1,
        "verdict": told.verdict,
        "people": {"name": told.people[0], "sha256": told.people[1]},
        "judge": {"name": told.judge[0], "sha256": told.judge[1]},
        "pairs": told.pairs,
        "queries": told.queries,
        "demands": [vars(each) for each in told.demands],
        "coefficients": {
            name: {"value": each.value, "low": each.low, "high": each.high}
            for name, each in told.agreement.coefficients.items()
        },
        "bias": {"mean": told.bias.mean, "low": told.bias.low, "high": told.bias.high,
                 "grades": told.bias.grades.to_dicts()},
        "confusion": told.bias.confusion.to_dicts(),
        "systems": told.systems.to_dicts(),
        "orders": [vars(each) for each in told.orders],
    }  # fmt: skip
