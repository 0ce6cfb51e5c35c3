"""Systems from the values of queries that other tools computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.clusters import with_clusters
from rankgate.data.comparison import GIVEN, LISTS, QUERIES, SCORES, ScoredRun
from rankgate.data.formats.tags import matching_tags
from rankgate.data.sample import Sample
from rankgate.decisions.comparison.scores.cells import Cell, ScoreFile, score_cells
from rankgate.decisions.comparison.scores.grouped import QueryGroups, query_groups
from rankgate.decisions.comparison.scores.metric_names import MetricNames, NamedMetric
from rankgate.measurement.evaluation.scored_system import DEPTH
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.scoring.chosen import chosen_convention
from rankgate.measurement.scoring.run_names import refuse_baseline_again

if TYPE_CHECKING:
    from rankgate.data.inputs import ScoresLike, TableLike, TagsLike
    from rankgate.measurement.evaluation.evaluation import Evaluation
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

_SHOWN = 5
_SLACK = 1e-9

_Values = dict[str, dict[str, dict[str, float | None]]]
"""By system, metric and query."""


@dataclass(frozen=True)
class GivenScores:
    """Every system of some score tables.

    Attributes:
        systems: by name, in the order of the files.
        ranges: by metric, its lowest and highest value, where it has both.
        groups: what values stand for where they are those of groups of queries; else None.
    """

    systems: Mapping[str, ScoredRun]
    ranges: Mapping[str, tuple[float, float]]
    groups: QueryGroups | None = None

    def named(self, names: Sequence[str]) -> list[ScoredRun]:
        """The systems of these names, all of them if there are none.

        Raises:
            UsageError: there is no such system; one is named twice.
        """
        for name in names:
            if name not in self.systems:
                known = ", ".join(self.systems)
                problem = f"no system is called {name!r}; the scores have {known}."
                raise UsageError(problem, code="unknown-system")
            if list(names).count(name) > 1:
                problem = f"the system {name} is named twice."
                raise UsageError(problem, code="baseline-is-candidate")
        return [self.systems[name] for name in names or self.systems]


def metrics_of(metrics: str | Metric | Sequence[str | Metric]) -> tuple[str | Metric, ...]:
    """The metrics that were asked for; none where they are those that nobody asks for."""
    some = (metrics,) if isinstance(metrics, str) or not isinstance(metrics, Sequence) else metrics
    return () if tuple(map(str, some)) == DEFAULT_METRICS else tuple(some)


def refuse_with_scores(convention: str | Convention, depth: int) -> None:
    """Check that nothing is stated that values already have.

    Raises:
        UsageError: a convention, or a depth of lists.
    """
    stated = {
        "convention": chosen_convention(convention) != chosen_convention("trec"),
        "depth": depth != DEPTH,
    }
    if wrong := [name for name, differs in stated.items() if differs]:
        raise UsageError(
            f"{', '.join(wrong)}: scores are values that are computed already; leave it out, or "
            "give judgments and runs.",
            code="conflicting-options",
        )


@dataclass(frozen=True)
class ReportedScores:
    """Values of queries that another tool computed, instead of judgments and runs.

    Attributes:
        tables: files of trec_eval -q, ir_measures, pytrec_eval, ranx, rankgate eval (on Spark
            too), frames with a column for each system, or nested dicts.
        directions: by the name of a metric that rankgate does not know, which of its values are
            better: higher or lower.
        tags: as of `Collection`.
        sample: as of `Collection`.

    Raises:
        UsageError: no table is named.
    """

    tables: tuple[ScoresLike | Evaluation, ...]
    directions: Mapping[str, str] = field(default_factory=dict)
    tags: TagsLike | None = None
    sample: Sample | TableLike | None = None

    def __post_init__(self) -> None:
        if not self.tables:
            raise UsageError("no scores; give one table or more.", code="missing-input")

    def systems(
        self, metrics: Sequence[str | Metric], unequal: str, slices: Sequence[str]
    ) -> GivenScores:
        """Read the tables; arguments and errors as of `given_scores`."""
        own = tuple(metric for metric in metrics if not isinstance(metric, str))
        return given_scores(
            self.tables, metrics, directions=self.directions, unequal=unequal, extra=own,
            tags=self.tags, slices=slices,
        )  # fmt: skip

    def read_sample(self) -> Sample | None:
        """How the queries were drawn; None where it is not stated.

        Raises:
            InputError: as `Sample.of`.
        """
        return None if self.sample is None else Sample.of(self.sample)


def read_scores(
    *tables: ScoresLike | Evaluation,
    directions: Mapping[str, str] | None = None,
    tags: TagsLike | None = None,
    sample: Sample | TableLike | None = None,
) -> ReportedScores:
    """Values of queries that another tool computed, for `compare` and `gate`.

    Args:
        tables: one table or several, as of `ReportedScores`; each file is one system, or names
            the systems of its rows or columns.
        directions: as of `ReportedScores`.
        tags: as of `Collection`.
        sample: as of `Collection`.

    Raises:
        UsageError: no table is named.

    >>> old, new = ({"q1": {"AP": value}, "q2": {"AP": value}} for value in (0.2, 0.3))
    >>> read_scores({"old": old, "new": new}).tables[0].keys()
    dict_keys(['old', 'new'])
    """
    return ReportedScores(tables, directions or {}, tags, sample)


def given_scores(
    scores: Any,  # noqa: ANN401 - a path, a frame, nested dicts, or several of them
    metrics: Sequence[str | Metric] = (),
    *,
    directions: Mapping[str, str] | None = None,
    unequal: str = "refuse",
    extra: Sequence[Metric] = (),
    tags: TagsLike | None = None,
    slices: Sequence[str] = (),
) -> GivenScores:
    """Read score tables.

    A query without any row of a metric for a system is one that the system did not run: an error,
    0, or left out, as ``unequal`` says. An empty cell is a value that is not defined: the query is
    left out for this metric, counted and shown.

    Args:
        scores: one table or several.
        metrics: those to compare; without any, the usual ones that all tables have, else all.
        directions: by name, higher or lower, for metrics that rankgate does not know.
        unequal: refuse, zero or drop.
        extra: user-defined metrics.
        tags: ``query_id`` and columns of tags, or where they are.
        slices: the tags that are needed, where a file has more.

    Raises:
        InputError: tables that cannot be read, two values of one query, a value outside of its
            metric's range; with file and line.
        UsageError: a metric that is not there, or whose direction nobody states.
    """
    several = isinstance(scores, list | tuple)
    asked = tuple(str(each) for each in metrics)
    names = MetricNames(directions or {}, asked, extra)
    tables = list(scores) if several else [scores]
    for at, each in enumerate(tables):
        refuse_baseline_again(each, tables[:at])
    files = [score_cells(each, names) for each in tables]
    values = _by_system(files, names, asked)
    labels, chosen = _chosen(values, names, asked, files[0].label)
    _refuse_best(labels, chosen, unequal)
    runs = {name: run for file in files for name, run in file.groups.items()}
    groups = query_groups(runs, list(values), labels, names)
    tags = tags if groups is None else None
    systems = {
        name: _scored(name, own, labels, files, unequal=unequal, tags=tags, slices=slices,
                      chosen=chosen, every=values)
        for name, own in values.items()
    }  # fmt: skip
    ranges = {
        label: (each.low, each.high)
        for label, each in zip(labels, chosen, strict=True)
        if each.low is not None and each.high is not None and abs(each.low) < float("inf")
    }
    return GivenScores(systems, ranges, groups)


def _by_system(files: Sequence[ScoreFile], names: MetricNames, asked: Sequence[str]) -> _Values:
    """The values of all files; each cell once."""
    values: _Values = {}
    for file in files:
        own = _own_name(file, values)
        for cell in file.cells:
            metric = _metric_of(cell, file, names, asked)
            if not metric.per_query:
                continue
            column = values.setdefault(cell.system or own, {}).setdefault(metric.name, {})
            if cell.query in column:
                problem = (
                    f"{cell.system or own} has a second value of {metric.name} for query "
                    f"{cell.query}; keep one of them."
                )
                raise InputError(problem, source=file.label, line=cell.line, code="duplicate-value")
            if not file.groups:
                _refuse_outside(cell, metric, file)
            column[cell.query] = cell.value
    return values


def _own_name(file: ScoreFile, values: _Values) -> str:
    """What a file's system is called: as the file, with its folder where another is called so."""
    longer = f"{Path(file.label).parent.name}/{file.stem}"
    return next((each for each in (file.stem, longer) if each not in values), file.label)


