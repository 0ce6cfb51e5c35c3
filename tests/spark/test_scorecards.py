"""Scorecards on Spark have the values of one machine, of whole lists too."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankgate
from rankgate.errors import InputError
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
