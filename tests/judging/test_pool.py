"""Pools and samples: orders counted by hand, probabilities confirmed by many draws."""

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest

from rankgate.core.errors import UsageError
from rankgate.judging.pooling.pool import (
    ORDERS,
    move_to_front_order,
    pool_lists,
    shuffle_batches,
    sort_by_key,
)
from rankgate.judging.pooling.pool_sampling import parse_strata, sample_pool, sample_queries
from rankgate.measurement.scoring.alignment.top_documents import RANKS
from support.wording import raises

SYSTEMS = ["A", "B", "C"]
LISTS = {"A": ["x", "y", "z"], "B": ["y", "x", "w"], "C": ["x", "v", "y"]}


def ranks_of(lists, query="q"):
    rows = [
        (system, query, document, rank)
        for system, documents in lists.items()
        for rank, document in enumerate(documents, 1)
    ]
    return pl.DataFrame(rows, schema=RANKS, orient="row")


def ordered(name, lists=LISTS, known=(), rel=1):
    ranks = ranks_of(lists)
    ordering = ORDERS[name].place(ranks, pool_lists(ranks, SYSTEMS), SYSTEMS, dict(known), rel)
    return sort_by_key(ordering)["doc_id"].to_list()


def test_every_document_once_with_the_reason():
    result = pool_lists(ranks_of(LISTS), SYSTEMS)
    assert result.select("doc_id", "best_rank", "systems").rows() == [
        ("v", 2, 1),
        ("w", 3, 1),
        ("x", 1, 3),
        ("y", 1, 3),
        ("z", 3, 1),
    ]
    assert result["why"][0] == "rank 2 of C; in 1 of 3 systems"
    # x: ranks 1, 2, 1; v: rank 2 of C alone
    worth = {1: 1.0, 2: 1 / math.log2(3), 3: 0.5}
    by_hand = {
        "x": np.std([worth[1], worth[2], worth[1]]),
        "v": np.std([0, 0, worth[2]]),
        "w": np.std([0, worth[3], 0]),
    }
    disagreements = dict(result.select("doc_id", "disagreement").iter_rows())
    assert {name: disagreements[name] for name in by_hand} == pytest.approx(by_hand)


def test_by_rank_many_systems_come_first():
    assert ordered("rank") == ["x", "y", "v", "w", "z"]


def test_by_disagreement():
    assert ordered("disagreement")[0] == "v"  # rank 2 of one, in neither of the others
    assert ordered("disagreement")[-1] == "x"  # everybody has it first or second


def test_move_to_front_stays_with_the_system_that_proves_right():
    lists = [["a", "b", "c", "d"], ["x", "y", "z"]]
    # a relevant, b relevant, c not: the turn goes over; x not: both have lost one, A goes on
    assert move_to_front_order(lists, {"a": 1, "b": 2, "c": 0, "x": 0}) == ["a", "b", "c", "x", "d", "y", "z"]
    # nothing is known: one of each in turn
    assert move_to_front_order(lists, {}) == ["a", "x", "b", "y", "c", "z", "d"]
    # a document of both lists is asked once, and only its first system pays for it
    assert move_to_front_order([["a", "b"], ["a", "c"]], {"a": 0}) == ["a", "c", "b"]


def test_a_higher_bound_of_relevance():
    lists = {"A": ["a", "b"], "B": ["x", "y"], "C": []}
    grades = {("q", "a"): 1.0}
    assert ordered("move-to-front", lists, grades) == ["a", "b", "x", "y"]
    assert ordered("move-to-front", lists, grades, rel=2) == ["a", "x", "b", "y"]


def test_shuffled_keeps_queries_together_and_batches_apart():
    rows = [(f"q{i % 4}", f"d{i}", 1 + i // 20) for i in range(40)]
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "batch"], orient="row")
    result = shuffle_batches(table, 3)
    assert result.sort("doc_id").equals(table.sort("doc_id"))
    assert result["batch"].to_list() == [1] * 20 + [2] * 20
    for _, batch in result.group_by("batch", maintain_order=True):
        assert len(batch["query_id"].rle()) == 4
    assert result.equals(shuffle_batches(table, 3))
    assert not result.equals(shuffle_batches(table, 4))


def pool_of(sizes):
    """A pool with so many documents at each rank."""
    rows = [("q", f"d{rank}-{i}", rank) for rank, size in enumerate(sizes, 1) for i in range(size)]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "best_rank"], orient="row")


