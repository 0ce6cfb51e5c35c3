"""Rank-biased overlap against published values, closed forms and its definition."""

from __future__ import annotations

import csv
import gzip
import io
from itertools import permutations, product
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.measurement.stats.rank_correlation import group_ties, rbo
from support.wording import refused


def groups(text):
    """Lists as the published table writes them: ties in parentheses."""
    result, tied_group = [], None
    for word in text.split():
        name = word.strip("()")
        if word.startswith("("):
            tied_group = [name]
        elif tied_group is not None:
            tied_group.append(name)
        else:
            result.append([name])
        if word.endswith(")"):
            result.append(tied_group)
            tied_group = None
    return result


def test_five_hundred_published_pairs(shared):
    text = gzip.decompress((shared / "rbo-ties" / "test.csv.gz").read_bytes()).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 500
    for row in rows:
        for ties in "wab":
            result = rbo(groups(row["x"]), groups(row["y"]), float(row["p"]), ties)
            want = [float(row[f"{ties}.{name}"]) for name in ("ext", "min", "max", "res")]
            assert [result.value, result.low, result.high, result.residual] == pytest.approx(want, abs=1e-12)


def alone(names):
    return [[name] for name in names]


ORDERS = st.permutations("abcdef").flatmap(lambda names: st.integers(1, 6).map(lambda n: alone(names[:n])))
P = st.floats(0.05, 0.98)


@given(ORDERS, ORDERS, P, st.sampled_from("wab"))
def test_bounds_hold_and_both_sides_are_equal(one, two, p, ties):
    result, reversed_result = rbo(one, two, p, ties), rbo(two, one, p, ties)
    assert 0 <= result.low <= result.value + 1e-12
    assert result.value <= result.high + 1e-12 <= 1 + 1e-9
    assert [result.value, result.low, result.high] == pytest.approx(
        [reversed_result.value, reversed_result.low, reversed_result.high]
    )


@given(ORDERS, P)
def test_a_list_agrees_wholly_with_itself(one, p):
    assert rbo(one, one, p).value == pytest.approx(1)


def test_lists_without_anything_in_common():
    result = rbo(alone("ab"), alone("cd"), 0.5)
    assert (result.value, result.low) == (0, 0)


def test_one_item_in_common_by_the_closed_form():
    # all below unseen: A_d = 1/d, and Σ p^d/d = −ln(1 − p)
    p = 0.8
    assert rbo([["a"]], [["a"]], p).low == pytest.approx((1 - p) / p * -log(1 - p))


@given(ORDERS.filter(lambda order: len(order) > 2), ORDERS, P)
def test_a_tie_is_worth_the_mean_of_its_orders(one, two, p):
    all_names = sorted({name for group in one + two for name in group})
    one = one + alone([name for name in all_names if [name] not in one])  # of one length
    two = two + alone([name for name in all_names if [name] not in two])
    pair, remaining = one[0] + one[1] + one[2], one[3:]
    means = [rbo(alone(order) + remaining, two, p).value for order in permutations(pair)]
    assert rbo([pair, *remaining], two, p, "a").value == pytest.approx(np.mean(means))


def test_scores_make_groups():
    assert group_ties({"b": 1.0, "c": 2.0, "a": 1.0}) == [["c"], ["a", "b"]]


@pytest.mark.parametrize(
    ("one", "two", "p"),
    [([], [["a"]], 0.5), ([["a"], ["a"]], [["b"]], 0.5), *product([[["a"]]], [[["b"]]], [0, 1])],
)
def test_what_cannot_be_compared(one, two, p):
    with refused(ValueError):
        rbo(one, two, p)
