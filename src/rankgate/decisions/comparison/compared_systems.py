"""Systems to compare, with the inputs that are made for all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.parts import EVERYTHING, Need, Supply
from rankgate.decisions.comparison.designed import design_inputs, design_systems, designs_of_people
from rankgate.decisions.comparison.list_metrics import ComparedLists, ListTotals, with_list_totals
from rankgate.decisions.comparison.pairs import compare_pairs
from rankgate.measurement.scoring.run_names import rename_duplicates

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.comparison.pairs import ComparisonRules
    from rankgate.decisions.comparison.scores.grouped import QueryGroups
    from rankgate.decisions.comparison.scores.systems import ReportedTables
    from rankgate.measurement.evaluation.scored_system import Scorer
    from rankgate.measurement.metrics.declare import Metric


@dataclass(frozen=True)
class ComparedSystems:
    """A baseline and candidates, with the inputs of their comparisons.

    Attributes:
        systems: the baseline and the candidates, with their values by metrics of lists too.
        supply: the parts that they have or can make.
        designs: of each candidate, the population of the queries; none if every query counts alike.
        lists: of all systems, for metrics of lists.
        groups: the groups of queries that the values are sums of; else None.
        ranges: by metric, its lowest and highest value, where it has both and was reported.
    """

    systems: tuple[ScoredRun, ...]
    supply: Supply = EVERYTHING
    designs: tuple[Design, ...] = ()
    lists: ComparedLists = field(default_factory=ComparedLists.none)
    groups: QueryGroups | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of_runs(
        cls,
        scorer: Scorer,
        systems: Sequence[ScoredRun],
        runs: Sequence[Any],
        unequal: str,
        repeats: Sequence[ScoredRun] = (),
        supply: Supply = EVERYTHING,
    ) -> ComparedSystems:
        """Make them from systems scored by judgments, with the sample and model of the collection.

        Args:
            scorer: of judgments, metrics and convention.
            systems: the baseline and the candidates, scored.
            runs: the runs of the systems.
            unequal: the rule for queries that only one system ran.
            repeats: further runs of the baseline's system, scored.
            supply: the parts that the baseline has, where it was saved.

        Raises:
            InputError, UsageError: as `design_inputs`, `design_systems` and `ComparedLists.of`.
        """
        sample, model = design_inputs(scorer.collection)
        designed_systems = design_systems(scorer, model, sample, systems, runs, unequal)
        repeats_scored = [designed_systems.unseen(system) for system in repeats]
        lists = ComparedLists.of(
            designed_systems.scorer, [*designed_systems.systems, *repeats_scored], supply
        )
        if sample is not None:
            for label in lists.totals:
                _TOTALS_SUPPLY.require(f"{label} with a sample of queries", [Need("values")])
        scored_systems = [
            lists.scored(system_index, system)
            for system_index, system in enumerate(designed_systems.systems)
        ]
        return cls(tuple(scored_systems), supply, tuple(designed_systems.designs), lists)

    @classmethod
    def of_tables(
        cls,
        tables: ReportedTables,
        names: Iterable[object],
        metrics: Sequence[str | Metric],
        unequal: str,
        slices: Sequence[str],
    ) -> ComparedSystems:
        """Make them from values that another tool computed.

        Args:
            tables: their values.
            names: of the baseline and the candidates; without any, all systems.
            metrics: to compare.
            unequal: as of `of_runs`.
            slices: tags whose values are compared apart.

        Raises:
            InputError: tables that cannot be read, with file and line.
            UsageError: an unknown system; a part that the tables lack.
        """
        reported = tables.read(metrics, unequal, slices)
        systems = rename_duplicates(reported.named([str(name) for name in names]), [])
        sample = tables.read_sample()
        is_stated_by_feature = {"slices": bool(slices), "a sample of queries": sample is not None}
        for feature in (
            feature for feature, is_stated in is_stated_by_feature.items() if is_stated
        ):
            reported.supply.require(feature, [Need("values")])
        return cls(
            tuple(systems),
            reported.supply,
            tuple(designs_of_people(sample, systems)),
            groups=reported.groups,
            ranges=reported.ranges,
        )

    def comparisons(self, rules: ComparisonRules) -> tuple[Comparison, ...]:
        """Compare the baseline with each candidate, by values of queries or of groups of queries.

        Raises:
            UsageError: no candidate; as `compare_pairs`.
        """
        baseline, *candidates = self.systems
        if not candidates:
            raise UsageError(
                "no candidate; give one run or more besides the baseline.", code="missing-input"
            )
        if self.groups is not None:
            rules = replace(rules, sizes=False)
        return compare_pairs(baseline, candidates, rules, self.designs)

    def with_totals(self, result: Comparison, resamples: int, candidate: int = 1) -> Comparison:
        """Add a row for each metric of all lists together to a comparison.

        Args:
            result: of the baseline and a candidate.
            resamples: of users, for the interval.
            candidate: the index of the candidate among the systems.
        """
        if not self.lists.metrics:
            return result
        wholes: ListTotals = self.lists.wholes(result, resamples, candidate=candidate)
        return with_list_totals(result, wholes, self.lists.warnings)


_TOTALS_SUPPLY = Supply(
    frozenset(),
    "it is one number about all lists, which weights of queries do not change",
    "leave the metric or the sample out",
)
"""The supply of a metric of all lists together: it has no values of queries."""
