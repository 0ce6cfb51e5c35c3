"""Blocks of lists: any size gives the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from rankgate.measurement.metrics.lists import LIST_METRICS, NONE, Listed, list_input

T, K, ITEMS = 23, 6, 15


def lists():
    """Lists with the data of all metrics; some lists are short, one is empty."""
    random = np.random.default_rng(7)

    def matrix(width):
        table = np.array([random.permutation(ITEMS)[:width] for _ in range(T)])
        lengths = random.integers(1, width + 1, T)
        lengths[3] = 0
        return np.where(np.arange(width) < lengths[:, None], table, NONE)

    categories = random.random((ITEMS, 3)) + 0.01
    similarities = random.random((ITEMS, ITEMS))
    return Listed(
        matrix(K),
        ITEMS,
        seen=random.integers(0, 9, ITEMS),
        people=9,
        relevant=matrix(4),
        history=matrix(5),
        baseline=matrix(K),
        earlier=matrix(K),
        features=random.random((ITEMS, 4)),
        categories=categories / categories.sum(axis=1, keepdims=True),
        groups=random.integers(0, 2, ITEMS),
        similarities=(similarities + similarities.T) / 2,
        drawn=np.stack([matrix(K), matrix(K)], axis=1),
    )


@pytest.mark.parametrize("metric", LIST_METRICS, ids=str)
def test_blocks_of_any_size_give_the_same(metric, monkeypatch):
    result = lists()
    monkeypatch.setattr(list_input, "_TABLES", 0)
    expected, values = (metric.value(result), None if metric.merge == "items" else metric.values(result))
    for size in (1, 2 * K, 7 * K):
        monkeypatch.setattr(list_input, "_BLOCK", size)
        assert metric.value(result) == pytest.approx(expected, rel=1e-12, nan_ok=True)
        if values is not None:
            np.testing.assert_allclose(metric.values(result), values, rtol=1e-12)


def test_blocks_cover_every_list_once(monkeypatch):
    monkeypatch.setattr(list_input, "_TABLES", 0)
    monkeypatch.setattr(list_input, "_BLOCK", 4 * K)
    rows = np.arange(T)
    parts = [rows[block] for block in list_input.blocks(lists())]
    assert [len(block_rows) for block_rows in parts] == [4, 4, 4, 4, 4, 3]
    assert np.concatenate(parts).tolist() == rows.tolist()
    empty_lists = Listed(np.zeros((0, K), np.int64), ITEMS)
    assert len(list(list_input.blocks(empty_lists))) == 1
