"""Systems from the values of queries that other tools computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.query_sample import Sample
from rankgate.data.query_tags import CLUSTER, matching_tags, with_clusters
from rankgate.data.run_scores import GIVEN_VALUES, LISTS, QUERIES, SCORES, Counts, RunScores, ScoredRun
from rankgate.data.score_parts import Need, Supply
from rankgate.decisions.comparison.compared_systems import ComparedSystems, designs_of_people
from rankgate.decisions.comparison.query_groups import Cell, MetricNames, NamedMetric, ScoreFile, query_groups
from rankgate.measurement.evaluation.metric_selection import metrics_as_list
from rankgate.measurement.evaluation.scores import Scores
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.top_documents import refuse_baseline_again

if TYPE_CHECKING:
    from rankgate.data.input_types import ScoresLike, TableLike, TagsLike
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.measurement.metrics.metric_declaration import Metric


_MAX_NAMED = 5
_SLACK = 1e-9

_Values = dict[str, dict[str, dict[str, float | None]]]
"""Values by system, metric and query."""


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
        names: Iterable[object] = (),
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
            names: the names of the baseline and the candidates; by default all systems.
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
        values, labels, named_metrics, files = read.values, read.labels, read.metrics, read.files
        _refuse_best_as_zero(labels, named_metrics, unequal)
        runs = {name: run for file in files for name, run in file.groups.items()}
        groups = query_groups(runs, list(values), labels, read.names)
        chosen_names = [*map(str, names)]
        for name in chosen_names:
            if name not in values:
                problem = f"unknown system {name!r}; the scores have {', '.join(values)}."
                raise UsageError(problem, code="unknown-system")
            if chosen_names.count(name) > 1:
                raise UsageError(f"the system {name} is named twice.", code="baseline-is-candidate")
        rows = {
            name: _score_rows(name, values, dict(zip(labels, named_metrics, strict=True)), unequal)
            for name in chosen_names or values
        }
        ids = next(iter(rows.values()))["query_id"].unique(maintain_order=True)
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
            "metrics": tuple(labels),
            "depth": 0,
            "lists": pl.DataFrame(schema=LISTS),
            "queries": _query_table(ids, files, self.tags if groups is None else None, slices),
            "lower": tuple(
                label for label, metric in zip(labels, named_metrics, strict=True) if metric.lower
            ),
            "cautions": {f"scores-{i}": note for i, note in enumerate(notes)},
        }
        systems = tuple(
            ScoredRun(
                name=name, sha256=sha256(table.write_csv().encode()).hexdigest(), scores=table, **shared
            )
            for name, table in rows.items()
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


@dataclass(frozen=True)
class ReportedValues:
    """The values of score tables, before rules for missing ones.

    Attributes:
        values: by system, metric and query; None for an empty cell.
        labels: the chosen metrics, as the user names them.
        metrics: the chosen metrics, by label.
        names: the metrics by spelling.
        files: the tables.
    """

    values: _Values
    labels: list[str]
    metrics: list[NamedMetric]
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
        values = _values_by_system(files, names, asked_metrics)
        labels, named_metrics = _select_metrics(values, names, asked_metrics, files[0].label)
        return cls(values, labels, named_metrics, names, files)

    @property
    def clusters(self) -> dict[str, str]:
        """The cluster of each query, of files that have clusters."""
        return {query: cluster for file in self.files for query, cluster in file.clusters.items()}


def _values_by_system(
    files: Sequence[ScoreFile], names: MetricNames, asked_metrics: Sequence[str]
) -> _Values:
    """Collect the values of all files by system; each cell once."""
    values: _Values = {}
    for file in files:
        default_system = _system_name(file, values)
        for cell in file.cells:
            metric = _metric_of(cell, file, names, asked_metrics)
            if not metric.per_query:
                continue
            column = values.setdefault(cell.system or default_system, {}).setdefault(metric.name, {})
            if cell.query in column:
                problem = (
                    f"{cell.system or default_system} has a second value of {metric.name} for query "
                    f"{cell.query}; keep one of them."
                )
                raise InputError(problem, source=file.label, line=cell.line, code="duplicate-value")
            if not file.groups:
                _refuse_out_of_range(cell, metric, file)
            column[cell.query] = cell.value
    return values


def _system_name(file: ScoreFile, values: _Values) -> str:
    """The name in the file, or the file name, with the folder if the name is taken."""
    names = (file.system or file.stem, file.stem, f"{Path(file.label).parent.name}/{file.stem}")
    return next((name for name in names if name not in values), file.label)


def _metric_of(cell: Cell, file: ScoreFile, names: MetricNames, asked_metrics: Sequence[str]) -> NamedMetric:
    if cell.metric:
        return names[cell.metric]
    if len(asked_metrics) == 1:
        return names[asked_metrics[0]]
    raise InputError(
        "a table with one column for each system does not name its metric; name it with -m METRIC "
        "(metrics=).",
        source=file.label,
        line=1,
        code="missing-metric",
    )


def _refuse_out_of_range(cell: Cell, metric: NamedMetric, file: ScoreFile) -> None:
    if cell.value is None:
        return
    low = metric.low is not None and cell.value < metric.low - _SLACK
    if low or (metric.high is not None and cell.value > metric.high + _SLACK):
        value_range = f"from {metric.low:g}" + (f" to {metric.high:g}" if metric.high is not None else "")
        raise InputError(
            f"{metric.name} of query {cell.query} is {cell.value:g}, and its values are {value_range}; check "
            f"the table, or give the metric another name and its direction.",
            source=file.label,
            line=cell.line,
            code="out-of-range",
        )


def _select_metrics(
    values: _Values, names: MetricNames, asked_metrics: Sequence[str], label: str
) -> tuple[list[str], list[NamedMetric]]:
    """The labels of the metrics to compare, and the metrics."""
    metrics_in_tables = list(
        dict.fromkeys(name for values_of_metric in values.values() for name in values_of_metric)
    )
    if not asked_metrics:
        default_metrics = [
            default_metric
            for default_metric in DEFAULT_METRICS
            if names[default_metric].name in metrics_in_tables
        ]
        asked_metrics = default_metrics or metrics_in_tables
    named_metrics = [names[spelled_name] for spelled_name in asked_metrics]
    for spelled, metric in zip(asked_metrics, named_metrics, strict=True):
        if metric.name not in metrics_in_tables:
            names_in_tables = ", ".join(metrics_in_tables[:12]) + (
                ", …" if len(metrics_in_tables) > 12 else ""
            )
            problem = f"no values of {spelled}; the scores have {names_in_tables}."
            raise UsageError(problem, code="unknown-metric")
        systems_without = [
            system for system, values_of_metric in values.items() if metric.name not in values_of_metric
        ]
        if systems_without:
            systems_text = ", ".join(systems_without[:_MAX_NAMED])
            problem = f"{systems_text} has no value of {spelled}; the others do."
            raise UsageError(problem, code="not-comparable")
    undirected_metrics = [metric.name for metric in named_metrics if metric.lower is None]
    if undirected_metrics:
        raise UsageError(
            f"{label}: whether more or less of {', '.join(undirected_metrics[:_MAX_NAMED])} is better is not "
            f"known; set --direction {undirected_metrics[0]}=higher or --direction "
            f"{undirected_metrics[0]}=lower.",
            code="unknown-direction",
        )
    return list(asked_metrics), named_metrics


def _refuse_best_as_zero(labels: Sequence[str], named_metrics: Sequence[NamedMetric], unequal: str) -> None:
    """Check that a missing query, as 0, does not get the best value.

    Raises:
        UsageError: the metric is better when lower.
    """
    for label, metric in zip(labels, named_metrics, strict=True):
        if unequal == "zero" and metric.lower:
            problem = f"0 is the best value of {label}; set unequal = drop for missing queries."
            raise UsageError(problem, code="conflicting-options")


def _score_rows(
    system: str, values: _Values, metrics: Mapping[str, NamedMetric], unequal: str
) -> pl.DataFrame:
    """The values of a system for the queries of all systems, with the columns of `SCORES`."""
    rows = []
    for label, metric in metrics.items():
        columns = [values_of_system[metric.name] for values_of_system in values.values()]
        has_value = {query for column in columns for query, value in column.items() if value is not None}
        own_values = values[system][metric.name]
        for query in sorted({query for column in columns for query in column}):
            value, reason = own_values.get(query), None
            if value is None and (query in has_value or query not in own_values):
                value, reason = 0.0 if unequal == "zero" else None, "missing"
            elif value is None or isnan(value):
                value, reason = None, "the cell is empty"
            rows.append((query, label, value, reason))
    return pl.DataFrame(rows, schema=SCORES, orient="row")


def _query_table(
    ids: pl.Series, files: Sequence[ScoreFile], tags: TagsLike | None, slices: Sequence[str]
) -> pl.DataFrame:
    """The columns of `QUERIES`, then the tags of queries."""
    table = pl.DataFrame({"query_id": ids}).with_columns(
        pl.lit("ok").alias("state"),
        *(pl.lit(None, dtype=QUERIES[column]).alias(column) for column in list(QUERIES)[2:]),
    )
    clusters = {query: cluster for file in files for query, cluster in file.clusters.items()}
    query_tags = None if tags is None else with_clusters(matching_tags(tags, ids, slices))
    if clusters and (query_tags is None or CLUSTER not in query_tags.columns):
        table = table.with_columns(pl.Series(CLUSTER, [clusters.get(query) for query in ids], pl.String))
    return table if query_tags is None else table.join(query_tags, "query_id", "left", maintain_order="left")
