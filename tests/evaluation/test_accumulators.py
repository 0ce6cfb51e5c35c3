"""For any split into batches and any order of merging, the numbers equal those of one pass."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import rankgate
from rankgate import Accumulator, Lists, Matrix
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.codec import encode
from rankgate.data.collection import Collection, Items
from rankgate.measurement.metrics.lists import LIST_METRICS
from support.strategies import fewer_examples
from support.wording import raises

USERS, ITEMS = 24, 12
DRAWN = np.random.default_rng(11)
SCORES = DRAWN.integers(0, 16, (USERS, ITEMS)) / 4
SCORES[DRAWN.random(SCORES.shape) < 0.1] = np.nan
SCORES[2] = np.nan
GRADES = DRAWN.integers(0, 3, (USERS, ITEMS)) * (DRAWN.random((USERS, ITEMS)) < 0.25)
GRADES[[4, 5]] = 0
TRAIN = sp.csr_matrix((DRAWN.random((USERS, ITEMS)) < 0.2) & (GRADES == 0))
NAMES = [f"u{user:02}" for user in range(USERS)]
TABLE = pl.DataFrame(
    {
        "item": [str(item) for item in range(ITEMS)],
        "size": DRAWN.random(ITEMS),
        "price": DRAWN.random(ITEMS),
        "genre": ["a|b", "a", "b", "c"] * 3,
        "maker": ["one", "two"] * 6,
    }
)
BESIDE = Collection(
    items=Items(TABLE, features=["size", "price"], category="genre", group="maker"),
    training=Matrix(TRAIN, NAMES),
    reference=Matrix(np.tile(np.arange(ITEMS, 0, -1.0), (USERS, 1)), NAMES),
)
GIVEN = {"seen", "relevant", "history", "baseline", "features", "categories", "groups"}
RANKINGS = ["nDCG@5", "AP", "GMAP", "RR", "P@3", "NumRet", "Judged@5", "RBP", "NumRel"]
METRICS = [*RANKINGS, *(str(metric @ 5) for metric in LIST_METRICS if set(metric.inputs_needed) <= GIVEN)]


def batch(users):
    """The judgments and rankings of some users, by name."""
    rows, ids = list(users), [NAMES[user] for user in users]
    truth = np.where(GRADES[rows] > 0, GRADES[rows], np.nan)
    return Matrix(truth, ids), Matrix(SCORES[rows], ids)


def accumulator(metrics=tuple(METRICS), convention="trec", **protocol):
    return Accumulator(list(metrics), convention, replace(BESIDE, **protocol))


def whole(metrics=tuple(METRICS), convention="trec", **protocol):
    judgments, run = batch(range(USERS))
    collection = replace(BESIDE, judgments=judgments, **protocol)
    return rankgate.evaluate(collection, run, list(metrics), convention).runs[0]


def same(outcome, run):
    """Counts are equal, sums to 1e-12."""
    means = outcome.result()
    assert list(means) == list(run.means)
    for label, value in run.means.items():
        assert means[label] == pytest.approx(value, rel=1e-12, abs=1e-12, nan_ok=True), label
    counts, expected = encode(outcome.counts), encode(run.counts)
    for lists in ("served_unjudged", "catalogue"):  # of lists, which batches count together
        expected.pop(lists, None)
    shares, wanted_shares = counts.pop("judged_at"), expected.pop("judged_at")
    assert counts == expected
    assert shares == pytest.approx(wanted_shares, rel=1e-12)


@st.composite
def deals(draw):
    """Users distributed to batches, batches to accumulators, and the order in which these merge."""
    users = draw(st.permutations(range(USERS)))
    cuts = sorted(draw(st.sets(st.integers(1, USERS - 1), max_size=6)))
    batches = [users[a:b] for a, b in zip([0, *cuts], [*cuts, USERS], strict=True)]
    homes = draw(st.lists(st.integers(0, 3), min_size=len(batches), max_size=len(batches)))
    return batches, homes, draw(st.permutations(range(4)))


FRESH = {
    "plain": accumulator(),
    "seen leaves": accumulator(drop_seen=True),
    "recbole": accumulator(convention="recbole"),
}
WHOLE = {"plain": whole(), "seen leaves": whole(drop_seen=True), "recbole": whole(convention="recbole")}


@pytest.mark.parametrize("way", FRESH)
@fewer_examples(6)
@given(deal=deals())
def test_any_split_and_any_order_of_merging_is_one_pass(way, deal):
    batches, homes, order = deal
    parts = [copy.copy(FRESH[way]) for _ in range(4)]
    for users, home in zip(batches, homes, strict=True):
        parts[home].update(*batch(users))
    result = copy.copy(FRESH[way])
    for index in order:
        result.merge(parts[index])
    same(result, WHOLE[way])


def test_merging_is_a_tree_as_well():
    parts = [accumulator() for _ in range(4)]
    for index, partial in enumerate(parts):
        partial.update(*batch(range(index, USERS, 4)))
    parts[0].merge(parts[1])
    parts[3].merge(parts[2])
    parts[3].merge(parts[0])
    same(parts[3], WHOLE["plain"])


# ranx stops at users without judgments, who are part of these data
@pytest.mark.parametrize("name", sorted({*rankgate.conventions().names} - {"ranx"}))
def test_every_convention_adds_up(name):
    run = whole(RANKINGS, name)
    result = accumulator(RANKINGS, name)
    for begin in range(0, USERS, 6):
        result.update(*batch(range(begin, begin + 6)))
    same(result, run)


def test_a_batch_may_have_any_form():
    outcome = Accumulator(["RR", "Coverage@2"], collection=Collection(items=Items(catalogue=4)))
    outcome.update(Lists([[0], [1]]), np.array([[3.0, 1, 2, 0], [3.0, 2, 1, 0]]))
    outcome.update({"a": {"2"}}, pl.DataFrame({"user": ["a", "a"], "item": [3, 2], "score": [2.0, 1.0]}))
    outcome.update(sp.csr_matrix([[0, 0, 0, 1]]), Lists([[3, 2]]))
    assert outcome.result() == {"RR": (1 + 1 / 2 + 1 / 2 + 1) / 4, "Coverage@2": 1.0}


def test_rows_are_users_of_their_own_batch():
    result = Accumulator(["RR"])
    for _ in range(3):
        result.update(Lists([[0]]), np.array([[2.0, 1.0]]))
    assert result.counts.queries == 3


def test_a_batch_of_users_without_ground_truth_is_counted():
    outcome = Accumulator(["RR", "Coverage@1"], collection=Collection(items=Items(catalogue=2)))
    empty_truth = sp.csr_matrix((2, 2))
    outcome.update(empty_truth, np.eye(2))
    assert math.isnan(outcome.result()["RR"])
    assert outcome.counts.unknown_queries == 2
    outcome.update(Lists([[0]]), np.array([[2.0, 1.0]]))
    assert outcome.result() == {"RR": 1.0, "Coverage@1": 1.0}  # served users count, judged or not


def test_nothing_yet_is_nothing():
    outcome = Accumulator(["RR", "GMAP", "Coverage@1"], collection=Collection(items=Items(catalogue=2)))
    assert all(map(math.isnan, outcome.result().values()))
    assert outcome.counts.queries == 0
    outcome.merge(Accumulator(["RR", "GMAP", "Coverage@1"], collection=Collection(items=Items(catalogue=2))))
    assert outcome.counts.queries == 0


def test_it_can_be_pickled_and_sent_as_plain_values():
    first, second = accumulator(), accumulator()
    first.update(*batch(range(10)))
    second.update(*batch(range(10, USERS)))
    restored = sent(first)
    restored.merge(sent(second))
    same(restored, WHOLE["plain"])
    state = first.state()
    assert _plain(state)
    second.merge(sent(state))
    same(second, WHOLE["plain"])
    assert first.counts.queries < second.counts.queries


def sent(value):
    """As another process has it."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


