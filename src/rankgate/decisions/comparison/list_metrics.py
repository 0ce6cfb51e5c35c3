"""Metrics of lists in a comparison: values of users, and metrics of all lists together.

Metrics of all lists together, such as coverage, have one value for a system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.core.present.result_frames import make_frame
from rankgate.data.query_tags import in_slice
from rankgate.data.run_scores import SCORES
from rankgate.data.score_parts import EVERYTHING, Need, Supply
from rankgate.decisions.comparison.comparison_columns import METRICS
from rankgate.decisions.comparison.comparison_tables import tag_table
from rankgate.decisions.comparison.paired_values import metric_signs
from rankgate.measurement.evaluation.lists.list_builder import TopLists
from rankgate.measurement.evaluation.lists.list_inputs import (
    catalogue_notice,
    list_warnings,
    place_facts,
    unjudged_users_notice,
)
from rankgate.measurement.evaluation.lists.list_resamples import resample_users
from rankgate.measurement.scoring.first_items import measure_lists
from rankgate.measurement.scoring.item_catalogue import find_positions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.measurement.evaluation.scored_system import Scorer
    from rankgate.measurement.metrics.lists.list_input import Listed
    from rankgate.measurement.metrics.lists.list_metric import ListMetric
    from rankgate.measurement.stats.resampled_values import ResampledValues


@dataclass(frozen=True)
class ResampledValue:
    """The value of a metric, and its values for resampled users.

    Attributes:
        users: the users of the lists.
        value: the value for all users.
        redrawn: the values for resampled users, and for all users except some.
    """

    users: int
    value: float
    redrawn: ResampledValues

    def __neg__(self) -> ResampledValue:
        return ResampledValue(self.users, -self.value, -self.redrawn)


@dataclass(frozen=True)
class ListTotal:
    """A metric of all lists together, for both systems.

    Attributes:
        users: the users of the lists.
        baseline, candidate: the value of each system.
        redrawn: the values of both systems for resampled users, ``(2, ·)``; both with the same
            users.
    """

    users: int
    baseline: float
    candidate: float
    redrawn: ResampledValues

    def gain(self, *, lower: bool = False) -> ResampledValue:
        """The gain of the candidate, by the direction of improvement."""
        difference = ResampledValue(
            self.users, self.candidate - self.baseline, self.redrawn[1] - self.redrawn[0]
        )
        return -difference if lower else difference

    @property
    def candidate_value(self) -> ResampledValue:
        """The candidate's value."""
        return ResampledValue(self.users, self.candidate, self.redrawn[1])


_NO_VALUE = "no value for this list"

ListTotals = dict[tuple[str, str | None], ListTotal]
"""Values of metrics of all lists together, by metric and slice."""


