"""Differences from sums of partitions are those of all values."""

import json

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankgate
from rankgate.core.errors import UsageError
from rankgate.decisions.comparison.reported_systems import read_scores
from rankgate.decisions.gating.policy import parse_policy
from rankgate.spark import table
from support.spark import (
    measured,
    spark,  # noqa: F401 - a fixture
    there,
)
from support.wording import raises

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_figures_and_slices_are_those_of_one_machine():
    rng = np.random.default_rng(5)
    rows = [(f"q{i}", f"d{j}", float(s)) for i in range(90) for j, s in enumerate(rng.random(15))]
    old = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    new = old.with_columns(pl.col("score") + pl.Series(rng.random(len(old))) / 3)
    qrels = old.sample(500, seed=1).select("query_id", "doc_id", pl.lit(1).alias("grade"))
    tags = "ids:q(?P<first>[0-9]).*"
    metrics = ["nDCG@5", "RR"]
    tagged = rankgate.Collection(qrels, tags=tags)
    local_result = rankgate.compare(tagged, old, new, metrics, slices=["first"])
    moved = rankgate.Collection(there(qrels), tags=tags)
    spark_result = measured(*(rankgate.compare, moved, old, new, metrics), slices=["first"], partitions=3)
    assert_frame_equal(local_result.metrics.drop("needed"), spark_result.metrics.drop("needed"), rel_tol=1e-9)
    assert_frame_equal(local_result.only.slices, spark_result.only.slices, rel_tol=1e-9)
    assert str(type(spark_result).from_dict(spark_result.to_dict())) == str(spark_result)


def test_queries_that_one_run_has_are_as_on_one_machine():
    ids = [f"q{i}" for i in range(12)]
    rows = [(query_id, f"d{j}", float(j)) for query_id in ids for j in range(4)]
    full_run = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    qrels = full_run[::3].select("query_id", "doc_id", pl.lit(1).alias("grade"))
    old, new = (full_run.filter(~pl.col("query_id").is_in(out)) for out in (ids[:1], ids[2:8]))
    for unequal in ("zero", "drop"):
        local_result = rankgate.compare(qrels, old, new, ["RR"], test=rankgate.Test(unequal=unequal))
        test = rankgate.Test(unequal=unequal)
        spark_result = measured(rankgate.compare, there(qrels), old, new, ["RR"], test=test, partitions=3)
        assert_frame_equal(
            local_result.metrics.drop("needed"), spark_result.metrics.drop("needed"), rel_tol=1e-9
        )
    with raises("values-differ", UsageError) as caught:
        measured(rankgate.compare, there(qrels), old, new, ["RR"], partitions=3)
    with raises("values-differ", UsageError) as local_error:
        rankgate.compare(qrels, old, new, ["RR"], test="t")
    assert str(caught.value) == str(local_error.value)


def test_gate_takes_what_was_saved(tmp_path):
    rng = np.random.default_rng(6)
    rows = [(f"q{i}", f"d{j}", float(s)) for i in range(300) for j, s in enumerate(rng.random(9))]
    old = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    new = old.with_columns(pl.col("score") + pl.Series(rng.random(len(old))))
    qrels = old.sample(900, seed=1).select("query_id", "doc_id", pl.lit(1).alias("grade"))
    comparison = measured(rankgate.compare, there(qrels), old, new, ["RR"], partitions=3)
    runs = {"old": old, "new": new}
    evaluation = measured(rankgate.evaluate, there(qrels), runs, ["RR"], partitions=2)
    sums, evaluation_sums = (comparison.only.groups["candidate"]["RR"], evaluation.runs[1].groups["RR"])
    assert (sums.n.tolist(), sums.queries) == (evaluation_sums.n.tolist(), evaluation_sums.queries)
    np.testing.assert_allclose(sums.sums, evaluation_sums.sums, rtol=1e-14)
    path = tmp_path / "comparison.json"
    path.write_text(json.dumps(comparison.to_dict()))
    rule = "[[rules]]\nkind = 'noninferiority'\nmetric = 'RR'\nmargin = 0.4\n"
    verdict = rankgate.gate(read_scores(path), policy=parse_policy(rule, "policy"))
    (at_once,) = rankgate.gate(evaluation, policy=parse_policy(rule, "policy")).rules
    (rule_result,) = verdict.rules
    assert rankgate.gate(comparison, parse_policy(rule, "policy")).rules == verdict.rules
    (of_groups,) = rankgate.gate(rankgate.compare(evaluation), parse_policy(rule, "policy")).rules
    assert of_groups == at_once
    assert at_once.outcome.reason == rule_result.outcome.reason
    assert at_once.outcome.low == pytest.approx(rule_result.outcome.low, rel=1e-12)
    saved = read_scores(evaluation.save(tmp_path / "apart.json"))
    assert rankgate.gate(saved, policy=parse_policy(rule, "policy")).rules == (at_once,)
    compared = rankgate.compare(evaluation, "old", "new", ["RR"])
    assert compared.metrics["delta"][0] == pytest.approx(comparison.metrics["delta"][0], rel=1e-12)
    with raises("missing-part", UsageError):
        rankgate.compare(evaluation, slices=["kind"])
    assert verdict.passed
    assert rule_result.outcome.delta == pytest.approx(comparison.metrics["delta"][0], rel=1e-12)
    assert rule_result.outcome.n == comparison.metrics["n"][0]


@pytest.mark.parametrize(
    "values",
    [
        {"method": "wilcoxon"},
        {"method": "randomization", "correction": "maxt"},
        {"interval": "bca"},
        {"resamples": 10},
        {"seed": 1},
        {"wanted": 0.1},
        {"margin": 0.1},
        {"relative": True},
    ],
    ids=str,
)
def test_other_tests_are_refused_by_their_fields(values):
    with raises("unused-option", UsageError):
        rankgate.compare(table("qrels"), "old", "new", test=rankgate.Test(**values))


def test_what_needs_single_queries_is_refused():
    judged = table("qrels")
    tagged = rankgate.Collection(judged, tags="ids:(?P<cluster>.)")
    with raises("missing-input", UsageError):
        rankgate.compare(judged, "old", "new", slices=["kind"])
    with raises("missing-part", UsageError):
        rankgate.compare(judged, "old", "new", depth=20)
    with raises("missing-part", UsageError):
        rankgate.compare(tagged, "old", "new")
    with raises("missing-input", UsageError):
        rankgate.compare(judged, "old", [])
