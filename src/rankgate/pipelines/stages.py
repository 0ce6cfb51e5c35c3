"""The stages of a ranking: what each gains, the ceiling it leaves, and where most is lost."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.comparison import compared as parts
from rankgate.comparison.compare import Rules, compared
from rankgate.comparison.paired import Way
from rankgate.errors import UsageError
from rankgate.evaluation.scored_system import Scorer
from rankgate.pipelines.stage_lists import kinds_of, mix, moves, uneven
from rankgate.pipelines.stage_losses import LOSSES, Bottleneck, bottleneck, losses
from rankgate.scoring.run_names import sides_apart
from rankgate.unjudged.ceilings import (
    best_there_is,
    ceiling,
    cutoff_of,
    hides_what_is_lost,
    target_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rankgate.data.comparison import Comparison, Side
    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention
    from rankgate.scoring.overrides import Overrides

METRICS = ("nDCG@10", "RR@10", "R@100")
"""What stages are told by when nothing is asked for: the order, the first hit, the coverage."""

DEPTH = 100
"""How many documents of a stage are the candidates of the next when nothing is said."""

CORRECTIONS = ("holm", "bonferroni", "bh", "none")

_TABLES = ("means", "ceilings", "steps", "moves", "mix", "losses")


@dataclass(frozen=True)
class Pipeline:
    """Stages of a ranking, from the first retrieval to the last reranker.

    Attributes:
        stages: their names, in order.
        kinds: ``retrieves`` (the first, and each that has candidates that the stage before lacks)
            or ``reranks``.
        qrels, qrels_sha256: the judgments.
        hashes: of each run.
        convention: name, axes and hash.
        target: the metric whose ceiling is told.
        k: its cutoff, and that of the mix of labels.
        depth: how many documents of a stage are its candidates.
        queries: those of the ceilings: all stages have a value for them.
        best: the mean of the target for the best order of all judged documents.
        means: ``stage``, ``metric``, ``mean``, ``n``.
        ceilings: ``stage``, ``kind``, ``value`` (of the target), ``ceiling`` (the target of the
            stage's candidates in their best order), ``realised`` (value / ceiling), ``documents``
            (candidates of a query, mean).
        steps: ``stage``, ``against``, then the columns of a comparison's ``metrics``; p is
            corrected over all steps and metrics.
        moves: documents that came and went, as `stage_lists.moves`, at ``depth`` and ``k``.
        mix: grades among the first k, as `stage_lists.mix`.
        losses: ``stage``, ``why``, ``lost``, ``share``: what is missing to ``best`` in the end,
            by where it is lost; adds up.
        bottleneck: where most is lost; None where nothing is.
        warnings: what to know before trusting a figure.
        test, interval, level, correction, seed, resamples: of the steps.
    """

    stages: tuple[str, ...]
    kinds: tuple[str, ...]
    qrels: str
    qrels_sha256: str
    hashes: tuple[str, ...]
    convention: Mapping[str, Any]
    target: str
    k: int
    depth: int
    queries: int
    best: float | None
    means: pl.DataFrame
    ceilings: pl.DataFrame
    steps: pl.DataFrame
    moves: pl.DataFrame
    mix: pl.DataFrame
    losses: pl.DataFrame
    bottleneck: Bottleneck | None
    warnings: tuple[str, ...]
    test: str
    interval: str
    level: float
    correction: str
    seed: int
    resamples: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = {
            name: getattr(self, name)
            for name in ("target", "k", "depth", "queries", "best", "test", "interval", "level",
                         "correction", "seed", "resamples")
        }  # fmt: skip
        stages = zip(self.stages, self.kinds, self.hashes, strict=True)
        return {
            "schema_version": 1,
            "stages": [{"name": n, "kind": kind, "sha256": sha} for n, kind, sha in stages],
            "qrels": {"name": self.qrels, "sha256": self.qrels_sha256},
            "convention": dict(self.convention),
            **told,
            **{name: getattr(self, name).to_dicts() for name in _TABLES},
            "bottleneck": asdict(self.bottleneck) if self.bottleneck else None,
            "warnings": list(self.warnings),
        }


def stages(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    runs: Any,  # noqa: ANN401 - runs in the order of the stages, or {name: run}
    metrics: str | Metric | Sequence[str | Metric] = METRICS,
    how: str | Convention = "trec",
    *,
    target: str | Metric | None = None,
    depth: int = DEPTH,
    labels: Mapping[float, str] | None = None,
    way: Way | None = None,
    correction: str = "holm",
    unequal: str = "refuse",
    overrides: Overrides | Sequence[str] = (),
    extra: Sequence[Metric] = (),
    on_progress: Callable[[str], None] | None = None,
) -> Pipeline:
    """Follow a ranking through its stages.

    Args:
        qrels: judgments, as ``evaluate`` takes them.
        runs: the run after each stage, the first first.
        metrics: names or metrics.
        how: the convention.
        target: the metric whose ceiling is told; else the first nDCG with a cutoff.
        depth: how many documents of a stage are the candidates of the next.
        labels: the names of grades, beside those that the judgments bring.
        way: test, interval, level and drawing of the steps.
        correction: one of `CORRECTIONS`, over all steps and metrics.
        unequal: what queries are that one of two stages lacks: refuse, zero or drop.
        overrides: axes that are chosen otherwise.
        extra: metrics that can be named beside those of the house.
        on_progress: told what is being done.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: unknown names; no metric with a ceiling; queries that one stage lacks.
    """
    say = on_progress or (lambda _: None)
    if correction not in CORRECTIONS:
        raise UsageError(
            f"no correction of steps is called {correction!r}; there are {', '.join(CORRECTIONS)}.",
            code="unknown-choice",
        )
    scorer = Scorer.of(qrels, metrics, how, overrides=overrides, extra=extra, depth=depth)
    aim = target_of(scorer, target, extra)
    if aim[0] not in dict(scorer.metrics):
        scorer = replace(scorer, metrics=(aim, *scorer.metrics))
    sides: list[Side] = []
    places: list[Any] = []
    for name, run in parts.named(runs):
        say(f"scoring {name or run if isinstance(run, str) else 'a stage'}")
        sides.append(scorer.side(run, name))
        places.append(run)
    if not sides:
        raise UsageError(
            "no stage; give the run after each stage, the first first.", code="missing-input"
        )
    sides = sides_apart(sides, places)
    say("asking for ceilings")
    rules = Rules(way or Way(), "none", unequal)
    return _pipeline(scorer, aim, sides, labels or {}, (rules, correction))


def _pipeline(
    scorer: Scorer,
    aim: tuple[str, Metric],
    sides: Sequence[Side],
    labels: Mapping[float, str],
    ruled: tuple[Rules, str],
) -> Pipeline:
    rules, correction = ruled
    scale = scorer.qrels.scale
    named = {**dict(scale.labels if scale else ()), **labels}
    k, depth, way = cutoff_of(aim[1]) or scorer.depth, scorer.depth, rules.way
    moved, mixed = moves(sides, sorted({k, depth}, reverse=True)), mix(sides, k, named)
    kinds = kinds_of(moved, depth, len(sides))
    values = _values(scorer, aim, sides)
    lost = losses(values, [side.name for side in sides], kinds)
    steps, cautions, correction = _steps(sides, rules, correction)
    first = sides[0]
    return Pipeline(
        tuple(side.name for side in sides), kinds, first.qrels, first.qrels_sha256,
        tuple(side.sha256 for side in sides), first.convention, aim[0], k, depth, len(values),
        _mean(values, "best"), _means(sides), _ceilings(values, sides, kinds, moved, depth), steps,
        moved, mixed, lost.select(*LOSSES), bottleneck(values, lost, way.level),
        (*_hidden(scorer, aim), *uneven(mixed, k), *cautions), way.test, way.interval, way.level,
        correction, way.seed, way.drawn,
    )  # fmt: skip


def _values(scorer: Scorer, aim: tuple[str, Metric], sides: Sequence[Side]) -> pl.DataFrame:
    """``query_id``, ``best``, ``value0``, ``ceiling0``, ``value1``, …; whole rows only."""
    table = best_there_is(scorer, aim).rename({"value": "best"})
    for i, side in enumerate(sides):
        own = side.scores.filter(pl.col("metric") == aim[0])
        found = ceiling(scorer, aim, side.lists)
        table = table.join(
            own.select("query_id", pl.col("value").alias(f"value{i}")), on="query_id"
        ).join(found.rename({"value": f"ceiling{i}"}), on="query_id")
    return table.drop_nulls().sort("query_id")


def _means(sides: Sequence[Side]) -> pl.DataFrame:
    table = pl.concat(side.scores.with_columns(stage=pl.lit(side.name)) for side in sides)
    return table.group_by("stage", "metric", maintain_order=True).agg(
        pl.col("value").mean().alias("mean"), pl.col("value").count().cast(pl.Int64).alias("n")
    )


def _ceilings(
    values: pl.DataFrame, sides: Sequence[Side], kinds: Sequence[str], moved: pl.DataFrame, k: int
) -> pl.DataFrame:
    documents = moved.filter(pl.col("k") == k)["documents"].to_list()
    rows = []
    for i, side in enumerate(sides):
        value, top = _mean(values, f"value{i}"), _mean(values, f"ceiling{i}")
        lists = side.lists["query_id"].n_unique()
        rows.append({
            "stage": side.name, "kind": kinds[i], "value": value, "ceiling": top,
            "realised": value / top if value is not None and top else None,
            "documents": documents[i] / lists if lists else None,
        })  # fmt: skip
    schema = dict.fromkeys(("stage", "kind"), pl.String())
    numbers = dict.fromkeys(("value", "ceiling", "realised", "documents"), pl.Float64())
    return pl.DataFrame(rows, schema={**schema, **numbers})


def _steps(
    sides: Sequence[Side], rules: Rules, correction: str
) -> tuple[pl.DataFrame, list[str], str]:
    """Each stage against the one before, with what to be careful about, and what corrected p."""
    pairs = list(pairwise(sides))
    found: list[Comparison] = [compared(before, after, rules)[0] for before, after in pairs]
    if not found:
        return pl.DataFrame(), [], "none"
    table = pl.concat(
        each.metrics.select(
            pl.lit(after.name).alias("stage"), pl.lit(before.name).alias("against"), pl.all()
        )
        for each, (before, after) in zip(found, pairs, strict=True)
    )
    from rankgate.stats.corrections import correct  # noqa: PLC0415 - statistics where needed

    raw = table["p_raw"].fill_null(float("nan")).to_numpy().astype(np.float64)
    corrected = correction if len(raw) > 1 else "none"
    p_value = pl.Series("p_value", correct(raw, corrected)).fill_nan(None)  # type: ignore[arg-type]
    words = f"{corrected} over {len(raw)} test{'s' * (len(raw) > 1)}"
    cautions: dict[str, list[str]] = {}
    for each, (_, after) in zip(found, pairs, strict=True):
        for sentence in each.warnings:
            if not sentence.startswith("judged@"):  # of a baseline; `_uneven` names the stages
                cautions.setdefault(sentence, []).append(after.name)
    told = [f"{', '.join(names)}: {sentence}" for sentence, names in cautions.items()]
    return table.with_columns(p_value, correction=pl.lit(corrected)), told, words


def _hidden(scorer: Scorer, aim: tuple[str, Metric]) -> list[str]:
    if not hides_what_is_lost(scorer, aim[1]):
        return []
    words = (
        f"under convention {scorer.how.name} the ideal of {aim[0]} is made of what was retrieved, "
        f"so that the ceiling says nothing; say --set {aim[1].name}.ideal=judged."
    )
    return [words]


def _mean(values: pl.DataFrame, column: str) -> float | None:
    mean = values[column].mean()
    return mean if isinstance(mean, float) else None
