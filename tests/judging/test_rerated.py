"""The comparison of two systems by other sets of raters."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.core.present.codec import encode
from rankgate.data.qrels import Ratings
from rankgate.judging.agreement.rater_resampling import RedrawnGrades, resample_raters
from support.wording import raises

RUNS = [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}]


def rated(rows):
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", "rater", "grade"], orient="row")
    return Ratings(table.with_columns(pl.col("grade").cast(pl.Float64)))


def test_raters_who_agree_change_nothing():
    rows = [("q", doc, rater, grade) for doc, grade in (("a", 0), ("b", 2)) for rater in "xyz"]
    (effect,) = resample_raters(rated(rows), *RUNS, ["DCG@1"], draws=10).effects
    assert (effect.delta, effect.low, effect.high, effect.reversed) == (2, 2, 2, 0)


def test_the_share_of_reversals_by_all_that_could_be_drawn():
    # a has the grades 0 1 1, b has 1 2 0 (by their means 2/3 and 1): 27 times 27 drawings
    a, b = (0, 1, 1), (1, 2, 0)
    rows = [("q", "a", f"r{i}", g) for i, g in enumerate(a)]
    rows += [("q", "b", f"r{i}", g) for i, g in enumerate(b)]
    drawings = [
        np.mean(second) - np.mean(first)
        for first, second in product(product(a, repeat=3), product(b, repeat=3))
    ]
    want = np.mean(np.array(drawings) < -1e-12)
    (effect,) = resample_raters(rated(rows), *RUNS, ["DCG@1"], rule="mean", draws=100, seed=1).effects
    assert effect.delta == pytest.approx(1 / 3)
    assert effect.reversed == pytest.approx(want, abs=4 * np.sqrt(want * (1 - want) / 100))


def test_who_graded_alone_is_drawn_from_what_others_said():
    # over the pairs of two raters, where one said 1 the other said 2 three times of four
    rows = [("q", f"d{i}", "x", 1) for i in range(4)]
    rows += [("q", f"d{i}", "y", 2 if i < 3 else 1) for i in range(4)]
    rows += [("p", f"e{i}", "x", 1) for i in range(2000)]
    redrawn = RedrawnGrades.from_ratings(rated(rows)).draw(np.random.default_rng(0)).table
    redrawn_grades = redrawn.filter(pl.col("query_id") == "p")["grade"]
    # others of a 1: 2, 2, 2, and 1 twice (each of the pair that agrees is the other's other)
    assert (redrawn_grades == 2).mean() == pytest.approx(3 / 5, abs=0.05)
    assert set(redrawn_grades.unique()) == {1.0, 2.0}


def test_without_a_pair_of_two_raters_nothing_is_known():
    with raises("no-common-pairs", InputError):
        resample_raters(rated([("q", "a", "x", 1), ("q", "b", "x", 0)]), *RUNS)


def test_the_same_seed_draws_the_same_raters():
    rows = [("q", doc, r, (i + j) % 3) for i, doc in enumerate("ab") for j, r in enumerate("xyz")]
    first, second = (resample_raters(rated(rows), *RUNS, ["DCG@2"], rule="mean", draws=8) for _ in "12")
    assert encode(first) == encode(second)
