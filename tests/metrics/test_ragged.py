"""Rows of different lengths give the values of a padded matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metrics.test_list_blocks import ITEMS, lists
from rankgate.measurement.metrics.lists import LIST_METRICS, NONE, Listed, list_input
from rankgate.measurement.metrics.lists.list_input import Ragged, count_shared, is_in_row, restrict_lists


def ragged_of(matrix):
    """The rows of a padded matrix, stored from the last to the first, under other codes."""
    rows = [row[row != NONE] for row in matrix]
    ends = np.cumsum([0, *(len(row) for row in rows[::-1])])
    mapping = np.random.default_rng(3).permutation(ITEMS).astype(np.int32)
    codes = np.argsort(mapping)[np.concatenate(rows[::-1])].astype(np.int32)
    return Ragged(codes, ends[-2::-1], np.diff(ends)[::-1], mapping)


@pytest.fixture
def both():
    whole = lists()
    long = np.arange(ITEMS)[None, :]  # one user had every item
    history = np.pad(whole.history, ((0, 0), (0, ITEMS - 5)), constant_values=NONE)
    history[7] = long
    whole = replace(whole, history=history)
    return whole, replace(whole, relevant=ragged_of(whole.relevant), history=ragged_of(whole.history))


@pytest.mark.parametrize("cells", [1 << 22, 12])
@pytest.mark.parametrize("metric", LIST_METRICS, ids=str)
def test_metrics_give_the_same(metric, cells, both, monkeypatch):
    monkeypatch.setattr(list_input, "_CELLS", cells)
    matrices, rows = both
    kept = np.arange(ITEMS) % 3 > 0
    for one, other in ((matrices, rows), (restrict_lists(matrices, kept), restrict_lists(rows, kept))):
        assert metric.value(other) == pytest.approx(metric.value(one), rel=1e-12, nan_ok=True)
        if metric.merge != "items":
            np.testing.assert_allclose(metric.values(other), metric.values(one), rtol=1e-12)


@pytest.mark.parametrize("cells", [1 << 22, 12])
def test_shared_items_are_counted(cells, both, monkeypatch):
    monkeypatch.setattr(list_input, "_CELLS", cells)
    matrices, rows = both
    assert count_shared(rows.relevant, rows.history) == is_in_row(matrices.relevant, matrices.history).sum()
    assert count_shared(rows.items, rows.history) == is_in_row(matrices.items, matrices.history).sum()


def test_rows_by_place_and_rows_that_are_not_there(both):
    matrices, rows = both
    found = rows.history.rows(np.array([7, NONE, 3, 7]))
    assert found.lengths.tolist() == [ITEMS, 0, 0, ITEMS]
    assert found.matrix()[0].tolist() == matrices.history[7].tolist()
    nothing = Ragged.from_offsets(np.zeros(0, np.int32), np.zeros(1, np.int64))
    assert nothing.rows(np.array([NONE, NONE])).matrix().tolist() == [[NONE], [NONE]]


def test_no_list_at_all():
    nothing = Ragged.from_offsets(np.zeros(0, np.int32), np.zeros(1, np.int64))
    listed = Listed(np.zeros((0, 3), np.int64), ITEMS, history=nothing, relevant=nothing)
    assert [len(part.items) for part in listed.parts(["history"])] == [0]
    assert count_shared(listed.items, nothing) == 0
