"""The verb ``stages``: the gain and the ceiling of each stage, and the largest loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.declare import Cutoff
from rankgate.core.errors import UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.core.progress import progress, step
from rankgate.data.collection import SAMPLE_FIELDS, SETTLED, TASK_FIELDS, Collection
from rankgate.data.foreign_frames import named_runs
from rankgate.data.table_rows import in_row_order
from rankgate.decisions.comparison.inference import Method, Test
from rankgate.decisions.comparison.pairs import ComparisonRules, compare_pairs
from rankgate.decisions.pipelines.pipeline_file import EngineStage
from rankgate.decisions.pipelines.stage_figures import (
    LATENCY,
    compute_losses,
    count_grades,
    count_moves,
    describe_failures,
    find_bottleneck,
    latency_table,
    parallel_stages,
    stage_kinds,
    uneven_warnings,
)
from rankgate.decisions.pipelines.stage_run import rerank_depth
from rankgate.decisions.pipelines.stage_runner import LivePipeline, is_pipeline
from rankgate.decisions.pipelines.stages import CEILINGS, STEPS, Pipeline, StageInput
from rankgate.measurement.evaluation.ceilings import (
    best_ranking_values,
    ceiling,
    choose_target,
    cutoff_of,
    has_retrieved_ideal,
)
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.scoring.scoring_facts import with_run_name

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike, RunsLike
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.decisions.pipelines.stage_run import StageRun
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention


METRICS = ("nDCG@10", "RR@10", "R@100")
"""The metrics when none is named: the order, the first hit, the coverage."""

DEPTH = 100
"""The default number of documents of a stage that are the candidates of the next."""

CORRECTIONS = ("holm", "bonferroni", "bh", "none")

TEST_FIELDS = ("method", "interval", "level", "correction", "resamples", "seed", "unequal")
"""The fields of a `Test` that steps use."""


def stages(
    collection: Collection | QrelsLike,
    runs: RunsLike | LivePipeline,
    metrics: str | Metric | Sequence[str | Metric] = METRICS,
    convention: str | Convention = "trec",
    *,
    target: str | Metric | None = None,
    depth: Cutoff = DEPTH,
    labels: Mapping[float, str] | None = None,
    approximates: str | Sequence[str] = (),
    test: Method | Test = Test.method,
) -> Pipeline:
    """Follow a ranking through its stages, from the first retrieval to the last reranker.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        runs: the run after each stage, in order, or ``{name: run}``; or a `LivePipeline`, whose
            stages are run first.
        metrics: names such as ``"nDCG@10"``, or metrics such as ``nDCG(gain="exp") @ 10``.
        convention: the convention of the metrics.
        target: the metric of the ceiling; by default the first nDCG with a cutoff.
        depth: the number of documents that each stage passes to the next.
        labels: the names of grades, as ``{3: "Exact"}``.
        approximates: stages that are an approximate search of the one before, by quantised vectors
            or a graph.
        test: the test of the steps: a `Test`, or its method. Its correction, over all steps and
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
    test = Test.of(test).only("stages", *TEST_FIELDS)
    if test.interval == "simultaneous":
        problem = "intervals of steps are not simultaneous; take t, bca or studentised."
        raise UsageError(problem, code="unknown-choice")
    if test.correction not in CORRECTIONS:
        corrections = ", ".join(CORRECTIONS)
        problem = f"unknown correction of steps {test.correction!r}; known: {corrections}."
        raise UsageError(problem, code="unknown-choice")
    collection = Collection.of(collection)
    collection.refuse("stages", *TASK_FIELDS, *SAMPLE_FIELDS)
    scorer = Scorer.from_metrics(collection, metrics, convention, depth=depth)
    target_metric = choose_target(scorer, target)
    if target_metric[0] not in dict(scorer.metrics):
        scorer = replace(scorer, metrics=(target_metric, *scorer.metrics))
    taken_stages: Sequence[StageRun] = ()
    if isinstance(runs, LivePipeline):
        taken_stages = runs.taken(refuse=test.unequal == "refuse")
        runs = {stage.stage.name: stage.run for stage in taken_stages}
        scorer = replace(scorer, depth=max(depth, *(rerank_depth(stage) or 0 for stage in taken_stages)))
    elif is_pipeline(runs):
        problem = f"{runs}: a pipeline is asked queries; give LivePipeline(file, queries) as the runs."
        raise UsageError(problem, code="missing-input")
    systems = scorer.scored_systems(named_runs(runs))
    if not systems:
        problem = "no stage; give the run after each stage, in order."
        raise UsageError(problem, code="missing-input")
    step("computing ceilings")
    rules = ComparisonRules(replace(test, correction="none"), sizes=False)
    approximations = frozenset([approximates] if isinstance(approximates, str) else approximates)
    return _pipeline(
        scorer, target_metric, systems, labels or {}, (rules, test.correction), taken_stages, approximations
    )