def test_a_sample_has_the_size_and_the_chances_it_says():
    pool = pool_of([3, 5, 8, 8, 7, 4])
    result, unsampled = sample_pool(pool, parse_strata("1:1,3:0.5,5:0.1"), 0)
    # 3 of 3; round(.5 * 13) = 7 of 13; round(.1 * 15) = 2 of 15, as halves go up; rank 6 is out
    assert Counter(result["stratum"]) == {"1-1": 3, "2-3": 7, "4-5": 2}
    assert dict(result.select("stratum", "inclusion").unique().iter_rows()) == pytest.approx(
        {"1-1": 1.0, "2-3": 7 / 13, "4-5": 2 / 15}
    )
    assert len(unsampled) == 31 - 12
    assert not set(unsampled["doc_id"]) & set(result["doc_id"])


def test_estimates_weighed_by_inclusion_are_unbiased():
    """Relevant documents of the pool from samples (Horvitz and Thompson 1952)."""
    rng = np.random.default_rng(7)
    pool = pool_of([10, 20, 30, 40]).with_columns(
        (pl.lit(pl.Series(rng.random(100))) < 1 / pl.col("best_rank")).alias("relevant")
    )
    estimates = []
    for seed in range(400):
        result, _ = sample_pool(pool, parse_strata("1:1,2:0.5,4:0.2"), seed)
        estimates.append((result["relevant"] / result["inclusion"]).sum())
    error = np.std(estimates) / math.sqrt(len(estimates))
    assert np.mean(estimates) == pytest.approx(pool["relevant"].sum(), abs=4 * error)
    assert np.std(estimates) > 0


@pytest.mark.parametrize("words", ["10", "10:0", "10:2", "10:1,5:0.5", "a:1", ""])
def test_no_strata(words):
    with raises("invalid-stratum", UsageError):
        parse_strata(words)


SIZES = {"a": 60.0, "b": 20.0, "c": 10.0, "d": 5.0, "e": 4.0, "f": 1.0}


def test_chances_in_proportion_to_size():
    """a is more than a third of all: certain; the others share two places, b first."""
    result = sample_queries(list(SIZES), 3, "pps", SIZES)
    # a is certain (3 * 60/100 >= 1); of the other 40: b has 2 * 20/40 = 1, certain too
    expected = {"a": 1, "b": 1} | {q: SIZES[q] / 20 for q in "cdef"}
    counts = Counter()
    for seed in range(2000):
        sample = sample_queries(list(SIZES), 3, "pps", SIZES, seed)
        assert len(sample) == 3
        counts.update(sample["query_id"])
        for query, chance in sample.select("query_id", "query_inclusion").iter_rows():
            assert chance == pytest.approx(expected[query])
    for query, chance in expected.items():
        assert counts[query] / 2000 == pytest.approx(chance, abs=0.045), query
    assert result.equals(sample_queries(list(SIZES), 3, "pps", SIZES))


def test_head_torso_and_tail():
    sizes = {"head": 30.0, **{f"t{i}": 6.0 for i in range(5)}, **{f"z{i}": 1.0 for i in range(30)}}
    result = sample_queries(list(sizes), 9, "stratified", sizes, 1)
    stratum_counts = {s: len(group) for (s,), group in result.group_by("query_stratum")}
    assert stratum_counts == {"head": 1, "torso": 4, "tail": 4}
    chances = dict(result.select("query_stratum", "query_inclusion").unique().iter_rows())
    assert chances == pytest.approx({"head": 1.0, "torso": 4 / 5, "tail": 4 / 30})


def test_each_alike():
    counts = Counter()
    for seed in range(1000):
        counts.update(sample_queries(list("abcd"), 1, seed=seed)["query_id"])
    assert all(abs(count - 250) < 70 for count in counts.values())


@pytest.mark.parametrize(
    ("count", "kind", "sizes", "code"),
    [
        (7, "random", None, "out-of-range"),
        (2, "pps", None, "missing-input"),
        (2, "pps", {"a": 1.0}, "missing-input"),
        (1, "stratified", SIZES | {"a": 30.0, "b": 30.0}, "out-of-range"),
    ],
)
def test_samples_that_cannot_be(count, kind, sizes, code):
    with raises(code, UsageError):
        sample_queries(list(SIZES), count, kind, sizes)
