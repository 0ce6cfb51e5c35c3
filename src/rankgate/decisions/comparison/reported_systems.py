"""Systems from the values of queries that other tools computed."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.query_sample import Sample
from rankgate.data.query_tags import CLUSTER, matching_tags, with_clusters
from rankgate.data.run_scores import GIVEN_VALUES, LISTS, QUERIES, Counts, RunScores, ScoredRun
from rankgate.data.score_parts import Need, Supply
from rankgate.decisions.comparison.compared_systems import ComparedSystems, designs_of_people
from rankgate.decisions.comparison.query_groups import MetricNames, NamedMetric, ScoreFile, query_groups
from rankgate.measurement.evaluation.metric_selection import metrics_as_list
from rankgate.measurement.evaluation.scores import Scores, choose_systems
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.top_documents import refuse_baseline_again

if TYPE_CHECKING:
    from rankgate.data.input_types import ScoresLike, TableLike, TagsLike
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.measurement.metrics.metric_declaration import Metric


_MAX_NAMED = 5
_SLACK = 1e-9


VALUE_SUPPLY = Supply(
    frozenset({"values", "group_sums", "intervals"}),
    "only values were given",
    "give judgments and runs instead of scores",
)
"""The supply of tables of values."""

SUM_SUPPLY = Supply(
    frozenset({"group_sums"}),
    "the evaluations have sums of groups of them",
    "give judgments and runs, the values of queries (rankgate eval --per-query), or compare the runs where "
    "the data is (rankgate.compare of tables on Spark)",
)
"""The supply of saved sums of groups of queries."""


def stated_metrics(metrics: str | Metric | Sequence[str | Metric]) -> tuple[str | Metric, ...]:
    """The metrics that a user chose; empty for the default metrics."""
    metric_list = (metrics,) if isinstance(metrics, str) or not isinstance(metrics, Sequence) else metrics
    return () if tuple(map(str, metric_list)) == DEFAULT_METRICS else tuple(metrics_as_list(metric_list))


@dataclass(frozen=True)
class ReportedTables:
    """Tables of values of queries that another tool computed; they make scores.

    Attributes:
        tables: files of trec_eval -q, ir_measures, pytrec_eval, ranx, rankgate eval (on Spark
            too), result files of evaluation frameworks, frames with a column for each system, or
            nested dicts.
        directions: higher or lower, by the name of a metric that rankgate does not know.
        tags: as of `Collection`.
        sample: as of `Collection`.

    Raises:
        UsageError: no table is named.
    """

    tables: tuple[ScoresLike | Scores | Comparison, ...]
    directions: Mapping[str, str] = field(default_factory=dict)
    tags: TagsLike | None = None
    sample: Sample | TableLike | None = None

    supply: ClassVar[Supply] = VALUE_SUPPLY

    def __post_init__(self) -> None:
        if not self.tables:
            raise UsageError("no scores; give one table or more.", code="missing-input")

    def compared(
        self,
        baseline: object = None,
        candidates: Iterable[object] = (),
        metrics: Sequence[str | Metric] = (),
        unequal: str = "drop",
        slices: Sequence[str] = (),
    ) -> ComparedSystems:
        """Read the tables.

        If a system has no row of a metric for a query, or an empty cell where another system has a
        value, the system did not run the query: this is an error, 0, or the query is left out, by
        ``unequal``. A cell that is empty for all systems is an undefined value: the query is left out
        for this metric, counted and shown. Undefined values of an evaluation of rankgate are not empty
        cells.

        Args:
            baseline: the name of the baseline; by default the first system.
            candidates: the names of the candidates; by default all other systems.
            metrics: the metrics to compare; by default the usual metrics that all tables have, else
                all.
            unequal: refuse, zero or drop.
            slices: the needed tags, if a file has more.

        Raises:
            InputError: tables that cannot be read, two values of one query, a value outside of its
                metric's range; with file and line.
            UsageError: a metric without values, or without a direction; an unknown system; a part that
                the tables lack.
        """
        read = ReportedValues.read(self.tables, metrics, directions=self.directions)
        labels, files = tuple(read.metrics), read.files
        read.refuse_best_as_zero(unequal)
        runs = {name: run for file in files for name, run in file.groups.items()}
        groups = query_groups(runs, read.systems, labels, read.names)
        scores = read.scores(choose_systems(read.systems, baseline, candidates), unequal)
        ids = next(iter(scores.values()))["query_id"].unique(maintain_order=True)
        notes = [*dict.fromkeys(note for file in files for note in file.notes)]
        if len(tasks := {file.task for file in files if file.task}) > 1:
            notes.append(
                f"the files are of the tasks {', '.join(sorted(tasks))}, whose items pair by id alone"
            )
        shared: dict[str, Any] = {
            "tag": None,
            "qrels": ", ".join(dict.fromkeys(Path(file.label).name for file in files)),
            "qrels_sha256": sha256(repr([file.cells for file in files]).encode()).hexdigest(),
            "convention": {"name": GIVEN_VALUES, "hash": "", "axes": {}},
            "metrics": labels,
            "depth": 0,
            "lists": pl.DataFrame(schema=LISTS),
            "queries": _query_table(ids, read.clusters, self.tags if groups is None else None, slices),
            "lower": read.lower,
            "cautions": {f"scores-{i}": note for i, note in enumerate(notes)},
        }
        systems = tuple(
            ScoredRun(
                name=name, sha256=sha256(table.write_csv().encode()).hexdigest(), scores=table, **shared
            )
            for name, table in scores.items()
        )
        supply = VALUE_SUPPLY if groups is None else SUM_SUPPLY
        sample = None if self.sample is None else Sample.read(self.sample)
        for feature, is_stated in (("slices", slices), ("a sample of queries", sample)):
            supply.require(feature, [Need("values")] if is_stated else [])
        designs = tuple(designs_of_people(sample, systems))
        ranges = read.names.ranges(labels)
        return ComparedSystems(systems, supply, designs, groups=groups, ranges=ranges)

    def systems(self, depth: int) -> list[ScoredRun]:  # noqa: ARG002 - tables have no lists
        """The systems with the default metrics that all tables have, else with all metrics."""
        return list(self.compared().systems)

    def intervals(self, scores: Scores) -> pl.DataFrame:
        """Compute means with their intervals, of values.

        Raises:
            UsageError: a sample of queries is stated.
        """
        from rankgate.measurement.evaluation.sampled_means import intervals_of  # few calls need it

        return intervals_of(scores.runs, scores.metrics, sample=self.sample)

    def scores(self) -> Scores:
        """The values and means of all systems."""
        systems = self.systems(0)
        return Scores(
            systems[0].qrels,
            systems[0].convention,
            systems[0].metrics,
            tuple(map(_run_scores, systems)),
            systems[0].lower,
            maker=self,
        )


def read_scores(
    *tables: ScoresLike | Scores | Comparison,
    directions: Mapping[str, str] | None = None,
    tags: TagsLike | None = None,
    sample: Sample | TableLike | None = None,
) -> Scores:
    """Scores that another tool computed; the tables are read when something asks for them.

    Args:
        tables: one table or several, as of `ReportedTables`; each file is one system, or names
            the systems of its rows or columns.
        directions: as of `ReportedTables`.
        tags: as of `Collection`.
        sample: as of `Collection`.

    Raises:
        UsageError: no table is named.

    >>> old, new = ({"q1": {"AP": value}, "q2": {"AP": value}} for value in (0.2, 0.3))
    >>> read_scores({"old": old, "new": new}).means.rows()
    [('old', 0.2), ('new', 0.3)]
    """
    return Scores.made_by(ReportedTables(tables, directions or {}, tags, sample))


def reported_tables(scores: Scores) -> ReportedTables:
    """The tables of scores; of saved scores the saved values."""
    return scores.maker if isinstance(scores.maker, ReportedTables) else ReportedTables((scores,))


def _run_scores(system: ScoredRun) -> RunScores:
    """The values of one system by metric."""
    ids = pl.Series(system.queries["query_id"])
    values, reasons = {}, {}
    for metric in system.metrics:
        column = ids.to_frame().join(
            system.scores.filter(metric=metric), on="query_id", how="left", maintain_order="left"
        )
        values[metric] = column["value"].fill_null(float("nan")).to_numpy()
        is_missing = (column["why"] == "missing").fill_null(value=False)
        reasons[metric] = is_missing.cast(pl.Int8).to_numpy()
    means = {
        metric: float(np.nanmean(column)) if not np.isnan(column).all() else float("nan")
        for metric, column in values.items()
    }
    missing_count = system.scores.filter(why="missing")["query_id"].n_unique()
    counts = Counts(len(ids), missing_count, 0, 0, 0, 0)
    return RunScores(system.name, system.tag, ids, values, reasons, means, counts, system.convention)


VALUES = {"system": pl.String, "metric": pl.String, "query_id": pl.String, "value": pl.Float64}
"""The values of score tables: null for an empty cell, NaN for an undefined value."""


@dataclass(frozen=True)
class ReportedValues:
    """The values of score tables, before rules for missing ones.

    Attributes:
        table: the columns of `VALUES`.
        metrics: the chosen metrics, by the labels that the user gives them.
        names: the metrics by spelling.
        files: the tables.
    """

    table: pl.DataFrame
    metrics: Mapping[str, NamedMetric]
    names: MetricNames
    files: Sequence[ScoreFile]

    @classmethod
    def read(
        cls,
        tables: Sequence[Any],
        metrics: Sequence[str | Metric] = (),
        *,
        directions: Mapping[str, str] | None = None,
    ) -> Self:
        """Read score tables; arguments and errors as of `ReportedTables.compared`."""
        # comparisons of runs do not need it
        from rankgate.decisions.comparison.score_cells import score_cells

        asked_metrics = tuple(map(str, metrics))
        user_metrics = tuple(metric for metric in metrics if not isinstance(metric, str))
        names = MetricNames(directions or {}, asked_metrics, user_metrics)
        for index, table in enumerate(tables):
            refuse_baseline_again(table, tables[:index])
        files = [score_cells(table, names) for table in tables]
        values = _join_files(files, names, asked_metrics)
        return cls(values, _select_metrics(values, names, asked_metrics, files[0].label), names, files)

    @property
    def systems(self) -> list[str]:
        """The systems, in the order of their first values."""
        return self.table["system"].unique(maintain_order=True).to_list()

    @property
    def lower(self) -> tuple[str, ...]:
        """The chosen metrics that are better when lower."""
        return tuple(label for label, metric in self.metrics.items() if metric.lower)

    @property
    def clusters(self) -> dict[str, str]:
        """The cluster of each query, of files that have clusters."""
        return {query: cluster for file in self.files for query, cluster in file.clusters.items()}

    def refuse_best_as_zero(self, unequal: str) -> None:
        """Check that a missing query, as 0, does not get the best value.

        Raises:
            UsageError: the metric is better when lower.
        """
        if unequal == "zero" and self.lower:
            problem = f"0 is the best value of {self.lower[0]}; set unequal = drop for missing queries."
            raise UsageError(problem, code="conflicting-options")

    def scores(self, systems: Iterable[str], unequal: str) -> dict[str, pl.DataFrame]:
        """The values of systems for the queries of all systems, with the columns of `SCORES`."""
        value, keys = pl.col("value"), ["metric", "query_id"]
        queries = self.table.group_by(keys).agg(is_measured=value.is_not_null().any()).sort("query_id")
        named_metrics = [(label, metric.name) for label, metric in self.metrics.items()]
        labels = pl.DataFrame(named_metrics, {"label": pl.String, "metric": pl.String}, orient="row")
        grid = labels.join(queries, on="metric", maintain_order="left_right")
        is_missing = value.is_null() & (pl.col("is_measured") | pl.col("system").is_null())
        is_empty = value.is_null() | value.is_nan()
        missing_value = 0.0 if unequal == "zero" else None
        number = pl.when("is_missing").then(missing_value).otherwise(value.fill_nan(None))
        reason = (
            pl.when("is_missing").then(pl.lit("missing")).when(is_empty).then(pl.lit("the cell is empty"))
        )
        return {
            system: grid.join(self.table.filter(system=system), on=keys, how="left", maintain_order="left")
            .with_columns(is_missing=is_missing)
            .select("query_id", metric="label", value=number, why=reason)
            for system in systems
        }


_CELLS = {
    "system": pl.String,
    "query_id": pl.String,
    "spelling": pl.String,
    "value": pl.Float64,
    "line": pl.Int64,
}
_LIMITS = {"spelling": pl.String, "metric": pl.String, "low": pl.Float64, "high": pl.Float64}


def _join_files(files: Sequence[ScoreFile], names: MetricNames, asked_metrics: Sequence[str]) -> pl.DataFrame:
    """The values of all files, with the columns of `VALUES`; each cell once.

    Raises:
        InputError: a value without a metric, a second value of a query, or one outside of its metric's
            range.
    """
    tables: list[pl.DataFrame] = []
    systems: set[str] = set()
    for index, file in enumerate(files):
        cells = pl.DataFrame(file.cells, _CELLS, orient="row")
        spellings = cells["spelling"].unique(maintain_order=True)
        metrics = {spelling: _metric_of(spelling, file, names, asked_metrics) for spelling in spellings}
        rows = [
            (spelling, metric.name, *((None, None) if file.groups else (metric.low, metric.high)))
            for spelling, metric in metrics.items()
            if metric.per_query
        ]
        limits = pl.DataFrame(rows, _LIMITS, orient="row")
        system = pl.when(pl.col("system") != "").then("system").otherwise(pl.lit(_system_name(file, systems)))
        tables.append(
            cells.join(limits, on="spelling", maintain_order="left").with_columns(system, file=pl.lit(index))
        )
        systems.update(tables[-1]["system"].unique())
    values = pl.concat(tables)
    _refuse_faults(values, files)
    return values.select(*VALUES)


def _system_name(file: ScoreFile, systems: Container[str]) -> str:
    """The name in the file, or the file name, with the folder if the name is taken."""
    names = (file.system or file.stem, file.stem, f"{Path(file.label).parent.name}/{file.stem}")
    return next((name for name in names if name not in systems), file.label)


def _metric_of(
    spelling: str, file: ScoreFile, names: MetricNames, asked_metrics: Sequence[str]
) -> NamedMetric:
    if spelling:
        return names[spelling]
    if len(asked_metrics) == 1:
        return names[asked_metrics[0]]
    raise InputError(
        "a table with one column for each system does not name its metric; name it with -m METRIC "
        "(metrics=).",
        source=file.label,
        line=1,
        code="missing-metric",
    )


def _refuse_faults(values: pl.DataFrame, files: Sequence[ScoreFile]) -> None:
    """Refuse a second value of a query, and one outside of its metric's range."""
    value = pl.col("value").fill_nan(None)
    is_outside = (value < pl.col("low") - _SLACK) | (value > pl.col("high") + _SLACK)
    is_second = ~pl.struct("system", "metric", "query_id").is_first_distinct()
    faults = values.with_columns(is_second=is_second).filter(pl.col("is_second") | is_outside)
    for row in faults.head(1).iter_rows(named=True):
        metric, query, low, high = (row[name] for name in ("metric", "query_id", "low", "high"))
        code, problem = "duplicate-value", f"{row['system']} has a second value of {metric} for query {query}"
        if row["is_second"]:
            problem += "; keep one of them."
        else:
            value_range = f"from {low:g}" + (f" to {high:g}" if high is not None else "")
            code, problem = "out-of-range", f"{metric} of query {query} is {row['value']:g}"
            problem += (
                f", and its values are {value_range}; check the table, or give the metric another name and "
                "its direction."
            )
        raise InputError(problem, source=files[row["file"]].label, line=row["line"], code=code)


