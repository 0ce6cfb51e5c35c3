"""Declare a rule, and the evidence that it gets.

A rule has a kind, parameters, inputs and a result. The inputs of rules are a comparison, options of
inference and other data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rankgate.core.declare import Declared
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.query_tags import in_slice, read_clusters
from rankgate.data.score_parts import EVERYTHING, PARTS, Need, Supply
from rankgate.measurement.stats.weighted_means import QueryClusters

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.core.declare import Parameter
    from rankgate.data.collection import Selection
    from rankgate.data.score_parts import MissingPart, Part
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.decisions.comparison.design import Contrast, Design
    from rankgate.decisions.comparison.list_metrics import ListTotals, ResampledValue
    from rankgate.decisions.comparison.query_groups import QueryGroups
    from rankgate.decisions.gating.kpi_evidence import KpiEvidence
    from rankgate.decisions.unjudged.hole_figures import DrawnValues
    from rankgate.measurement.evaluation.scored_system import Scorer
    from rankgate.measurement.stats.weighted_means import PopulationEstimate


Status = Literal["pass", "fail", "inconclusive"]
Tier = Literal["block", "warn", "info"]
TIERS: tuple[Tier, ...] = ("block", "warn", "info")


@dataclass(frozen=True)
class RuleKind(Declared):
    """A kind of rule: everything that the gate uses of it is declared here.

    Attributes:
        name: its name in policies.
        title: its demand, in a sentence.
        takes: its own parameters, in addition to those that every rule has.
        decide: a rule of this kind and the evidence to its outcome.
        statistical: True if it infers from a sample of queries; the others count.
        sliced: True if it can look at the queries of a slice alone.
        one_of: parameters; exactly one of them must be given.
        any_of: parameters; one or more of them must be given.
        check: the problem of the values, with the key; None where they are right.
        difference: the parameter that a difference of the metric is compared with.
        limits: the limited quantity: the mean ``loss`` (checked against the noise floor), the mean
            ``gain``, or the ``drop`` of single queries, which a metric of all lists together does
            not have.
        bounds: parameters that the value of the metric is compared with.
        depth: parameters with a number of first documents.
        needs: the parts of scores that it looks at; a rule about a slice or single queries needs
            values too.
        files: parameters that name files next to the policy.
        read_input: the input that only rules of this kind have, from what their policy was given; it is
            read before any rule is decided, if ``needs`` are met.
        statuses: (S,) the status under each set of drawn grades of unjudged documents; None where
            judging them cannot change it.
        redrawn: (S,) the status under each resample of its queries, from (n, S) rows of them;
            None takes ``statuses``, and where there is none either, the rule is not evaluated
            again.
        without_comparison: the outcome where a saved baseline and the candidate have different
            judgments, so that nothing can be compared; None leaves the rule inconclusive.
        of_experiment: a rule on a KPI and what users did to its outcome; the gate leaves such
            rules to the watch of the experiment.
    """

    takes: tuple[Parameter, ...]
    decide: Callable[[Rule, Evidence], Outcome]
    statistical: bool = False
    sliced: bool = False
    one_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    check: Callable[[Mapping[str, Any]], tuple[str, str] | None] | None = None
    difference: str = ""
    limits: Literal["", "loss", "gain", "drop"] = ""
    bounds: tuple[str, ...] = ()
    depth: tuple[str, ...] = ()
    needs: frozenset[Part] = frozenset({"lists"})
    files: tuple[str, ...] = ()
    read_input: Callable[[Rule, RuleSources], Any] | None = None
    without_comparison: Callable[[Rule, Drift], Outcome] | None = None
    of_experiment: Callable[[Rule, KpiEvidence], Outcome] | None = None
    statuses: Callable[[Rule, Evidence, HypotheticalValues], NDArray[np.str_]] | None = None
    redrawn: Callable[[Rule, Evidence, NDArray[np.int64]], NDArray[np.str_]] | None = None

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters of the kind, by name."""
        return {parameter.name: parameter for parameter in self.takes}

    def lack(self, rule: Rule, supply: Supply) -> MissingPart | None:
        """The reason why available parts cannot decide a rule of this kind; None if they can."""
        of_queries = rule.slice is not None or self.limits == "drop"
        parts = {*self.needs, "values"} if of_queries else self.needs
        lacks = (supply.lack(Need(need)) for need in PARTS if need in parts)
        return next((lack for lack in lacks if lack is not None), None)

    def problem(self, values: Mapping[str, Any]) -> tuple[str, str] | None:
        """The problem of values that do not fit together, with the key."""
        names = {name for name, value in values.items() if value is not None}
        if self.one_of and len(names.intersection(self.one_of)) != 1:
            return f"set {' or '.join(self.one_of)}, exactly one of them.", ""
        if self.any_of and names.isdisjoint(self.any_of):
            return f"set {' or '.join(self.any_of)}.", ""
        return self.check(values) if self.check else None


