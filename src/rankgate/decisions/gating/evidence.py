"""Input of rules: a comparison, options of inference and other data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.data.clusters import read_clusters
from rankgate.data.parts import EVERYTHING, Supply
from rankgate.measurement.stats.clusters import QueryClusters

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.decisions.comparison.design import Contrast, Design
    from rankgate.decisions.comparison.scores.grouped import QueryGroups
    from rankgate.decisions.comparison.whole import ListTotal, ResampledValue
    from rankgate.decisions.unjudged.drawn_values import DrawnValues
    from rankgate.measurement.stats.represented import PopulationEstimate


@dataclass(frozen=True)
class Drift:
    """Changes since a baseline was saved.

    Attributes:
        then: the number of queries of the saved scores.
        gone, new: queries that are not judged any more, and that were not.
        judgments: True if the judgments are other ones.
        regraded: documents shown then and now whose grade is another one.
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
        """The share of added and removed queries among all queries of then and now."""
        return len(self.queries) / max(1, self.then + len(self.new))

    @property
    def words(self) -> str:
        """The changes, as the end of a sentence."""
        parts = [
            f"{len(self.gone)} of its {self.then} queries went" if self.gone else "",
            f"{len(self.new)} queries came" if self.new else "",
            f"{self.regraded} of the documents shown were graded otherwise"
            if self.regraded
            else "",
        ]
        changes = [change for change in parts if change] or [
            "judgments of documents not shown changed"
        ]
        return ", ".join(changes)


@dataclass(frozen=True)
class Admission:
    """The admission of a judge that was compared with people (``rankgate admit``).

    Attributes:
        verdict: pass, fail or inconclusive.
        judge: its name.
        sha256: of its judgments.
    """

    verdict: str
    judge: str
    sha256: str


@dataclass(frozen=True)
class StateCounts:
    """States and latencies of the queries of both systems.

    Attributes:
        states, latency: with the columns that those of a comparison have.
    """

    states: pl.DataFrame
    latency: pl.DataFrame


@dataclass(frozen=True)
class Terms:
    """Options of inference.

    Attributes:
        alpha: the chance of a false pass that is allowed.
        tests: the number of rules that infer; they share the chance of a false fail.
        power: that figures of detectable differences are for.
        interval: the method of intervals: t, guaranteed, bca or percentile.
        flip: the probability of a flip above which nothing is decided.
        seed: of the resampling.
        today: the day, as 2026-01-31, for exceptions that expire.
        anytime: True if intervals hold at every look while queries are added.
        least: fewer queries than this decide nothing.
        per_value: queries in a group, where each value is that of a group.
        degrees: of freedom of the error of a mean; n − 1 where None.
        unseen: the largest share of the weight of all queries of which the sample may show none;
            None where weights are equal.
        undecided: the code and the reason why weights decide nothing; None where they do.
        advice: a step that would settle it then.
        sizes: (n,) queries of each value, where it is the mean of a cluster and guaranteed bounds
            weigh it; None elsewhere.
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
        noise: by metric the difference that the same system shows against itself.
        holes: by metric, values under drawn grades of unjudged documents; empty where it was not
            asked.
        ranges: by metric, its lowest and its highest value, where it has both.
        drift: changes since the baseline was saved; None where it was not saved.
        admissions: the admissions of judges, by file.
        wholes: by metric and slice, the numbers about all lists together.
        unjudged_lists: the candidate's lists for queries that rules name and nobody judged:
            ``query_id``, ``doc_id``, ``rank``; None where there are none.
        slices: by slice, states and latencies of its queries, where a rule counts them.
        supply: the parts that the compared scores have or can make.
        design: the design of the sample of queries; None if every query counts alike.
        groups: the groups of queries that values belong to; None where they are of queries.
    """

    noise: Mapping[str, float] = field(default_factory=dict)
    holes: Mapping[str, DrawnValues] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    drift: Drift | None = None
    admissions: Mapping[str, Admission] = field(default_factory=dict)
    wholes: Mapping[tuple[str, str | None], ListTotal] = field(default_factory=dict)
    unjudged_lists: pl.DataFrame | None = None
    slices: Mapping[str, StateCounts] = field(default_factory=dict)
    supply: Supply = EVERYTHING
    design: Design | None = None
    groups: QueryGroups | None = None


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
            return list_numbers.own
        return self.measured(metric, slice_, lambda _, candidate: candidate)

    def gains(self, metric: str, slice_: str | None) -> NDArray[np.float64] | ResampledValue:
        """The candidate's gain by each query, or by all lists together.

        Losses are below 0, whichever the direction of improvement.
        """
        if list_numbers := self.inputs.wholes.get((metric, slice_)):
            return list_numbers.gain(lower=self.lower(metric))
        return self.measured(metric, slice_, self.gained(metric))

    def gained(self, metric: str) -> Contrast:
        """The contrast that says by how much the candidate is better, from values of both."""
        sign = -1.0 if self.lower(metric) else 1.0
        return lambda baseline, candidate: sign * (candidate - baseline)

    def measured(self, metric: str, slice_: str | None, contrast: Contrast) -> NDArray[np.float64]:
        """A contrast of both systems by query, as the design has it."""
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
        """The clusters of the queries of a table; None where each query is its own."""
        clusters = read_clusters([self.comparison.queries])
        units = QueryClusters.of(table["query_id"].to_list(), clusters) if clusters else None
        return None if units is None or len(units.first) == len(table) else units

    def represented(
        self, metric: str, slice_: str | None, contrast: Contrast
    ) -> PopulationEstimate:
        """The estimate of a contrast of both systems, where there is a design."""
        assert self.inputs.design is not None
        table = self.queries(metric, slice_)
        gains = contrast(table["baseline"].to_numpy(), table["candidate"].to_numpy())
        queries, tag_value = table["query_id"].to_list(), self.slice_of(slice_)
        return self.inputs.design.estimate(queries, gains, metric, contrast, tag_value)

    def slice_of(self, slice_: str | None) -> tuple[str, str] | None:
        """The tag and the value of a slice."""
        tag, _, value = (slice_ or "").partition("=")
        return None if slice_ is None else (tag, value)

    def gain_range(self, metric: str) -> tuple[float, float] | None:
        """The largest loss and the largest gain of a query that there can be."""
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
        import polars as pl

        result = self.comparison
        table = result.queries if metric is None else result.deltas(metric)
        if slice_ is None:
            return table
        tag, _, value = slice_.partition("=")
        return table.filter(pl.col(tag).fill_null("") == value)

    def lists(self, slice_: str | None) -> pl.DataFrame:
        """Both lists of the queries of a slice that are compared; of every query for None."""
        table = self.comparison.lists
        if slice_ is None:
            return table
        query_ids = self.queries(None, slice_).select("query_id").unique()
        return table.join(query_ids, on="query_id", how="semi", maintain_order="left")
