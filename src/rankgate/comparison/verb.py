"""The verb ``compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.comparison import compare as service
from rankgate.comparison.inference import Correction, Interval, Method, Test
from rankgate.evaluation.scored_system import DEPTH
from rankgate.metrics.names import DEFAULT_METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rankgate.comparison.comparison import Comparisons
    from rankgate.data.inputs import QrelsLike, RunLike, RunsLike
    from rankgate.metrics.declare import Metric
    from rankgate.scoring.convention import Convention
    from rankgate.scoring.overrides import Overrides


def compare(
    qrels: QrelsLike,
    baseline: RunLike,
    candidates: RunsLike,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    test: Method | Test = Test.method,
    interval: Interval = Test.interval,
    level: float = Test.level,
    correction: Correction = Test.correction,
    resamples: int = Test.resamples,
    seed: int = Test.seed,
    band: float = Test.band,
    wanted: float | None = Test.wanted,
    power: float = Test.power,
    unequal: str = "refuse",
    slices: Sequence[str] = (),
    tags: pl.DataFrame | None = None,
    depth: int = DEPTH,
    overrides: Overrides | Sequence[str] = (),
    extra: Sequence[Metric] = (),
) -> Comparisons:
    """Compare one candidate or several with a baseline, query by query.

    Args:
        qrels: judgments: a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``.
        baseline: a run: a path, a frame, ``{query: {doc: score}}``.
        candidates: a run, a list of runs, or ``{name: run}``.
        metrics: names such as ``"nDCG@10"``, or metrics such as ``nDCG(gain="exp") @ 10``.
        convention: whose rules the numbers follow.
        test: t, randomization, wilcoxon, sign or bootstrap; or a `Test`, which has the options
            from `interval` to `power` in itself.
        interval: t, bca, percentile or basic.
        level: of the intervals.
        correction: holm, bonferroni, bh, maxt or none, over metrics and candidates.
        resamples: of tests and intervals that draw.
        seed: of the drawing.
        band: a difference of at most this size is a tie.
        wanted: a difference that should be found; ``plans`` says how many queries it takes.
        power: the chance to find it, and what is called detectable.
        unequal: what queries are that only one system ran: refuse, zero or drop.
        slices: every figure for each value of these tags too.
        tags: ``query_id`` and a column for each tag.
        depth: how far lists are looked at.
        overrides: axes of the convention that are chosen otherwise.
        extra: metrics that can be named in addition to the built-in ones.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: unknown names, query sets that differ.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> old = {query: {"b": 2.0, "a": 1.0} for query in qrels}
    >>> new = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> result = compare(qrels, old, new, ["RR"])
    >>> result.metrics.select("n", "baseline", "candidate", "delta").row(0)
    (20, 0.5, 1.0, 0.5)
    """
    how = Test.of(
        test,
        interval=interval,
        level=level,
        correction=correction,
        resamples=resamples,
        seed=seed,
        band=band,
        wanted=wanted,
        power=power,
    )
    rules = service.Rules(how, unequal, tuple(slices))
    return service.compare(
        qrels,
        baseline,
        candidates,
        metrics,
        convention,
        rules=rules,
        overrides=overrides,
        extra=extra,
        depth=depth,
        tags=tags,
    )