def _pipeline(
    scorer: Scorer,
    aim: tuple[str, Metric],
    systems: Sequence[ScoredRun],
    labels: Mapping[float, str],
    ruled: tuple[ComparisonRules, str],
    taken_stages: Sequence[StageRun],
    approximates: AbstractSet[str],
) -> Pipeline:
    rules, correction = ruled
    scale = scorer.qrels.scale
    label_of_grade = {**dict(scale.labels if scale else ()), **labels}
    k, depth, test = cutoff_of(aim[1]) or scorer.depth, scorer.depth, rules.test
    cutoffs = sorted({k, depth}, reverse=True)
    names = [system.name for system in systems]
    if taken_stages:
        previous_stages = _previous_stages(taken_stages)
        kinds = tuple(
            "retrieves" if rerank_depth(taken_stage) is None else "reranks" for taken_stage in taken_stages
        )
        approximates |= {
            taken_stage.stage.name
            for taken_stage in taken_stages
            if isinstance(taken_stage.stage, EngineStage) and taken_stage.stage.approximates
        }
    else:
        previous_stages = [i - 1 if i else None for i in range(len(systems))]
        kinds = stage_kinds(count_moves(systems, cutoffs, previous_stages), depth, len(systems))
    kinds = _with_approximations(kinds, names, previous_stages, approximates)
    if not taken_stages:
        parallel = parallel_stages(systems, kinds)
        previous_stages = [None if i in parallel else previous for i, previous in enumerate(previous_stages)]
    moved = count_moves(systems, cutoffs, previous_stages)
    mixed = count_grades(systems, k, label_of_grade)
    reaches = [rerank_depth(taken_stage) for taken_stage in taken_stages] or [None] * len(systems)
    path = _path(kinds, previous_stages)
    values = _values(scorer, aim, systems, previous_stages, reaches)
    reachable = values
    if (final := _final_depths(reaches, path)) != reaches:
        reachable = _values(scorer, aim, systems, previous_stages, final)
    loss_table, losses_by_query = compute_losses(reachable, names, kinds, path)
    pairs = [(systems[i], systems[j]) for j, i in enumerate(previous_stages) if i is not None]
    inputs = [text for system in systems for text in with_run_name(system.name, system.cautions)]
    steps, cautions, correction = _steps(pairs, rules, correction, inputs)
    times = latency_table(taken_stages) if taken_stages else LATENCY.empty()
    failed = [
        f"{taken_stage.stage.name}: {failure_text}; --again repeats them"
        for taken_stage in taken_stages
        if (failure_text := describe_failures(taken_stage))
    ]
    warnings = (
        *failed,
        *_hidden_loss_warnings(scorer, aim),
        *(() if scorer.collection.selection in SETTLED else uneven_warnings(mixed, k, previous_stages)),
        *inputs,
        *cautions,
    )
    first = systems[0]
    return Pipeline(
        tuple(
            StageInput(system.name, kind, system.sha256) for system, kind in zip(systems, kinds, strict=True)
        ),
        first.qrels,
        first.qrels_sha256,
        first.convention,
        aim[0],
        k,
        depth,
        len(values),
        _mean(values, "best"),
        _means(systems),
        _ceilings(values, systems, kinds, reaches),
        steps,
        moved,
        mixed,
        loss_table,
        find_bottleneck(loss_table, losses_by_query, test.level),
        tuple(dict.fromkeys(warnings)),
        test.method,
        test.interval,
        test.level,
        correction,
        test.seed,
        test.drawn,
        times,
    )


def _with_approximations(
    kinds: Sequence[str], names: Sequence[str], before: Sequence[int | None], approximates: AbstractSet[str]
) -> tuple[str, ...]:
    """The kinds of the stages, with those that approximate the stage before them.

    Raises:
        UsageError: an unknown stage, or one with no stage before it.
    """
    possible_names = [name for name, previous in zip(names, before, strict=True) if previous is not None]
    if unknown_names := sorted(approximates - {*possible_names}):
        raise UsageError(
            f"{unknown_names[0]!r} is not a stage with another one before it, which it could approximate; "
            f"there are {', '.join(possible_names) or 'none'}.",
            code="unknown-stage",
        )
    return tuple(
        "approximates" if name in approximates else kind for name, kind in zip(names, kinds, strict=True)
    )


