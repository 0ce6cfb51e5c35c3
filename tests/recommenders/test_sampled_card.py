"""A scorecard on sampled candidates has corrected figures, near those on all items."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.data.collection import Collection, Items
from rankgate.measurement.metrics.sampled_ranks import corrected_mean
from support.wording import assert_warned

USERS, ITEMS, NEGATIVES = 400, 300, 49
RNG = np.random.default_rng(8)
RANKS = {
    "one": np.minimum(RNG.geometric(0.03, USERS), ITEMS),
    "two": np.minimum(RNG.geometric(0.015, USERS), ITEMS),
}
"""Of each user's relevant item among all items."""


def sampled() -> tuple[pl.DataFrame, dict[str, dict[str, list[str]]]]:
    """The candidates of every user, and what both systems make of them."""
    rows, runs = [], {name: {} for name in RANKS}
    for user in range(USERS):
        negatives = RNG.choice(np.arange(1, ITEMS), NEGATIVES, replace=False)
        rows += [(f"u{user}", f"i{item}") for item in (0, *negatives)]
        for name, ranks in RANKS.items():
            other_items = RNG.permutation(np.arange(1, ITEMS))  # the order of the other items
            order = np.insert(other_items, ranks[user] - 1, 0)
            candidates = order[np.isin(order, (0, *negatives))]
            runs[name][f"u{user}"] = [f"i{item}" for item in candidates]
    table = pl.DataFrame(rows, schema=["query_id", "doc_id"], orient="row")
    return table.with_columns(candidates=pl.lit(f"sampled({NEGATIVES})")), runs


CANDIDATES, RUNS = sampled()
QRELS = {f"u{user}": {"i0": 1} for user in range(USERS)}
METRICS = ["R@10", "nDCG@10", "RR"]
EXACT = {
    "R@10": lambda r: np.mean(r <= 10),
    "nDCG@10": lambda r: np.mean((r <= 10) / np.log2(r + 1)),
    "RR": lambda r: np.mean(1 / r),
}


def card(**tables: Any) -> Any:
    items = Items(catalogue=[f"i{item}" for item in range(ITEMS)])
    tables = {"candidates": CANDIDATES, "items": items, **tables}
    return rankgate.scorecard(Collection(QRELS, **tables), RUNS, METRICS, resamples=1)


def test_corrected_figures_are_near_those_on_all_items() -> None:
    result = card()
    value = {(s, m): v for s, m, v in result.figures.select("system", "metric", "value").rows()}
    for name, ranks in RANKS.items():
        observed_ranks = np.array([RUNS[name][user].index("i0") + 1 for user in QRELS])
        for metric, exact in EXACT.items():
            plain, corrected = corrected_mean(observed_ranks, metric, ITEMS, NEGATIVES)
            assert value[name, f"{metric} sampled({NEGATIVES})"] == pytest.approx(plain)
            assert value[name, f"{metric} corrected({NEGATIVES})"] == pytest.approx(corrected)
            assert abs(corrected - exact(ranks)) < abs(plain - exact(ranks)) / 2
    rows = result.differences.filter(pl.col("metric") == f"R@10 corrected({NEGATIVES})")
    assert rows["p_value"][0] is not None


def test_it_can_be_read_again_and_printed() -> None:
    result = card()
    assert type(result).from_dict(result.to_dict()).figures.equals(result.figures)
    assert f"corrected({NEGATIVES})" in str(result)


def test_what_cannot_be_corrected_is_reported() -> None:
    short = {name: {u: items[:20] for u, items in run.items()} for name, run in RUNS.items()}
    result = rankgate.scorecard(Collection(QRELS, candidates=CANDIDATES), short, METRICS, resamples=1)
    assert not any("corrected" in metric for metric in result.metrics)
    assert_warned(result)
    full_card = rankgate.scorecard(QRELS, RUNS, METRICS, resamples=1)
    assert not any("corrected" in text for text in (*full_card.warnings, *full_card.metrics))
