"""Sampled metrics: the correction comes near the exact value, and is exact where all are drawn."""

from __future__ import annotations

from math import comb, log2

import numpy as np
import pytest

from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.sampled_ranks import OF_RANK, corrected_mean, rank_chances
from support.wording import raises

ITEMS, NEGATIVES, USERS = 800, 99, 40_000


def test_values_of_one_relevant_item_are_written_out() -> None:
    rank = np.arange(1.0, 5.0)
    values = {name: of_rank(rank, 3).tolist() for name, of_rank in OF_RANK.items()}
    assert values["nDCG"] == pytest.approx([1, 1 / log2(3), 1 / 2, 0])
    assert values["RR"] == values["AP"] == pytest.approx([1, 1 / 2, 1 / 3, 0])
    assert values["R"] == values["Success"] == [1, 1, 1, 0]
    assert values["P"] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])


def test_chances_are_those_of_drawing_without_replacement() -> None:
    chances = rank_chances(12, 4)
    for rank in range(1, 13):
        expected = [
            comb(rank - 1, better) * comb(12 - rank, 4 - better) / comb(11, 4)
            if 4 - better <= 12 - rank
            else 0
            for better in range(5)
        ]
        assert chances[rank - 1] == pytest.approx(expected)
    assert rank_chances(500, 60).sum(axis=1) == pytest.approx(np.ones(500))


def drawn(skew: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ranks among all items, and among the items of one draw."""
    rng = np.random.default_rng(seed)
    ranks = np.ceil(ITEMS ** (rng.random(USERS) ** skew)).astype(np.int64)
    return ranks, 1 + rng.hypergeometric(ranks - 1, ITEMS - ranks, NEGATIVES)


@pytest.mark.parametrize("metric", ["nDCG@10", "R@10", "RR", "AP@20"])
@pytest.mark.parametrize("skew", [0.5, 1.0])
def test_the_correction_comes_nearer(metric: str, skew: float) -> None:
    ranks, sampled = drawn(skew, 7)
    name, _, cutoff = metric.partition("@")
    exact = OF_RANK[name](ranks.astype(float), float(cutoff or np.inf)).mean()
    raw, corrected = corrected_mean(sampled, metric, ITEMS, NEGATIVES, 0.01)
    assert abs(corrected - exact) < abs(raw - exact) / 2
    assert raw > exact


def test_systems_that_sampling_turns_around_are_set_right() -> None:
    rng = np.random.default_rng(1)
    first = np.where(rng.random(USERS) < 0.2, 1, 400)  # finds some at the very top
    second = np.full(USERS, 40)  # finds all, far below the cutoff
    raw, corrected = [], []
    for ranks in (first, second):
        sampled = 1 + rng.hypergeometric(ranks - 1, ITEMS - ranks, NEGATIVES)
        pair = corrected_mean(sampled, "R@10", ITEMS, NEGATIVES, 0.01)
        raw.append(pair[0])
        corrected.append(pair[1])
    assert raw[0] < raw[1]
    assert corrected[0] > corrected[1]


def test_nothing_is_corrected_where_all_are_drawn() -> None:
    ranks = np.random.default_rng(2).integers(1, 21, 100)
    for metric in ("nDCG@5", "RR", "P@5", "Success@3"):
        raw, corrected = corrected_mean(ranks, metric, 20, 19, 0.0)
        assert corrected == pytest.approx(raw)


@pytest.mark.parametrize(
    ("metric", "items", "negatives", "ranks"),
    [("bpref", 10, 5, [1]), ("P", 10, 5, [1]), ("RR", 5, 5, [1]), ("RR", 10, 5, [7])],
)
def test_what_does_not_fit_is_refused(metric: str, items: int, negatives: int, ranks: list[int]) -> None:
    with pytest.raises(UsageError):
        corrected_mean(np.array(ranks), metric, items, negatives)


@pytest.mark.parametrize("variance", [-0.1, 1.1])
def test_a_variance_is_a_share(variance: float) -> None:
    with raises("out-of-range", UsageError):
        corrected_mean(np.array([1]), "RR", 10, 5, variance)