@dataclass(frozen=True)
class Rule:
    """One rule of a policy.

    Attributes:
        id: its name, unique in the policy.
        kind: the name of its kind.
        tier: block, warn or inform.
        slice: ``tag=value``, the queries it looks at; None is all of them.
        values: its parameters, defaults filled in.
    """

    KEYS: ClassVar[Mapping[str, str]] = {"values": ""}

    id: str
    kind: str
    tier: Tier = "block"
    slice: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a number, a word, a list
        return self.values[name]

    def get(self, name: str) -> Any:  # noqa: ANN401 - as above
        """The value of a parameter; None if the kind does not have it."""
        return self.values.get(name)


@dataclass(frozen=True)
class Outcome:
    """The result of a rule.

    Attributes:
        status: pass, fail or inconclusive.
        reason: why, in a sentence with the figures.
        next: a step that would settle or fix it; empty after a pass.
        n, delta, low, high, margin, mde: the figures, None where a rule has none.
        caution: the losses that a pass cannot exclude; may be empty.
        queries: those that the rule is about, worst first.
        code: the code of the reason, for programs, if weights prevent an inference:
            few-effective-queries or heavy-weights; model-not-sealed if only a statement says what a
            model saw.
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
    caution: str = ""
    code: str = ""


@dataclass(frozen=True)
class Drift:
    """Changes since a baseline was saved.

    Attributes:
        then: the number of queries of the saved scores.
        gone, new: the queries that are no longer judged, and the newly judged queries.
        judgments: True if the judgments are different.
        regraded: documents in old and new lists whose grade has changed.
    """

    then: int
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    judgments: bool = False
    regraded: int = 0

    @property
    def queries(self) -> tuple[str, ...]:
        """Queries that were added or removed."""
        return (*self.gone, *self.new)

    @property
    def share(self) -> float:
        """The share of added and removed queries among all old and new queries."""
        return len(self.queries) / max(1, self.then + len(self.new))

    @property
    def description(self) -> str:
        """The changes, as the end of a sentence."""
        parts = [
            f"{len(self.gone)} of its {count_noun(self.then, 'query')} "
            f"{'was' if len(self.gone) == 1 else 'were'} removed"
            if self.gone
            else "",
            f"{count_noun(len(self.new), 'query was', 'queries were')} added" if self.new else "",
            f"{self.regraded} of the documents shown {'has' if self.regraded == 1 else 'have'} another grade"
            if self.regraded
            else "",
        ]
        changes = [change for change in parts if change] or ["judgments of documents not shown changed"]
        return ", ".join(changes)


@dataclass(frozen=True)
class RuleSources:
    """What rules read their own inputs from.

    Attributes:
        folder: the folder of the policy.
        scorer: the scorer of judgments, metrics and convention; None without judgments.
        run: the candidate's run; None without runs.
    """

    folder: Path
    scorer: Scorer | None = None
    run: Any = None


@dataclass(frozen=True)
class StateCounts:
    """States and latencies of the queries of both systems.

    Attributes:
        states, latency: tables with the columns of a comparison's tables.
    """

    states: pl.DataFrame
    latency: pl.DataFrame


@dataclass(frozen=True)
class Terms:
    """Options of inference.

    Attributes:
        alpha: the probability of a false pass that is allowed.
        tests: the number of rules that infer; they share the probability of a false fail.
        power: the power of the detectable differences.
        interval: the method of intervals: t, guaranteed, bca or percentile.
        flip: the probability of a flip above which nothing is decided.
        seed: the seed of the resampling.
        today: the day, as 2026-01-31, for exceptions that expire.
        anytime: True if intervals hold at every look while queries are added.
        least: the smallest number of queries that allows a decision.
        per_value: the number of queries per value, if values are of groups.
        degrees: the degrees of freedom of the error of a mean; n − 1 if None.
        unseen: the largest share of the weight of all queries that the sample may miss completely;
            None if weights are equal.
        undecided: the code and the reason why weights allow no decision; None if they allow it.
        advice: a step that would then settle the rule.
        sizes: (n,) the number of queries of each value, if values are means of clusters and
            guaranteed bounds weight them; else None.
    """

    alpha: float = 0.05
    tests: int = 1
    power: float = 0.8
    interval: str = "t"
    flip: float = 0.1
    seed: int = 0
    today: str = ""
    anytime: bool = False
    least: int = 10
    per_value: float = 1.0
    degrees: float | None = None
    unseen: float | None = None
    undecided: tuple[str, str] | None = None
    advice: str = ""
    sizes: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Inputs:
    """Inputs of rules in addition to a comparison, as far as they are available.

    Attributes:
        noise: by metric, the difference between runs of the same system.
        holes: the values under drawn grades of unjudged documents, by metric; empty if not
            requested.
        ranges: the lowest and highest value of each metric, if it has both.
        drift: the changes since the baseline was saved; None for a baseline that was not saved.
        by_rule: the inputs of single rules; see `RuleKind.read_input`.
        wholes: the values of metrics of all lists together, by metric and slice.
        selection: the selection of the judged documents.
        unjudged_lists: the candidate's lists for unjudged queries that rules name:
            ``query_id``, ``doc_id``, ``rank``, or None.
        slices: the states and latencies of each slice's queries, if a rule counts them.
        supply: the parts that the compared scores have or can make.
        design: the design of the sample of queries; None if every query counts equally.
        groups: the groups of queries that values belong to; None if values are of queries.
        judged: the number of judged queries.
        unanswered: the judged queries that neither run answered.
    """

    noise: Mapping[str, float] = field(default_factory=dict)
    holes: Mapping[str, DrawnValues] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    drift: Drift | None = None
    by_rule: Mapping[str, Any] = field(default_factory=dict)
    wholes: ListTotals = field(default_factory=dict)
    selection: Selection = "unknown"
    unjudged_lists: pl.DataFrame | None = None
    slices: Mapping[str, StateCounts] = field(default_factory=dict)
    supply: Supply = EVERYTHING
    design: Design | None = None
    groups: QueryGroups | None = None
    judged: int = 0
    unanswered: tuple[str, ...] = ()


@dataclass(frozen=True)
class HypotheticalValues:
    """Values of the queries that a rule looks at, under drawn grades of unjudged documents.

    Attributes:
        query_ids: the n queries.
        baseline, candidate, gain: (n, S), each column under one set of grades.
    """

    query_ids: Sequence[str]
    baseline: NDArray[np.float64]
    candidate: NDArray[np.float64]
    gain: NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """All inputs of a rule.

    Attributes:
        comparison: the candidate against the baseline.
        terms: the options of inference.
        inputs: further inputs of rules.
    """

    comparison: Comparison
    terms: Terms
    inputs: Inputs

    def lower(self, metric: str) -> bool:
        """True if less of a metric is better."""
        return metric in self.comparison.lower

    def baseline(self, metric: str, slice_: str | None) -> float:
        """The baseline's mean over the queries of a slice, or its number about all lists."""
        if list_numbers := self.inputs.wholes.get((metric, slice_)):
            return list_numbers.baseline
        values = self.measured(metric, slice_, lambda baseline, _: baseline)
        return float(values.mean()) if len(values) else 0.0

    def own(self, metric: str, slice_: str | None) -> NDArray[np.float64] | ResampledValue:
        """The candidate's value of each query, or its number about all lists."""
        if list_numbers := self.inputs.wholes.get((metric, slice_)):
            return list_numbers.candidate_value
        return self.measured(metric, slice_, lambda _, candidate: candidate)

    def gains(self, metric: str, slice_: str | None) -> NDArray[np.float64] | ResampledValue:
        """The candidate's gain by each query, or by all lists together.

        Losses are below 0, for both directions of improvement.
        """
        if list_numbers := self.inputs.wholes.get((metric, slice_)):
            return list_numbers.gain(lower=self.lower(metric))
        return self.measured(metric, slice_, self.gained(metric))

    def gained(self, metric: str) -> Contrast:
        """The contrast that measures the candidate's gain, from the values of both systems."""
        sign = -1.0 if self.lower(metric) else 1.0
        return lambda baseline, candidate: sign * (candidate - baseline)

    def measured(self, metric: str, slice_: str | None, contrast: Contrast) -> NDArray[np.float64]:
        """A contrast of both systems by query, adjusted by the design."""
        if self.inputs.design is not None:
            return self.represented(metric, slice_, contrast).values
        table = self.queries(metric, slice_)
        values = contrast(table["baseline"].to_numpy(), table["candidate"].to_numpy())
        units = self.units(table)
        if units is None:
            return values
        guaranteed = self.terms.interval == "guaranteed"
        return units.means(values) if guaranteed else units.values(values)

    def units(self, table: pl.DataFrame) -> QueryClusters | None:
        """The clusters of the queries of a table; None if each query is its own cluster."""
        clusters = read_clusters([self.comparison.queries])
        units = QueryClusters.from_queries(table["query_id"].to_list(), clusters) if clusters else None
        return None if units is None or len(units.first) == len(table) else units

    def represented(self, metric: str, slice_: str | None, contrast: Contrast) -> PopulationEstimate:
        """The estimate of a contrast of both systems by the design; None without a design."""
        assert self.inputs.design is not None
        table = self.queries(metric, slice_)
        gains = contrast(table["baseline"].to_numpy(), table["candidate"].to_numpy())
        return self.inputs.design.estimate(table["query_id"].to_list(), gains, metric, contrast, slice_)

    def gain_range(self, metric: str) -> tuple[float, float] | None:
        """The largest possible loss and the largest possible gain of a query."""
        value_range = self.inputs.ranges.get(metric)
        return (
            None
            if value_range is None
            else (value_range[0] - value_range[1], value_range[1] - value_range[0])
        )

    def losses(self, metric: str, slice_: str | None) -> pl.DataFrame:
        """The queries of one metric that lost, worst first, of a slice."""
        table = self.queries(metric, slice_)
        return table.filter(table["gain"] < 0)

    def counted(self, slice_: str | None) -> StateCounts:
        """States and latencies of the queries of a slice; of every query for None."""
        if slice_ is None:
            return StateCounts(self.comparison.states, self.comparison.latency)
        return self.inputs.slices[slice_]

    def queries(self, metric: str | None, slice_: str | None) -> pl.DataFrame:
        """The queries of one metric, worst first, of a slice; of every metric for None."""
        result = self.comparison
        table = result.queries if metric is None else result.deltas(metric)
        return table if slice_ is None else table.filter(in_slice(slice_))

    def lists(self, slice_: str | None) -> pl.DataFrame:
        """Both lists of the compared queries of a slice; of every query for None."""
        table = self.comparison.lists
        if slice_ is None:
            return table
        query_ids = self.queries(None, slice_).select("query_id").unique()
        return table.join(query_ids, on="query_id", how="semi", maintain_order="left")
