"""Lists that show an item twice: Personalization keeps its range and its meaning."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import rankgate
from rankgate.measurement.evaluation.lists.list_resamples import resample_users
from rankgate.measurement.metrics.lists import Listed
from rankgate.measurement.metrics.lists.coverage_evenness import Personalization
from rankgate.measurement.metrics.lists.list_input import NONE, is_first

REPEATING = np.array([[1, 1, 1], [2, 2, 2], [1, 2, NONE], [3, 1, 3]])


def by_pairs(items: np.ndarray, similarity: str, k: float) -> float:
    sets = [set(row[row != NONE].tolist()) for row in items]
    similarities = [
        len(a & b) / (np.sqrt(len(a) * len(b)) if similarity == "cosine" else k)
        for a, b in combinations(sets, 2)
    ]
    return 1 - float(np.mean(similarities))


@pytest.mark.parametrize("width", [3, 40])
def test_lists_are_sets(width: int) -> None:
    items = np.random.default_rng(3).integers(0, 6, (9, width))
    value = Personalization.value(Listed(items, 6))
    assert value == pytest.approx(by_pairs(items, "cosine", width))


def test_overlap_is_for_full_lists() -> None:
    rng = np.random.default_rng(3)
    items = np.array([rng.permutation(9)[:4] for _ in range(8)])
    value = Personalization(similarity="overlap").value(Listed(items, 9))
    assert value == pytest.approx(by_pairs(items, "overlap", 4))


def test_disjoint_lists_have_nothing_in_common() -> None:
    assert Personalization.value(Listed(np.array([[0, 0], [1, 1]]), 2)) == 1
    assert Personalization.value(Listed(np.array([[0, 0], [0, 0]]), 2)) == 0


def test_resamples_are_of_sets_too() -> None:
    listed_items = Listed(REPEATING, 4)
    resampled, _ = resample_users([listed_items], {"p": Personalization}, 200, 1)
    values = resampled["p"].again[0]
    assert np.nanmin(values) >= -1e-12
    assert np.nanmax(values) <= 1 + 1e-12


@pytest.mark.parametrize("width", [2, 5, 16, 17, 30])
def test_first_places_are_those_of_python(width: int) -> None:
    items = np.random.default_rng(width).integers(NONE, 7, (50, width))
    expected = [
        [item != NONE and item not in row[:index] for index, item in enumerate(row)] for row in items.tolist()
    ]
    assert is_first(items).tolist() == expected


def test_an_interval_holds_its_own_value() -> None:
    run = {"u": ["a", "a", "b"], "v": ["b", "b", "b"], "w": ["c", "a", "c"]}
    with np.errstate(all="ignore"):
        card = rankgate.scorecard(
            {user: {"a"} for user in run},
            run,
            ["Personalization@3", "Coverage@3", "Gini@3", "ItemsShown@3", "Entropy@3"],
            convention="recmetrics",
            resamples=50,
        )
    for row in card.figures.iter_rows(named=True):
        if row["low"] is not None:
            assert row["low"] <= row["value"] <= row["high"], row
    assert dict(card.figures.select("metric", "value").rows())["Personalization@3"] <= 1