def _plain(value):
    if isinstance(value, dict):
        return all(isinstance(key, str | int) and _plain(element) for key, element in value.items())
    if isinstance(value, list):
        return all(map(_plain, value))
    return value is None or isinstance(value, str | int | float | np.ndarray)


def test_a_refused_batch_adds_nothing():
    outcome = Accumulator(["RR", "Coverage@1"], collection=Collection(training=Lists([[0, 1]])))
    outcome.update(Lists([[0]]), np.array([[2.0, 1.0]]))
    initial_state = outcome.result(), outcome.counts
    with raises("unknown-item", InputError):
        outcome.update(Lists([[7]]), Lists([[0]]))
    assert (outcome.result(), outcome.counts) == initial_state


@pytest.mark.parametrize(
    "other",
    [
        Accumulator(["AP", "Coverage@1"], collection=Collection(items=Items(catalogue=2))),
        Accumulator(["RR", "Coverage@1"], "recbole", collection=Collection(items=Items(catalogue=2))),
        Accumulator(["RR", "Coverage@1"], collection=Collection(items=Items(catalogue=3))),
    ],
)
def test_others_are_not_merged(other):
    result = Accumulator(["RR", "Coverage@1"], collection=Collection(items=Items(catalogue=2)))
    with raises("accumulators-differ", UsageError):
        result.merge(other)


def test_metrics_of_lists_need_their_items_beforehand():
    with raises("missing-input", UsageError):
        Accumulator(["Coverage@1"])
    with raises("missing-input", UsageError):
        Accumulator(["Novelty@1"], collection=Collection(items=Items(catalogue=2))).update(
            Lists([[0]]), Lists([[1]])
        )


MANY = 120
IRRATIONAL = np.random.default_rng(5).random((MANY, ITEMS))
IRRATIONAL[np.random.default_rng(6).random(IRRATIONAL.shape) < 0.6] = np.nan  # lists of 0 to 9


