"""Scorecards on Spark have the values of one machine, of whole lists too."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankgate
from rankgate import Collection, Items
from rankgate.core.errors import InputError, UsageError
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


def scorecard(qrels, runs, metrics, *, partitions=0, **given):
    """The card of judgments on Spark."""
    return measured(local_scorecard, there(qrels), runs, metrics, partitions=partitions, **given)


def local_scorecard(qrels, runs, metrics, *, slices=(), resamples=10, **tables):
    """The card of judgments, with tables of a collection."""
    columns = {name: tables.pop(name, None) for name in ("catalogue", "category")}
    training = tables.pop("train", None)
    items = Items(tables.pop("items", None), **columns)
    collection = Collection(qrels, items=items, training=training, **tables)
    return rankgate.scorecard(collection, runs, metrics, slices=slices, resamples=resamples)


def test_values_are_those_of_one_machine():
    rng = np.random.default_rng(3)
    rows = [(f"u{i}", f"i{j}") for i in range(60) for j in rng.permutation(30)[:8]]
    pairs = pl.DataFrame(rows, schema=["query_id", "doc_id"], orient="row")
    old, new = (pairs.with_columns(score=pl.Series(rng.random(len(pairs)))) for _ in range(2))
    qrels = pairs.sample(120, seed=1).with_columns(grade=pl.lit(1))
    metrics = ["nDCG@3", "Coverage@3", "Gini@3"]
    items = [f"i{j}" for j in range(33)]
    options = {"catalogue": items}
    local_card = local_scorecard(qrels, {"old": old, "new": new}, metrics, resamples=10, **options)
    runs = {"old": old, "new": new}
    spark_card = scorecard(qrels, runs, metrics, partitions=4, resamples=40, **options)
    columns = ["system", "metric", "about", "value"]
    assert_frame_equal(local_card.figures.select(columns), spark_card.figures.select(columns), rel_tol=1e-12)
    assert (spark_card.figures["low"] <= spark_card.figures["value"]).all()
    assert spark_card.catalogue == 33


def test_the_catalogue_is_the_one_of_a_card_here():
    qrels, runs, options = _data(np.random.default_rng(7))
    partial_options = {**options, "items": options["items"].filter(pl.col("item_id") < "i2")}
    partial_options["train"] = options["train"].filter(pl.col("item_id") < "i25")
    metrics = ["nDCG@3", "Coverage@3", "Novelty@5", "ILD@3", "Coverage@40"]
    columns = ["system", "metric", "value", "users"]
    for arguments in (
        {"metrics": metrics, **partial_options, "category": "colour", "slices": ["items.colour"]},
        {"metrics": metrics[:2]},  # nothing is stated
    ):
        local_card = local_scorecard(qrels, runs, resamples=10, **arguments)
        spark_card = scorecard(qrels, runs, partitions=2, resamples=5, **arguments)
        assert_frame_equal(
            local_card.figures.select(columns), spark_card.figures.select(columns), rel_tol=1e-12
        )
        _assert_equal_parts(local_card, spark_card)
        assert spark_card.catalogue == local_card.catalogue
        assert spark_card.warnings
        assert set(spark_card.warnings) <= set(local_card.warnings)


def _data(rng):
    rows = [(f"u{i}", f"i{j}") for i in range(90) for j in rng.permutation(30)[:8]]
    pairs = pl.DataFrame(rows, schema=["query_id", "doc_id"], orient="row")
    old, new = (pairs.with_columns(score=pl.Series(rng.random(len(pairs)))) for _ in range(2))
    qrels = pairs.filter(pl.Series(rng.random(len(pairs)) < 0.4)).with_columns(grade=pl.lit(1))
    qrels = pl.concat([qrels, pairs.unique("query_id").with_columns(grade=pl.lit(0))])
    qrels = qrels.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    train = pl.DataFrame(
        [(f"u{i}", f"i{j}") for i in range(70) for j in rng.permutation(30)[: i % 7]],
        schema=["user_id", "item_id"],
        orient="row",
    )
    kinds = [("a", "b|a", "", "b")[i % 4] for i in range(80)]
    users = pl.DataFrame({"user_id": [f"u{i}" for i in range(80)], "kind": kinds})
    colours = ["red|blue" if i % 5 == 0 else "blue" if i % 2 else "" for i in range(33)]
    colours[7] = "unjudged"
    items = pl.DataFrame({"item_id": [f"i{j}" for j in range(33)], "colour": colours})
    unjudged = pl.col("query_id").str.ends_with("3")  # served, and without judgments
    options = {"train": train, "users": users, "items": items}
    return qrels.filter(~unjudged, pl.col("doc_id") != "i7"), {"old": old, "new": new}, options


def _assert_equal_parts(here, found):
    columns = [*here.SCHEMAS["slices"]]
    columns = [name for name in columns if name not in {"low", "high", "p_raw", "p_value"}]
    columns = [name for name in columns if not name.startswith("delta_")]
    user_column = pl.when(~pl.col("metric").str.starts_with("PopREO")).then("users")  # sums of lists
    assert_frame_equal(
        here.slices.select(columns).with_columns(user_column),
        found.slices.select(columns).with_columns(user_column),
        rel_tol=1e-12,
        abs_tol=1e-13,
    )
    columns = ["slice", "part", "system", "metric", "gap", "better"]
    assert_frame_equal(here.gaps.select(columns), found.gaps.select(columns), rel_tol=1e-11, abs_tol=1e-12)


def test_slices_are_those_of_one_machine():
    qrels, runs, options = _data(np.random.default_rng(4))
    options["slices"] = ["activity", "history", "kind", "popularity", "items.colour"]
    metrics = ["nDCG@3", "Coverage@3", "Novelty@5", "PopREO@3", "AP"]
    options |= {"drop_seen": True}
    local_card = local_scorecard(qrels, runs, metrics, resamples=10, **options)
    spark_card = scorecard(qrels, runs, metrics, partitions=12, resamples=20, **options)
    _assert_equal_parts(local_card, spark_card)
    assert spark_card.slices["p_value"].drop_nulls().is_between(0, 1).all()
    assert spark_card.gaps["p_value"].is_between(0, 1).all()
    assert str(type(spark_card).from_dict(spark_card.to_dict())) == str(spark_card)


@pytest.mark.separate
def test_slices_of_pairs_without_accuracy():
    qrels, runs, options = _data(np.random.default_rng(5))
    options["slices"] = ["popularity", "history"]
    local_card = local_scorecard(qrels, runs, ["Coverage@3"], resamples=10, **options)
    spark_card = scorecard(qrels, runs, ["Coverage@3"], partitions=90, **options)
    _assert_equal_parts(local_card, spark_card)
    assert set(spark_card.slices["slice"]) == {"popularity"}


def test_metrics_of_subtopics():
    rng = np.random.default_rng(6)
    qrels, runs, options = _data(rng)
    subtopics = pl.Series("subtopic", rng.choice(["1", "2", "3"], len(qrels)))
    extra_subtopics = qrels.filter(grade=1)[::3].with_columns(pl.lit("4").alias("subtopic"))
    qrels = pl.concat([qrels.with_columns(subtopics), extra_subtopics])
    options["slices"] = ["history", "colour", "activity"]
    metrics = ["alpha-nDCG@5", "Coverage@3"]
    local_card = local_scorecard(qrels, runs, metrics, resamples=10, **options)
    spark_card = scorecard(qrels, runs, metrics, partitions=4, resamples=10, **options)
    columns = ["system", "metric", "value", "users"]
    assert_frame_equal(local_card.figures.select(columns), spark_card.figures.select(columns), rel_tol=1e-12)
    _assert_equal_parts(local_card, spark_card)


@pytest.mark.separate
def test_categories_of_items_are_subtopics():
    qrels, runs, options = _data(np.random.default_rng(8))
    user_filter = pl.col("query_id") < "u2"  # so that no judged item of some partitions has a category
    qrels, runs = (qrels.filter(user_filter), {name: run.filter(user_filter) for name, run in runs.items()})
    options["items"] = options["items"].head(4)
    options |= {"slices": ["history", "items.colour"], "category": "colour"}
    metrics = ["alpha-nDCG@5", "ERR-IA@5", "nDCG@3"]
    local_card = local_scorecard(qrels, runs, metrics, resamples=10, **options)
    spark_card = scorecard(qrels, runs, metrics, partitions=6, resamples=5, **options)
    columns = ["system", "metric", "value", "users"]
    assert_frame_equal(local_card.figures.select(columns), spark_card.figures.select(columns), rel_tol=1e-12)
    _assert_equal_parts(local_card, spark_card)


def test_no_judged_item_has_a_category():
    items = pl.DataFrame({"item_id": ["b"], "genre": ["x"]})
    options = {"items": items, "category": "genre"}
    for make_card in (local_scorecard, partial(scorecard, partitions=2)):
        with raises("no-subtopics", InputError):
            make_card({"u": {"a": 1}}, {"u": {"b": 1.0}}, ["alpha-nDCG@5"], **options)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"slices": ["popularity"]}, "missing-input"),
        ({"slices": ["history"]}, "missing-input"),
        ({"slices": ["colour"]}, "unknown-slice"),
    ],
)
def test_slices_that_cannot_be_made(given, code):
    with raises(code, UsageError):
        scorecard({"u": {"a": 1}}, {"u": {"b": 1.0}}, ["RR"], partitions=2, **given)
