"""Numbers of queries are simulated for two systems, or where they are asked for."""

from __future__ import annotations

import numpy as np
import polars as pl

import rankgate
from rankgate.decisions.comparison.inference import Test


def _systems(count):
    draw = np.random.default_rng(1)
    qrels = {f"q{q}": {f"d{d}": int(draw.integers(0, 3)) for d in range(8)} for q in range(12)}
    runs = {
        f"s{s}": {q: {d: float(draw.random()) for d in row} for q, row in qrels.items()} for s in range(count)
    }
    return qrels, runs.pop("s0"), runs


def test_two_systems_have_a_number_of_queries():
    qrels, base, candidates = _systems(2)
    metrics = rankgate.compare(qrels, base, candidates, ["nDCG@5"]).metrics
    assert metrics["needed"].is_finite().all()


def test_several_systems_have_one_where_it_is_asked_for():
    qrels, base, candidates = _systems(4)
    quick = rankgate.compare(qrels, base, candidates, ["nDCG@5"]).comparisons
    full_comparisons = rankgate.compare(
        qrels, base, candidates, ["nDCG@5"], test=Test(wanted=0.05)
    ).comparisons
    finite = pl.col("needed").is_finite().any()
    assert not any(comparison.metrics.select(finite).item() for comparison in quick)
    assert any(comparison.metrics.select(finite).item() for comparison in full_comparisons)
    columns = ["delta", "low", "high", "p_value", "mde"]
    for quick_comparison, full_comparison in zip(quick, full_comparisons, strict=True):
        assert quick_comparison.metrics.select(columns).equals(full_comparison.metrics.select(columns))


def test_progress_counts_what_is_scored_and_what_is_compared():
    qrels, base, candidates = _systems(4)
    steps = []
    with rankgate.progress(steps.append):
        rankgate.compare(qrels, base, candidates, ["nDCG@5"])
    assert len(steps) == 2 * len(candidates) + 2
    assert [step for step in steps if step.startswith("comparing s")] == [
        "comparing s1",
        "comparing s2",
        "comparing s3",
    ]
