"""Differences from sums of partitions are those of all values."""

import json

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankgate
from rankgate.core.errors import UsageError
from rankgate.decisions.comparison.scores.systems import read_scores
from rankgate.decisions.gating.policy import parsed
from rankgate.spark import compare, evaluate
from support.spark import spark  # noqa: F401 - a fixture
from support.wording import raises

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_figures_and_slices_are_those_of_one_machine(spark):  # noqa: F811
    rng = np.random.default_rng(5)
    rows = [(f"q{i}", f"d{j}", float(s)) for i in range(90) for j, s in enumerate(rng.random(15))]
    old = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    new = old.with_columns(pl.col("score") + pl.Series(rng.random(len(old))) / 3)
    qrels = old.sample(500, seed=1).select("query_id", "doc_id", pl.lit(1).alias("grade"))
    tags = "ids:q(?P<first>[0-9]).*"
    metrics = ["nDCG@5", "RR"]
    tagged = rankgate.Collection(qrels, tags=tags)
    here = rankgate.compare(tagged, old, new, metrics, slices=["first"])
    there = compare(
        *(qrels, old, new, metrics), tags=tags, slices=["first"], partitions=3, spark=spark
    )
    assert_frame_equal(here.metrics.drop("needed"), there.metrics.drop("needed"), rel_tol=1e-9)
    assert_frame_equal(here.only.slices, there.only.slices, rel_tol=1e-9)
    assert str(type(there).from_dict(there.to_dict())) == str(there)


def test_queries_that_one_run_has_are_as_on_one_machine(spark):  # noqa: F811
    ids = [f"q{i}" for i in range(12)]
    rows = [(each, f"d{j}", float(j)) for each in ids for j in range(4)]
    every = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    qrels = every[::3].select("query_id", "doc_id", pl.lit(1).alias("grade"))
    old, new = (every.filter(~pl.col("query_id").is_in(out)) for out in (ids[:1], ids[2:8]))
    for unequal in ("zero", "drop"):
        here = rankgate.compare(qrels, old, new, ["RR"], test=rankgate.Test(unequal=unequal))
        there = compare(qrels, old, new, ["RR"], unequal=unequal, partitions=3, spark=spark)
        assert_frame_equal(here.metrics.drop("needed"), there.metrics.drop("needed"), rel_tol=1e-9)
    with raises("values-differ", UsageError) as caught:
        compare(qrels, old, new, ["RR"], names=["run", "run#2"], partitions=3, spark=spark)
    with raises("values-differ", UsageError) as alone:
        rankgate.compare(qrels, old, new, ["RR"], test="t")
    assert str(caught.value) == str(alone.value)


def test_gate_takes_what_was_saved(spark, tmp_path):  # noqa: F811
    rng = np.random.default_rng(6)
    rows = [(f"q{i}", f"d{j}", float(s)) for i in range(300) for j, s in enumerate(rng.random(9))]
    old = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    new = old.with_columns(pl.col("score") + pl.Series(rng.random(len(old))))
    qrels = old.sample(900, seed=1).select("query_id", "doc_id", pl.lit(1).alias("grade"))
    both = compare(qrels, old, new, ["RR"], partitions=3, spark=spark)
    apart = evaluate(qrels, {"new": new}, ["RR"], partitions=2, values=False, spark=spark).summary
    there, again = both.only.groups["candidate"]["RR"], apart.runs[0].groups["RR"]
    assert (there.n.tolist(), there.queries) == (again.n.tolist(), again.queries)
    np.testing.assert_allclose(there.sums, again.sums, rtol=1e-14)
    place = tmp_path / "comparison.json"
    place.write_text(json.dumps(both.to_dict()))
    rule = "[[rules]]\nkind = 'noninferiority'\nmetric = 'RR'\nmargin = 0.4\n"
    verdict = rankgate.gate(read_scores(place), policy=parsed(rule, "policy"))
    (ended,) = verdict.rules
    assert verdict.passed
    assert ended.outcome.delta == pytest.approx(both.metrics["delta"][0], rel=1e-12)
    assert ended.outcome.n == both.metrics["n"][0]


@pytest.mark.pyspark
def test_slices_need_tags():
    with raises("missing-input", UsageError):
        compare({}, {}, {}, slices=["kind"])
