"""The verb ``compare_engines``: send queries to two engines in turn, under the same load."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.progress import step
from rankgate.data.query_latencies import bounds_row, latency_bounds, query_latencies
from rankgate.engines.snapshots.query_sender import QuerySender, queries_of
from rankgate.engines.snapshots.run_files import RunTarget
from rankgate.engines.snapshots.snapshot import COMPARED_QUERIES, LATENCY, EngineComparison
from rankgate.engines.snapshots.snapshot_verb import EngineSnapshot, configure_engine, make_target
from rankgate.measurement.stats.resampling_tests import quantile_differences

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.engines.snapshots.query_outcomes import Outcome
    from rankgate.engines.snapshots.query_sender import QueriesLike
    from rankgate.engines.snapshots.snapshot_verb import EngineLike

_STATISTICS = {"mean": None, "p50": 0.5, "p95": 0.95}
_LEVEL, _RESAMPLES = 0.95, 2000
_ARMS = ("baseline", "candidate")


def compare_engines(
    baseline: EngineLike,
    candidate: EngineLike,
    queries: QueriesLike,
    outputs: tuple[str | Path, str | Path] | None = None,
    *,
    parameters: JsonObject | Sequence[str] = (),
    depth: Annotated[int, Range(1, 10_000)] | None = None,
    concurrency: Annotated[int, Range(1, 256)] | None = None,
    rate: Annotated[float, Range(0, exclusive=True)] | None = None,
    seed: int = 0,
    again: bool = False,
    force: bool = False,
    to: str | None = None,
) -> EngineComparison:
    """Take snapshots of two engines at the same time, and compare their latencies.

    Each query is sent to both engines, one right after the other, in an order that is drawn for
    each query: any other load on the machines affects both in the same way. Both get queries at
    the pace of the slower file. Latencies are those of the queries that both got; where a query
    failed, the time until it was given up is a lower bound. Intervals come from resampled queries.
    After an interruption the same call continues.

    Args:
        baseline: an engine, as for `snapshot`.
        candidate: the engine that is compared with it.
        queries: ids and texts: a file, ``{query_id: text}`` or a frame.
        outputs: the files of the baseline's run and of the candidate's; without them no run is
            written.
        parameters: the parameters of both engines' requests: ``{"k1": 0.9}``, or as words,
            ``["k1=0.9"]``.
        depth: the number of documents to request; by default the value in the engine's file.
        concurrency: the number of queries sent at the same time; by default the value in the
            engine's file.
        rate: queries a second, at most; by default the value in the engine's file.
        seed: the seed of the order, and of the resampling.
        again: ask queries again that failed before.
        force: replace an output that exists, and start again.
        to: the format of the run; by the suffix of OUTPUT without it.

    Raises:
        InputError: a file that cannot be read, with its line.
        UsageError: as `snapshot`; one output, or the same file twice.
        MissingExtraError: the library of an engine is not installed.
    """
    configurations = [
        configure_engine(engine, parameters, depth, concurrency, rate) for engine in (baseline, candidate)
    ]
    if outputs is not None and len({Path(output).resolve() for output in outputs}) != len(_ARMS):
        raise UsageError(
            "a comparison writes two runs; give a file for the baseline's and another one for the "
            "candidate's.",
            code="missing-output",
        )
    query_list = queries_of(queries)
    with TemporaryDirectory() as folder:
        targets = [
            RunTarget(Path(folder) / name, None) if output is None else make_target(output, to)
            for name, output in zip(_ARMS, outputs or (None, None), strict=True)
        ]
        for target in targets:
            if target.format:
                target.refuse_finished(force=force)
        with ExitStack() as stack:
            arms = []
            for number in range(2):
                identity = {"compared_with": configurations[1 - number].engine_sha256, "seed": str(seed)}
                arms.append(
                    EngineSnapshot.open(
                        configurations[number], query_list, targets[number], again=again, more=identity
                    )
                )
                stack.enter_context(closing(arms[-1]))
            return _compare_arms(arms, seed)


def _compare_arms(arms: Sequence[EngineSnapshot], seed: int) -> EngineComparison:
    """Send the queries to both engines, and compare them."""

    def keep(number: int, outcome: Outcome) -> None:
        arms[number].keep(outcome)
        step(outcome.query_id)

    baseline_arm, candidate_arm = arms
    queries = baseline_arm.queries
    first = np.random.default_rng(seed).integers(0, 2, len(queries)).tolist()
    remaining_ids = [{query.query_id for query in arm.left} for arm in arms]
    groups = [
        [(number, query) for number in (begin, 1 - begin) if query.query_id in remaining_ids[number]]
        for begin, query in zip(first, queries, strict=True)
    ]
    groups = [group for group in groups if group]
    for arm in arms:
        arm.note_facts()
    pace = baseline_arm.chosen.pace.slower(candidate_arm.chosen.pace)
    answered = [arm.outcomes.answered for arm in arms]
    asking = QuerySender([arm.chosen.engine for arm in arms], pace, keep, answered)
    start_time = time.monotonic()
    if groups:
        asking.run(groups)
    seconds = time.monotonic() - start_time
    snapshots = [
        arm.finish(_arm_problem(asking, number, arms), seconds, asking.failed_while_down(number))
        for number, arm in enumerate(arms)
    ]
    if baseline_arm.target.format is None:
        snapshots = [replace(snapshot, output=None) for snapshot in snapshots]
    table = _table([snapshot.queries for snapshot in snapshots], first)
    latencies = query_latencies(snapshots[0].queries).join(
        query_latencies(snapshots[1].queries), "query_id", suffix="_candidate", maintain_order="left"
    )
    return EngineComparison(
        snapshots[0],
        snapshots[1],
        len(latencies),
        _latency(latencies, seed),
        table,
        _LEVEL,
        _RESAMPLES,
        seed,
        censored=len(latencies.filter(pl.any_horizontal(pl.col("high", "high_candidate").is_infinite()))),
    )


def _arm_problem(asking: QuerySender, number: int, arms: Sequence[EngineSnapshot]) -> str:
    """The reason why an engine did not get all queries; a problem of one engine stops both."""
    if not asking.problem or asking.ended == number:
        return asking.problem
    return f"{arms[asking.ended].chosen.name}: {asking.problem}"


def _table(tables: Sequence[pl.DataFrame], first: Sequence[int]) -> pl.DataFrame:
    baseline, candidate = tables
    columns = {
        "query_id": baseline["query_id"],
        "first": [_ARMS[number] for number in first],
        "baseline_state": baseline["state"],
        "candidate_state": candidate["state"],
        "baseline_ms": baseline["latency_ms"],
        "candidate_ms": candidate["latency_ms"],
        "delta_ms": candidate["latency_ms"] - baseline["latency_ms"],
    }
    both_answered = ~pl.any_horizontal(pl.col("baseline_state", "candidate_state") == "failed")
    return pl.DataFrame(columns, schema=COMPARED_QUERIES).with_columns(
        delta_ms=pl.when(both_answered).then("delta_ms")
    )


def _latency(latencies: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Statistics of both engines, and intervals of their differences.

    With lower bounds among the latencies, the low end of an interval is that of the smallest
    possible differences, the high end that of the largest.
    """
    shares = {name: share for name, share in _STATISTICS.items() if share is not None}
    bounds = {
        arm: latency_bounds(latencies.select(low=f"low{suffix}", high=f"high{suffix}"), shares)
        for arm, suffix in zip(_ARMS, ("", "_candidate"), strict=True)
    }
    low, high = (
        quantile_differences(
            latencies[baseline].to_numpy(),
            latencies[candidate].to_numpy(),
            list(shares.values()),
            level=_LEVEL,
            samples=_RESAMPLES,
            seed=seed,
        )
        for baseline, candidate in (("high", "low_candidate"), ("low", "high_candidate"))
    )
    rows = []
    for index, statistic in enumerate(_STATISTICS):
        arm_bounds = {arm: bounds[arm][statistic] for arm in _ARMS}
        ends = low.low[index], high.high[index]
        is_exact = all(smallest == largest for smallest, largest in arm_bounds.values())
        rows.append(
            {
                "statistic": statistic,
                **bounds_row(arm_bounds),
                "delta": high.two[index] - high.one[index] if is_exact else None,
                **dict(zip(("low", "high"), (end if isfinite(end) else None for end in ends), strict=True)),
            }
        )
    return pl.DataFrame(rows, schema=LATENCY).fill_nan(None)