def _select_metrics(
    values: pl.DataFrame, names: MetricNames, asked_metrics: Sequence[str], label: str
) -> dict[str, NamedMetric]:
    """The metrics to compare, by label."""
    pairs = values.unique(["system", "metric"], keep="first", maintain_order=True)
    metrics_of_systems = dict(pairs.group_by("system", maintain_order=True).agg("metric").iter_rows())
    metrics_in_tables = list(dict.fromkeys(chain.from_iterable(metrics_of_systems.values())))
    if not asked_metrics:
        defaults = [name for name in DEFAULT_METRICS if names[name].name in metrics_in_tables]
        asked_metrics = defaults or metrics_in_tables
    metrics = {spelled_name: names[spelled_name] for spelled_name in asked_metrics}
    for spelled, metric in metrics.items():
        if metric.name not in metrics_in_tables:
            names_in_tables = ", ".join(metrics_in_tables[:12]) + (
                ", …" if len(metrics_in_tables) > 12 else ""
            )
            problem = f"no values of {spelled}; the scores have {names_in_tables}."
            raise UsageError(problem, code="unknown-metric")
        systems_without = [
            system for system, own_metrics in metrics_of_systems.items() if metric.name not in own_metrics
        ]
        if systems_without:
            systems_text = ", ".join(systems_without[:_MAX_NAMED])
            problem = f"{systems_text} has no value of {spelled}; the others do."
            raise UsageError(problem, code="not-comparable")
    undirected_metrics = [metric.name for metric in metrics.values() if metric.lower is None]
    if undirected_metrics:
        raise UsageError(
            f"{label}: whether more or less of {', '.join(undirected_metrics[:_MAX_NAMED])} is better is not "
            f"known; set --direction {undirected_metrics[0]}=higher or --direction "
            f"{undirected_metrics[0]}=lower.",
            code="unknown-direction",
        )
    return metrics


def _query_table(
    ids: pl.Series, clusters: Mapping[str, str], tags: TagsLike | None, slices: Sequence[str]
) -> pl.DataFrame:
    """The columns of `QUERIES`, then the tags of queries."""
    table = pl.DataFrame({"query_id": ids}).with_columns(
        pl.lit("ok").alias("state"),
        *(pl.lit(None, dtype=QUERIES[column]).alias(column) for column in list(QUERIES)[2:]),
    )
    query_tags = None if tags is None else with_clusters(matching_tags(tags, ids, slices))
    if clusters and (query_tags is None or CLUSTER not in query_tags.columns):
        table = table.with_columns(pl.Series(CLUSTER, [clusters.get(query) for query in ids], pl.String))
    return table if query_tags is None else table.join(query_tags, "query_id", "left", maintain_order="left")
