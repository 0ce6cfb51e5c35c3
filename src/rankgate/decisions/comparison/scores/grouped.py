"""Saved evaluations without values of single queries: sums over groups of queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.group_sums import GroupSums
from rankgate.data.text.json_text import parsed
from rankgate.decisions.comparison.comparison import METRICS, SCHEMAS, Comparison
from rankgate.measurement.scoring.chosen import refuse_mixed

if TYPE_CHECKING:
    from rankgate.decisions.comparison.scores.metric_names import MetricNames


@dataclass(frozen=True)
class GroupedRun:
    """One run of a saved evaluation.

    Attributes:
        metrics: by label, its sums.
        convention: name, hash and axes.
    """

    metrics: Mapping[str, GroupSums]
    convention: Mapping[str, Any]


@dataclass(frozen=True)
class QueryGroups:
    """What the values of groups stand for.

    Attributes:
        queries: by metric, how many have a value.
        count: by metric, the groups that they are in.
    """

    queries: Mapping[str, int]
    count: Mapping[str, int]

    def per_group(self, metric: str) -> float:
        """Queries of a group, on average."""
        return self.queries[metric] / max(self.count[metric], 1)

    @property
    def note(self) -> str:
        """What a reader has to know of figures that are made of groups."""
        groups, queries = max(self.count.values()), max(self.queries.values())
        return (
            f"computed from sums over {groups} groups of the {queries:,} queries: intervals and "
            "tests are those of a sample of groups, and values of single queries are not known"
        )

    def in_queries(self, result: Comparison) -> Comparison:
        """A comparison of groups with counts, spread and effect of queries.

        Means, differences, intervals, p-values and detectable differences stay as they are. How
        many queries won, and how many a corrected test needs, is not known.
        """
        size = pl.col("metric").replace_strict(
            {name: self.per_group(name) for name in result.names}, return_dtype=pl.Float64
        )
        total = pl.col("metric").replace_strict(dict(self.queries), return_dtype=pl.Int64)
        lacking = ("wins", "ties", "losses", "needed")
        none = [pl.lit(None, METRICS[name]).alias(name) for name in lacking]
        metrics = result.metrics.with_columns(
            *none,
            n=total,
            sd=pl.col("sd") * size.sqrt(),
            effect=pl.col("effect") / size.sqrt(),
        )
        plans = result.plans.with_columns(queries=(pl.col("queries") * size).ceil())
        note = f"{result.candidate.name}: {self.note}."
        return replace(
            result,
            metrics=metrics,
            plans=plans,
            queries=pl.DataFrame(schema=SCHEMAS["queries"]),
            warnings=(note, *result.warnings),
        )


def grouped_runs(data: bytes, label: str) -> dict[str, GroupedRun]:
    """The runs of a saved evaluation or comparison by name, if it has sums of groups; else none.

    Raises:
        InputError: sums that were damaged.
    """
    found = parsed(data, label)
    if not isinstance(found, Mapping):
        return {}
    try:
        return {
            str(name): GroupedRun(
                {metric: GroupSums.from_dict(each) for metric, each in sums.items()}, convention
            )
            for name, sums, convention in _sums(found)
        }
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        problem = f"damaged sums of groups of queries ({error}); save the result again."
        raise InputError(problem, source=label, code="damaged-result") from None


def _sums(found: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Each run's name, its sums and its convention."""
    for run in found.get("runs", ()):
        if run.get("groups"):
            yield run["name"], run["groups"], found["convention"]
    for each in found.get("comparisons", ()):
        for system, sums in each.get("groups", {}).items():
            yield each[system]["name"], sums, each["convention"]


def query_groups(
    runs: Mapping[str, GroupedRun],
    every: Sequence[str],
    labels: Sequence[str],
    names: MetricNames,
) -> QueryGroups | None:
    """What the groups of some systems have in common; None where no system has groups.

    Args:
        runs: by name of the system.
        every: the names of all systems, those with values of queries too.
        labels: the metrics.
        names: what spellings stand for.

    Raises:
        UsageError: systems with other queries or another convention; some that have values of
            queries instead.
    """
    if not runs:
        return None
    if lacking := [name for name in every if name not in runs]:
        raise UsageError(
            f"{lacking[0]} has values of queries, and {next(iter(runs))} sums of groups of them "
            "only; score both the same way.",
            code="not-comparable",
        )
    refuse_mixed({name: each.convention for name, each in runs.items()})
    queries, count = {}, {}
    for label in labels:
        first, *others = (
            (name, each)
            for name, run in runs.items()
            for spelled, each in run.metrics.items()
            if names[spelled] == names[label]
        )
        for name, sums in others:
            if sums.queries != first[1].queries or (sums.n != first[1].n).any():
                raise UsageError(
                    f"{first[0]} and {name} have a value of {label} for other queries "
                    f"({first[1].total:,} and {sums.total:,}), and what single queries have is not "
                    "saved; compare the runs where the data is, with rankgate.spark.compare.",
                    code="values-differ",
                )
        queries[label] = first[1].total
        count[label] = int((first[1].n > 0).sum())
    return QueryGroups(queries, count)
