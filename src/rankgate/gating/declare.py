"""What a rule is: its kind with declared parameters, what it looks at, how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.data.comparison import Comparison
    from rankgate.gating.whole import Drawn, Whole

Status = Literal["pass", "fail", "inconclusive"]
Tier = Literal["block", "warn", "info"]

TIERS: tuple[Tier, ...] = ("block", "warn", "info")


@dataclass(frozen=True)
class Parameter:
    """One thing that a rule of a kind may say.

    Attributes:
        name: its key in the policy.
        type: number, whole, text, flag or list.
        about: what it means, in a sentence.
        default: what it is where nothing is said; `REQUIRED` where something must be.
        low, high: the range of a number, ends included.
        choices: the words that it may be.
    """

    name: str
    type: Literal["number", "whole", "text", "flag", "list"]
    about: str
    default: Any = None
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()


REQUIRED = "required"
"""The default of a parameter that has none."""


@dataclass(frozen=True)
class Kind:
    """A kind of rule.

    Attributes:
        name: how policies call it.
        title: what it demands, in a sentence.
        parameters: its own, beside those that every rule has.
        decide: how it ends.
        needs: the metric parameter, if it looks at one: its margin is bound by the noise floor.
        statistical: whether it infers from a sample of queries; the others count.
        sliced: whether it can look at the queries of a slice alone.
    """

    name: str
    title: str
    parameters: tuple[Parameter, ...]
    decide: Callable[[Rule, Evidence], Outcome]
    statistical: bool = False
    sliced: bool = False


@dataclass(frozen=True)
class Rule:
    """One rule of a policy.

    Attributes:
        id: its name, unique in the policy.
        kind: the name of its kind.
        tier: whether it blocks, warns or informs.
        slice: ``tag=value``, the queries it looks at; None is all of them.
        values: its parameters, defaults filled in.
    """

    id: str
    kind: str
    tier: Tier = "block"
    slice: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a number, a word, a list
        return self.values[name]

    def get(self, name: str) -> Any:  # noqa: ANN401 - as above
        """A parameter, None where its kind does not have it."""
        return self.values.get(name)


@dataclass(frozen=True)
class Hole:
    """What the unjudged documents could make of one metric's difference.

    Attributes:
        worst, best: the mean difference with every unjudged document against the candidate, and
            for it.
        flip: the probability that judging them would turn the sign or leave the margin; None
            where it was not estimated.
        judge: how many documents to judge first.
    """

    worst: float
    best: float
    flip: float | None = None
    judge: int = 0


@dataclass(frozen=True)
class Drift:
    """What changed since a baseline was saved.

    Attributes:
        then: how many queries it was scored by.
        gone, new: queries that are not judged any more, and that were not.
        judgments: whether the judgments are other ones.
        regraded: documents shown then and now whose grade is another one.
    """

    then: int
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    judgments: bool = False
    regraded: int = 0

    @property
    def queries(self) -> tuple[str, ...]:
        """Those that came or went."""
        return (*self.gone, *self.new)

    @property
    def share(self) -> float:
        """Of queries that came or went among all there ever were."""
        return len(self.queries) / max(1, self.then + len(self.new))

    @property
    def words(self) -> str:
        """What changed, as the end of a sentence."""
        parts = [
            f"{len(self.gone)} of its {self.then} queries went" if self.gone else "",
            f"{len(self.new)} queries came" if self.new else "",
            f"{self.regraded} of the documents shown were graded otherwise"
            if self.regraded
            else "",
        ]
        told = [part for part in parts if part] or ["judgments of documents not shown changed"]
        return ", ".join(told)


@dataclass(frozen=True)
class Admission:
    """How a judge ended that was held against people (``rankgate admit``).

    Attributes:
        verdict: pass, fail or inconclusive.
        judge: its name.
        sha256: of its judgments.
    """

    verdict: str
    judge: str
    sha256: str


@dataclass(frozen=True)
class Counted:
    """How the queries of both sides ended and how long they took.

    Attributes:
        states, latency: with the columns that those of a comparison have.
    """

    states: pl.DataFrame
    latency: pl.DataFrame


@dataclass(frozen=True)
class Evidence:
    """What rules look at.

    Attributes:
        comparison: the candidate against the baseline.
        alpha: the chance of a false pass that is allowed.
        tests: how many rules infer; the chance of a false fail is shared among them.
        power: that figures of detectable differences are for.
        interval: how intervals are made: t, bca or percentile.
        noise: by metric the difference that the same system shows against itself.
        holes: by metric what the unjudged could hide; empty where it was not asked.
        flip: the probability of a flip above which nothing is decided.
        today: the day, as 2026-01-31, for exceptions that expire.
        drift: what changed since the baseline was saved; None where it was not saved.
        admissions: by file, how the judges ended that it tells of.
        wholes: by metric and slice, the numbers about all lists together.
        aside: the candidate's lists for queries that rules name and nobody judged: ``query_id``,
            ``doc_id``, ``rank``; None where there are none.
        slices: by slice, states and latencies of its queries, where a rule counts them.
    """

    comparison: Comparison
    alpha: float = 0.05
    tests: int = 1
    power: float = 0.8
    interval: str = "t"
    noise: Mapping[str, float] = field(default_factory=dict)
    holes: Mapping[str, Hole] = field(default_factory=dict)
    flip: float = 0.1
    today: str = ""
    drift: Drift | None = None
    admissions: Mapping[str, Admission] = field(default_factory=dict)
    wholes: Mapping[tuple[str, str | None], Whole] = field(default_factory=dict)
    aside: pl.DataFrame | None = None
    slices: Mapping[str, Counted] = field(default_factory=dict)

    def lower(self, metric: str) -> bool:
        """Whether less of a metric is better."""
        return metric in self.comparison.lower

    def baseline(self, metric: str, slice_: str | None) -> float:
        """The baseline's mean over the queries of a slice, or its number about all lists."""
        if whole := self.wholes.get((metric, slice_)):
            return whole.baseline
        mean = self.queries(metric, slice_)["baseline"].mean()
        return mean if isinstance(mean, float) else 0.0

    def own(self, metric: str, slice_: str | None) -> NDArray[np.float64] | Drawn:
        """The candidate's value of each query, or its number about all lists."""
        if whole := self.wholes.get((metric, slice_)):
            return whole.own
        return self.queries(metric, slice_)["candidate"].to_numpy()

    def gains(self, metric: str, slice_: str | None) -> NDArray[np.float64] | Drawn:
        """What the candidate gains by each query, or by all lists together.

        Losses are below 0, whichever the direction of improvement.
        """
        if whole := self.wholes.get((metric, slice_)):
            return whole.gain(lower=self.lower(metric))
        return self.queries(metric, slice_)["gain"].to_numpy()

    def losses(self, metric: str, slice_: str | None) -> pl.DataFrame:
        """The queries of one metric that lost, worst first, of a slice."""
        table = self.queries(metric, slice_)
        return table.filter(table["gain"] < 0)

    def counted(self, slice_: str | None) -> Counted:
        """States and latencies of the queries of a slice; of every query for None."""
        if slice_ is None:
            return Counted(self.comparison.states, self.comparison.latency)
        return self.slices[slice_]

    def queries(self, metric: str | None, slice_: str | None) -> pl.DataFrame:
        """The queries of one metric, worst first, of a slice; of every metric for None."""
        import polars as pl  # noqa: PLC0415 - for the type only elsewhere

        told = self.comparison
        table = told.queries if metric is None else told.deltas(metric)
        if slice_ is None:
            return table
        tag, _, value = slice_.partition("=")
        return table.filter(pl.col(tag).fill_null("") == value)

    def lists(self, slice_: str | None) -> pl.DataFrame:
        """Both lists of the queries of a slice that are compared; of every query for None."""
        table = self.comparison.lists
        if slice_ is None:
            return table
        known = self.queries(None, slice_).select("query_id").unique()
        return table.join(known, on="query_id", how="semi", maintain_order="left")


@dataclass(frozen=True)
class Outcome:
    """How a rule ended.

    Attributes:
        status: pass, fail or inconclusive.
        reason: why, in a sentence with the figures.
        next: what would settle it, or mend it; empty after a pass.
        n, delta, low, high, margin, mde: the figures, None where a rule has none.
        queries: those that the rule is about, worst first.
    """

    status: Status
    reason: str
    next: str = ""
    n: int | None = None
    delta: float | None = None
    low: float | None = None
    high: float | None = None
    margin: float | None = None
    mde: float | None = None
    queries: tuple[str, ...] = ()
