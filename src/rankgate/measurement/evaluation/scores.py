"""The values of runs under one convention."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, overload, runtime_checkable

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, NoticeText, Result, run_notices
from rankgate.core.present.number_formats import count_noun, finite_or_none
from rankgate.core.present.result_frames import make_frame
from rankgate.core.value_types import Json, JsonObject
from rankgate.data.run_scores import Counts, RunScores
from rankgate.data.score_parts import PARTS, Need, Part, Supply
from rankgate.measurement.evaluation.evaluation_columns import WEIGHTED
from rankgate.measurement.evaluation.query_slices import SCHEMA as SLICES
from rankgate.measurement.evaluation.query_slices import unanswered_sentence
from rankgate.measurement.scoring.presets import refuse_mixed

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.metrics.metric_declaration import Metric

_LAZY_FIELDS = frozenset({"qrels", "convention", "metrics", "runs", "lower"})
_MOST_NAMES = 5  # names of runs in a heading
_KEYS = ["query_id", "metric"]
_CHARTS = "rankgate.measurement.evaluation"


class Maker(Protocol):
    """The source of scores in this process, which can compute further parts of them."""

    @property
    def supply(self) -> Supply:
        """The parts that the source can compute."""
        ...

    def systems(self, depth: int) -> Sequence[ScoredRun]:
        """The systems with values, states of queries, and, for a given depth, lists."""
        ...

    def intervals(self, scores: Scores) -> pl.DataFrame:
        """Means with their intervals; see `Scores.intervals`."""
        ...


class LazyMaker(Maker, Protocol):
    """A source of scores that are computed at first use."""

    def scores(self) -> Scores:
        """The scores with means and values."""
        ...


@runtime_checkable
class DistantMaker(Maker, Protocol):
    """A source for runs whose values are on other machines."""

    def collected(self) -> pl.DataFrame:
        """The values, fetched from there; see `Scores.values`."""
        ...


_UNDECIDED = NoticeText(
    "few-effective-queries",
    "{run}: {metric} has no interval: {queries} queries of these weights are worth {effective:.1f} of equal "
    "weight, or their heaviest ones may be missing; draw queries by traffic (rankgate pool --query-sampling "
    "pps)",
    source="weighted",
    subject="{run}",
    rows=pl.col("low").is_null() & (pl.col("queries") > 1),
)
"""The metrics whose weighted means have no interval."""


@dataclass(frozen=True)
class Scores(Result):
    """The values of one or more runs under one convention; the means in a table.

    Scores of runs and of another tool's tables keep what makes further parts of them, which
    `compare` and `gate` ask for; those read from JSON have what was saved.

    Attributes:
        qrels: the name of the judgments.
        convention: name, hash and axes.
        metrics: the metrics as they were written.
        runs: the scores of each run, in the order given.
        lower: the metrics that are better when lower.
        slices: the columns of `query_slices.SCHEMA`; None if not asked for.
        weighted: the columns of `WEIGHTED`; None without a sample.
        maker: the object of this process that made them and can make further parts.
    """

    kind = "evaluation"
    main_table = "means"
    document_from = "rankgate.measurement.evaluation.evaluation_documents:evaluation_document"
    order = 10
    report_from = "rankgate.measurement.evaluation.evaluation_documents:evaluation_report_document"
    charts: ClassVar = {
        "distributions": "rankgate.measurement.evaluation.value_charts:DISTRIBUTIONS",
        "heat": f"{_CHARTS}.value_charts:HEAT",
        "cutoffs": f"{_CHARTS}.mean_charts:CUTOFFS",
        "precision-recall": f"{_CHARTS}.mean_charts:PRECISION_RECALL",
        "scorecard": "rankgate.measurement.evaluation.tradeoff_charts:SCORECARD",
        "pareto": "rankgate.measurement.evaluation.tradeoff_charts:PARETO",
    }

    SCHEMAS: ClassVar = {"slices": SLICES, "weighted": WEIGHTED}

    qrels: str
    convention: JsonObject
    metrics: tuple[str, ...]
    runs: tuple[RunScores, ...]
    lower: tuple[str, ...] = field(default_factory=tuple)
    slices: pl.DataFrame | None = None
    weighted: pl.DataFrame | None = None
    maker: Maker | None = field(default=None, compare=False, repr=False)

    @classmethod
    def made_by(cls, maker: LazyMaker) -> Self:
        """Scores that are read or measured when something asks for them."""
        scores = object.__new__(cls)
        scores.__dict__["maker"] = maker
        return scores

    if not TYPE_CHECKING:  # a type checker would accept every name as an attribute

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any field
            """Compute a field of scores at its first use."""
            if name not in _LAZY_FIELDS or "runs" in self.__dict__:
                raise AttributeError(f"'Scores' object has no attribute {name!r}")
            self.__dict__.update({**self.maker.scores().__dict__, "maker": self.maker})
            return self.__dict__[name]

    def __getstate__(self) -> dict[str, Any]:
        """Drop the source, because another process has neither its files nor its tables."""
        self.runs  # noqa: B018 - read them now
        return {**self.__dict__, "maker": None}

    @property
    def supply(self) -> Supply:
        """The existing parts, or those that the maker can make."""
        if self.maker is not None:
            return self.maker.supply
        saved: dict[Part, bool] = {
            "values": any(len(run.query_ids) for run in self.runs),
            "bounds": any(run.low is not None for run in self.runs),
            "group_sums": True,
        }
        parts: frozenset[Part] = frozenset(part for part, is_saved in saved.items() if is_saved)
        return Supply(parts, "saved values have none", "measure the runs again with rankgate eval")

    @property
    def parts(self) -> tuple[Part, ...]:
        """The names of the parts of `supply`."""
        return tuple(part for part in PARTS if self.supply.has(part))

    @property
    def queries(self) -> pl.DataFrame:
        """``system``, ``query_id``, ``state``, ``latency_ms``, ``retrieved``, ``judged``, tags.

        Raises:
            UsageError: the scores have no queries and cannot make them.
        """
        return _join_systems(self._made("queries", 1), "queries")

    @property
    def intervals(self) -> pl.DataFrame:
        """Means with 95% intervals, of all queries and of slices, by `intervals.INTERVALS`.

        Raises:
            UsageError: neither values nor intervals were saved; the means are of a sample of
                queries, whose intervals are in ``weighted``.
        """
        if self.maker is not None:
            return self.maker.intervals(self)
        self.require("`intervals`", Need("values"))
        from rankgate.measurement.evaluation.sampled_means import intervals_of  # few ask for it

        return intervals_of(self.runs, self.metrics)

    def lists(self, depth: int = 10) -> pl.DataFrame:
        """The first documents: ``system``, ``query_id``, ``rank``, ``doc_id``, ``grade``.

        Args:
            depth: the depth of each list.

        Raises:
            UsageError: the scores have no lists and cannot make them.
        """
        return _join_systems(self._made("lists", depth), "lists")

    def require(self, user: str, *needs: Need) -> None:
        """Check that parts are there, or that the maker can make them.

        Args:
            user: the user's feature that needs them, for the error.
            needs: the parts.

        Raises:
            UsageError: one of them is not.
        """
        self.supply.require(user, needs)

    def _made(self, name: Part, depth: int) -> Sequence[ScoredRun]:
        self.require(f"`{name}`", Need(name))
        assert self.maker is not None
        return self.maker.systems(depth)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about the judgments, and about each run."""
        notices = []
        from rankgate.data.logs.splits import sampling_mark

        if mark := sampling_mark(self.qrels):
            text = f"{mark} candidates: never compare these figures with exact ones"
            notices.append(Notice("sampled-candidates", text, self.qrels))
        if zeros := self.runs[0].counts.zeros_relevant:
            from rankgate.measurement.evaluation.lists.list_inputs import zero_grades_notice

            text = zero_grades_notice(zeros, str(self.convention["name"]))
            notices.append(Notice("zero-grades-relevant", text, self.qrels))
        notices += _list_notices(self.runs)
        for run in self.runs:
            if text := unanswered_sentence(run.run, run.counts.states):
                notices.append(Notice("unanswered-queries", text, run.run))
            notices += run_notices(run.run, run.counts.cautions)
            if count := run.counts.against_scores:
                verb, owner = ("is", "its") if count == 1 else ("are", "their")
                text = (
                    f"{run.run}: {count} of {count_noun(run.counts.queries, 'query')} {verb} ranked by the "
                    f"order of {owner} rows, as {self.convention['name']} does, and {owner} scores give "
                    f"another order; sort the file by score if the order of rows has no meaning"
                )
                notices.append(Notice("order-against-scores", text, run.run))
        return (*notices, *(() if self.weighted is None else _UNDECIDED.notices(self)))

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:  # type: ignore[override]
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

    @property
    def saved_parts(self) -> dict[str, bool]:
        """The values of queries, which `compare` and others need; from Spark sums."""
        return {"per_query": not isinstance(self.maker, DistantMaker)}

    def _run(self, scores: RunScores, *, per_query: bool) -> dict[str, Json]:
        from rankgate.core.present.codec import encode

        values: dict[str, Json] = {
            "name": scores.run,
            "tag": scores.tag,
            "mean": {label: finite_or_none(scores.means[label]) for label in self.metrics},
            "counts": encode(scores.counts),
        }
        if scores.groups:
            values["groups"] = encode(scores.groups)
        if per_query:
            values["per_query"] = {label: self._per_query(scores, label) for label in self.metrics}
        for name in _BOUND_FIELDS:
            ends: RunScores | None = getattr(scores, name)
            if ends is not None:
                means = ends.means
                values[name] = {label: finite_or_none(means.get(label, math.nan)) for label in self.metrics}
                if per_query:
                    values[f"per_query_{name}"] = {label: ends.per_query(label) for label in ends.values}
        return values

    def _per_query(self, scores: RunScores, label: str) -> dict[str, float | None]:
        if not isinstance(self.maker, DistantMaker):
            return scores.per_query(label)
        rows = self.values.filter(run=scores.run, metric=label)
        return dict(rows.select("query_id", "value").iter_rows())

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Restore scores from ``to_dict``; without ``per_query`` only the means are known."""
        runs = tuple(_scores(run, values["convention"]) for run in values["runs"])
        metrics = tuple(values["runs"][0]["mean"])
        lower = tuple(values.get("lower", ()))
        slices = pl.DataFrame(values["slices"], SLICES) if "slices" in values else None
        table = values.get("weighted")
        sampled = None if table is None else make_frame(table, dict.fromkeys(table[0]))
        return cls(values["qrels"], values["convention"], metrics, runs, lower, slices, sampled)

    def joined(self, other: Scores) -> Scores:
        """Join two evaluations, to compare their runs.

        Raises:
            UsageError: they follow different conventions (the axes that differ are named), or
                they have different judgments or metrics.
        """
        first_name, other_name = (scores.runs[0].run for scores in (self, other))
        second = other_name if other_name != first_name else f"the other {other_name}"
        refuse_mixed({first_name: self.convention, second: other.convention})
        if (self.qrels, self.metrics) != (other.qrels, other.metrics):
            raise UsageError(
                f"{first_name} and {second} have different judgments or metrics; score both by the same.",
                code="not-comparable",
            )
        return replace(self, runs=(*self.runs, *other.runs), slices=None, maker=None)

    @property
    def heading(self) -> str:
        """The runs by name."""
        names = [run.run for run in self.runs]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return f"Values of {', '.join(names[:_MOST_NAMES])}{more}"

    @property
    def means(self) -> pl.DataFrame:
        """One row a run: ``run`` and a column for each metric; undefined means are null."""
        rows = [{"run": run.run, **run.means} for run in self.runs]
        schema = {"run": pl.String, **dict.fromkeys(self.metrics, pl.Float64)}
        return make_frame(rows, schema)

    @property
    def values(self) -> pl.DataFrame:
        """Every value: ``run``, ``query_id``, ``metric``, ``value``, ``why``.

        If bounds were requested also ``low`` and ``high``, null for a metric without bounds.

        Raises:
            UsageError: values that were left on Spark; ``maker.values`` has them.
        """
        if isinstance(self.maker, DistantMaker):
            return self.maker.collected()
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
        return make_frame(rows, schema)

    def __len__(self) -> int:
        """The number of runs."""
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

    def _named(self, run: str) -> list[RunScores]:
        matches = [scores for scores in self.runs if scores.run == run]
        if not matches:
            raise KeyError(run)
        return matches


def choose_systems(systems: Iterable[str], baseline: object, candidates: Iterable[object]) -> list[str]:
    """The names of a baseline and candidates; by default the first system, and all others.

    Raises:
        UsageError: no system has a name, or a name comes twice.
    """
    all_names = [*systems]
    first, *candidate_names = map(str, (all_names[0] if baseline is None else baseline, *candidates))
    names = [first, *(candidate_names or [name for name in all_names if name != first])]
    for name in names:
        if name not in all_names:
            problem = f"unknown system {name!r}; the scores have {', '.join(all_names)}."
            raise UsageError(problem, code="unknown-system")
        if names.count(name) > 1:
            raise UsageError(f"the system {name} is named twice.", code="baseline-is-candidate")
    return names


def refuse_with_scores(*options: str) -> None:
    """Refuse options that say how values are computed, where values are given.

    Raises:
        UsageError: there is an option.
    """
    if options:
        problem = (
            f"{', '.join(options)}: scores are values that are computed already; leave it out, or give "
            "judgments and runs."
        )
        raise UsageError(problem, code="conflicting-options")


def _list_notices(runs: Sequence[RunScores]) -> list[Notice]:
    """Warnings about the users and the catalogue behind metrics of lists, and about each run's lists."""
    if all(run.counts.catalogue is None and not run.counts.served_unjudged for run in runs):
        return []
    from rankgate.measurement.evaluation.lists.list_inputs import (
        catalogue_notice,
        place_sentences,
        unjudged_users_notice,
    )

    notices: dict[tuple[str, str, str], Notice] = {}  # one of each text: runs usually serve the same users
    for run in runs:
        facts, users = run.counts.catalogue or {}, run.counts.served_unjudged
        texts = [("unjudged-users-count", unjudged_users_notice(users), "")] if users else []
        texts += [("catalogue", text, "") for text in (catalogue_notice(facts) if facts else ())]
        name = f"{run.run}: " if len(runs) > 1 else ""
        texts += [("catalogue", f"{name}{text}", run.run) for text in place_sentences(facts)]
        notices |= {text: Notice(*text) for text in texts}
    return list(notices.values())


