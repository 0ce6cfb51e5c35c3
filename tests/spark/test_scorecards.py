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
    given = {"catalogue": items}
    here = local_scorecard(qrels, {"old": old, "new": new}, metrics, resamples=10, **given)
    runs = {"old": old, "new": new}
    found = scorecard(qrels, runs, metrics, partitions=4, resamples=40, **given)
    columns = ["system", "metric", "about", "value"]
    assert_frame_equal(here.figures.select(columns), found.figures.select(columns), rel_tol=1e-12)
    assert (found.figures["low"] <= found.figures["value"]).all()
    assert found.catalogue == 33


def test_items_that_the_catalogue_lacks_are_added():
    qrels, runs, given = _data(np.random.default_rng(7))
    some = {**given, "items": given["items"].filter(pl.col("item_id") < "i2")}
    some["train"] = given["train"].filter(pl.col("item_id") < "i25")
    metrics = ["nDCG@3", "Coverage@3", "Novelty@5", "ILD@3", "Coverage@40"]
    known = ["system", "metric", "value", "users"]
    for each in (
        {"metrics": metrics, **some, "category": "colour", "slices": ["items.colour"]},
        {"metrics": metrics[:2]},  # nothing is stated
    ):
        here = local_scorecard(qrels, runs, resamples=10, **each)
        found = scorecard(qrels, runs, partitions=2, resamples=5, **each)
        assert_frame_equal(here.figures.select(known), found.figures.select(known), rel_tol=1e-12)
        _assert_equal_parts(here, found)
        assert found.catalogue == here.catalogue
        assert found.warnings
        assert set(found.warnings) <= set(here.warnings)


def _data(rng):
    rows = [(f"u{i}", f"i{j}") for i in range(90) for j in rng.permutation(30)[:8]]
    pairs = pl.DataFrame(rows, schema=["query_id", "doc_id"], orient="row")
    old, new = (pairs.with_columns(score=pl.Series(rng.random(len(pairs)))) for _ in range(2))
    qrels = pairs.filter(pl.Series(rng.random(len(pairs)) < 0.4)).with_columns(grade=pl.lit(1))
    qrels = pl.concat([qrels, pairs.unique("query_id").with_columns(grade=pl.lit(0))])
    qrels = qrels.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    train = pl.DataFrame(
        [(f"u{i}", f"i{j}") for i in range(70) for j in rng.permutation(30)[: i % 7]],
        schema=["user_id", "item_id"], orient="row",
    )  # fmt: skip
    kinds = [("a", "b|a", "", "b")[i % 4] for i in range(80)]
    users = pl.DataFrame({"user_id": [f"u{i}" for i in range(80)], "kind": kinds})
    colours = ["red|blue" if i % 5 == 0 else "blue" if i % 2 else "" for i in range(33)]
    colours[7] = "unjudged"
    items = pl.DataFrame({"item_id": [f"i{j}" for j in range(33)], "colour": colours})
    unjudged = pl.col("query_id").str.ends_with("3")  # served, and without judgments
    given = {"train": train, "users": users, "items": items}
    return qrels.filter(~unjudged, pl.col("doc_id") != "i7"), {"old": old, "new": new}, given


def _assert_equal_parts(here, found):
    known = [*here.SCHEMAS["slices"]]
    known = [name for name in known if name not in {"low", "high", "p_raw", "p_value"}]
    known = [name for name in known if not name.startswith("delta_")]
    apart = pl.when(~pl.col("metric").str.starts_with("PopREO")).then("users")  # sums of lists
    assert_frame_equal(
        here.slices.select(known).with_columns(apart),
        found.slices.select(known).with_columns(apart), rel_tol=1e-12, abs_tol=1e-13,
    )  # fmt: skip
    known = ["slice", "part", "system", "metric", "gap", "better"]
    assert_frame_equal(
        here.gaps.select(known), found.gaps.select(known), rel_tol=1e-11, abs_tol=1e-12
    )


def test_slices_are_those_of_one_machine():
    qrels, runs, given = _data(np.random.default_rng(4))
    given["slices"] = ["activity", "history", "kind", "popularity", "items.colour"]
    metrics = ["nDCG@3", "Coverage@3", "Novelty@5", "PopREO@3", "AP"]
    given |= {"drop_seen": True}
    here = local_scorecard(qrels, runs, metrics, resamples=10, **given)
    found = scorecard(qrels, runs, metrics, partitions=12, resamples=20, **given)
    _assert_equal_parts(here, found)
    assert found.slices["p_value"].drop_nulls().is_between(0, 1).all()
    assert found.gaps["p_value"].is_between(0, 1).all()
    assert str(type(found).from_dict(found.to_dict())) == str(found)


def test_slices_of_pairs_without_accuracy():
    qrels, runs, given = _data(np.random.default_rng(5))
    given["slices"] = ["popularity", "history"]
    here = local_scorecard(qrels, runs, ["Coverage@3"], resamples=10, **given)
    found = scorecard(qrels, runs, ["Coverage@3"], partitions=90, **given)
    _assert_equal_parts(here, found)
    assert set(found.slices["slice"]) == {"popularity"}


def test_metrics_of_subtopics():
    rng = np.random.default_rng(6)
    qrels, runs, given = _data(rng)
    subtopics = pl.Series("subtopic", rng.choice(["1", "2", "3"], len(qrels)))
    again = qrels.filter(grade=1)[::3].with_columns(pl.lit("4").alias("subtopic"))
    qrels = pl.concat([qrels.with_columns(subtopics), again])
    given["slices"] = ["history", "colour", "activity"]
    metrics = ["alpha-nDCG@5", "Coverage@3"]
    here = local_scorecard(qrels, runs, metrics, resamples=10, **given)
    found = scorecard(qrels, runs, metrics, partitions=4, resamples=10, **given)
    known = ["system", "metric", "value", "users"]
    assert_frame_equal(here.figures.select(known), found.figures.select(known), rel_tol=1e-12)
    _assert_equal_parts(here, found)


def test_categories_of_items_are_subtopics():
    qrels, runs, given = _data(np.random.default_rng(8))
    few = pl.col("query_id") < "u2"  # so that no judged item of some partitions has a category
    qrels, runs = qrels.filter(few), {name: run.filter(few) for name, run in runs.items()}
    given["items"] = given["items"].head(4)
    given |= {"slices": ["history", "items.colour"], "category": "colour"}
    metrics = ["alpha-nDCG@5", "ERR-IA@5", "nDCG@3"]
    here = local_scorecard(qrels, runs, metrics, resamples=10, **given)
    found = scorecard(qrels, runs, metrics, partitions=6, resamples=5, **given)
    known = ["system", "metric", "value", "users"]
    assert_frame_equal(here.figures.select(known), found.figures.select(known), rel_tol=1e-12)
    _assert_equal_parts(here, found)


def test_no_judged_item_has_a_category():
    items = pl.DataFrame({"item_id": ["b"], "genre": ["x"]})
    given = {"items": items, "category": "genre"}
    for own in (local_scorecard, partial(scorecard, partitions=2)):
        with raises("no-subtopics", InputError):
            own({"u": {"a": 1}}, {"u": {"b": 1.0}}, ["alpha-nDCG@5"], **given)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"slices": ["popularity"]}, "missing-input"),
        ({"slices": ["history"]}, "missing-input"),
        ({"slices": ["colour"]}, "unknown-slice"),
    ],
)  # fmt: skip
def test_slices_that_cannot_be_made(given, code):
    with raises(code, UsageError):
        scorecard({"u": {"a": 1}}, {"u": {"b": 1.0}}, ["RR"], partitions=2, **given)
