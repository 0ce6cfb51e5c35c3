"""Metrics on lists in a plan: measured block by block, merged in any order, added to scores."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.lists import LIST_METRICS, NONE, Coverage, Listed
from rankgate.measurement.metrics.lists.diversity import ILD
from rankgate.measurement.metrics.lists.list_metric import final_value, merge_partials
from rankgate.measurement.scoring import convention
from rankgate.measurement.scoring.first_items import measure_lists
from rankgate.measurement.scoring.scoring_plan import ListBlock, Measurement, Plan
from support.wording import raises

METRICS = {str(metric): metric for metric in (*LIST_METRICS, *(metric @ 2 for metric in LIST_METRICS))}
PLAN = Plan.from_conventions(list(METRICS.items()), [convention("trec")])

rows = st.lists(
    st.lists(st.integers(0, 5), max_size=4, unique=True).map(lambda row: (row + [NONE] * 4)[:4]),
    min_size=2,
    max_size=7,
)


def block(items):
    """Lists with everything that any metric needs."""
    rng, T = np.random.default_rng(1), len(items)
    user_numbers = np.arange(T)[:, None]
    lists = Listed(
        items,
        6,
        seen=np.array([5, 3, 2, 1, 1, 0]),
        people=7,
        relevant=(3 * user_numbers + [0, 1]) % 6,
        history=np.hstack([2 * user_numbers % 6, (user_numbers + 1) % 6]),
        baseline=np.tile([0, 1], (T, 1)),
        earlier=np.tile([2, 3], (T, 1)),
        features=rng.normal(size=(6, 4)),
        categories=rng.dirichlet([1, 1, 1], 6),
        groups=np.array([0, 1, 0, 1, 0, NONE]),
    )
    return ListBlock(lists, pl.Series([f"user {i}" for i in range(T)]))


def cut(whole, begin, end):
    row_range = slice(begin, end)
    return ListBlock(whole.listed.rows(row_range), whole.users[row_range])


@given(rows, st.data())
def test_blocks_in_any_order_give_what_one_block_gives(lists, data):
    full_block = block(np.array(lists))
    ends = sorted(data.draw(st.lists(st.integers(0, len(lists)), max_size=3)))
    parts = [cut(full_block, *bounds) for bounds in zip([0, *ends], [*ends, len(lists)], strict=True)]
    merged = Measurement(PLAN)
    for sub_block in data.draw(st.permutations(parts)):
        merged = merged.merge(PLAN.measure(sub_block))
    single_lists, merged_lists = PLAN.measure(full_block).lists, merged.lists
    assert single_lists.numbers == pytest.approx(merged_lists.numbers, rel=1e-12, abs=1e-12, nan_ok=True)
    order = np.argsort(merged_lists.users.to_numpy(), kind="stable")
    for label, values in single_lists.values.items():
        np.testing.assert_array_equal(merged_lists.values[label][order], values)
    np.testing.assert_array_equal(merged_lists.empty[order], single_lists.empty)


@given(rows, st.integers(0, 7))
def test_exact_sums_of_two_blocks_make_the_number_of_one(lists, end):
    full_block = block(np.array(lists))
    first, second = (PLAN.measure(cut(full_block, *bounds)).lists.parts for bounds in ((0, end), (end, 99)))
    numbers = PLAN.measure(full_block).lists.numbers
    for (label, metric), first_part, second_part in zip(METRICS.items(), first, second, strict=True):
        number = final_value(metric, merge_partials(first_part, second_part))
        assert number == pytest.approx(numbers[label], rel=1e-12, abs=1e-12, nan_ok=True), label


def test_metrics_together_give_what_each_gives_alone():
    result = block(np.array([[0, 1, 2, 3], [4, 0, NONE, NONE], [5, 1, 0, NONE]])).listed
    measured = measure_lists(METRICS, result)
    assert list(measured.numbers) == list(METRICS)
    for label, metric in METRICS.items():
        assert measured.numbers[label] == pytest.approx(metric.value(result), rel=1e-12, nan_ok=True)
        assert (label in measured.values) == (metric.merge == "mean")
        if label in measured.values:
            np.testing.assert_array_equal(measured.values[label], metric.values(result))


@pytest.mark.parametrize("metric", [ILD, Coverage(over="training")], ids=str)
def test_what_is_missing_is_an_error(metric):
    with raises("missing-input", UsageError):
        measure_lists({str(metric): metric}, Listed(np.array([[0, 1]]), 4))