def _scores(run: Mapping[str, Any], convention: JsonObject) -> RunScores:
    """The scores of one run from its JSON."""
    ends: dict[str, Any] = {
        name: _scores_of(run, run[name], run.get(f"per_query_{name}", {}), {}, convention)
        for name in _BOUND_FIELDS
        if name in run
    }
    values, groups = run.get("per_query", {}), run.get("groups", {})
    return replace(_scores_of(run, run["mean"], values, groups, convention), **ends)


def _scores_of(
    run: Mapping[str, Any],
    mean: Mapping[str, float | None],
    per_query: Mapping[str, Mapping[str, float | None]],
    groups: Mapping[str, Mapping[str, Any]],
    convention: JsonObject,
) -> RunScores:
    counts = dict(run["counts"])
    counts["judged_at"] = {int(k): share for k, share in counts["judged_at"].items()}
    queries = list(next(iter(per_query.values()), {}))
    sums = {}
    if groups:
        from rankgate.core.present.codec import decode
        from rankgate.data.run_scores import GroupSums  # scores of evaluations on Spark have groups

        sums = {metric: GroupSums(**decode(GroupSums, group)) for metric, group in groups.items()}
    return RunScores(
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


_BOUND_FIELDS = ("low", "high", "all_irrelevant", "all_best")
"""The scores of bounds and scenarios, besides the values."""


def _floats(values: Any) -> Floats:  # noqa: ANN401 - a view
    return np.array([math.nan if value is None else value for value in values], np.float64)


def _table(run: RunScores) -> pl.DataFrame:
    """The values of a run with their bounds, if there are any."""
    table = run.table
    for name, ends in (("low", run.low), ("high", run.high)):
        if ends is not None:
            values = ends.table.select(*_KEYS, pl.col("value").alias(name))
            table = table.join(values, on=_KEYS, how="left", maintain_order="left")
    return table


def _join_systems(systems: Sequence[ScoredRun], attribute: str) -> pl.DataFrame:
    """Join one part of all systems into a table."""
    tables: list[pl.DataFrame] = [
        getattr(system, attribute).select(pl.lit(system.name).alias("system"), pl.all()) for system in systems
    ]
    return pl.concat(tables, how="diagonal_relaxed")


def _name(run: RunScores) -> pl.Series:
    return pl.Series("run", [run.run], dtype=pl.String).new_from_index(0, len(run.table))


def _mean(ends: RunScores | None, label: str) -> float | None:
    return None if ends is None else ends.means.get(label)