@dataclass(frozen=True)
class ComparedLists:
    """The lists of several systems, prepared for metrics of lists.

    Attributes:
        metrics: the metrics of lists, by label.
        users: ``(T,)``, the users of the lists.
        lists: the lists of each system.
        warnings: sentences about all systems.
        system_warnings: sentences about each system.
        asked: as in the scorer.
        tags: ``query_id`` and the tags of users, judged or not.
    """

    metrics: Mapping[str, ListMetric]
    users: pl.Series
    lists: tuple[Listed, ...]
    warnings: tuple[str, ...]
    system_warnings: tuple[tuple[str, ...], ...] = ()
    asked: bool = True
    tags: pl.DataFrame = field(default_factory=pl.DataFrame)

    @classmethod
    def none(cls) -> ComparedLists:
        """Make an empty value, for comparisons without metrics of lists."""
        return cls({}, pl.Series([], dtype=pl.String), (), ())

    @property
    def totals(self) -> tuple[str, ...]:
        """The metrics with one value for all lists together."""
        return tuple(label for label, metric in self.metrics.items() if metric.merge != "mean")

    @classmethod
    def collect(cls, scorer: Scorer, runs: Sequence[ScoredRun], supply: Supply = EVERYTHING) -> ComparedLists:
        """Collect the lists of runs that this scorer scored, or of a saved baseline.

        Args:
            scorer: the scorer, which has the metrics of lists.
            runs: the runs that were scored.
            supply: the parts of the first run, if it was saved.

        Raises:
            InputError: a table that cannot be read.
            UsageError: a metric without its inputs, or that looks deeper than lists were
                kept; a saved baseline without the lists of users without judgments.
        """
        builder, index = scorer.builder, scorer.index
        if builder is None or not builder.metrics:
            return cls.none()
        depth = _max_cutoff(builder.metrics, supply)
        tops = [_top_lists(run, depth, index.query_ids) for run in runs]
        catalogue = builder.joint_catalogue(index, tops)
        unjudged_count = len(catalogue.queries) - len(index.query_ids)
        if unjudged_count:
            requirement = (
                f"metrics of lists, which count {count_noun(unjudged_count, 'user')} without judgments"
            )
            supply.require(requirement, [Need("every_list")])
        lists = tuple(builder.listed(catalogue, index, run, top) for run, top in zip(runs, tops, strict=True))
        for lists_of_run in lists:
            builder.refuse_lacking(lists_of_run)
        warnings = [f"{unjudged_users_notice(unjudged_count)}."] if unjudged_count else []
        facts = builder.facts(catalogue, index, tops)
        warnings += [f"{text}." for text in catalogue_notice(facts)]
        system_warnings = tuple(
            tuple(
                f"{run.name}: {problem}"
                for problem in list_warnings(catalogue, lists_of_run, place_facts(lists_of_run))
            )
            for run, lists_of_run in zip(runs, lists, strict=True)
        )
        tags = tag_table(*runs)
        facts_of_lists = builder.metrics, catalogue.queries, lists, tuple(warnings), system_warnings
        return cls(*facts_of_lists, scorer.asked, tags)

    def warnings_of(self, candidate: int = 1) -> tuple[str, ...]:
        """The warnings about the first system and a candidate."""
        return (*self.warnings, *self.system_warnings[0], *self.system_warnings[candidate])

    def scored(self, system_index: int, run: ScoredRun) -> ScoredRun:
        """Add the values of a run's lists to those of its rankings."""
        if not self.metrics:
            return run
        mean_metrics = {label: metric for label, metric in self.metrics.items() if metric.merge == "mean"}
        is_missing_by_user = run.scores.group_by("query_id").agg(gone=(pl.col("why") == "missing").any())
        judged_users = pl.Series(run.queries["query_id"])
        users = pl.DataFrame({"query_id": self.users, "row": range(len(self.users))})
        users = users.join(is_missing_by_user, on="query_id", how="left", maintain_order="left").filter(
            pl.col("gone").is_not_null() | ~pl.col("query_id").is_in(judged_users.implode())
        )
        is_missing = pl.col("gone").fill_null(value=False)
        own_metrics = run.metrics if self.asked or not mean_metrics else ()
        parts = [run.scores]
        list_values = measure_lists(mean_metrics, self.lists[system_index]) if mean_metrics else None
        for label, values in list_values.values.items() if list_values else ():
            user_values = pl.Series(values[users["row"].to_numpy()])
            user_scores = users.select(
                "query_id",
                pl.lit(label).alias("metric"),
                pl.when(~is_missing).then(user_values.fill_nan(None)).alias("value"),
                "gone",
            ).with_columns(
                pl.when(is_missing)
                .then(pl.lit("missing"))
                .when(pl.col("value").is_null())
                .then(pl.lit(_NO_VALUE))
                .alias("why")
            )
            parts.append(user_scores.select(*SCORES))
        lower = [label for label, metric in self.metrics.items() if not metric.higher_is_better]
        return replace(
            run,
            scores=pl.concat(parts if own_metrics else parts[1:]),
            metrics=(*own_metrics, *mean_metrics),
            lower=(*run.lower, *lower),
        )

    def noise(self, repeat_count: int) -> dict[str, float]:
        """The range by metric over the baseline and its repeated runs, which are last."""
        if not (repeat_count and self.lists):
            return {}
        baseline_lists = (self.lists[0], *self.lists[2:])
        numbers_by_run = [
            measure_lists(self.metrics, lists_of_run).numbers for lists_of_run in baseline_lists
        ]
        numbers = {
            label: [numbers_of_run[label] for numbers_of_run in numbers_by_run] for label in self.metrics
        }
        return {label: max(values) - min(values) for label, values in numbers.items()}

    def wholes(
        self, result: Comparison, resamples: int, *, candidate: int = 1, slices: Iterable[str | None] = ()
    ) -> ListTotals:
        """Compute the metrics of all lists together, of all users and of slices.

        Args:
            result: the comparison of the first system with a candidate.
            resamples: the number of resamples of users.
            candidate: the index of the candidate among the systems.
            slices: the slices, as ``tag=value``.
        """
        total_metrics = {label: self.metrics[label] for label in self.totals}
        if not total_metrics:
            return {}
        wholes = {}
        for slice_ in dict.fromkeys([None, *slices]):
            rows = self._rows(result, slice_, candidate)
            pair = [self.lists[system_index].rows(rows) for system_index in (0, candidate)]
            redrawn_values, _ = resample_users(pair, total_metrics, resamples, result.seed)
            baseline_numbers, candidate_numbers = (
                measure_lists(total_metrics, lists_of_system).numbers for lists_of_system in pair
            )
            for label in total_metrics:
                total = ListTotal(
                    len(pair[0].items),
                    baseline_numbers[label],
                    candidate_numbers[label],
                    redrawn_values[label],
                )
                wholes[label, slice_] = total
        return wholes

    def _rows(self, result: Comparison, slice_: str | None, candidate: int) -> NDArray[np.int64]:
        """The indices of the users that count: the users of both systems, if others are dropped."""
        excluded_users = result.excluded.filter(pl.col("metric").is_null())["query_id"]
        is_user = self.lists[0].is_user | self.lists[candidate].is_user
        users = self.users.filter(pl.Series(is_user) & ~self.users.is_in(excluded_users.implode()))
        if slice_ is not None:
            slice_users = self.tags.filter(in_slice(slice_))["query_id"].unique()
            users = users.filter(users.is_in(slice_users.implode()))
        return find_positions(users, self.users)


