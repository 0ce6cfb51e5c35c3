"""The values of runs under one convention."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.frames import frame
from rankgate.core.present.numbers import known
from rankgate.core.present.result import Notice, Result, run_notices
from rankgate.data.scores import Counts, Scores
from rankgate.measurement.evaluation.slices import SCHEMA as SLICES
from rankgate.measurement.evaluation.states import unanswered
from rankgate.measurement.scoring.chosen import refuse_mixed

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

_NAMED = 5  # runs that a heading names
_KEYS = ["query_id", "metric"]
_CHARTS = "rankgate.measurement.evaluation.charts"


@dataclass(frozen=True)
class MeasuredFrom:
    """What an evaluation was made from in this process.

    Attributes:
        collection: what runs were measured against.
        runs: under their names.
        metrics: names or metrics.
        convention: whose rules the numbers follow.
    """

    collection: Collection
    runs: Mapping[str, Any]
    metrics: Sequence[str | Metric]
    convention: Convention

    def named(self, baseline: object, candidates: Sequence[object]) -> tuple[Any, dict[str, Any]]:
        """The baseline and the candidates, by default the first run and all others, by name.

        Raises:
            UsageError: no run has one of the names.
        """
        names = [name for name in (baseline, *candidates) if name is not None] or [*self.runs]
        for name in names:
            if name not in self.runs:
                raise UsageError(
                    f"no run is called {name!r}; the evaluation has {', '.join(self.runs)}.",
                    code="unknown-system",
                )
        first, *others = map(str, names)
        if baseline is not None and not candidates:
            others = [name for name in self.runs if name != first]
        return {first: self.runs[first]}, {name: self.runs[name] for name in others}


@dataclass(frozen=True)
class Evaluation(Result):
    """The values of one or more runs under one convention; the means in a table.

    Attributes:
        qrels: the name of the judgments.
        convention: name, hash and axes.
        metrics: the metrics as they were written.
        runs: the scores of each run, in the order given.
        lower: the metrics that are better when lower.
        slices: the means over slices of queries, by `slices.SCHEMA`; None if not asked for.
        weighted: means over the queries that a sample was drawn from, with their intervals: the
            columns of ``evaluation.weighted.WEIGHTED``; None where nothing was said of a sample.
        measured_from: what it was made from, where that was in this process: `compare` and `gate`
            make of it what the values alone do not have.
    """

    kind: ClassVar[str] = "evaluation"
    document_from: ClassVar[str] = "rankgate.measurement.evaluation.documents.evaluation:document"
    order: ClassVar[int] = 10
    report_from: ClassVar[str] = "rankgate.measurement.evaluation.documents.report:document"
    charts: ClassVar[Mapping[str, str]] = {
        "distributions": "rankgate.measurement.evaluation.charts.distributions:draw",
        "cutoffs": f"{_CHARTS}.cutoffs:draw",
        "precision-recall": f"{_CHARTS}.precision_recall:draw",
        "scorecard": "rankgate.measurement.evaluation.charts.tradeoff:scorecard",
        "pareto": "rankgate.measurement.evaluation.charts.tradeoff:pareto",
    }

    qrels: str
    convention: Mapping[str, Any]
    metrics: tuple[str, ...]
    runs: tuple[Scores, ...]
    lower: tuple[str, ...] = ()
    slices: pl.DataFrame | None = None
    weighted: pl.DataFrame | None = None
    measured_from: MeasuredFrom | None = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without what it was made from: another process has neither its files nor its tables."""
        return {**self.__dict__, "measured_from": None}

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the reader should know of the judgments, and of each run."""
        found = []
        from rankgate.data.logs.candidates import mark_in

        if mark := mark_in(self.qrels):
            text = f"{mark} candidates: never compare these figures with exact ones"
            found.append(Notice("sampled-candidates", text, self.qrels))
        if zeros := self.runs[0].counts.zeros_relevant:
            from rankgate.measurement.evaluation.lists.catalogue import zero_grades_notice

            text = zero_grades_notice(zeros, self.convention["name"])
            found.append(Notice("zero-grades-relevant", text, self.qrels))
        found += _of_lists(self.runs[0].counts)
        for run in self.runs:
            if text := unanswered(run.run, run.counts.states):
                found.append(Notice("unanswered-queries", text, run.run))
            found += run_notices(run.run, run.counts.cautions)
            if count := run.counts.against_scores:
                text = (
                    f"{run.run}: {count} of {run.counts.queries} queries are ranked by the order "
                    f"of their rows, as {self.convention['name']} does, and their scores say "
                    "otherwise; sort the file by score if the order means nothing"
                )
                found.append(Notice("order-against-scores", text, run.run))
        return (*found, *self._undecided())

    def _undecided(self) -> Iterator[Notice]:
        """The metrics whose weighted means have no interval."""
        if self.weighted is None:
            return
        some = self.weighted.filter(pl.col("low").is_null() & (pl.col("queries") > 1))
        for run, metric, queries, effective in some.select(
            "run", "metric", "queries", "effective"
        ).iter_rows():
            text = (
                f"{run}: {metric} has no interval: {queries} queries of these weights tell as much "
                f"as {effective:.1f} of equal weight, or their heaviest ones may be missing; draw "
                "queries by traffic (rankgate pool --query-sampling pps)"
            )
            yield Notice("few-effective-queries", text, run)

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Plain values for JSON: undefined is None, numbers keep full precision."""
        return {
            **self.head(),
            "qrels": self.qrels,
            "convention": dict(self.convention),
            **({"lower": list(self.lower)} if self.lower else {}),
            "runs": [self._run(scores, per_query=per_query) for scores in self.runs],
            **({} if self.slices is None else {"slices": self.slices.to_dicts()}),
            **({} if self.weighted is None else {"weighted": self.weighted.to_dicts()}),
        }

    def _run(self, scores: Scores, *, per_query: bool) -> dict[str, Any]:
        values: dict[str, Any] = {
            "name": scores.run,
            "tag": scores.tag,
            "mean": {label: known(scores.means[label]) for label in self.metrics},
            "counts": scores.counts.to_dict(),
        }
        if scores.groups:
            values["groups"] = {label: each.to_dict() for label, each in scores.groups.items()}
        if per_query:
            values["per_query"] = {label: scores.per_query(label) for label in self.metrics}
        for name in _ENDS:
            ends: Scores | None = getattr(scores, name)
            if ends is not None:
                means = ends.means
                values[name] = {each: known(means.get(each, math.nan)) for each in self.metrics}
                if per_query:
                    values[f"per_query_{name}"] = {
                        each: ends.per_query(each) for each in ends.values
                    }
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From ``to_dict``; without ``per_query`` only the means are known."""
        runs = tuple(_scores(run, values["convention"]) for run in values["runs"])
        metrics = tuple(values["runs"][0]["mean"])
        lower = tuple(values.get("lower", ()))
        slices = pl.DataFrame(values["slices"], SLICES) if "slices" in values else None
        table = values.get("weighted")
        sampled = None if table is None else frame(table, dict.fromkeys(table[0]))
        return cls(values["qrels"], values["convention"], metrics, runs, lower, slices, sampled)

    def joined(self, other: Evaluation) -> Evaluation:
        """Both evaluations as one, to be compared.

        Raises:
            UsageError: they follow different conventions (the axes that differ are named), or
                they have different judgments or metrics.
        """
        mine, theirs = (each.runs[0].run for each in (self, other))
        second = theirs if theirs != mine else f"the other {theirs}"
        refuse_mixed({mine: self.convention, second: other.convention})
        if (self.qrels, self.metrics) != (other.qrels, other.metrics):
            raise UsageError(
                f"{mine} and {second} have different judgments or metrics; score both by the same.",
                code="not-comparable",
            )
        return replace(self, runs=(*self.runs, *other.runs), slices=None, measured_from=None)

    @property
    def heading(self) -> str:
        """The runs by name."""
        names = [run.run for run in self.runs]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f"Values of {', '.join(names[:_NAMED])}{more}"

    @property
    def means(self) -> pl.DataFrame:
        """One row a run: ``run`` and a column for each metric; undefined means are null."""
        rows = [{"run": run.run, **run.means} for run in self.runs]
        schema = {"run": pl.String, **dict.fromkeys(self.metrics, pl.Float64)}
        return frame(rows, schema)

    @property
    def values(self) -> pl.DataFrame:
        """Every value: ``run``, ``query_id``, ``metric``, ``value``, ``why``.

        Where bounds were asked for also ``low`` and ``high``, null for a metric without bounds.
        """
        return pl.concat([_table(run).select(_name(run), pl.all()) for run in self.runs])

    @property
    def bounds(self) -> pl.DataFrame:
        """Means with their bounds: ``run``, ``metric``, ``value``, ``low``, ``high``.

        no grades of the unjudged documents give a mean below ``low`` or above ``high``;
        both are null where a metric admits none, or where they were not asked for.
        """
        rows = [
            (run.run, label, run.means[label], *(_mean(end, label) for end in (run.low, run.high)))
            for run in self.runs
            for label in self.metrics
        ]
        numbers = dict.fromkeys(["value", "low", "high"], pl.Float64)
        schema = {"run": pl.String, "metric": pl.String, **numbers}
        return frame(rows, schema)

    def __len__(self) -> int:
        """How many runs there are."""
        return len(self.runs)

    @overload
    def __getitem__(self, key: str) -> dict[str, float]: ...

    @overload
    def __getitem__(self, key: tuple[str, str | Metric]) -> float: ...

    def __getitem__(self, key: str | tuple[str, str | Metric]) -> dict[str, float] | float:
        """The means of a run, or its mean by one metric.

        ``result["bm25"]`` are all means by metric, ``result["bm25", "nDCG@10"]`` is one.

        Raises:
            KeyError: there is no such run or metric.
        """
        if isinstance(key, str):
            (run,) = self._named(key)
            return {label: run.means[label] for label in self.metrics}
        (run,), metric = self._named(key[0]), str(key[1])
        return run.means[metric]

    def _named(self, run: str) -> list[Scores]:
        found = [each for each in self.runs if each.run == run]
        if not found:
            raise KeyError(run)
        return found

    def _table(self) -> pl.DataFrame:
        return self.means


def _of_lists(counts: Counts) -> list[Notice]:
    """Whose lists count in metrics of lists, and of which items the catalogue is."""
    if not counts.served_unjudged and counts.catalogue is None:
        return []
    from rankgate.measurement.evaluation.lists.catalogue import (
        catalogue_notice,
        unjudged_users_notice,
    )

    found = []
    if counts.served_unjudged:
        text = unjudged_users_notice(counts.served_unjudged)
        found.append(Notice("unjudged-users-count", text))
    if counts.catalogue is not None:
        texts = catalogue_notice(counts.catalogue)
        found += [Notice("catalogue", text) for text in texts]
    return found


def _scores(run: Mapping[str, Any], convention: Mapping[str, Any]) -> Scores:
    """The scores of one run from its JSON."""
    ends: dict[str, Any] = {
        name: _scores_of(run, run[name], run.get(f"per_query_{name}", {}), {}, convention)
        for name in _ENDS
        if name in run
    }
    values, groups = run.get("per_query", {}), run.get("groups", {})
    return replace(_scores_of(run, run["mean"], values, groups, convention), **ends)


def _scores_of(
    run: Mapping[str, Any],
    mean: Mapping[str, float | None],
    per_query: Mapping[str, Mapping[str, float | None]],
    groups: Mapping[str, Mapping[str, Any]],
    convention: Mapping[str, Any],
) -> Scores:
    counts = dict(run["counts"])
    counts["judged_at"] = {int(k): share for k, share in counts["judged_at"].items()}
    queries = list(next(iter(per_query.values()), {}))
    sums = {}
    if groups:
        from rankgate.data.group_sums import GroupSums  # of evaluations on Spark

        sums = {metric: GroupSums.from_dict(each) for metric, each in groups.items()}
    return Scores(
        run=run["name"],
        tag=run["tag"],
        query_ids=pl.Series("query_id", queries, dtype=pl.String),
        values={metric: _floats(values.values()) for metric, values in per_query.items()},
        why={metric: np.zeros(len(queries), np.int8) for metric in per_query},
        means={metric: math.nan if value is None else value for metric, value in mean.items()},
        counts=Counts(**counts),
        convention=convention,
        groups=sums,
    )


_ENDS = ("low", "high", "all_irrelevant", "all_best")
"""What scores have besides values where bounds were asked for."""


def _floats(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:  # noqa: ANN401 - a view
    return np.array([math.nan if each is None else each for each in values], np.float64)


def _table(run: Scores) -> pl.DataFrame:
    """The values of a run with their bounds, if there are any."""
    table = run.table
    for name, ends in (("low", run.low), ("high", run.high)):
        if ends is not None:
            values = ends.table.select(*_KEYS, pl.col("value").alias(name))
            table = table.join(values, on=_KEYS, how="left", maintain_order="left")
    return table


def _name(run: Scores) -> pl.Series:
    return pl.Series("run", [run.run], dtype=pl.String).new_from_index(0, len(run.table))


def _mean(ends: Scores | None, label: str) -> float | None:
    return None if ends is None else ends.means.get(label)