def _metric_of(
    cell: Cell, file: ScoreFile, names: MetricNames, asked: Sequence[str]
) -> NamedMetric:
    if cell.metric:
        return names[cell.metric]
    if len(asked) == 1:
        return names[asked[0]]
    raise InputError(
        "a table with one column for each system does not name its metric; name it with -m "
        "METRIC (metrics=).",
        source=file.label, line=1, code="missing-metric",
    )  # fmt: skip


def _refuse_outside(cell: Cell, metric: NamedMetric, file: ScoreFile) -> None:
    if cell.value is None:
        return
    low = metric.low is not None and cell.value < metric.low - _SLACK
    if low or (metric.high is not None and cell.value > metric.high + _SLACK):
        reach = f"from {metric.low:g}" + (f" to {metric.high:g}" if metric.high is not None else "")
        raise InputError(
            f"{metric.name} of query {cell.query} is {cell.value:g}, and its values are {reach}; "
            "check the table, or give the metric another name and its direction.",
            source=file.label, line=cell.line, code="out-of-range",
        )  # fmt: skip


def _chosen(
    values: _Values, names: MetricNames, asked: Sequence[str], label: str
) -> tuple[list[str], list[NamedMetric]]:
    """The labels of the metrics to compare, and the metrics."""
    there = list(dict.fromkeys(name for own in values.values() for name in own))
    if not asked:
        usual = [each for each in DEFAULT_METRICS if names[each].name in there]
        asked = usual or there
    chosen = [names[each] for each in asked]
    for spelled, metric in zip(asked, chosen, strict=True):
        if metric.name not in there:
            known = ", ".join(there[:12]) + (", …" if len(there) > 12 else "")
            problem = f"no values of {spelled}; the scores have {known}."
            raise UsageError(problem, code="unknown-metric")
        lacking = [system for system, own in values.items() if metric.name not in own]
        if lacking:
            problem = f"{', '.join(lacking[:_SHOWN])} has no value of {spelled}; the others do."
            raise UsageError(problem, code="not-comparable")
    unknown = [metric.name for metric in chosen if metric.lower is None]
    if unknown:
        raise UsageError(
            f"{label}: whether more or less of {', '.join(unknown[:_SHOWN])} is better is not "
            f"known; say --direction {unknown[0]}=higher or --direction {unknown[0]}=lower.",
            code="unknown-direction",
        )
    return list(asked), chosen


