"""The verb ``fuse``: several runs merged into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.present.result import run_notices
from rankgate.core.progress import step
from rankgate.data.memory.frames import run_of
from rankgate.measurement.fusion.catalogue import METHODS
from rankgate.measurement.fusion.fuser import Fused, Fuser, Setting
from rankgate.measurement.fusion.fusion import SOURCES, Fusion, Learned
from rankgate.measurement.fusion.layout import RankedRun
from rankgate.measurement.fusion.learning import Learner, settings_of
from rankgate.measurement.fusion.lesson import FusionLearning, Lesson, lesson_of, values_of
from rankgate.measurement.fusion.normalise import NORMALISATIONS
from rankgate.measurement.fusion.training import TrainingData
from rankgate.measurement.scoring.alignment.ranked import systems_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.present.result import Notice
    from rankgate.data.inputs import RunLike, RunsLike
    from rankgate.measurement.fusion.method import Method

NORM = "min-max"
NOTHING = FusionLearning()
"""A fusion that learns nothing."""


def fuse(
    runs: RunsLike,
    method: str = "rrf",
    parameters: Mapping[str, Any] | Sequence[str] = (),
    *,
    weights: Sequence[float] | None = None,
    norm: str | None = None,
    depth: Annotated[int, Range(1)] | None = None,
    keep: Annotated[int, Range(1)] | None = None,
    learning: FusionLearning = NOTHING,
) -> Fusion:
    """Merge the runs of several systems into one.

    Ranks are those of the scores; equal scores are ordered by document id, descending, as
    trec_eval does. With ``learning``, judged queries are cut into folds, and each fold is fused by
    weights and settings that were learned from the other folds, so that the fused run can be
    evaluated with the same judgments; queries without judgments are fused by what all judged
    queries teach.

    Args:
        runs: two or more: paths, frames, dicts of dicts, or ``{name: run}``.
        method: how the scores or ranks of several runs become one score, such as ``rrf``.
        parameters: of the method: ``{"k": 30}``, or as words, ``["k=30"]``.
        weights: of the runs, for a weighted method.
        norm: how scores are normalised first, for a method on scores; ``min-max`` by default.
        depth: how many documents of each run and query count; all by default.
        keep: how many documents of each query the fused run keeps; all by default.
        learning: judgments, or a `Collection` of them, that weights, parameters and trained methods
            are learned from, and how.

    Raises:
        InputError, DuplicateError: data that cannot be read, with file and line.
        UsageError: fewer than two runs; an unknown method, normalisation or parameter; an option
            that the method cannot use; a trained method without judgments.
    """
    names, given = _named(runs)
    chosen = METHODS.named(method)
    setting = Setting(_parameters(chosen, parameters), _weights(chosen, weights, len(given)))
    lesson = lesson_of(chosen, learning)
    normalisation = NORMALISATIONS.named(_norm(chosen, norm))
    systems = systems_of(lesson.collection.run_source(given) if lesson else given)
    names = names or tuple(run.name for run in systems)
    ids = [run.table["query_id"].unique(maintain_order=True) for run in systems]
    in_order = pl.concat(ids).unique(maintain_order=True)
    queries, ends = lesson.parts(in_order) if lesson else (in_order, np.array([0]))
    numbered = pl.DataFrame({"query_id": queries}).with_row_index("query")
    laid = []
    for name, run in zip(names, systems, strict=True):
        step(name)
        laid.append(RankedRun.of(run, numbered, depth))
    fuser = Fuser(tuple(laid), queries, chosen, normalisation, keep)
    learned = None
    notices: list[Notice] = []
    if lesson is None:
        fused = fuser.fuse(setting)
    else:
        fused, learned = _learned(fuser, setting, lesson, ends)
        setting = learned.setting
        singles = dict(zip(names, map(lesson.scores, systems), strict=True))
        judged = queries[: ends[-1]]
        means = [float(np.nanmean(values_of(scores, judged))) for scores in singles.values()]
        learned = learned.against(names, means)
        notices = [
            notice
            for name, scores in singles.items()
            for notice in run_notices(name, scores.counts.cautions)
        ]
    return Fusion(
        method=chosen.name,
        parameters={**_defaults(chosen), **setting.parameters},
        weights=setting.weights,
        normalisation=normalisation.name if chosen.uses == "scores" else None,
        depth=depth,
        keep=keep,
        queries=len(queries),
        documents=len(fused.table),
        sources=_sources(names, ids, fused, len(queries)),
        learned=learned,
        input_notices=tuple(notices),
        run=run_of(_in_order(fused.table, in_order) if lesson else fused.table, chosen.name),
        fused=tuple(systems),
    )


def _learned(
    fuser: Fuser,
    given: Setting,
    lesson: Lesson,
    ends: NDArray[np.int64],
) -> tuple[Fused, Learned]:
    """Fused lists by cross-validation, and what was learned."""
    method = fuser.method
    data = None
    if method.train:
        queries = pl.DataFrame({"query_id": fuser.queries}).with_row_index("query")
        data = TrainingData.of(fuser.runs, queries, lesson.qrels.table, lesson.how.relevant)
    tried = settings_of(method, given, len(fuser.runs)) if lesson.how.tune else (given,)
    learner = Learner(fuser, tried, data, ends, lambda table: lesson.values(table, fuser.queries))
    parts, chosen = learner.held_out()
    setting, trained = learner.final()
    own = lesson.values(Fused.joined(parts).table, fuser.queries[: ends[-1]])
    same = fuser.fuse(setting, trained, 0, int(ends[-1]))
    seen = lesson.values(same.table, fuser.queries[: ends[-1]])
    rest = fuser.fuse(setting, trained, int(ends[-1]))
    learned = Learned(
        metric=lesson.how.metric, qrels=lesson.qrels.name, qrels_sha256=lesson.qrels.sha256,
        seed=lesson.how.seed, tried=len(tried), setting=setting,
        held_out=float(np.nanmean(own)), in_sample=float(np.nanmean(seen)),
        queries=int(np.isfinite(own).sum()), unjudged=len(fuser.queries) - int(ends[-1]),
        folds=chosen,
        trained=None if trained is None else tuple(map(tuple, trained.tolist())),
    )  # fmt: skip
    return Fused.joined([*parts, rest]), learned


def _named(runs: RunsLike) -> tuple[tuple[str, ...], list[Any]]:
    """Names that were given, or none, and the runs.

    Raises:
        UsageError: fewer than two runs.
    """
    names = tuple(map(str, runs)) if isinstance(runs, Mapping) else ()
    given = list(runs.values() if isinstance(runs, Mapping) else cast("Sequence[RunLike]", runs))
    if isinstance(runs, str) or len(given) < 2:
        raise UsageError("fusion needs two runs or more.", code="missing-input")
    return names, given


def _parameters(method: Method, given: Mapping[str, Any] | Sequence[str]) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return {name: method.read(name, value) for name, value in given.items()}
    found = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"{word!r} is not NAME=VALUE.", code="invalid-parameter")
        found[name.strip()] = method.read(name.strip(), value.strip(), words=True)
    return found


def _defaults(method: Method) -> dict[str, Any]:
    return {name: each.default for name, each in method.parameters.items()}


def _weights(method: Method, given: Sequence[float] | None, runs: int) -> tuple[float, ...] | None:
    if given is None:
        return None
    if not method.weighted:
        able = ", ".join(name for name, each in METHODS.items() if each.weighted)
        raise UsageError(
            f"{method.name} has no weights; the weighted methods are {able}.", code="unused-option"
        )
    weights = tuple(map(float, given))
    if len(weights) != runs:
        raise UsageError(
            f"{len(weights)} weights for {runs} runs; give one for each.", code="invalid-parameter"
        )
    if not all(0 <= each < np.inf for each in weights) or not any(weights):
        raise UsageError(
            "weights must be numbers of at least 0, not all of them 0.", code="invalid-parameter"
        )
    return weights


def _norm(method: Method, given: str | None) -> str:
    if method.uses == "ranks":
        if given is not None:
            raise UsageError(
                f"{method.name} fuses ranks, which a normalisation does not change; leave the "
                "normalisation out.",
                code="unused-option",
            )
        return "none"
    return given or NORM


def _sources(
    names: tuple[str, ...], ids: list[pl.Series], fused: Fused, queries: int
) -> pl.DataFrame:
    """What each run contributed: the columns of `SOURCES`."""
    return pl.DataFrame(
        {
            "run": names,
            "queries": [len(each) for each in ids],
            "missing": [queries - len(each) for each in ids],
            "documents": fused.documents,
            "alone": fused.alone,
            "first": fused.first / max(fused.firsts, 1),
        },
        schema=SOURCES,
    )


def _in_order(table: pl.DataFrame, queries: pl.Series) -> pl.DataFrame:
    """Lists that were fused fold by fold, their queries in the order of the runs."""
    place = pl.DataFrame({"query_id": queries}).with_row_index("place")
    joined = table.join(place, on="query_id", maintain_order="left")
    return joined.sort("place", maintain_order=True).drop("place")
