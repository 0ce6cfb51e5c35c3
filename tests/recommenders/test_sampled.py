"""Why figures on sampled candidates are marked: they can turn the order of systems round.

The ranks of one relevant item for five users among 10,000 (Krichene & Rendle, KDD 2020, table 1).
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.data.collection import Collection
from rankgate.data.logs.splits import sample

SIZE = 10_000
RANKS = {"A": [100, 100, 100, 100, 100], "B": [40, 40, 8437, 9266, 4482], "C": [212, 2, 743, 5342, 1548]}
EXACT = {
    "A": (0.0100, 0.1502, 0.0, 0.9901),
    "B": (0.0101, 0.1217, 0.0, 0.5548),
    "C": (0.1014, 0.2080, 0.2, 0.8431),
}
SAMPLED = {"A": (0.6366, 0.7290, 1.0), "B": (0.3407, 0.4473, 0.4), "C": (0.3262, 0.4600, 0.5694)}
ITEMS = [f"i{k:04}" for k in range(1, SIZE)]
QRELS = {f"u{k}": {"hit": 1} for k in range(5)}


def run_of(ranks):
    """For each user all items, the relevant one at its rank."""
    parts = []
    for user, rank in zip(QRELS, ranks, strict=True):
        order = [*ITEMS[: rank - 1], "hit", *ITEMS[rank - 1 :]]
        score = np.arange(SIZE, 0, -1).astype(float)
        parts.append(pl.DataFrame({"query_id": [user] * SIZE, "doc_id": order, "score": score}))
    return pl.concat(parts)


RUNS = {name: run_of(ranks) for name, ranks in RANKS.items()}


def test_the_exact_figures():
    result = rankgate.evaluate(QRELS, RUNS, ["AP", "nDCG", "R@10", "AUC"])
    assert result.means["run"].to_list() == list(RUNS)
    for name, *values in result.means.iter_rows():
        assert values == pytest.approx(EXACT[name], abs=5e-5)


def test_a_sample_turns_the_order_round_and_is_marked():
    log = pl.DataFrame({"query_id": "crowd", "doc_id": ITEMS})
    values_by_run = {name: [] for name in RUNS}
    for seed in range(12):
        sampled = sample(rankgate.read_qrels(QRELS).table, log, 99, seed)
        table = sampled.table.with_columns(pl.lit(sampled.mark).alias("candidates"))
        metrics = ["AP", "nDCG", "R@10"]
        card = rankgate.scorecard(Collection(QRELS, candidates=table), RUNS, metrics, resamples=1)
        assert card.metrics == tuple(f"{metric_name} sampled(99)" for metric_name in metrics)
        for row in card.figures.iter_rows(named=True):
            values_by_run[row["system"]].append((row["metric"], row["value"]))
    means = {
        name: tuple(
            np.mean([value for metric, value in rows if metric == f"{short} sampled(99)"])
            for short in ("AP", "nDCG", "R@10")
        )
        for name, rows in values_by_run.items()
    }
    for name, expected in SAMPLED.items():
        assert means[name] == pytest.approx(expected, abs=0.06)
    assert means["A"][1] > means["C"][1]
    assert EXACT["A"][1] < EXACT["C"][1]