def _previous_stages(taken_stages: Sequence[StageRun]) -> list[int | None]:
    """The index of the stage with which each stage is compared: its last input, or what it approximates."""
    names = [taken_stage.stage.name for taken_stage in taken_stages]
    return [
        names.index(taken_stage.stage.stages_before[-1]) if taken_stage.stage.stages_before else None
        for taken_stage in taken_stages
    ]


def _path(kinds: Sequence[str], before: Sequence[int | None]) -> list[int]:
    """The indices of the stages from the last one that retrieves to the end."""
    path = [len(kinds) - 1]
    while kinds[path[0]] != "retrieves" and (previous := before[path[0]]) is not None:
        path.insert(0, previous)
    return path


def _final_depths(reaches: Sequence[int | None], path: Sequence[int]) -> list[int | None]:
    """The depth that each stage, or a later stage on its path, reads: no loss at the stage."""
    final, deepest = list(reaches), 0
    for index in reversed(path[1:]):
        depth = reaches[index]
        if depth is not None:
            final[index] = deepest = max(deepest, depth)
    return final


def _values(
    scorer: Scorer,
    aim: tuple[str, Metric],
    systems: Sequence[ScoredRun],
    before: Sequence[int | None],
    reaches: Sequence[int | None],
) -> pl.DataFrame:
    """``query_id``, ``best``, ``value0``, ``ceiling0``, ``value1``, …; whole rows only.

    A reranker of only the first documents also has the ceiling of these documents, ``reach1`` and
    so on.
    """
    table = best_ranking_values(scorer, aim).rename({"value": "best"})
    for i, system in enumerate(systems):
        values = system.scores.filter(pl.col("metric") == aim[0]).select("query_id", "value")
        previous, depth = before[i], reaches[i]
        columns, candidates = {f"value{i}": values}, system.lists
        if depth is not None and previous is not None:
            lists = systems[previous].lists.with_columns(movable=pl.col("rank") <= depth)
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
        in_row_order(pl.col("value")).mean().alias("mean"), pl.col("value").count().cast(pl.Int64).alias("n")
    )


def _ceilings(
    values: pl.DataFrame, systems: Sequence[ScoredRun], kinds: Sequence[str], reaches: Sequence[int | None]
) -> pl.DataFrame:
    rows = []
    for i, system in enumerate(systems):
        value, top = _mean(values, f"value{i}"), _mean(values, f"ceiling{i}")
        lists = system.lists["query_id"].n_unique()
        reranked_lists = system.lists.filter(pl.col("rank") <= depth) if (depth := reaches[i]) else None
        documents = len(system.lists if reranked_lists is None else reranked_lists)
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
    rules: ComparisonRules,
    correction: str,
    inputs: Sequence[str],
) -> tuple[pl.DataFrame, list[str], str]:
    """Compare each stage with the stage before, with cautions and corrected p-values."""
    with progress(None):
        comparisons: list[Comparison] = [compare_pairs(before, [after], rules)[0] for before, after in pairs]
    if not comparisons:
        return STEPS.empty(), [], "none"
    table = pl.concat(
        comparison.metrics.select(
            pl.lit(after.name).alias("stage"), pl.lit(before.name).alias("against"), pl.all()
        )
        for comparison, (before, after) in zip(comparisons, pairs, strict=True)
    )
    from rankgate.measurement.stats.multiple_comparisons import correct

    raw = table["p_raw"].fill_null(float("nan")).to_numpy().astype(np.float64)
    corrected = correction if len(raw) > 1 else "none"
    p_value = pl.Series("p_value", correct(raw, corrected)).fill_nan(None)  # type: ignore[arg-type]
    correction_text = f"{corrected} over {count_noun(len(raw), 'test')}"
    cautions: dict[str, list[str]] = {}
    for comparison, (_, after) in zip(comparisons, pairs, strict=True):
        for sentence in comparison.warnings:
            # warnings of a baseline: `uneven_warnings` names its stage; of a run: reported once
            if not sentence.startswith("judged@") and sentence not in inputs:
                cautions.setdefault(sentence, []).append(after.name)
    texts = [f"{', '.join(names)}: {sentence}" for sentence, names in cautions.items()]
    return table.with_columns(p_value, correction=pl.lit(corrected)), texts, correction_text


def _hidden_loss_warnings(scorer: Scorer, aim: tuple[str, Metric]) -> list[str]:
    if not has_retrieved_ideal(scorer, aim[1]):
        return []
    warning = (
        f"under convention {scorer.how.name} the ideal of {aim[0]} is made of the retrieved documents, so "
        f"the ceiling is not informative; add --override {aim[1].name}.ideal=judged."
    )
    return [warning]


def _mean(values: pl.DataFrame, column: str) -> float | None:
    mean = values[column].mean()
    return mean if isinstance(mean, float) else None
