"""What holds for every metric on lists and of subtopics, whatever the lists are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.faceted import block
from rankgate.measurement.metrics.lists import LIST_METRICS, NONE, Listed

ITEMS = 7
SEEN = np.array([9, 6, 5, 3, 2, 1, 0])  # all different: equal ones are ordered by their codes
BY_ROW = ("relevant", "history", "baseline", "earlier", "before")
BY_ITEM = ("seen", "features", "categories", "groups")
# what looks at ranks; all others see which items a list shows, and no order
ORDERED = {"EPC", "EFD", "AWRF", "ExposureGini", "ExposureParity", "ExposureMerit",
           "ExposureOpportunity", "EEL", "EER", "rND", "rKL", "rRD", "NDKL", "FAIR"}  # fmt: skip

rows = st.lists(st.integers(0, ITEMS - 1), max_size=4, unique=True).map(
    lambda row: (row + [NONE] * 4)[:4]
)
tables = st.lists(st.tuples(*[rows] * 5), min_size=2, max_size=6)


def result(table):
    """Lists and all that any metric needs, from a table of five rows a user."""
    items, relevant, history, baseline, earlier = (np.array(part) for part in zip(*table))  # noqa: B905
    rng = np.random.default_rng(3)
    return Listed(
        items, ITEMS, seen=SEEN, people=10, relevant=relevant, history=history, baseline=baseline,
        earlier=earlier, before=earlier, features=rng.normal(size=(ITEMS, 3)),
        categories=rng.dirichlet([1, 1, 1], ITEMS), groups=np.array([0, 1, 0, 1, 1, 0, NONE]),
    )  # fmt: skip


def same(metric, one, other):
    a, b = metric.value(one), metric.value(other)
    assert b == pytest.approx(a, rel=1e-9, abs=1e-12, nan_ok=True), metric.name


@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_users_does_not_matter(table, random):
    listed, order = result(table), list(range(len(table)))
    random.shuffle(order)
    moved = replace(listed, items=listed.items[order],
                    **{name: getattr(listed, name)[order] for name in BY_ROW})  # fmt: skip
    for metric in LIST_METRICS:
        same(metric, listed, moved)
        same(metric @ 2, listed, moved)


@given(tables, st.randoms(use_true_random=False))
def test_the_names_of_items_do_not_matter(table, random):
    listed, code = result(table), list(range(ITEMS))
    random.shuffle(code)
    new = np.array([*code, NONE])  # the last is that of NONE
    back = np.argsort(code)
    renamed = replace(listed, items=new[listed.items],
                      **{name: new[getattr(listed, name)] for name in BY_ROW},
                      **{name: getattr(listed, name)[back] for name in BY_ITEM})  # fmt: skip
    for metric in LIST_METRICS:
        same(metric, listed, renamed)
        same(metric @ 2, listed, renamed)


@given(tables)
def test_the_order_in_a_list_matters_where_ranks_do(table):
    listed = result(table)
    turned = np.full_like(listed.items, NONE)
    for at, row in enumerate(listed.items):
        shown = row[row != NONE][::-1]
        turned[at, : len(shown)] = shown
    for metric in LIST_METRICS:
        if metric.name not in ORDERED:
            same(metric, listed, replace(listed, items=turned))


def test_what_looks_at_ranks_sees_a_list_turned_round():
    row = ([0, 1, 3, NONE], [0, 1, NONE, NONE], *[[5, NONE, NONE, NONE]] * 3)
    one = result([row, row])
    turned = replace(one, items=one.items[:, [2, 1, 0, 3]])
    given = {"FAIR": {"p": 0.95}, **{name: {"step": 2} for name in ("rND", "rKL", "rRD")}}
    metrics = [metric(**given.get(metric.name, {})) for metric in LIST_METRICS]
    seen = {m.name for m in metrics if m.value(one) != pytest.approx(m.value(turned), nan_ok=True)}
    assert seen == ORDERED - {"ExposureGini"}  # items swap what they get, which is as uneven


@given(tables)
def test_a_whole_that_stands_twice_is_as_even_as_once(table):
    listed = result(table)
    twice = replace(listed, items=np.tile(listed.items, (2, 1)),
                    **{n: np.tile(getattr(listed, n), (2, 1)) for n in BY_ROW})  # fmt: skip
    for metric in LIST_METRICS:
        if metric.name != "Personalization":  # a list is alike to its own copy
            same(metric, listed, twice)


@given(tables)
def test_more_places_show_no_item_less(table):
    listed = result(table)
    growing = {"Coverage", "ItemsShown", "ListLength", "ACLT", "IPSHits", "EED"}
    for metric in LIST_METRICS:
        if metric.name in growing:
            values = [(metric @ k).value(listed) for k in (1, 2, 3, 4)]
            assert (np.diff(values) >= -1e-12).all() or np.isnan(values).all(), metric.name


documents = st.lists(st.sets(st.integers(0, 2)), min_size=1, max_size=6)


@given(documents, st.permutations([0, 1, 2]))
def test_the_numbers_of_subtopics_do_not_matter(ranking, order):
    renamed = [{order[s] for s in each} for each in ranking]
    pools = [[each for each in one if each] for one in (ranking, renamed)]
    one, other = block([ranking], [pools[0]]), block([renamed], [pools[1]])
    for metric in FACET_METRICS:
        bound = (metric @ 3).bound() if metric.at else metric.bound()
        a, b = metric.kernel(one, **bound)[0], metric.kernel(other, **bound)[0]
        assert b == pytest.approx(a, abs=1e-12, nan_ok=True), metric.name


@given(documents)
def test_values_of_subtopics_keep_their_bounds(ranking):
    faceted = block([ranking], [[each for each in ranking if each]])
    for metric in FACET_METRICS:
        bound = (metric @ 3).bound() if metric.at else metric.bound()
        value = metric.kernel(faceted, **bound)[0]
        assert np.isnan(value) or metric.low <= value <= (metric.high or np.inf) + 1e-12


@given(st.lists(st.booleans(), min_size=1, max_size=8).filter(any))
def test_with_one_subtopic_the_greedy_ideal_is_the_best(relevant):
    ranking = [{0} if each else set() for each in relevant]
    faceted = block([ranking], [[{0}] * sum(relevant)])
    named = {metric.name: metric for metric in FACET_METRICS}
    first = relevant.index(True) + 1
    best = block([sorted(ranking, key=len, reverse=True)], [[{0}] * sum(relevant)])
    for name in ("alpha_nDCG", "nERR_IA"):
        kernel = named[name].kernel
        assert kernel(best)[0] == pytest.approx(1)
        assert kernel(faceted)[0] <= 1 + 1e-12
        # with nothing gained by a second document it is the discount of the first
        only = kernel(faceted, alpha=1.0)[0]
        assert only == pytest.approx(1 / np.log2(first + 1) if name == "alpha_nDCG" else 1 / first)
