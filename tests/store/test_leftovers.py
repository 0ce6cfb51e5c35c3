"""Imported ratings answer tasks; blobs that nothing refers to go; two raters on one list."""

import hashlib
import json
import os
import time

import polars as pl
import pytest

from rankgate.data import read_run
from rankgate.data.qrels import Ratings
from rankgate.store.blobs import blob_folders, stored_runs
from rankgate.store.people import users
from rankgate.store.rating import batches, import_ratings, next_task, preferences, ratings, tasks
from rankgate.store.store_integrity import check, delete_unused_blobs, unused_blobs
from support.stored_answers import list_preferences, list_ratings
from support.stores import address_of, mostly_sqlite  # noqa: F401 - new_store

from .conftest import Shop


def rated(*rows):
    columns = ["query_id", "doc_id", "rater", "grade"]
    return Ratings(pl.DataFrame(rows, schema=columns, orient="row"))


def test_imported_ratings_count_towards_the_raters_wanted(store):
    shop = Shop(store, strategy="2")
    table = rated(
        ("q0", "d0", "eve", 2.0),
        ("q0", "d0", "fay", 2.0),
        ("q0", "d1", "eve", 1.0),
        ("q0", "d2", "eve", 0.0),
        ("q0", "d2", "fay", 2.0),
        ("q9", "d9", "eve", 1.0),
        ("q1", "d0", "bot", 1.0),
    )
    with store.write() as connection:
        assert (
            import_ratings.add_ratings(connection, shop.project, table, source="a.csv", models=["bot"]) == 7
        )
        task_counts = tasks.progress(connection, shop.project)
        assert (task_counts.done, task_counts.disputed, task_counts.open) == (1, 1, 18)
        (dispute,) = tasks.disputes(connection, shop.project)
        assert [answer.grade for answer in dispute.answers] == [0.0, 2.0]
        # one more rater is wanted of the pair that has one
        number = tasks.tasks_by_pair(connection, shop.project)["q0", "d1"]
        assert tasks.get_task(connection, number).grades == 1
        outcome = ratings.rate(connection, number, shop.raters[0], rating_id="x", grade=1.0)
        assert outcome.state == "done"
        # the same file again changes nothing, neither does it undo a correction
        eve = users.ensure(connection, "eve")
        ratings.rate(connection, number, eve.id, rating_id="y", grade=2.0)
        assert (
            import_ratings.add_ratings(connection, shop.project, table, source="a.csv", models=["bot"]) == 0
        )
        assert tasks.get_task(connection, number).state == "disputed"
    assert check(store) == ()


def test_imported_final_words_end_disagreements(store):
    shop = Shop(store, strategy="2")
    table = rated(("q0", "d0", "eve", 2.0), ("q0", "d0", "fay", 0.0), ("q0", "d0", ratings.FINAL, 1.0))
    with store.write() as connection:
        import_ratings.add_ratings(connection, shop.project, table, source="a.csv")
        assert tasks.progress(connection, shop.project).done == 1


def test_ids_of_imported_ratings_are_hashes_of_their_content(store):
    shop = Shop(store)
    rows = [
        ("q0", 'dé"', "eve", 2.0),
        ("q0", "d1", "eve", -0.0),
        ("q0", "d1", "eve", 0.0),
        ("q0", "d1", "eve", 0.0),
        ("q0", "d2", "eve", None),
    ]
    repetitions = (1, 1, 1, 2, 1)
    texts = [
        f"{shop.project}\x1f{json.dumps([*map(str, row), *['None'] * 5])}\x1f{number}"
        for row, number in zip(rows, repetitions, strict=True)
    ]
    ids = ["import-" + hashlib.sha256(text.encode()).hexdigest() for text in texts]
    with store.write() as connection:
        import_ratings.add_ratings(connection, shop.project, rated(*rows), source="a.csv")
        stored = list_ratings(connection, shop.project)
    assert [rating.rating_id for rating in stored] == ids
    assert [rating.corrects for rating in stored] == [None, None, *ids[1:3], None]
    assert [rating.reason for rating in stored] == [None] * 4 + ["no grade"]