@pytest.mark.parametrize("cutoff", [5, pytest.param(ITEMS, marks=pytest.mark.separate)])
def test_numbers_are_the_same_to_the_bit_in_any_order(cutoff):
    rng = np.random.default_rng(8)
    lists = [metric for metric in LIST_METRICS if set(metric.inputs_needed) <= GIVEN - {"baseline"}]
    metrics = [
        *RANKINGS,
        "GAUC",
        "R@5",
        *(str(metric @ cutoff) for metric in lists),
        f"ExposureGini(weight='geometric',patience=0.85)@{cutoff}",
    ]
    names = [f"u{user:03}" for user in range(MANY)]
    grades = np.where(rng.random(IRRATIONAL.shape) < 0.3, 1.0, np.nan)
    training = Matrix(sp.csr_matrix(rng.random(grades.shape) < 0.2), names)
    collection = replace(BESIDE, training=training, reference=None)
    final_results = []
    for _ in range(3):
        parts = [Accumulator(metrics, collection=collection) for _ in range(2)]
        order = rng.permutation(MANY)
        cuts = np.sort(rng.choice(np.arange(1, MANY), int(rng.integers(1, 20)), replace=False))
        for users in np.split(order, cuts):
            ids = [names[user] for user in users]
            batch = Matrix(grades[users], ids), Matrix(IRRATIONAL[users], ids)
            parts[int(rng.integers(2))].update(*batch)
        parts[0].merge(parts[1])
        final_results.append((parts[0].result(), encode(parts[0].counts)))
    for label, value in final_results[0][0].items():
        assert {means[label].hex() for means, _ in final_results} == {value.hex()}, label
    assert all(outcome[1] == final_results[0][1] for outcome in final_results)


def test_all_that_a_batch_shows_may_leave():
    total = Accumulator(
        ["RR"], collection=Collection(training=pl.DataFrame({"user": ["u"], "item": ["a"]}), drop_seen=True)
    )
    total.update({"u": {"b": 1}}, pl.DataFrame({"query_id": ["u"], "doc_id": ["a"], "score": [1.0]}))
    total.update({"v": {"b": 1}}, {"v": {"b": 1.0}})
    assert (total.result(), total.counts.missing) == ({"RR": 0.5}, 1)


def test_a_batch_without_rankings_adds_its_judged_users():
    total = Accumulator(["RR", "Coverage@1"], collection=Collection(items=Items(catalogue=["a", "b"])))
    total.update({"u": {"a": 1}}, {"u": {"a": 1.0}})
    total.update({"v": {"b": 1}}, {})
    assert total.result() == {"RR": 0.5, "Coverage@1": 0.5}


def test_items_may_be_added_before_the_first_batch():
    qrels, run = {"u": {"a": 1, "c": 1}, "v": {"b": 1}}, {"u": [*"cd"], "v": [*"bc"]}
    metrics = ["Coverage@2", "Gini@2", "InventedShare@2", "nDCG@2"]
    collection = Collection(qrels, training=pl.DataFrame({"user": ["w", "w"], "item": ["b", "c"]}))
    first = Accumulator(metrics, collection=collection, open_catalogue=True)
    with raises("unknown-item", InputError):
        first.update(qrels, run)
    assert first.unknown_items(qrels, run).to_list() == ["a"]
    total = first.with_items(pl.Series(["a", "b", "a"]))
    for user in "uv":
        total.update({user: qrels[user]}, {user: run[user]})
    means = rankgate.evaluate(collection, run, metrics).runs[0].means
    assert total.result() == pytest.approx(dict(means))
    assert len(Accumulator(["RR"]).unknown_items(qrels, run)) == 0


def test_a_stated_catalogue_stays_as_it_is_between_batches():
    total = Accumulator(
        ["Coverage@2", "InventedShare@2"], collection=Collection(items=Items(catalogue=["b"]))
    )
    assert total.unknown_items({"u": {"a": 0}}, {"u": [*"bx"]}).is_empty()
    total.update({"u": {"a": 0}}, {"u": [*"bx"]})
    assert total.result() == {"Coverage@2": 1, "InventedShare@2": 1 / 2}


def test_batches_without_a_judged_document_are_named_until_one_has_any():
    batches = [({"u": ["a"]}, {"u": ["x", "y"]}), ({"v": [], "w": ["b"]}, {"w": ["z"]})]
    empty = Accumulator(["RR"])
    orders = []
    for order in (batches, batches[::-1]):
        total = Accumulator(["RR"])
        for batch in order:
            partial = Accumulator(["RR"])
            partial.update(*batch)
            total.merge(partial.state())
        orders.append(total.counts.cautions)
    assert list(orders[0]) == ["no-shared-document", "queries-unrated"]
    assert orders[0] == orders[1]
    total.update({"t": ["c"]}, {"t": ["c"]})
    assert list(total.counts.cautions) == ["queries-unrated"]
    assert not empty.counts.cautions


def test_grades_below_the_level_of_relevance_are_named_in_batches():
    total = Accumulator(["RR"])
    total.update({"u": {"a": 0.5}}, {"u": ["a"]})
    total.update({"v": {"a": 1}}, {"v": ["a"]})
    assert list(total.counts.cautions) == ["grades-below-relevant"]
