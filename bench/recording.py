"""Seconds to record an evaluation of 10,000 queries by 20 metrics, and to follow a metric.

    python bench/recording.py

Every evaluation has other values. The first one also loads what recording needs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from statistics import median

import numpy as np
import polars as pl

import rankgate
from rankgate.data.run_scores import Counts, RunScores
from rankgate.measurement.evaluation.scores import Scores
from rankgate.measurement.scoring.presets import convention
from rankgate.store.material import projects
from rankgate.store.store import Store

QUERIES, METRICS, TIMES = 10_000, tuple(f"nDCG@{k}" for k in range(1, 21)), 9
LIMIT = 1.0  # second


@dataclass(frozen=True)
class Timed:
    """Seconds that one thing took: the first time, and the median of the others."""

    what: str
    first: float
    median: float


def main() -> int:
    """Measure and print; 1 if recording takes longer than the limit."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = {"store": f"{folder}/store.db", "project": "bench"}
        with Store.create(store["store"]) as new_store, new_store.write() as connection:
            projects.add(connection, "bench")
        timings = [_timed("a store in SQLite", **store), _timed("a folder", to=f"{folder}/history")]
        begin = time.perf_counter()
        series = rankgate.history("nDCG@10", **store).series
        followed = time.perf_counter() - begin
    for timing in timings:
        print(f"{timing.what}: {timing.median:.2f} s, the first time {timing.first:.2f} s")
    print(f"history of {len(series)} evaluations: {followed:.2f} s")
    return int(max(timing.median for timing in timings) > LIMIT)


def _timed(what: str, **place: str) -> Timed:
    rng = np.random.default_rng(0)
    durations = []
    for day in range(1, TIMES + 1):
        result = _evaluation(rng)
        begin = time.perf_counter()
        rankgate.record(result, at=f"2026-03-{day:02}", provenance=rankgate.Provenance("r", "b"), **place)
        durations.append(time.perf_counter() - begin)
    return Timed(what, durations[0], median(durations[1:]))


def _evaluation(rng: np.random.Generator) -> Scores:
    ids = pl.Series("query_id", [f"q{i}" for i in range(QUERIES)])
    values = {name: rng.uniform(size=QUERIES) for name in METRICS}
    means = {name: float(query_values.mean()) for name, query_values in values.items()}
    reasons = {name: np.zeros(QUERIES, np.int8) for name in METRICS}
    convention_values = convention("trec").to_dict()
    counts = Counts(QUERIES, 0, 0, 0, 0, 0)
    scores = RunScores("bm25", None, ids, values, reasons, means, counts, convention_values)
    return Scores("qrels", convention_values, METRICS, (scores,))


if __name__ == "__main__":
    sys.exit(main())
