"""The verb ``fuse``, which merges several runs into one, and its judgments for learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.core.present.base_result import run_notices
from rankgate.core.present.number_formats import count_noun
from rankgate.core.progress import progress, step
from rankgate.data.collection import Collection
from rankgate.data.formats.tables.memory_tables import run_of_table
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.fusion.candidate_blocks import RankedRun
from rankgate.measurement.fusion.fusion import SOURCES, Fusion, Learned
from rankgate.measurement.fusion.fusion_method import TrainingData
from rankgate.measurement.fusion.run_fuser import FusedLists, Fuser, Learner, Setting, settings_of
from rankgate.measurement.fusion.trained_methods import METHODS, NORMALISATIONS
from rankgate.measurement.scoring.alignment.top_documents import read_named_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.present.base_result import Notice
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data import Qrels
    from rankgate.data.input_types import QrelsLike, RunLike, RunsLike
    from rankgate.data.run_scores import RunScores
    from rankgate.measurement.fusion.candidate_blocks import Normalisation
    from rankgate.measurement.fusion.fusion_method import Method
    from rankgate.measurement.scoring import Convention


@dataclass(frozen=True)
class FusionLearning(ByContent):
    """The judgments that a fusion learns from: judgments, and how they are used.

    Attributes:
        train: Judgments that trained methods and --tune learn from.
        tune: Choose the weights and parameters that are not given, by cross-validation.
        metric: The metric that --tune maximises.
        folds: The number of cross-validation folds.
        relevant: The lowest relevant grade, for trained methods.
        seed: The seed of the random cross-validation folds.
        convention: Compute the metric as this tool does, or by your own TOML file.

    Raises:
        UsageError: fewer than two folds; a choice without judgments.
    """

    train: Collection | QrelsLike | None = None
    tune: bool = False
    metric: str = "nDCG@10"
    folds: Annotated[int, Range(2)] = 5
    relevant: float = 1.0
    seed: Annotated[int, Range(0)] = 0
    convention: str | Convention = "trec"

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise UsageError(f"folds={self.folds}: at least 2 are needed.", code="invalid-parameter")
        if self.tune and self.train is None:
            raise UsageError("tuning learns from judgments; give them with --train.", code="missing-input")


@dataclass(frozen=True)
class LearningData:
    """Judgments with the options for learning from them.

    Attributes:
        qrels: the judgments.
        collection: the judgments with other data on queries and documents.
        how: the convention.
    """

    qrels: Qrels
    collection: Collection
    how: FusionLearning

    def values(self, run: RunLike, queries: pl.Series) -> NDArray[np.float64]:
        """The value of the metric for each query, NaN if undefined."""
        return values_of(self.scores(run), queries)

    def scores(self, run: RunLike) -> RunScores:
        """The scores of a run with the metric."""
        with progress(None):
            return evaluate(self.collection, run, [self.how.metric], self.how.convention).runs[0]

    def parts(self, queries: pl.Series) -> tuple[pl.Series, NDArray[np.int64]]:
        """Queries by fold, unjudged queries last; the first position of each fold, and the end.

        Raises:
            UsageError: there are fewer judged queries than folds.
        """
        judged = queries.is_in(self.qrels.table["query_id"].unique().implode()).to_numpy()
        rows = np.random.default_rng(self.how.seed).permutation(np.flatnonzero(judged))
        if len(rows) < self.how.folds:
            raise UsageError(
                f"{count_noun(len(rows), 'query of the runs has', 'queries of the runs have')} judgments, "
                f"and {self.how.folds} folds need one each at least; add --folds, or judge more queries.",
                code="few-queries",
            )
        parts = [np.sort(fold) for fold in np.array_split(rows, self.how.folds)]
        ends = np.cumsum([0, *map(len, parts)])
        return queries.gather(np.concatenate([*parts, np.flatnonzero(~judged)])), ends


def values_of(scores: RunScores, queries: pl.Series) -> NDArray[np.float64]:
    """The value of the only metric for each query, NaN if undefined."""
    by_query = scores.per_query(next(iter(scores.values)))
    return np.array([by_query.get(query) for query in queries], np.float64)


def read_learning_data(method: Method, how: FusionLearning) -> LearningData | None:
    """Read the judgments to learn from; None if there are none.

    Raises:
        UsageError: a trained method has no judgments, or judgments are given that are not used.
    """
    if how.train is None:
        if method.train:
            raise UsageError(
                f"{method.name} learns from judgments; give them with --train.", code="missing-input"
            )
        return None
    if not (method.train or how.tune):
        raise UsageError(
            f"{method.name} learns nothing from judgments; add --tune to choose its settings, or leave "
            "--train out.",
            code="unused-option",
        )
    collection = Collection.of(how.train)
    qrels = collection.qrels()
    return LearningData(qrels, replace(collection, judgments=qrels, grades={}), how)


DEFAULT_NORM = "min-max"
NO_LEARNING = FusionLearning()
"""A fusion without judgments."""


def fuse(
    runs: RunsLike,
    method: str = "rrf",
    parameters: JsonObject | Sequence[str] = (),
    *,
    weights: Sequence[float] | None = None,
    norm: str | None = None,
    depth: Annotated[int, Range(1)] | None = None,
    keep: Annotated[int, Range(1)] | None = None,
    learning: FusionLearning = NO_LEARNING,
) -> Fusion:
    """Merge the runs of several systems into one.

    Ranks are those of the scores; equal scores are ordered by document id, descending, as
    trec_eval does. With ``learning``, judged queries are cut into folds, and each fold is fused by
    weights and settings that were learned from the other folds, so that the fused run can be
    evaluated with the same judgments; queries without judgments are fused by what all judged
    queries teach.

    Args:
        runs: two or more: paths, frames, dicts of dicts, or ``{name: run}``.
        method: the method that makes one score of the scores or ranks of several runs, such as
            ``rrf``.
        parameters: the parameters of the method: ``{"k": 30}``, or as words, ``["k=30"]``.
        weights: the weights of the runs, for a weighted method.
        norm: the normalisation of scores before a method on scores; ``min-max`` by default.
        depth: the number of documents of each run and query that count; all by default.
        keep: the number of documents of each query in the fused run; all by default.
        learning: judgments, or a `Collection` of them, that weights, parameters and trained methods
            are learned from, and how.

    Raises:
        InputError, DuplicateError: data that cannot be read, with file and line.
        UsageError: fewer than two runs; an unknown method, normalisation or parameter; an option
            that the method cannot use; a trained method without judgments.
    """
    names, run_inputs = _names_and_runs(runs)
    fusion_method, setting, normalisation = read_setting(method, parameters, weights, norm, len(run_inputs))
    lesson = read_learning_data(fusion_method, learning)
    systems = read_named_runs(lesson.collection.run_source(run_inputs) if lesson else run_inputs)
    names = names or tuple(run.name for run in systems)
    ids = [run.table["query_id"].unique(maintain_order=True) for run in systems]
    in_order = pl.concat(ids).unique(maintain_order=True)
    queries, ends = lesson.parts(in_order) if lesson else (in_order, np.array([0]))
    numbered = pl.DataFrame({"query_id": queries}).with_row_index("query")
    ranked_runs = []
    for name, run in zip(names, systems, strict=True):
        step(name)
        ranked_runs.append(RankedRun.index(run, numbered, depth))
    fuser = Fuser(tuple(ranked_runs), queries, fusion_method, normalisation, keep)
    learned = None
    notices: list[Notice] = []
    if lesson is None:
        fused = fuser.fuse(setting)
    else:
        fused, learned = _cross_validate(fuser, setting, lesson, ends)
        setting = learned.setting
        singles = dict(zip(names, map(lesson.scores, systems), strict=True))
        judged = queries[: ends[-1]]
        means = [float(np.nanmean(values_of(scores, judged))) for scores in singles.values()]
        learned = learned.against(names, means)
        notices = [
            notice for name, scores in singles.items() for notice in run_notices(name, scores.counts.cautions)
        ]
    return Fusion(
        method=fusion_method.name,
        parameters={
            **{name: parameter.default for name, parameter in fusion_method.parameters.items()},
            **setting.parameters,
        },
        weights=setting.weights,
        normalisation=normalisation.name if fusion_method.uses == "scores" else None,
        depth=depth,
        keep=keep,
        queries=len(queries),
        documents=len(fused.table),
        sources=_sources(names, ids, fused, len(queries)),
        learned=learned,
        input_notices=tuple(notices),
        run=run_of_table(_sort_queries(fused.table, in_order) if lesson else fused.table, fusion_method.name),
        fused=tuple(systems),
    )


def read_setting(
    method: str,
    parameters: JsonObject | Sequence[str],
    weights: Sequence[float] | None,
    norm: str | None,
    runs: int,
) -> tuple[Method, Setting, Normalisation]:
    """The method, its setting and the normalisation of ``fuse``, checked without any run.

    Raises:
        UsageError: an unknown method, normalisation or parameter; an option that the method cannot
            use; weights that do not fit the number of runs.
    """
    fusion_method = METHODS.find(method)
    setting = Setting(_parameters(fusion_method, parameters), _weights(fusion_method, weights, runs))
    return fusion_method, setting, NORMALISATIONS.find(_checked_norm(fusion_method, norm))


def _cross_validate(
    fuser: Fuser, setting_given: Setting, lesson: LearningData, ends: NDArray[np.int64]
) -> tuple[FusedLists, Learned]:
    """Fused lists by cross-validation, and the learned setting."""
    method = fuser.method
    data = None
    if method.train:
        queries = pl.DataFrame({"query_id": fuser.queries}).with_row_index("query")
        data = TrainingData.from_lists(fuser.runs, queries, lesson.qrels.table, lesson.how.relevant)
    settings = settings_of(method, setting_given, len(fuser.runs)) if lesson.how.tune else (setting_given,)
    learner = Learner(fuser, settings, data, ends, lambda table: lesson.values(table, fuser.queries))
    parts, trained_folds = learner.held_out()
    setting, trained = learner.final()
    held_out_values = lesson.values(FusedLists.joined(parts).table, fuser.queries[: ends[-1]])
    in_sample_lists = fuser.fuse(setting, trained, 0, int(ends[-1]))
    in_sample_values = lesson.values(in_sample_lists.table, fuser.queries[: ends[-1]])
    unjudged_lists = fuser.fuse(setting, trained, int(ends[-1]))
    learned = Learned(
        metric=lesson.how.metric,
        qrels=lesson.qrels.name,
        qrels_sha256=lesson.qrels.sha256,
        seed=lesson.how.seed,
        tried=len(settings),
        setting=setting,
        held_out=float(np.nanmean(held_out_values)),
        in_sample=float(np.nanmean(in_sample_values)),
        queries=int(np.isfinite(held_out_values).sum()),
        unjudged=len(fuser.queries) - int(ends[-1]),
        folds=trained_folds,
        trained=None if trained is None else tuple(map(tuple, trained.tolist())),
    )
    return FusedLists.joined([*parts, unjudged_lists]), learned


def _names_and_runs(runs: RunsLike) -> tuple[tuple[str, ...], list[Any]]:
    """The names, or None, and the runs.

    Raises:
        UsageError: there are fewer than two runs.
    """
    names = tuple(map(str, runs)) if isinstance(runs, Mapping) else ()
    run_inputs = list(runs.values() if isinstance(runs, Mapping) else cast("Sequence[RunLike]", runs))
    if isinstance(runs, str) or len(run_inputs) < 2:
        raise UsageError("fusion needs two runs or more.", code="missing-input")
    return names, run_inputs


def _parameters(method: Method, values: JsonObject | Sequence[str]) -> dict[str, Json]:
    if isinstance(values, Mapping):
        return {name: method.read(name, value) for name, value in values.items()}
    parameters = {}
    for word in values:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word!r} is not NAME=VALUE.", code="invalid-parameter")
        parameters[name.strip()] = method.read(name.strip(), value.strip(), words=True)
    return parameters


def _weights(method: Method, weights_given: Sequence[float] | None, runs: int) -> tuple[float, ...] | None:
    if weights_given is None:
        return None
    if not method.weighted:
        weighted_methods = ", ".join(name for name, other_method in METHODS.items() if other_method.weighted)
        raise UsageError(
            f"{method.name} has no weights; the weighted methods are {weighted_methods}.",
            code="unused-option",
        )
    weights = tuple(map(float, weights_given))
    if len(weights) != runs:
        raise UsageError(
            f"{count_noun(len(weights), 'weight')} for {count_noun(runs, 'run')}; give one for each.",
            code="invalid-parameter",
        )
    if not all(0 <= weight < np.inf for weight in weights) or not any(weights):
        raise UsageError(
            "weights must be numbers of at least 0, not all of them 0.", code="invalid-parameter"
        )
    return weights


def _checked_norm(method: Method, norm: str | None) -> str:
    if method.uses == "ranks":
        if norm is not None:
            raise UsageError(
                f"{method.name} fuses ranks, which a normalisation does not change; leave the normalisation "
                "out.",
                code="unused-option",
            )
        return "none"
    return norm or DEFAULT_NORM


def _sources(names: tuple[str, ...], ids: list[pl.Series], fused: FusedLists, queries: int) -> pl.DataFrame:
    """The contribution of each run: the columns of `SOURCES`."""
    return pl.DataFrame(
        {
            "run": names,
            "queries": [len(queries_of_run) for queries_of_run in ids],
            "missing": [queries - len(queries_of_run) for queries_of_run in ids],
            "documents": fused.documents,
            "alone": fused.alone,
            "first": fused.first / max(fused.firsts, 1),
        },
        schema=SOURCES,
    )


def _sort_queries(table: pl.DataFrame, queries: pl.Series) -> pl.DataFrame:
    """Put lists that were fused by fold into the order of the runs' queries."""
    positions = pl.DataFrame({"query_id": queries}).with_row_index("place")
    joined = table.join(positions, on="query_id", maintain_order="left")
    return joined.sort("place", maintain_order=True).drop("place")
