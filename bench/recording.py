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
        with Store.create(store["store"]) as made, made.write() as connection:
            projects.add(connection, "bench")
        found = [
            _timed("a store in SQLite", **store),
            _timed("a folder", to=f"{folder}/history"),
        ]
        begin = time.perf_counter()
        series = rankgate.history("nDCG@10", **store).series
        followed = time.perf_counter() - begin
    for each in found:
        print(f"{each.what}: {each.median:.2f} s, the first time {each.first:.2f} s")
    print(f"history of {len(series)} evaluations: {followed:.2f} s")
    return int(max(each.median for each in found) > LIMIT)


def _timed(what: str, **place: str) -> Timed:
    rng = np.random.default_rng(0)
    taken = []
    for day in range(1, TIMES + 1):
        result = _evaluation(rng)
        begin = time.perf_counter()
        rankgate.record(
            result, at=f"2026-03-{day:02}", provenance=rankgate.Provenance("r", "b"), **place
        )
        taken.append(time.perf_counter() - begin)
    return Timed(what, taken[0], median(taken[1:]))


def _evaluation(rng: np.random.Generator) -> Scores:
    ids = pl.Series("query_id", [f"q{i}" for i in range(QUERIES)])
    values = {name: rng.uniform(size=QUERIES) for name in METRICS}
    means = {name: float(each.mean()) for name, each in values.items()}
    why = {name: np.zeros(QUERIES, np.int8) for name in METRICS}
    how = convention("trec").to_dict()
    counts = Counts(QUERIES, 0, 0, 0, 0, 0)
    scores = RunScores("bm25", None, ids, values, why, means, counts, how)
    return Scores("qrels", how, METRICS, (scores,))


if __name__ == "__main__":
    sys.exit(main())
