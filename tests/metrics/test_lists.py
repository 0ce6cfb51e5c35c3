"""Metrics on lists, against values of libraries and papers for their own examples."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import log, log2, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.list_names import parse_list
from rankgate.measurement.metrics.lists import LIST_METRICS, NONE, Listed
from rankgate.measurement.metrics.lists.coverage_evenness import (
    coverage,
    entropy,
    evenness,
    full_lists,
    gini,
    list_coverage,
    personalization,
)
from rankgate.measurement.metrics.lists.diversity import (
    ILD,
    divergence_of_shares,
    intra_list_diversity,
    miscalibration,
)
from rankgate.measurement.metrics.lists.exposure import EED, EEL, EER
from rankgate.measurement.metrics.lists.list_input import is_in_row
from rankgate.measurement.metrics.lists.novelty_surprise import (
    EFD,
    EPC,
    Novelty,
    Serendipity,
    Stability,
    TemporalDiversity,
    TemporalNovelty,
    Unexpectedness,
    novelty,
)
from rankgate.measurement.metrics.lists.popularity import Popularity
from rankgate.metrics import parse
from support.wording import raises

SIX = Listed(np.array([[1, 2, 3], [1, 2, 4], [1, 5, 6]]), 10)
# who knew what before: item 1 three of three people, item 2 one of them, item 3 nobody
KNOWN = {"seen": np.array([0, 3, 1, 0]), "people": 3}
SHOWN = Listed(np.array([[3, NONE], [2, 3], [1, 2]]), 4, **KNOWN)


def test_four_ginis_of_the_same_lists():
    six = SIX.sums()
    assert gini(six) == pytest.approx(0.5444444, abs=1e-7)  # RecBole, LensKit
    assert 1 - gini(six, divisor="n-1") == pytest.approx(0.3950617, abs=1e-7)  # elliot
    assert gini(six, over="shown") == pytest.approx(0.2407407, abs=1e-7)  # ClayRS
    assert gini(six, over="shown", divisor="n-1") == pytest.approx(0.2888889, abs=1e-7)  # evidently


def test_three_entropies_of_the_same_lists():
    shares = [3 / 9, 2 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9]
    nats = -sum(p * log(p) for p in shares)
    six = SIX.sums()
    assert entropy(six) == pytest.approx(nats / log(2))
    assert entropy(six, base=np.e, per="item") == pytest.approx(nats / 6)  # RecBole
    assert evenness(six) == pytest.approx(nats / log(10))


def test_evidently_s_example():
    assert Novelty.value(SHOWN) == pytest.approx(1.188722, abs=1e-6)
    assert Popularity.value(SHOWN) == 1.5
    assert parse_list("gini(over='shown',divisor='n-1')").value(SHOWN) == pytest.approx(0.2)
    lists = Listed(np.array([[0, 1, 2, 3], [0, 1, 2, 3], [0, 2, 1, 4]]), 5)
    assert personalization(lists.sums()) == pytest.approx(0.1666667, abs=1e-7)


def test_recpack_s_example():
    scores = {0: {0: 0.3, 2: 0.2, 3: 0.1}, 2: {1: 0.23, 3: 0.3, 4: 0.5}}
    top = [sorted(row, key=row.get, reverse=True)[:2] for row in scores.values()]
    kinds = np.array([0, 1, 0, 1, 0])
    result = Listed(np.array(top), 5, features=np.eye(2)[kinds])
    assert coverage(result.sums()) == 4 / 5
    assert ILD(similarity="jaccard").value(result) == 1 / 2
    with_empty = replace(result, items=np.array([*top, [NONE, NONE]]))
    assert ILD(similarity="jaccard", single="zero").value(with_empty) == pytest.approx(1 / 3)
    assert ILD(similarity="jaccard").value(with_empty) == 1 / 2


def test_rexmex_s_example():
    equal_lists, distinct_lists = (Listed(np.array([[0], [0], [0]]), 2), Listed(np.array([[0], [1]]), 2))
    assert personalization(distinct_lists.sums()) == 1.0
    assert personalization(equal_lists.sums()) == 0.0
    result = Listed(np.array([[0, 1], [2, 3], [0, 3], [NONE, NONE]]), 5)
    assert coverage(result.sums()) == 0.8
    assert list_coverage(result).mean() == 0.75
    assert full_lists(result, cutoff=2).mean() == 0.75


def test_novelty_is_written_out():
    assert Novelty.value(SHOWN) == pytest.approx((log2(3) + (0 + log2(3)) / 2) / 2)
    capped = (log2(3) + (log2(3) + log2(3)) / 2 + (0 + log2(3)) / 2) / 3
    assert Novelty(unknown="cap").value(SHOWN) == pytest.approx(capped)
    novelties = novelty(SHOWN, of="interactions")
    assert novelties[1:].tolist() == pytest.approx([2, (log2(4 / 3) + 2) / 2])


def test_discounted_novelty_is_written_out():
    result = replace(SHOWN, items=np.array([[1, 2]]), relevant=np.array([[2]]))
    weights = [1, 1 / log2(3)]
    assert EPC.value(result) == pytest.approx((weights[1] * 2 / 3) / sum(weights))
    assert EPC(relevance="use", discount="none").value(result) == pytest.approx(2 / 3 / 2)
    bits = log2(4 / 3) + weights[1] * 2
    assert EFD.value(result) == pytest.approx(bits / sum(weights))
    with raises("missing-input", UsageError):
        EPC(relevance="use").value(SHOWN)


def test_steck_s_calibration():
    p = np.array([[0.7, 0.3]])
    for q, result in (
        ((1, 0), 1.133981751),
        ((0.5, 0.5), 0.080690870),
        ((0, 1), 2.864534673),
        ((0.7, 0.3), 0),
    ):
        assert divergence_of_shares(p, np.array([q], float))[0] == pytest.approx(result, abs=1e-9)
    assert divergence_of_shares(p, p, "hellinger")[0] == 0
    assert divergence_of_shares(np.array([[1.0, 0]]), np.array([[0, 1.0]]), "js")[0] == pytest.approx(1)
    assert divergence_of_shares(np.array([[1.0, 0]]), np.array([[0, 1.0]]), "hellinger")[0] == 1


def test_calibration_comes_from_categories_and_histories():
    # item 0 is all of the first category, item 1 half of each, item 2 of none
    result = Listed(
        np.array([[0], [1], [2], [0]]),
        3,
        categories=np.array([[1, 0], [0.5, 0.5], [0, 0]]),
        history=np.array([[1, NONE], [0, 1], [0, 1], [NONE, NONE]]),
    )
    alpha = 0.01
    first = 0.5 * log(0.5 / (0.99 + alpha * 0.5)) + 0.5 * log(0.5 / (alpha * 0.5))
    second = 0.75 * log(0.75 / (0.99 * 0.5 + alpha * 0.75)) + 0.25 * log(0.25 / (0.99 * 0.5 + alpha * 0.25))
    assert miscalibration(result)[:2].tolist() == pytest.approx([first, second])
    assert np.isnan(miscalibration(result)[2:]).all()


def test_diversity_by_cosine_is_that_of_a_loop():
    rng = np.random.default_rng(5)
    features = rng.normal(size=(6, 3))
    items = np.array([[0, 1, 2, 3], [4, 5, NONE, NONE], [1, NONE, NONE, NONE]])
    result = intra_list_diversity(Listed(items, 6, features=features))

    def cosine(a, b):
        return features[a] @ features[b] / sqrt(features[a] @ features[a] * (features[b] @ features[b]))

    for row, value in zip(items, result, strict=True):
        pairs = [1 - cosine(a, b) for a, b in combinations(row[row != NONE], 2)]
        assert value == pytest.approx(np.mean(pairs) if pairs else np.nan, nan_ok=True)
    first_list = Listed(items[:1], 6, features=features)
    assert ILD(divisor="items").value(first_list) == pytest.approx(result[0] * 6 / 4)  # evidently


def test_serendipity_and_its_neighbours():
    result = Listed(
        np.array([[0, 1, 2]]),
        4,
        relevant=np.array([[0, 1]]),
        baseline=np.array([[0, 3]]),
        earlier=np.array([[2, 3, NONE]]),
        history=np.array([[1, NONE]]),
        features=np.eye(4)[:, :3],
    )
    assert Serendipity.value(result) == 1 / 3
    assert TemporalDiversity.value(result) == 2 / 3
    assert Stability.value(result) == 1 / 4
    assert TemporalNovelty.value(result) == 2 / 3
    assert TemporalNovelty.value(replace(result, before=np.array([[1, 2, 3]]))) == 1 / 3
    assert TemporalNovelty(against="history").value(result) == 2 / 3
    assert Unexpectedness.value(result) == pytest.approx((1 + 0 + 1) / 3)
    assert Unexpectedness(relevance="use").value(result) == pytest.approx(1 / 3)
    assert Serendipity(cutoff=1).value(result) == 0
    assert Serendipity(cutoff=5).value(result) == 1 / 5
    assert Serendipity(cutoff=5, over="shown").value(result) == 1 / 3


def test_what_is_missing_is_named():
    for metric in LIST_METRICS:
        if metric.needs:
            with raises("missing-input", UsageError):
                metric.value(SIX)
        else:
            assert np.isfinite(metric.value(SIX))


def test_nothing_shown():
    empty_lists = full(np.full((2, 1), NONE))
    assert (coverage(empty_lists.sums()), list_coverage(empty_lists).mean()) == (0, 0)
    values = {metric.name: metric.value(empty_lists) for metric in LIST_METRICS}
    zero = {"Coverage", "ItemsShown", "ListCoverage", "FullLists", "ListLength"}
    zero |= {"IPSHits", "Stability"}
    assert {name for name, value in values.items() if value == 0} == zero
    assert {name for name, value in values.items() if np.isnan(value)} == values.keys() - zero
    assert np.isnan(personalization(Listed(np.array([[0, 1]]), 2).sums()))


def full(items):
    """Lists with all that any metric needs."""
    rng = np.random.default_rng(1)
    rows = len(items)
    return Listed(
        items,
        6,
        seen=np.array([5, 3, 2, 1, 1, 0]),
        people=7,
        relevant=np.array([[(3 * r) % 6, (3 * r + 1) % 6] for r in range(rows)]).reshape(rows, 2),
        history=np.array([[(2 * r) % 6, (r + 1) % 6] for r in range(rows)]).reshape(rows, 2),
        baseline=np.tile([0, 1], (rows, 1)),
        earlier=np.tile([2, 3], (rows, 1)),
        features=rng.normal(size=(6, 4)),
        categories=rng.dirichlet([1, 1, 1], 6),
        groups=np.array([0, 1, 0, 1, 0, NONE]),
    )


rows = st.lists(
    st.lists(st.integers(0, 5), max_size=4, unique=True).map(lambda row: (row + [NONE] * 4)[:4]),
    min_size=2,
    max_size=7,
)


@given(rows)
def test_personalization_is_that_of_a_loop_over_pairs(lists):
    sets = [set(row) - {NONE} for row in lists]
    nonempty = [item_set for item_set in sets if item_set]
    pairs = [len(a & b) / (len(a) * len(b)) ** 0.5 for a, b in combinations(nonempty, 2)]
    if pairs:
        result = personalization(Listed(np.array(lists), 6).sums())
        assert result == pytest.approx(1 - sum(pairs) / len(pairs), abs=1e-12)


def test_every_value_is_defined_for_long_lists():
    result = full(np.array([[0, 1, 2, 3], [1, 2, 3, 4]]))
    undefined = {metric.name for metric in LIST_METRICS if np.isnan(metric.value(result))}
    assert undefined == {"rND", "rKL", "rRD"}  # they look at prefixes of ten items


@given(rows)
def test_every_value_is_within_its_bounds(lists):
    result = full(np.array(lists))
    for metric in LIST_METRICS:
        value = metric.value(result)
        assert np.isnan(value) or value >= metric.low - 1e-12, metric.name
        assert np.isnan(value) or metric.high is None or value <= metric.high + 1e-12, metric.name


@given(rows, rows)
def test_membership_is_that_of_sets(lists, others):
    size = min(len(lists), len(others))
    result = is_in_row(np.array(lists[:size]), np.array(others[:size]))
    assert len(result) == size
    for row, other_row, membership in zip(lists, others, result, strict=False):
        assert membership.tolist() == [item != NONE and item in other_row for item in row]


def test_weights_are_lists_that_stand_several_times():
    items = np.array([[0, 1, 2], [1, 2, NONE], [5, NONE, NONE]])
    rank_weights = np.array([1, 0.5, 0.3])
    repeated = Listed(np.repeat(items, [2, 0, 3], axis=0), 6).sums(looked=rank_weights)
    weighted = Listed(items, 6).sums(np.array([2.0, 0, 3]), rank_weights)
    for name in ("counts", "scaled", "exposure"):
        first, second = (np.atleast_2d(getattr(sums, name)).sum(axis=0) for sums in (repeated, weighted))
        assert first == pytest.approx(second)
    assert (repeated.lists, repeated.filled) == (weighted.lists, weighted.filled)
    assert personalization(weighted) == 1  # a list is no pair with itself


@pytest.mark.parametrize("metric", LIST_METRICS, ids=lambda m: m.name)
def test_every_declaration_is_filled_in(metric):
    for field in ("title", "formula", "source", "sees", "blind_to"):
        assert getattr(metric, field), field
    assert metric.title.endswith(".")
    assert metric.kernel.__doc__
    assert (metric.finish is not None) == (metric.merge == "ratio")
    metric_at_5 = metric @ 5
    assert parse_list(str(metric_at_5)) == metric_at_5
    assert parse(str(metric_at_5), LIST_METRICS) == metric_at_5
    assert metric.parameters["cutoff"].read(3) == 3


def test_names_and_aliases_are_one_metric_each():
    names = [name.casefold() for metric in LIST_METRICS for name in (metric.name, *metric.aliases)]
    assert len(names) == len(set(names))
    assert str(parse_list("catalog_coverage@3")) == "Coverage@3"
    assert parse_list("nDCG@10") is None
    with raises("invalid-parameter", UsageError):
        parse_list("Gini(over='all')")


def test_a_cutoff():
    assert parse_list("Coverage@1").value(SIX) == 1 / 10


RAGGED_ITEMS = 80


def _ragged(rng, longest):
    """Lists of 0 items to so many."""
    lists = [rng.permutation(RAGGED_ITEMS)[: rng.integers(longest + 1)] for _ in range(60)]
    return np.array([np.pad(row, (0, longest - len(row)), constant_values=-1) for row in lists])


def _ragged_lists():
    rng = np.random.default_rng(3)
    shares = rng.random((RAGGED_ITEMS, 5)) + 0.01
    return Listed(
        _ragged(rng, 45),
        RAGGED_ITEMS,
        rng.integers(0, 50, RAGGED_ITEMS),
        60,
        *(_ragged(rng, longest) for longest in (30, 50, 20, 45)),
        features=rng.random((RAGGED_ITEMS, 6)),
        categories=shares / shares.sum(axis=1)[:, None],
        groups=rng.integers(0, 3, RAGGED_ITEMS),
        similarities=rng.random((RAGGED_ITEMS, RAGGED_ITEMS)),
    )


@pytest.mark.parametrize(
    "metric",
    [
        *(metric for metric in LIST_METRICS if metric.merge != "items"),
        *(ILD(similarity=similarity) for similarity in ("jaccard", "given")),
        *(metric_class(weight="log2") for metric_class in (EEL, EED, EER)),
        *(Unexpectedness(relevance=relevance) for relevance in ("use", "only")),
    ],
    ids=str,
)
def test_the_value_of_a_list_does_not_depend_on_longer_lists(metric):
    lists = _ragged_lists()
    for cutoff in (None, 7, 30):
        values = (metric @ cutoff if cutoff else metric).values(lists)
        for user in range(len(lists.items)):
            one_user = lists.rows(np.array([user]))
            short = {
                name: rows[:, : max(1, np.count_nonzero(rows != -1))]
                for name in ("items", "relevant", "history", "baseline", "earlier")
                if (rows := getattr(one_user, name)) is not None
            }
            (value,) = (metric @ cutoff if cutoff else metric).values(replace(one_user, **short))
            assert np.array_equal(value, values[user], equal_nan=True), (user, cutoff)
