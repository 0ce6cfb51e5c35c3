"""The card of Spark is that of one machine, field by field."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate import Collection, Items
from support.spark import (
    assert_equal,
    measured,
    spark,  # noqa: F401 - a fixture
    there,
)

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def shown(rng, users, items, length, scale=1.0):
    """Runs of some users: items of unequal popularity, with scores that tie now and then."""
    weights = 1 / np.arange(1, items + 1) ** scale
    rows = [
        (f"u{user}", f"i{item}", float(length - rank // 2))
        for user in range(users)
        for rank, item in enumerate(rng.choice(items, length, replace=False, p=weights / weights.sum()))
    ]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")


def judged(rng, users, items, size):
    """Judgments of grades 0, 1 and 2, each pair once."""
    rows = [
        (f"u{user}", f"i{item}", int(grade))
        for user in range(users)
        for item, grade in zip(
            rng.choice(items, size, replace=False), rng.choice([0, 1, 1, 2], size), strict=True
        )
    ]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "grade"], orient="row")


def interactions(rng, users, items, rows, *, timed):
    """A log, in which some pairs come twice."""
    log = pl.DataFrame(
        {
            "user_id": [f"u{user}" for user in rng.integers(0, users, rows)],
            "item_id": [f"i{item}" for item in rng.zipf(1.4, rows) % items],
        }
    )
    return (
        log.with_columns(timestamp=1_700_000_000 + pl.Series(rng.integers(0, 9_000, rows))) if timed else log
    )


def untimed(rng):
    """Judgments and two systems, and nothing else: the catalogue is what they name."""
    runs = {"a": shown(rng, 60, 40, 14), "b": shown(rng, 60, 40, 14, 0.2)}
    return Collection(judged(rng, 60, 40, 6)), runs, {}


def timed(rng):
    """A timed log that is split here; one system lacks users and shows what they had."""
    log = interactions(rng, 80, 50, 1500, timed=True).unique(["user_id", "item_id"], maintain_order=True)
    parts = rankgate.split(log, rankgate.SplitPlan("leave-last"))
    qrels = parts.qrels.table
    runs = {"popular": shown(rng, 80, 50, 12), "knn": shown(rng, 70, 50, 12, 0.5)}
    return Collection(qrels, training=log.drop("timestamp")), runs, {"slices": ["activity", "history"]}


def trained(rng):
    """Training whose items leave the lists, a stated catalogue, users without judgments."""
    log = interactions(rng, 50, 45, 500, timed=False)
    qrels = judged(rng, 60, 45, 5).filter(~pl.col("query_id").str.ends_with("7"))
    runs = {"a": shown(rng, 66, 45, 20), "b": shown(rng, 60, 45, 20, 0.1), "c": shown(rng, 40, 45, 9)}
    shop = Items(catalogue=[f"i{item}" for item in range(50)])
    return Collection(qrels, training=log, drop_seen=True, items=shop), runs, {"slices": ["popularity"]}


def described(rng):
    """Items with features, categories and groups; a reference run; all slices."""
    log = interactions(rng, 70, 40, 700, timed=False)
    items = pl.DataFrame(
        {
            "item_id": [f"i{item}" for item in range(38)],
            "genre": rng.choice(["x", "y|z", "z", ""], 38),
            "maker": rng.choice(["m", "n"], 38),
            "price": rng.random(38).round(3),
            "unused": rng.random(38),
        }
    )
    users = pl.DataFrame(
        {"user_id": [f"u{user}" for user in range(64)], "plan": rng.choice(["free", "paid", ""], 64)}
    )
    collection = Collection(
        judged(rng, 66, 40, 7),
        training=log,
        items=Items(items, features=["price"], category="genre", group="maker"),
        users=users,
        reference=shown(rng, 70, 40, 10, 1.5),
    )
    runs = {"a": shown(rng, 68, 40, 15), "b": shown(rng, 66, 40, 15, 0.3)}
    return collection, runs, {"slices": ["plan", "items.genre", "activity", "history", "popularity"]}


def tied(rng):
    """Four systems, two of them equal, with lists that are all alike."""
    same = shown(rng, 1, 25, 12).drop("query_id")
    alike = pl.DataFrame({"query_id": [f"u{user}" for user in range(45)]}).join(same, how="cross")
    best = shown(rng, 45, 25, 12, 0.1)
    runs = {"alike": alike, "best": best, "again": best, "equal": alike}
    return Collection(judged(rng, 45, 25, 4), judged_users_only=True), runs, {"level": 0.9, "seed": 5}


def sampled(rng):
    """Lists of sampled candidates, with one relevant item for each user."""
    users, items, negatives = 40, 60, 20
    rows = [
        (f"u{user}", f"i{item}")
        for user in range(users)
        for item in rng.choice(items, negatives + 1, replace=False)
    ]
    candidates = pl.DataFrame(rows, schema=["query_id", "doc_id"], orient="row")
    qrels = candidates.unique("query_id", keep="first", maintain_order=True).with_columns(grade=pl.lit(1))
    runs = {
        name: candidates.with_columns(score=pl.Series(rng.random(len(candidates)))) for name in ("a", "b")
    }
    extra_rows = pl.DataFrame({"query_id": ["u1"], "doc_id": ["i999"], "score": [9.0]})
    runs["b"] = pl.concat([runs["b"], extra_rows])  # not a candidate
    marked = candidates.with_columns(candidates=pl.lit(f"sampled({negatives})"))
    return Collection(qrels, candidates=marked), runs, {}


def together(rng):
    """Metrics of sums over lists, whose terms need training, also in parts of the items."""
    items = pl.DataFrame({"item_id": [f"i{item}" for item in range(30)], "maker": ["m", "n"] * 15})
    collection = Collection(
        judged(rng, 40, 30, 5),
        training=interactions(rng, 40, 30, 200, timed=False),
        items=Items(items, category="maker", group="maker"),
    )
    metrics = ["PopularityLift@3", "PopREO@3", "ExposureMerit@3", "Miscalibration@3", "AP"]
    runs = {"a": shown(rng, 40, 30, 9), "b": shown(rng, 40, 30, 9, 0.2)}
    return collection, runs, {"metrics": metrics, "slices": ["items.maker"]}


LOGS = {make.__name__: make for make in (untimed, timed, trained, described, tied, sampled, together)}


@pytest.mark.parametrize("name", LOGS)
def test_the_card_of_a_log(name):
    collection, runs, options = LOGS[name](np.random.default_rng(71))
    local_card = rankgate.scorecard(collection, runs, resamples=60, **options)
    on_spark = replace(collection, judgments=there(collection.judgments))
    spark_card = measured(rankgate.scorecard, on_spark, runs, partitions=3, resamples=60, **options)
    local_dict = local_card.to_dict()
    assert_equal(local_dict, spark_card.to_dict() | {"qrels": local_dict["qrels"]})
