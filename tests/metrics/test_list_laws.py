"""Laws of every metric on lists and of subtopics, for all lists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.measurement.metrics.facet_input import block
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.lists import LIST_METRICS, NONE, Listed

ITEMS = 7
SEEN = np.array([9, 6, 5, 3, 2, 1, 0])  # all different: equal ones are ordered by their codes
BY_ROW = ("relevant", "history", "baseline", "earlier", "before")
BY_ITEM = ("seen", "features", "categories", "groups")
# what looks at ranks; all others see which items a list shows, and no order
ORDERED = {
    "EPC",
    "EFD",
    "AWRF",
    "ExposureGini",
    "ExposureParity",
    "ExposureMerit",
    "ExposureOpportunity",
    "EEL",
    "EER",
    "rND",
    "rKL",
    "rRD",
    "NDKL",
    "FAIR",
}

rows = st.lists(st.integers(0, ITEMS - 1), max_size=4, unique=True).map(lambda row: (row + [NONE] * 4)[:4])
tables = st.lists(st.tuples(*[rows] * 5), min_size=2, max_size=6)


def result(table):
    """Lists and all that any metric needs, from a table of five rows a user."""
    items, relevant, history, baseline, earlier = (np.array(column) for column in zip(*table))  # noqa: B905
    rng = np.random.default_rng(3)
    return Listed(
        items,
        ITEMS,
        seen=SEEN,
        people=10,
        relevant=relevant,
        history=history,
        baseline=baseline,
        earlier=earlier,
        before=earlier,
        features=rng.normal(size=(ITEMS, 3)),
        categories=rng.dirichlet([1, 1, 1], ITEMS),
        groups=np.array([0, 1, 0, 1, 1, 0, NONE]),
    )


def same(metric, one, other):
    a, b = metric.value(one), metric.value(other)
    assert b == pytest.approx(a, rel=1e-9, abs=1e-12, nan_ok=True), metric.name


@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_users_does_not_matter(table, random):
    lists, order = result(table), list(range(len(table)))
    random.shuffle(order)
    moved = replace(lists, items=lists.items[order], **{name: getattr(lists, name)[order] for name in BY_ROW})
    for metric in LIST_METRICS:
        same(metric, lists, moved)
        same(metric @ 2, lists, moved)


@given(tables, st.randoms(use_true_random=False))
def test_the_names_of_items_do_not_matter(table, random):
    lists, code = result(table), list(range(ITEMS))
    random.shuffle(code)
    new = np.array([*code, NONE])  # the last is that of NONE
    inverse = np.argsort(code)
    renamed = replace(
        lists,
        items=new[lists.items],
        **{name: new[getattr(lists, name)] for name in BY_ROW},
        **{name: getattr(lists, name)[inverse] for name in BY_ITEM},
    )
    for metric in LIST_METRICS:
        same(metric, lists, renamed)
        same(metric @ 2, lists, renamed)


@given(tables)
def test_the_order_in_a_list_matters_where_ranks_do(table):
    lists = result(table)
    reversed_items = np.full_like(lists.items, NONE)
    for index, row in enumerate(lists.items):
        reversed_row = row[row != NONE][::-1]
        reversed_items[index, : len(reversed_row)] = reversed_row
    for metric in LIST_METRICS:
        if metric.name not in ORDERED:
            same(metric, lists, replace(lists, items=reversed_items))


def test_what_looks_at_ranks_sees_a_list_turned_round():
    row = ([0, 1, 3, NONE], [0, 1, NONE, NONE], *[[5, NONE, NONE, NONE]] * 3)
    lists = result([row, row])
    reversed_lists = replace(lists, items=lists.items[:, [2, 1, 0, 3]])
    given = {"FAIR": {"p": 0.95}, **{name: {"step": 2} for name in ("rND", "rKL", "rRD")}}
    metrics = [metric(**given.get(metric.name, {})) for metric in LIST_METRICS]
    sensitive_metrics = {
        m.name for m in metrics if m.value(lists) != pytest.approx(m.value(reversed_lists), nan_ok=True)
    }
    assert sensitive_metrics == ORDERED - {"ExposureGini"}  # items swap what they get, which is as uneven


@given(tables)
def test_a_whole_that_stands_twice_is_as_even_as_once(table):
    lists = result(table)
    doubled_lists = replace(
        lists, items=np.tile(lists.items, (2, 1)), **{n: np.tile(getattr(lists, n), (2, 1)) for n in BY_ROW}
    )
    for metric in LIST_METRICS:
        if metric.name != "Personalization":  # a list is alike to its own copy
            same(metric, lists, doubled_lists)


@given(tables)
def test_more_places_show_no_item_less(table):
    lists = result(table)
    growing = {"Coverage", "ItemsShown", "ListLength", "ACLT", "IPSHits", "EED"}
    assert growing <= {metric.name for metric in LIST_METRICS}
    for metric in LIST_METRICS:
        if metric.name in growing:
            values = [(metric @ k).value(lists) for k in (1, 2, 3, 4)]
            assert (np.diff(values) >= -1e-12).all() or np.isnan(values).all(), metric.name


documents = st.lists(st.sets(st.integers(0, 2)), min_size=1, max_size=6)


@given(documents, st.permutations([0, 1, 2]))
def test_the_numbers_of_subtopics_do_not_matter(ranking, order):
    renamed = [{order[s] for s in subtopics} for subtopics in ranking]
    pools = [[subtopics for subtopics in documents if subtopics] for documents in (ranking, renamed)]
    original_block, renamed_block = block([ranking], [pools[0]]), block([renamed], [pools[1]])
    for metric in FACET_METRICS:
        bound = (metric @ 3).bound() if metric.at else metric.bound()
        a, b = metric.kernel(original_block, **bound)[0], metric.kernel(renamed_block, **bound)[0]
        assert b == pytest.approx(a, abs=1e-12, nan_ok=True), metric.name


@given(documents)
def test_values_of_subtopics_keep_their_bounds(ranking):
    faceted = block([ranking], [[subtopics for subtopics in ranking if subtopics]])
    for metric in FACET_METRICS:
        bound = (metric @ 3).bound() if metric.at else metric.bound()
        value = metric.kernel(faceted, **bound)[0]
        assert np.isnan(value) or metric.low <= value <= (metric.high or np.inf) + 1e-12


@given(st.lists(st.booleans(), min_size=1, max_size=8).filter(any))
def test_with_one_subtopic_the_greedy_ideal_is_the_best(relevant):
    ranking = [{0} if is_relevant else set() for is_relevant in relevant]
    faceted = block([ranking], [[{0}] * sum(relevant)])
    metrics_by_name = {metric.name: metric for metric in FACET_METRICS}
    first = relevant.index(True) + 1
    ideal = block([sorted(ranking, key=len, reverse=True)], [[{0}] * sum(relevant)])
    for name in ("alpha_nDCG", "nERR_IA"):
        kernel = metrics_by_name[name].kernel
        assert kernel(ideal)[0] == pytest.approx(1)
        assert kernel(faceted)[0] <= 1 + 1e-12
        # with nothing gained by a second document it is the discount of the first
        alpha_one_value = kernel(faceted, alpha=1.0)[0]
        assert alpha_one_value == pytest.approx(1 / np.log2(first + 1) if name == "alpha_nDCG" else 1 / first)