def with_list_totals(result: Comparison, wholes: ListTotals, warnings: Sequence[str]) -> Comparison:
    """Add a row for each metric of all lists together, and warnings, to a comparison."""
    rows = []
    for (label, slice_), total in wholes.items():
        if slice_ is None:
            delta = total.candidate - total.baseline
            low, high = (total.redrawn[1] - total.redrawn[0]).ends(delta, result.level)
            rows.append(
                {
                    "metric": label,
                    "n": total.users,
                    "baseline": total.baseline,
                    "candidate": total.candidate,
                    "delta": delta,
                    "gain": delta * metric_signs([label], result.lower)[0],
                    "low": low,
                    "high": high,
                    "level": result.level,
                    "test": "none",
                    "correction": "none",
                }
            )
    total_rows = make_frame(rows, METRICS)
    return replace(
        result, metrics=pl.concat([result.metrics, total_rows]), warnings=(*result.warnings, *warnings)
    )


def _top_lists(run: ScoredRun, depth: int, judged_users: pl.Series) -> TopLists:
    """The first items of every list of a run."""
    rows = run.lists.filter(pl.col("rank") <= depth).sort("query_id", "rank")
    pairs = rows.select("query_id", "doc_id")
    if run.served is None:
        return TopLists.of_rows(judged_users, pairs)
    served_lists = run.served.select("query_id", doc_id=pl.col("doc_ids").list.head(depth))
    served_pairs = served_lists.explode("doc_id").drop_nulls()
    users = pl.concat([judged_users, served_lists["query_id"]])
    return TopLists.of_rows(users, pl.concat([pairs, served_pairs]))


def _max_cutoff(metrics: Mapping[str, ListMetric], supply: Supply) -> int:
    """The largest cutoff of the metrics.

    Raises:
        UsageError: some lists are shorter.
    """
    for label, metric in metrics.items():
        if metric.cutoff is None:
            raise UsageError(
                f"{label} without a cutoff needs whole lists, but only their first documents are compared; "
                f"use {label}@10.",
                code="missing-cutoff",
            )
        supply.require(label, [Need("lists", depth=metric.cutoff)])
    return max(metric.cutoff or 1 for metric in metrics.values())
