"""The verb ``stages``: what each stage gains, the ceiling it leaves, and where most is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Cutoff
from rankgate.core.errors import UsageError
from rankgate.core.progress import progress, step
from rankgate.data.collection import OF_SAMPLES, OF_TASKS, Collection
from rankgate.decisions.comparison import compared as parts
from rankgate.decisions.comparison.inference import Method, Test
from rankgate.decisions.comparison.pairs import Rules, compared
from rankgate.decisions.pipelines.latency import LATENCY, failure, latencies
from rankgate.decisions.pipelines.live import LivePipeline, is_pipeline
from rankgate.decisions.pipelines.stage_lists import kinds_of, mix, moves, parallel_of, uneven
from rankgate.decisions.pipelines.stage_losses import LOSSES, bottleneck, losses
from rankgate.decisions.pipelines.stages import CEILINGS, Pipeline
from rankgate.decisions.pipelines.taken import reach_of
from rankgate.measurement.evaluation.ceilings import (
    best_there_is,
    ceiling,
    cutoff_of,
    hides_what_is_lost,
    target_of,
)
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.scoring.input_cautions import prefixed
from rankgate.measurement.scoring.run_names import systems_apart

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import QrelsLike, RunsLike
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.decisions.pipelines.taken import TakenStage
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

METRICS = ("nDCG@10", "RR@10", "R@100")
"""The metrics when none is named: the order, the first hit, the coverage."""

DEPTH = 100
"""How many documents of a stage are the candidates of the next by default."""

CORRECTIONS = ("holm", "bonferroni", "bh", "none")

TESTED = ("method", "interval", "level", "correction", "resamples", "seed", "unequal")
"""What steps are tested by, of a `Test`."""


def stages(
    collection: Collection | QrelsLike,
    runs: RunsLike | LivePipeline,
    metrics: str | Metric | Sequence[str | Metric] = METRICS,
    convention: str | Convention = "trec",
    *,
    target: str | Metric | None = None,
    depth: Cutoff = DEPTH,
    labels: Mapping[float, str] | None = None,
    test: Method | Test = Test.method,
) -> Pipeline:
    """Follow a ranking through its stages, from the first retrieval to the last reranker.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        runs: the run after each stage, in order, or ``{name: run}``; or a `LivePipeline`, whose
            stages are run first.
        metrics: names such as ``"nDCG@10"``, or metrics such as ``nDCG(gain="exp") @ 10``.
        convention: whose rules the numbers follow.
        target: the metric of the ceiling; by default the first nDCG with a cutoff.
        depth: how many documents each stage passes to the next.
        labels: the names of grades, as ``{3: "Exact"}``.
        test: how steps are tested: a `Test`, or its method. Its correction, over all steps and
            metrics, is holm, bonferroni, bh or none; its interval is not simultaneous.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: unknown names; no metric with a ceiling; queries that one stage lacks.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> first = {query: {"b": 2.0, "a": 1.0} for query in qrels}
    >>> second = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> pipeline = stages(qrels, [first, second], ["nDCG@10"])
    >>> pipeline.ceilings.select("kind", "ceiling").rows()
    [('retrieves', 1.0), ('reranks', 1.0)]
    >>> pipeline.sentence
    'Nothing is lost: the last stage has the best nDCG@10 there is.'
    """
    test = Test.of(test).only("stages", *TESTED)
    if test.interval == "simultaneous":
        problem = "intervals of steps are not simultaneous; take t, bca or studentised."
        raise UsageError(problem, code="unknown-choice")
    if test.correction not in CORRECTIONS:
        known = ", ".join(CORRECTIONS)
        problem = f"unknown correction of steps {test.correction!r}; there are {known}."
        raise UsageError(problem, code="unknown-choice")
    collection = Collection.of(collection)
    collection.refuse("stages", *OF_TASKS, *OF_SAMPLES)
    scorer = Scorer.of(collection, metrics, convention, depth=depth)
    aim = target_of(scorer, target)
    if aim[0] not in dict(scorer.metrics):
        scorer = replace(scorer, metrics=(aim, *scorer.metrics))
    taken: Sequence[TakenStage] = ()
    if isinstance(runs, LivePipeline):
        taken = runs.taken(refuse=test.unequal == "refuse")
        runs = {stage.stage.name: stage.run for stage in taken}
        scorer = replace(scorer, depth=max(depth, *(reach_of(stage) or 0 for stage in taken)))
    elif is_pipeline(runs):
        problem = (
            f"{runs}: a pipeline is asked queries; give LivePipeline(file, queries) as the runs."
        )
        raise UsageError(problem, code="missing-input")
    systems: list[ScoredRun] = []
    places: list[Any] = []
    for name, run in parts.named(runs):
        step(f"scoring {name or run if isinstance(run, str) else 'a stage'}")
        systems.append(scorer.scored(run, name))
        places.append(run)
    if not systems:
        problem = "no stage; give the run after each stage, in order."
        raise UsageError(problem, code="missing-input")
    systems = systems_apart(systems, places)
    step("computing ceilings")
    rules = Rules(replace(test, correction="none"), sizes=False)
    return _pipeline(scorer, aim, systems, labels or {}, (rules, test.correction), taken)


def _pipeline(
    scorer: Scorer,
    aim: tuple[str, Metric],
    systems: Sequence[ScoredRun],
    labels: Mapping[float, str],
    ruled: tuple[Rules, str],
    taken: Sequence[TakenStage],
) -> Pipeline:
    rules, correction = ruled
    scale = scorer.qrels.scale
    named = {**dict(scale.labels if scale else ()), **labels}
    k, depth, test = cutoff_of(aim[1]) or scorer.depth, scorer.depth, rules.test
    cutoffs = sorted({k, depth}, reverse=True)
    if taken:
        kinds = tuple("retrieves" if reach_of(each) is None else "reranks" for each in taken)
        before = _before(taken)
    else:
        before = [i - 1 if i else None for i in range(len(systems))]
        kinds = kinds_of(moves(systems, cutoffs, before), depth, len(systems))
        parallel = parallel_of(systems, kinds)
        before = [None if i in parallel else place for i, place in enumerate(before)]
    moved = moves(systems, cutoffs, before)
    mixed = mix(systems, k, named)
    reaches = [reach_of(each) for each in taken] or [None] * len(systems)
    path = _path(kinds, before)
    values = _values(scorer, aim, systems, before, reaches)
    reachable = values
    if (final := _final_reaches(reaches, path)) != reaches:
        reachable = _values(scorer, aim, systems, before, final)
    lost = losses(reachable, [system.name for system in systems], path)
    pairs = [(systems[i], systems[j]) for j, i in enumerate(before) if i is not None]
    inputs = [text for system in systems for text in prefixed(system.name, system.cautions)]
    steps, cautions, correction = _steps(pairs, rules, correction, inputs)
    times = latencies(taken) if taken else pl.DataFrame(schema=LATENCY)
    failed = [
        f"{each.stage.name}: {words}; --again asks them anew"
        for each in taken
        if (words := failure(each))
    ]
    warnings = (*failed, *_hidden(scorer, aim), *uneven(mixed, k, before), *inputs, *cautions)
    first = systems[0]
    return Pipeline(
        tuple(system.name for system in systems), kinds, first.qrels, first.qrels_sha256,
        tuple(system.sha256 for system in systems), first.convention, aim[0], k, depth, len(values),
        _mean(values, "best"), _means(systems), _ceilings(values, systems, kinds, reaches),
        steps, moved, mixed, lost.select(*LOSSES), bottleneck(reachable, lost, test.level),
        tuple(dict.fromkeys(warnings)),
        test.method, test.interval, test.level, correction, test.seed, test.drawn, times,
    )  # fmt: skip


def _before(taken: Sequence[TakenStage]) -> list[int | None]:
    """The stage that each one is compared with: its last input, if it has one."""
    names = [each.stage.name for each in taken]
    return [names.index(each.stage.inputs[-1]) if each.stage.inputs else None for each in taken]


def _path(kinds: Sequence[str], before: Sequence[int | None]) -> list[int]:
    """The places of the stages from the last one that retrieves to the end."""
    path = [len(kinds) - 1]
    while kinds[path[0]] == "reranks" and (above := before[path[0]]) is not None:
        path.insert(0, above)
    return path


def _final_reaches(reaches: Sequence[int | None], path: Sequence[int]) -> list[int | None]:
    """How deep each stage, or a later one on its path, looks: what is not lost at the stage."""
    final, deepest = list(reaches), 0
    for place in reversed(path[1:]):
        reach = reaches[place]
        if reach is not None:
            final[place] = deepest = max(deepest, reach)
    return final


def _values(
    scorer: Scorer,
    aim: tuple[str, Metric],
    systems: Sequence[ScoredRun],
    before: Sequence[int | None],
    reaches: Sequence[int | None],
) -> pl.DataFrame:
    """``query_id``, ``best``, ``value0``, ``ceiling0``, ``value1``, …; whole rows only.

    A reranker of some of the first documents also has the ceiling of these in its input,
    ``reach1`` and so on.
    """
    table = best_there_is(scorer, aim).rename({"value": "best"})
    for i, system in enumerate(systems):
        values = system.scores.filter(pl.col("metric") == aim[0]).select("query_id", "value")
        above, reach = before[i], reaches[i]
        columns, candidates = {f"value{i}": values}, system.lists
        if reach is not None and above is not None:
            lists = systems[above].lists.with_columns(movable=pl.col("rank") <= reach)
            columns[f"reach{i}"] = ceiling(scorer, aim, lists)
            movable = lists.select("query_id", "doc_id", "movable")
            candidates = candidates.join(movable, on=["query_id", "doc_id"], how="left")
            candidates = candidates.with_columns(pl.col("movable").fill_null(value=False))
        columns[f"ceiling{i}"] = ceiling(scorer, aim, candidates)
        for name, column in columns.items():
            table = table.join(column.rename({"value": name}), on="query_id")
    return table.drop_nulls().sort("query_id")


def _means(systems: Sequence[ScoredRun]) -> pl.DataFrame:
    table = pl.concat(system.scores.with_columns(stage=pl.lit(system.name)) for system in systems)
    return table.group_by("stage", "metric", maintain_order=True).agg(
        pl.col("value").mean().alias("mean"), pl.col("value").count().cast(pl.Int64).alias("n")
    )


def _ceilings(
    values: pl.DataFrame,
    systems: Sequence[ScoredRun],
    kinds: Sequence[str],
    reaches: Sequence[int | None],
) -> pl.DataFrame:
    rows = []
    for i, system in enumerate(systems):
        value, top = _mean(values, f"value{i}"), _mean(values, f"ceiling{i}")
        lists = system.lists["query_id"].n_unique()
        ordered = system.lists.filter(pl.col("rank") <= reach) if (reach := reaches[i]) else None
        documents = len(system.lists if ordered is None else ordered)
        rows.append(
            {
                "stage": system.name,
                "kind": kinds[i],
                "value": value,
                "ceiling": top,
                "realised": value / top if value is not None and top else None,
                "documents": documents / lists if lists else None,
            }
        )
    return pl.DataFrame(rows, schema=CEILINGS)


def _steps(
    pairs: Sequence[tuple[ScoredRun, ScoredRun]],
    rules: Rules,
    correction: str,
    inputs: Sequence[str],
) -> tuple[pl.DataFrame, list[str], str]:
    """Each stage against the one before, with what to be careful about, and what corrected p."""
    with progress(None):
        found: list[Comparison] = [compared(before, after, rules)[0] for before, after in pairs]
    if not found:
        return pl.DataFrame(), [], "none"
    table = pl.concat(
        each.metrics.select(
            pl.lit(after.name).alias("stage"), pl.lit(before.name).alias("against"), pl.all()
        )
        for each, (before, after) in zip(found, pairs, strict=True)
    )
    from rankgate.measurement.stats.corrections import correct

    raw = table["p_raw"].fill_null(float("nan")).to_numpy().astype(np.float64)
    corrected = correction if len(raw) > 1 else "none"
    p_value = pl.Series("p_value", correct(raw, corrected)).fill_nan(None)  # type: ignore[arg-type]
    words = f"{corrected} over {len(raw)} test{'s' * (len(raw) > 1)}"
    cautions: dict[str, list[str]] = {}
    for each, (_, after) in zip(found, pairs, strict=True):
        for sentence in each.warnings:
            # of a baseline, whose stage `uneven` names; of a run, which is said once
            if not sentence.startswith("judged@") and sentence not in inputs:
                cautions.setdefault(sentence, []).append(after.name)
    texts = [f"{', '.join(names)}: {sentence}" for sentence, names in cautions.items()]
    return table.with_columns(p_value, correction=pl.lit(corrected)), texts, words


def _hidden(scorer: Scorer, aim: tuple[str, Metric]) -> list[str]:
    if not hides_what_is_lost(scorer, aim[1]):
        return []
    words = (
        f"under convention {scorer.how.name} the ideal of {aim[0]} is made of what was retrieved, "
        f"so that the ceiling is not informative; add --override {aim[1].name}.ideal=judged."
    )
    return [words]


def _mean(values: pl.DataFrame, column: str) -> float | None:
    mean = values[column].mean()
    return mean if isinstance(mean, float) else None
