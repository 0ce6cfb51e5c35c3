"""Lists as a whole, against what libraries give for their own examples."""

from __future__ import annotations

from itertools import combinations
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.metrics.lists import (
    LIST_METRICS,
    NONE,
    Listed,
    coverage,
    entropy,
    gini,
    list_coverage,
    novelty,
    personalization,
    popularity,
)

SIX = Listed(np.array([[1, 2, 3], [1, 2, 4], [1, 5, 6]]), 10)
# who knew what before: item 1 three of three people, item 2 one of them, item 3 nobody
KNOWN = {"seen": np.array([0, 3, 1, 0]), "people": 3}
SHOWN = Listed(np.array([[3, NONE], [2, 3], [1, 2]]), 4, **KNOWN)


def test_four_ginis_of_the_same_lists():
    assert gini(SIX) == pytest.approx(0.5444444, abs=1e-7)  # RecBole, LensKit
    assert 1 - gini(SIX, divisor="n-1") == pytest.approx(0.3950617, abs=1e-7)  # elliot
    assert gini(SIX, over="shown") == pytest.approx(0.2407407, abs=1e-7)  # ClayRS
    assert gini(SIX, over="shown", divisor="n-1") == pytest.approx(0.2888889, abs=1e-7)  # evidently


def test_evidently_s_example():
    assert novelty(SHOWN) == pytest.approx(1.188722, abs=1e-6)
    assert popularity(SHOWN) == 1.5
    same = Listed(np.array([[0, 1, 2, 3], [0, 1, 2, 3], [0, 2, 1, 4]]), 5)
    assert personalization(same) == pytest.approx(0.1666667, abs=1e-7)


def test_novelty_is_written_out():
    assert novelty(SHOWN) == pytest.approx((log2(3) + (0 + log2(3)) / 2) / 2)


def test_nothing_shown():
    nothing = Listed(np.full((2, 1), NONE), 3)
    assert (coverage(nothing), list_coverage(nothing)) == (0, 0)
    assert np.isnan([gini(nothing), entropy(nothing), personalization(nothing)]).all()
    assert np.isnan([novelty(nothing), novelty(SIX), popularity(nothing)]).all()
    assert np.isnan(personalization(Listed(np.array([[0, 1]]), 2)))


lists = st.lists(
    st.lists(st.integers(0, 5), max_size=4, unique=True).map(lambda row: row + [NONE] * 4),
    min_size=2,
    max_size=5,
).map(lambda rows: Listed(np.array([row[:4] for row in rows]), 6))


@given(lists)
def test_personalization_is_that_of_a_loop_over_pairs(listed):
    sets = [{*row} - {NONE} for row in listed.items.tolist()]
    full = [one for one in sets if one]
    pairs = [len(a & b) / (len(a) * len(b)) ** 0.5 for a, b in combinations(full, 2)]
    if pairs:
        assert personalization(listed) == pytest.approx(1 - sum(pairs) / len(pairs), abs=1e-12)


@given(lists)
def test_every_value_is_within_its_bounds(listed):
    for metric in LIST_METRICS:
        value = metric.kernel(listed)
        assert np.isnan(value) or value >= -1e-12
        assert np.isnan(value) or metric.high is None or value <= metric.high + 1e-12


def test_every_declaration_is_filled_in():
    names = [name for each in LIST_METRICS for name in (each.name, *each.aliases)]
    assert len(names) == len(set(names))
    for each in LIST_METRICS:
        assert each.title.endswith(".")
        assert each.name in each.formula
        assert each.source
        assert each.kernel.__doc__


def test_a_cutoff():
    assert coverage(SIX.first(1)) == 1 / 10
