"""The verb ``self_check``: the share of flipped verdicts between snapshots of one system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.progress import progress, step
from rankgate.data import read_run
from rankgate.data.collection import Collection
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.policy import Policy, find_policy, load_default_policy, read
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.saved.saved_baselines import refuse_unfinished_files
from rankgate.decisions.gating.verdict import METRICS, RATES, VERDICTS, GateCheck
from rankgate.measurement.stats.mean_intervals import wilson_interval

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.decisions.gating.verdict import Verdict
    from rankgate.engines.snapshots.query_sender import QueriesLike
    from rankgate.engines.snapshots.snapshot_verb import EngineLike

_LEVEL = 0.95


def self_check(
    collection: Collection | QrelsLike,
    runs: Sequence[RunLike] | EngineLike,
    policy: str | Path | Policy | None = None,
    *,
    queries: QueriesLike | None = None,
    snapshots: Annotated[int, Range(2, 100)] = 6,
    folder: str | Path = ".",
) -> GateCheck:
    """Gate each snapshot of a system against each other one: an A/A test of the gate.

    The system is the same, so that a verdict that depends on the pair is noise. Intervals are
    Wilson's, with the number of pairs without a common snapshot.

    Args:
        collection: judgments, or a `Collection`, as `gate` takes them.
        runs: two or more runs of the same system; or an engine, as for `rankgate.snapshot`.
        policy: the rules, as `gate` takes them.
        queries: the queries for an engine.
        snapshots: the number of snapshots of an engine.
        folder: the folder of the project with its policy.

    Raises:
        InputError: data or a policy that cannot be read, with file and line.
        UsageError: fewer than two runs; an engine without queries; a snapshot that is not finished;
            the errors of `gate`.
    """
    if isinstance(policy, str | Path):
        rules = read(policy)
    else:
        policy_path = find_policy(Path(folder))
        rules = policy or (read(policy_path) if policy_path else load_default_policy())
    collection = Collection.of(collection)
    judged = replace(collection, judgments=collection.qrels(subtopics=True), grades={})
    systems = _snapshot_runs(runs, queries, snapshots)
    verdicts: dict[tuple[int, int], Verdict] = {}
    for first, second in permutations(range(len(systems)), 2):
        names = (f"snapshot {first + 1}", f"snapshot {second + 1}")
        step(" against ".join(reversed(names)))
        baseline, candidate = (
            replace(systems[index], name=name) for index, name in zip((first, second), names, strict=True)
        )
        with progress(None):
            verdicts[first, second] = gate(judged, baseline, candidate, rules, log=False, folder=folder)
    query_count, changed_count = _count_changed(systems)
    return GateCheck(
        runs=tuple(run.name for run in systems),
        policy=rules.source,
        verdicts=_verdict_table(verdicts),
        rates=_rates(list(verdicts.values()), len(systems) // 2),
        metrics=_metrics(list(verdicts.values()), rules),
        queries=query_count,
        changed=changed_count,
        level=_LEVEL,
    )


def _snapshot_runs(
    runs: Sequence[RunLike] | EngineLike, queries: QueriesLike | None, snapshots: int
) -> list[Run]:
    """The given runs, or the runs of new snapshots."""
    if isinstance(runs, list | tuple):
        if len(runs) < 2:
            raise UsageError(
                "a self-check needs two or more runs of the same system, or an engine.", code="missing-input"
            )
        refuse_unfinished_files(*runs)
        return [read_run(run) for run in runs]
    if queries is None:
        raise UsageError("a self-check of an engine needs its queries.", code="missing-input")
    from rankgate.engines.snapshots.snapshot_verb import snapshot

    snapshot_runs = []
    for number in range(1, snapshots + 1):
        step(f"snapshot {number}")
        with progress(None):
            result = snapshot(runs, queries)  # type: ignore[arg-type]
        if not result.finished or result.run is None:
            raise UsageError(
                f"snapshot {number} is not finished: {result.problem}", code="unfinished-snapshot"
            )
        snapshot_runs.append(result.run)
    return snapshot_runs


def _verdict_table(verdicts: dict[tuple[int, int], Verdict]) -> pl.DataFrame:
    rows = [
        (
            *verdict.names,
            verdict.verdict,
            "; ".join(
                f"{result.rule.id}: {result.outcome.reason}"
                for result in verdict.rules
                if result.rule.tier == "block" and result.outcome.status == verdict.verdict
            ),
        )
        for verdict in verdicts.values()
    ]
    return pl.DataFrame(rows, schema=VERDICTS, orient="row")


def _rates(verdicts: Sequence[Verdict], independent: int) -> pl.DataFrame:
    """Rates of pairs that differ from the most frequent verdict, fail, improve or are undecided."""
    pairs_by_verdict = Counter(verdict.verdict for verdict in verdicts)
    most_common_count = max(pairs_by_verdict.values())
    improved_count = sum(
        any(result.rule.kind == "improvement" and result.outcome.status == "pass" for result in verdict.rules)
        for verdict in verdicts
    )
    counts = {
        "flip": len(verdicts) - most_common_count,
        "false fail": pairs_by_verdict["fail"],
        "false improvement": improved_count,
        "inconclusive": pairs_by_verdict["inconclusive"],
    }
    n = np.array([float(independent)])
    rows = []
    for event, count in counts.items():
        share = count / len(verdicts)
        low, high = wilson_interval(share * n, n, _LEVEL)
        rows.append((event, count, share, float(low[0]), float(high[0])))
    return pl.DataFrame(rows, schema=RATES, orient="row")


def _metrics(verdicts: Sequence[Verdict], rules: Policy) -> pl.DataFrame:
    """The noise of each metric, and the smallest margin of a rule on the metric."""
    means: dict[str, list[float]] = {}
    for verdict in verdicts:
        assert verdict.comparison is not None  # snapshots are not saved baselines
        for row in verdict.comparison.metrics.iter_rows(named=True):
            if row["baseline"] is not None:
                means.setdefault(row["metric"], []).append(row["baseline"])
    margins: dict[str, float] = {}
    for rule in rules.rules:
        kind = RULES[rule.kind]
        margin = rule[kind.difference] if kind.limits == "loss" else None
        if margin is not None:
            margins[rule["metric"]] = min(margin, margins.get(rule["metric"], margin))
    rows = [
        (metric, min(values), max(values), max(values) - min(values), margins.get(metric))
        for metric, values in means.items()
    ]
    return pl.DataFrame(rows, schema=METRICS, orient="row")


def _count_changed(systems: Sequence[Run]) -> tuple[int, int]:
    """The number of queries, and of queries whose lists differ in order or scores."""
    lists = [run.table.group_by("query_id", maintain_order=True).agg("doc_id", "score") for run in systems]
    lists_by_query = (
        pl.concat(lists)
        .group_by("query_id")
        .agg(pl.struct("doc_id", "score").n_unique().alias("different"), pl.len().alias("found"))
    )
    is_different = (lists_by_query["different"] > 1) | (lists_by_query["found"] < len(systems))
    return len(lists_by_query), int(is_different.sum())
