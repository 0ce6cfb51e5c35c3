"""Cells and names of metrics of score tables, and saved evaluations as sums over groups of queries.

The spelling of a metric in a score table gives its direction, its range and its standard name.
Saved evaluations without values of single queries are sums over groups of queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from rankgate.core.errors import InputError, UsageError, check_schema_version
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.text.json_text import parse_json
from rankgate.decisions.comparison.comparison import Comparison
from rankgate.decisions.comparison.comparison_columns import METRICS, QUERIES
from rankgate.measurement.evaluation.scores import Scores
from rankgate.measurement.metrics.metric_name_parser import parse_all
from rankgate.measurement.scoring.presets import refuse_mixed

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.data.run_scores import GroupSums
    from rankgate.measurement.metrics.metric_declaration import Metric


_DIRECTIONS = ("higher", "lower")
_SAMPLE = 6


@dataclass(frozen=True)
class NamedMetric:
    """A metric of a score table.

    Attributes:
        name: the standard name: ``ndcg_cut_10`` and ``nDCG@10`` are one metric.
        lower: true if less is better; None if it is not stated.
        low, high: the range; None without a limit, or if unknown.
        per_query: true if the metric has a value for each query; counts and sums of trec_eval have
            none.
    """

    name: str
    lower: bool | None = None
    low: float | None = None
    high: float | None = None
    per_query: bool = True


@dataclass(frozen=True)
class MetricNames:
    """Names of metrics, as tools spell them.

    Attributes:
        directions: the directions of metrics that rankgate does not know, by name.
        asked: names that the user gave, which are always metrics.
        extra: user-defined metrics.
    """

    directions: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    extra: Sequence[Metric] = ()
    _known: dict[str, NamedMetric] = field(default_factory=dict, compare=False, repr=False)
    _declared: dict[str, NamedMetric] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, direction in self.directions.items():
            if direction not in _DIRECTIONS:
                raise UsageError(
                    f"direction of {name}: {direction!r} is neither higher nor lower, which is better.",
                    code="unknown-choice",
                )

    def __getitem__(self, spelled: str) -> NamedMetric:
        if spelled not in self._known:
            self._known[spelled] = self._find_named(spelled)
        return self._known[spelled]

    def declare(self, metric: NamedMetric) -> None:
        """Set a metric that the tool of a file declares; it stands before one of rankgate's names.

        Raises:
            UsageError: an earlier file declares the opposite direction.
        """
        earlier = self._declared.get(metric.name, metric)
        if {earlier.lower, metric.lower} == {True, False}:
            problem = (
                f"less of {metric.name} is better in one file and more in another, as in two versions of a "
                "tool; compare files of one version."
            )
            raise UsageError(problem, code="not-comparable")
        declared = metric if earlier.lower is None else earlier
        self._declared[metric.name] = self._known[metric.name] = declared

    def _find_named(self, spelled: str) -> NamedMetric:
        direction = self.directions.get(spelled)
        lower = None if direction is None else direction == "lower"
        try:
            metrics = parse_all(spelled, self.extra)
        except UsageError:
            return NamedMetric(spelled, lower)
        if len(metrics) != 1:
            return NamedMetric(spelled, lower)
        metric = metrics[0][1]
        return NamedMetric(
            str(metric),
            not metric.higher_is_better if lower is None else lower,
            metric.low,
            metric.high,
            metric.aggregate == "mean",
        )

    def ranges(self, labels: Iterable[str]) -> dict[str, tuple[float, float]]:
        """The lowest and highest value of each metric that has both."""
        metrics = {label: self[label] for label in labels}
        return {
            label: (metric.low, metric.high)
            for label, metric in metrics.items()
            if metric.low is not None and metric.high is not None and abs(metric.low) < float("inf")
        }

    def share(self, names: Iterable[str]) -> float:
        """The share of metrics among the first few names; each unknown name is slow to parse."""
        sampled_names = list(dict.fromkeys(names))[:_SAMPLE]
        is_metric = [name in self.asked or self[name].lower is not None for name in sampled_names]
        return sum(is_metric) / len(is_metric) if is_metric else 0.0


@dataclass(frozen=True)
class GroupedRun:
    """One run of a saved evaluation.

    Attributes:
        metrics: the sums of each metric, by label.
        convention: name, hash and axes.
    """

    metrics: Mapping[str, GroupSums]
    convention: JsonObject


class Cell(NamedTuple):
    """One value.

    Attributes:
        system: the system; None if the file has one system without a name.
        query, metric: the names in the file; the metric is empty in a wide table of one unnamed
            metric.
        value: the value; None for an empty cell.
        line: the line of the cell; None in JSON.
    """

    system: str | None
    query: str
    metric: str
    value: float | None
    line: int | None


@dataclass(frozen=True)
class ScoreFile:
    """The cells of one file without summaries over queries, and its names.

    Attributes:
        label, stem: the names of the file in errors and as a system.
        cells: the cells of the file.
        groups: the groups of each system, if cells are groups of queries.
        system: the name of the only system; empty without a name.
        clusters: the cluster of each query, if the file has clusters.
        notes: what the file lacks, or how it was read.
        task: the task that the items belong to; empty if it is not stated.
    """

    label: str
    stem: str
    cells: tuple[Cell, ...]
    groups: Mapping[str, GroupedRun] = field(default_factory=dict)
    system: str = ""
    clusters: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    task: str = ""


@dataclass(frozen=True)
class QueryGroups:
    """The groups of queries that values are computed from.

    Attributes:
        queries: the number of queries with a value, by metric.
        count: the number of groups, by metric.
    """

    queries: Mapping[str, int]
    count: Mapping[str, int]

    def per_group(self, metric: str) -> float:
        """The mean number of queries of a group."""
        return self.queries[metric] / max(self.count[metric], 1)

    @property
    def note(self) -> str:
        """A warning about figures that are computed from groups."""
        groups, queries = max(self.count.values()), max(self.queries.values())
        return (
            f"computed from sums over {count_noun(groups, 'group')} of the "
            f"{count_noun(queries, 'query')}: intervals and tests are those of a sample of groups, and "
            "values of single queries are not known"
        )

    def in_queries(self, result: Comparison) -> Comparison:
        """Convert counts, standard deviation and effect of a comparison from groups to queries.

        Means, differences, intervals, p-values and detectable differences do not change. The
        numbers of queries that won, and that a corrected test needs, are not known.
        """
        size = pl.col("metric").replace_strict(
            {name: self.per_group(name) for name in result.names}, return_dtype=pl.Float64
        )
        total = pl.col("metric").replace_strict(dict(self.queries), return_dtype=pl.Int64)
        unknown_columns = ("wins", "ties", "losses", "needed")
        null_columns = [pl.lit(None, METRICS[name]).alias(name) for name in unknown_columns]
        metrics = result.metrics.with_columns(
            *null_columns, n=total, sd=pl.col("sd") * size.sqrt(), effect=pl.col("effect") / size.sqrt()
        )
        plans = result.plans.with_columns(queries=(pl.col("queries") * size).ceil())
        note = f"{result.candidate.name}: {self.note}."
        return replace(
            result, metrics=metrics, plans=plans, queries=QUERIES.empty(), warnings=(note, *result.warnings)
        )


def read_grouped_runs(data: bytes, label: str) -> dict[str, GroupedRun]:
    """Read the runs of a saved evaluation or comparison by name; empty without sums of groups.

    Raises:
        InputError: damaged sums.
    """
    document: Any = parse_json(data, label)
    if not isinstance(document, Mapping):
        return {}
    check_schema_version(document, Scores.schema_version, label)
    try:
        results: list[Scores | Comparison] = [*map(Comparison.from_dict, document.get("comparisons", ()))]
        if "runs" in document:
            results.append(Scores.from_dict(document))
        return {name: run for result in results for name, run in runs_of_result(result).items()}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        problem = f"damaged sums of groups of queries ({error}); save the result again."
        raise InputError(problem, source=label, code="damaged-result") from None


def runs_of_result(result: Scores | Comparison) -> dict[str, GroupedRun]:
    """The runs of scores or a comparison by name; empty unless they have sums of groups and no values."""
    if isinstance(result, Scores):
        grouped = {run.run: run.groups for run in result.runs if not len(run.query_ids)}
    else:
        grouped = {getattr(result, system).name: sums for system, sums in result.groups.items()}
    return {name: GroupedRun(sums, result.convention) for name, sums in grouped.items() if sums}


def query_groups(
    runs: Mapping[str, GroupedRun], all_names: Sequence[str], labels: Sequence[str], names: MetricNames
) -> QueryGroups | None:
    """Check the groups of systems against each other; None if no system has groups.

    Args:
        runs: the runs by name of the system.
        all_names: the names of all systems, also of those with values of queries.
        labels: the metrics.
        names: the metrics by spelling.

    Raises:
        UsageError: systems with different queries or conventions; systems with values of queries
            instead.
    """
    if not runs:
        return None
    if ungrouped := [name for name in all_names if name not in runs]:
        raise UsageError(
            f"{ungrouped[0]} has values of queries, and {next(iter(runs))} sums of groups of them only; "
            "score both the same way.",
            code="not-comparable",
        )
    refuse_mixed({name: run.convention for name, run in runs.items()})
    queries, count = {}, {}
    for label in labels:
        first_sums, *other_sums = (
            (name, group_sums)
            for name, run in runs.items()
            for spelled, group_sums in run.metrics.items()
            if names[spelled] == names[label]
        )
        for name, sums in other_sums:
            if sums.queries != first_sums[1].queries or (sums.n != first_sums[1].n).any():
                raise UsageError(
                    f"{first_sums[0]} and {name} have a value of {label} for other queries "
                    f"({first_sums[1].total:,} and {sums.total:,}), and what single queries have is not "
                    "saved; compare the runs where the data is, with rankgate.compare of tables on Spark.",
                    code="values-differ",
                )
        queries[label] = first_sums[1].total
        count[label] = int((first_sums[1].n > 0).sum())
    return QueryGroups(queries, count)
