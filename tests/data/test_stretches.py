"""Stretches of rows of one query, and hashes that appear twice in them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankgate.data.table_rows import (
    find_repeated_hashes,
    range_starts,
    sort_halves,
    sort_ranges,
    sort_rankings,
    split_ranges,
    unique_range_starts,
)


@pytest.mark.parametrize("most", [1, 7, 100, 400, 70_000])
@pytest.mark.parametrize("even", [True, False])
def test_hashes_that_appear_twice_in_a_list_are_found(most, even):
    generator = np.random.default_rng([most, even])
    lengths = np.full(90, most) if even else generator.integers(1, most + 1, 90)
    starts = np.cumsum(lengths) - lengths
    pairs = generator.integers(0, 1 << 64, lengths.sum(), dtype=np.uint64)
    assert not len(find_repeated_hashes(pairs, starts))
    for list_index in generator.permutation(np.flatnonzero(lengths > 2))[:20]:
        first, *repeats = (
            starts[list_index] + generator.permutation(lengths[list_index])[: 2 + list_index % 2]
        )
        pairs[repeats] = pairs[first]
    values, counts = np.unique(pairs, return_counts=True)
    assert set(find_repeated_hashes(pairs, starts)) == set(values[counts > 1])
    assert set(find_repeated_hashes(pairs)) == set(values[counts > 1])


def test_hashes_that_share_a_slot_are_no_duplicates():
    pairs = np.arange(60_000, dtype=np.uint64)  # equal in all of their first bits
    assert not len(find_repeated_hashes(pairs, np.array([0, 1_000])))
    pairs[500] = 3
    assert find_repeated_hashes(pairs, np.array([0, 1_000])).tolist() == [3]


def test_parts_are_of_whole_stretches_and_cover_all():
    starts = np.array([0, 10, 20_000, 40_000, 140_000, 140_001])
    parts = list(split_ranges(starts, 150_000))
    assert parts == [
        (0, 2, 0, 20_000),
        (2, 3, 20_000, 40_000),
        (3, 4, 40_000, 140_000),
        (4, 6, 140_000, 150_000),
    ]


def test_stretches_of_a_value_that_comes_back_are_not_together():
    grouped = pl.Series(["b"] * 3 + ["a"] * 2)
    assert unique_range_starts(grouped).tolist() == range_starts(grouped).tolist() == [0, 3]
    assert unique_range_starts(pl.Series(["a", "a", "a", "b", "b", "a"])) is None
    assert unique_range_starts(pl.Series(["a", "b", "c"])) is None


@pytest.mark.parametrize("most", [0, 1, 30, 9_000])
@pytest.mark.parametrize("even", [True, False])
def test_stretches_are_sorted_in_place(most, even):
    generator = np.random.default_rng([most, even, 1])
    lengths = np.full(40, most) if even else generator.integers(0, most + 1, 40)
    values = np.repeat(np.arange(40, dtype=np.uint64) << np.uint64(32), lengths)
    values += generator.integers(0, 50, len(values), dtype=np.uint64)
    expected = np.sort(values)
    sort_ranges(values, np.cumsum(lengths) - lengths)
    assert np.array_equal(values, expected)


@pytest.mark.parametrize("size", [0, 5, 1 << 20, (1 << 20) + 3])
def test_halves_are_sorted_and_merged(size):
    values = np.random.default_rng(size).integers(0, 1 << 64, size, dtype=np.uint64)
    expected = np.sort(values)
    sort_halves(values)
    assert np.array_equal(values, expected)


@pytest.mark.parametrize("seed", range(60))
def test_rankings_are_sorted_as_all_rows_together(seed):
    generator = np.random.default_rng(seed)
    size, queries = generator.integers(1, 60), generator.integers(1, 6)
    frame = pl.DataFrame(
        {
            "query_id": [f"q{number}" for number in generator.integers(0, queries, size)],
            "doc_id": [f"d{number}" for number in generator.permutation(1000)[:size]],
            "score": generator.integers(-1, 4, size) * generator.choice([1.0, -1.0]),
        }
    )
    if seed % 2:  # the rows of each query are adjacent, in many files by falling score too
        by = ["query_id", "score"][: 1 + seed % 4 // 2]
        frame = frame.sort(by, descending=[bool(seed % 3), True][: len(by)], maintain_order=True)
    by_rank = frame.sort("query_id", "score", "doc_id", descending=[False, True, True])
    assert sort_rankings(frame).equals(by_rank)
