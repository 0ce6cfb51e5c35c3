"""Rules of a batch: who rates it, qualification, pairs that come again, when it stops."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from rankgate.data.qrels import BINARY
from rankgate.store.material import projects
from rankgate.store.rating import batch_rules, batches, next_task, ratings, tasks
from rankgate.store.rating.batch_rules import BatchRules, rules_of, set_rules
from rankgate.store.rating.batches import Gold
from rankgate.store.rating.kept_counts import IDLE_SECONDS
from rankgate.store.rating.working_time import work_by_week
from rankgate.store.rows import now
from support.stores import mostly_sqlite  # noqa: F401 - new_store

from .conftest import Shop

LATER = timedelta(hours=25)


def set_rules_of(shop, batch=None, **rules):
    with shop.store.write() as connection:
        stored_batch = batches.get_batch(connection, (batch or shop.batch).id)
        return set_rules(connection, stored_batch, BatchRules(**rules))


def take(shop, rater, moment=None):
    """The next task of a rater as the pages give it."""
    with shop.store.write() as connection:
        open_batches = batch_rules.prepare(connection, shop.project, rater, moment)
        return next_task.take(
            connection, shop.project, rater, barred=open_batches.barred, reserved=open_batches.reserved
        )


def rate(shop, rater, task, grade=1.0, **more):
    with shop.store.write() as connection:
        name = f"{rater}-{task}-{grade}"
        ratings.rate(connection, task, rater, rating_id=name, grade=grade, **more)


def rate_all(shop, rater, grade=1.0, moment=None, **more):
    task_ids = []
    while (task := take(shop, rater, moment)) is not None:
        rate(shop, rater, task, grade, **more)
        task_ids.append(task)
    return task_ids


def batch_of(shop, task):
    with shop.store.read() as connection:
        return tasks.get_task(connection, task).batch


def test_rules_are_settings_of_the_batch(shop):
    moment = now()
    batch = set_rules_of(shop, raters=(1, 2), stop_at=moment, again_share=0.5)
    assert rules_of(batch.settings) == BatchRules(raters=(1, 2), stop_at=moment, again_share=0.5)
    assert set_rules_of(shop).settings == {}
    assert rules_of({}) == BatchRules()


def test_a_batch_is_for_the_raters_it_names(shop):
    ann, bob = shop.raters[:2]
    set_rules_of(shop, raters=(ann,))
    assert take(shop, bob) is None
    assert take(shop, ann) is not None


def training(shop, grades):
    """A batch of kind training with known grades."""
    with shop.store.write() as connection:
        batch = batches.add_batch(connection, shop.project, "training", kind="training")
        gold = {("q0", f"d{i}"): Gold(grade, "why") for i, grade in enumerate(grades)}
        batches.add_pairs(connection, batch, pl.DataFrame(schema=["query_id", "doc_id"]), gold)
        return batch


def test_a_training_must_be_passed_first(shop):
    ann, bob = shop.raters[:2]
    known = training(shop, [1, 1, 1, 2])
    set_rules_of(shop, qualification=known.id, share=0.75)
    for rater, grade in ((ann, 1.0), (bob, 2.0)):
        for _ in range(4):
            task = take(shop, rater)
            assert batch_of(shop, task).name == "training"
            rate(shop, rater, task, grade)
    assert batch_of(shop, take(shop, ann)).name == "first"
    assert take(shop, bob) is None
    with shop.store.write() as connection:
        (failed,) = batch_rules.prepare(connection, shop.project, bob).failed
        assert (failed.name, failed.right, failed.questions) == ("training", 1, 4)
        assert batch_rules.prepare(connection, shop.project, ann).failed == ()
        assert batch_rules.prepare(connection, shop.project, shop.raters[2]).failed == ()


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_pairs_come_again_to_the_same_rater_and_count_once(store, share):
    shop = Shop(store, strategy="2")
    ann, bob, cid = shop.raters[:3]
    set_rules_of(shop, again_share=share, again_hours=24)
    first = rate_all(shop, ann)
    assert len(first) == 20
    rate_all(shop, bob)
    later = now() + LATER
    again = rate_all(shop, ann, 2.0, later)
    assert len(again) == 20 if share == 1 else 0 < len(again) < 20
    assert {batch_of(shop, task).name for task in again} == {"first (again)"}
    assert take(shop, cid, later) is None  # others do not get what is kept for ann
    assert rate_all(shop, ann, 2.0, later) == []
    with shop.store.read() as connection:
        (agreement,) = batch_rules.self_agreement(connection, shop.project)
        assert (agreement.rater, agreement.pairs, agreement.equal) == ("ann", len(again), 0)
        assert agreement.distance == 1.0
        table = ratings.read_ratings(connection, shop.project).table
        assert len(table) == 40
        assert set(table["grade"]) == {1.0}
        assert tasks.progress(connection, shop.project).total == 20
        counts = batch_rules.count_reserved(connection, ann, [batch_of(shop, again[0]).id])
        assert list(counts.values()) == [len(again)]


@pytest.mark.parametrize(
    ("rules", "count", "words"),
    [
        ({"stop_ratings": 3}, 3, "3 ratings are given"),
        ({"stop_hours": 0.01}, 4, "0.0 hours are worked"),
        ({"stop_agreed": True}, 20, "every pair has its grade"),
    ],
)
def test_a_batch_stops_by_itself(shop, rules, count, words):
    set_rules_of(shop, **rules)
    ann, bob = shop.raters[:2]
    waiting = take(shop, bob)
    rate(shop, bob, waiting, seconds=10.0) if rules.get("stop_agreed") else None
    task_ids = rate_all(shop, ann, seconds=10.0)
    assert len(task_ids) == count - bool(rules.get("stop_agreed"))
    with shop.store.read() as connection:
        batch = batches.get_batch(connection, shop.batch.id)
    assert batch.state == "paused"
    assert rules_of(batch.settings).stopped == words
    if not rules.get("stop_agreed"):
        rate(shop, bob, waiting)  # what was under way is kept


def test_a_batch_stops_at_a_date(shop):
    end = now() + timedelta(hours=1)
    set_rules_of(shop, stop_at=end)
    assert take(shop, shop.raters[0]) is not None
    assert take(shop, shop.raters[0], end) is None
    with shop.store.read() as connection:
        assert batches.get_batch(connection, shop.batch.id).state == "paused"


def test_working_time_is_by_week_with_idle_time_cut(shop):
    ann, bob = shop.raters[:2]
    monday = now() - timedelta(days=now().weekday())
    for week, seconds in ((0, 36.0), (0, 4 * IDLE_SECONDS), (1, None)):
        task = take(shop, ann)
        rate(shop, ann, task, seconds=seconds, at=monday - timedelta(weeks=week))
    rate(shop, bob, take(shop, bob), seconds=36.0)
    with shop.store.write() as connection:
        task = next_task.take(connection, shop.project, bob)
        ratings.rate(connection, task, bob, rating_id="x", grade=None, reason="unclear query")
    with shop.store.read() as connection:
        rows = work_by_week(connection, shop.project).to_dicts()
    this_week = monday.date()
    assert [
        (row["week"], row["rater"], row["answers"], row["without_grade"], row["idle"]) for row in rows
    ] == [
        (this_week, "ann", 2, 0, 1),
        (this_week, "bob", 2, 1, 0),
        (this_week - timedelta(weeks=1), "ann", 1, 0, 0),
    ]
    assert rows[0]["hours"] == pytest.approx((36 + IDLE_SECONDS) / 3600)
    assert rows[2]["unknown"] == 1


def test_a_first_batch_gives_a_project_without_a_scale_the_graded_one(shop):
    with shop.store.write() as connection:
        bare = projects.add(connection, "bare").id
        assert projects.grades(connection, bare) == ()
        batches.add_batch(connection, bare, "pairs", kind="documents")
        assert projects.grades(connection, bare) == ()
        batches.add_batch(connection, bare, "first")
        assert [grade.grade for grade in projects.grades(connection, bare)] == [0, 1, 2, 3]
        projects.set_scale(connection, bare, BINARY)
        batches.add_batch(connection, bare, "second")
        assert [grade.grade for grade in projects.grades(connection, bare)] == [0, 1]