def _refuse_best(labels: Sequence[str], chosen: Sequence[NamedMetric], unequal: str) -> None:
    """Check that a missing value of 0 is no reward.

    Raises:
        UsageError: less of a metric is better.
    """
    for label, metric in zip(labels, chosen, strict=True):
        if unequal == "zero" and metric.lower:
            problem = f"0 is the best value of {label}; say unequal = drop for missing queries."
            raise UsageError(problem, code="conflicting-options")


def _scored(
    name: str,
    own: Mapping[str, Mapping[str, float | None]],
    labels: Sequence[str],
    files: Sequence[ScoreFile],
    *,
    unequal: str,
    tags: TagsLike | None,
    slices: Sequence[str],
    chosen: Sequence[NamedMetric],
    every: _Values,
) -> ScoredRun:
    rows = []
    for label, metric in zip(labels, chosen, strict=True):
        queries = sorted({query for each in every.values() for query in each[metric.name]})
        for query in queries:
            value, why = own[metric.name].get(query), None
            if query not in own[metric.name]:
                value, why = 0.0 if unequal == "zero" else None, "missing"
            elif value is None:
                why = "the cell is empty"
            rows.append((query, label, value, why))
    scores = pl.DataFrame(rows, schema=SCORES, orient="row")
    digest = sha256(scores.write_csv().encode()).hexdigest()
    ids = scores["query_id"].unique(maintain_order=True)
    queries_table = pl.DataFrame({"query_id": ids}).with_columns(
        pl.lit("ok").alias("state"),
        *(pl.lit(None, dtype=QUERIES[each]).alias(each) for each in list(QUERIES)[2:]),
    )
    if tags is not None:
        known = with_clusters(matching_tags(tags, ids, slices))
        queries_table = queries_table.join(known, on="query_id", how="left", maintain_order="left")
    return ScoredRun(
        name=name, tag=None, sha256=digest,
        qrels=", ".join(dict.fromkeys(Path(each.label).name for each in files)),
        qrels_sha256=sha256(repr([each.cells for each in files]).encode()).hexdigest(),
        convention={"name": GIVEN, "hash": "", "axes": {}}, metrics=tuple(labels), depth=0,
        scores=scores, lists=pl.DataFrame(schema=LISTS), queries=queries_table,
        lower=tuple(label for label, each in zip(labels, chosen, strict=True) if each.lower),
    )  # fmt: skip