def test_blobs_that_nothing_refers_to_are_deleted(shop):
    store = shop.store
    with store.write() as connection:
        stored_runs.add_run(connection, store.blobs, shop.project, read_run({"q": {"d": 1.0}}, "kept"))
        blob_folders.save_blob(connection, store.blobs, b"of a run that was removed")
    orphan = store.blobs.put(b"of a transaction that was undone")
    assert unused_blobs(store) == ((), 0)  # too young: somebody may be about to refer to them
    for path in store.blobs.folder.glob("??/*"):
        os.utime(path, (time.time() - 7200,) * 2)
    names, size = unused_blobs(store)
    assert orphan in names
    assert (len(names), size) == (2, 25)
    assert delete_unused_blobs(store) == (2, 25)
    assert delete_unused_blobs(store) == (0, 0)
    assert len(list(store.blobs.names())) == 1
    assert check(store) == ()
    with store.read() as connection:
        assert len(stored_runs.read_stored_run(connection, store.blobs, shop.project, "kept").table) == 1


def test_the_command_cleans(run, shop, monkeypatch):
    monkeypatch.setenv("RANKGATE_STORE", address_of(shop.store))
    orphan = shop.store.blobs.put(b"nothing")
    path = next(shop.store.blobs.folder.glob(f"??/{orphan}"))
    os.utime(path, (0, 0))
    result = run("store", "check", "--clean")
    assert result.code == 0
    assert "deleted 1 blob" in result.err
    assert not path.exists()


def listed(connection, shop, rater):
    """What the page of a query's documents gives a rater."""
    first = next_task.take(connection, shop.project, rater)
    if first is None:
        return []
    query = tasks.get_task(connection, first).query.id
    task_numbers = tasks.tasks_of_query(connection, shop.batch.id, query, rater)
    return [number for number in task_numbers if next_task.claim(connection, number, rater)]


@pytest.mark.parametrize("strategy", ["1", "2"])
def test_two_raters_on_lists_waste_no_time(store, strategy):
    shop = Shop(store, strategy=strategy)
    first_rater, second_rater = shop.raters[:2]
    rated_tasks = {first_rater: set(), second_rater: set()}
    with store.write() as connection:
        while True:
            offered = {rater: listed(connection, shop, rater) for rater in (first_rater, second_rater)}
            if not any(offered.values()):
                break
            if strategy == "1":
                assert not set(offered[first_rater]) & set(offered[second_rater])
            for rater, numbers in offered.items():
                for number in numbers:
                    ratings.rate(connection, number, rater, rating_id=f"{rater}-{number}", grade=1.0)
                    rated_tasks[rater].add(number)
        task_counts = tasks.progress(connection, shop.project)
    expected = 20 * int(strategy)
    assert (
        len(rated_tasks[first_rater]) + len(rated_tasks[second_rater]) == expected
    )  # no pair is rated once too often
    assert (task_counts.done, task_counts.open) == (20, 0)


def test_a_preference_of_two_lists_is_kept_by_the_runs(shop):
    store = shop.store
    with store.write() as connection:
        numbers = [
            stored_runs.add_run(connection, store.blobs, shop.project, read_run({"q0": docs}, name)).id
            for name, docs in (("old", {"d0": 2.0, "d1": 1.0}), ("new", {"d1": 2.0, "d0": 1.0}))
        ]
        batch = batches.add_batch(connection, shop.project, "lists", kind="lists", strategy="2")
        sides = [batches.Side(run=run_id) for run_id in numbers]
        assert batches.add_preferences(connection, batch, [("q0", *sides)]) == 1
        task = next_task.take(connection, shop.project, shop.raters[0], batch=batch.id)
        task_record = tasks.get_task(connection, task)
        assert (task_record.run.name, task_record.other_run.name, task_record.document) == (
            "old",
            "new",
            None,
        )
        # the second one was shown on the left, and is better
        first_preference, new = preferences.prefer(
            connection, task, shop.raters[0], preference_id="p1", choice="left", swapped=True
        )
        assert (first_preference.left, first_preference.right, new) == (
            f"r{numbers[1]}",
            f"r{numbers[0]}",
            True,
        )
        repeated = preferences.prefer(
            connection, task, shop.raters[0], preference_id="p1", choice="left", swapped=True
        )
        assert repeated == (first_preference, False)
        preferences.prefer(connection, task, shop.raters[1], preference_id="p2", choice="right")
        assert tasks.get_task(connection, task).state == "done"
        better = [
            (preference.right if preference.choice == "right" else preference.left)
            for preference in list_preferences(connection, shop.project)
        ]
    assert better == [f"r{numbers[1]}"] * 2
    assert check(store) == ()
