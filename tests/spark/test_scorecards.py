"""Scorecards on Spark have the values of one machine, of whole lists too."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankgate
from rankgate.errors import InputError, UsageError
from rankgate.spark import scorecard
from support.spark import spark  # noqa: F401 - a fixture
from support.wording import raises

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_values_are_those_of_one_machine(spark):  # noqa: F811
    rng = np.random.default_rng(3)
    rows = [(f"u{i}", f"i{j}") for i in range(60) for j in rng.permutation(30)[:8]]
    pairs = pl.DataFrame(rows, schema=["query_id", "doc_id"], orient="row")
    old, new = (pairs.with_columns(score=pl.Series(rng.random(len(pairs)))) for _ in range(2))
    qrels = pairs.sample(120, seed=1).with_columns(grade=pl.lit(1))
    metrics = ["nDCG@3", "Coverage@3", "Gini@3"]
    items = [f"i{j}" for j in range(33)]
    given = {"catalogue": items}
    here = rankgate.scorecard(qrels, {"old": old, "new": new}, metrics, resamples=10, **given)
    runs = {"old": old, "new": new}
    there = scorecard(qrels, runs, metrics, partitions=4, resamples=40, spark=spark, **given)
    columns = ["system", "metric", "about", "value"]
    assert_frame_equal(here.figures.select(columns), there.figures.select(columns), rel_tol=1e-12)
    assert (there.figures["low"] <= there.figures["value"]).all()
    assert there.catalogue == 33
    with raises("unknown-item", InputError):
        scorecard(qrels, old, ["Coverage@3"], catalogue=["i1"], partitions=2, spark=spark)


def test_slices_of_users_are_those_of_one_machine(spark):  # noqa: F811
    rng = np.random.default_rng(4)
    rows = [(f"u{i}", f"i{j}") for i in range(90) for j in rng.permutation(30)[:8]]
    pairs = pl.DataFrame(rows, schema=["query_id", "doc_id"], orient="row")
    old, new = (pairs.with_columns(score=pl.Series(rng.random(len(pairs)))) for _ in range(2))
    qrels = pairs.filter(pl.Series(rng.random(len(pairs)) < 0.4)).with_columns(grade=pl.lit(1))
    qrels = pl.concat([qrels, pairs.unique("query_id").with_columns(grade=pl.lit(0))])
    qrels = qrels.unique(["query_id", "doc_id"])
    train = pl.DataFrame(
        [(f"u{i}", f"i{j}") for i in range(70) for j in rng.permutation(30)[: i % 7]],
        schema=["user_id", "item_id"], orient="row",
    )  # fmt: skip
    kinds = [("a", "b|a", "", "b")[i % 4] for i in range(80)]
    users = pl.DataFrame({"user_id": [f"u{i}" for i in range(80)], "kind": kinds})
    given = {
        "catalogue": [f"i{j}" for j in range(33)], "train": train, "users": users,
        "slices": ["activity", "kind"],
    }  # fmt: skip
    metrics, runs = ["nDCG@3", "Coverage@3", "Novelty@3"], {"old": old, "new": new}
    here = rankgate.scorecard(qrels, runs, metrics, resamples=10, **given)
    there = scorecard(qrels, runs, metrics, partitions=4, resamples=20, spark=spark, **given)
    known = ["slice", "of", "part", "size", "system", "metric", "about", "value", "delta", "better"]
    assert_frame_equal(here.slices.select(known), there.slices.select(known), rel_tol=1e-12)
    known = ["slice", "part", "system", "metric", "gap", "better"]
    assert_frame_equal(
        here.gaps.select(known), there.gaps.select(known), rel_tol=1e-11, abs_tol=1e-12
    )
    assert there.gaps["p_value"].is_between(0, 1).all()
    assert str(type(there).from_dict(there.to_dict())) == str(there)


def test_slices_of_items_are_refused(spark):  # noqa: F811
    given = {"catalogue": ["a"], "spark": spark}
    for name in ("popularity", "colour"):
        with raises("unknown-slice", UsageError):
            scorecard({"u": {"a": 1}}, {"u": {"a": 1.0}}, ["Coverage@1"], slices=[name], **given)
