"""Tasks are given to raters by strategy, with locks, in a seeded order; ratings settle them."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.store.people import users
from rankgate.store.rating import batches, next_task, preferences, ratings, tasks
from rankgate.store.rating.batches import Gold, Side
from rankgate.store.rating.task_state import state_of
from rankgate.store.tables.people_tables import users as people
from rankgate.store.tables.rating_tables import tasks as table
from support.wording import raises

from .conftest import PAIRS, Shop


def work(shop, rater, grade=lambda _: 1.0, most=1000, **how):
    """Rate until no task is left; return the tasks in order."""
    task_ids = []
    while len(task_ids) < most:
        with shop.store.write() as connection:
            task = next_task.take(connection, shop.project, rater, **how)
            if task is None:
                return task_ids
            ratings.rate(connection, task, rater, rating_id=f"{rater}-{task}", grade=grade(task))
            task_ids.append(task)
    return task_ids


def progress(shop):
    with shop.store.read() as connection:
        return tasks.progress(connection, shop.project)


def test_one_grade_a_pair(shop):
    assert shop.added == len(PAIRS) == 20
    ann, bob = shop.raters[:2]
    first = work(shop, ann, most=12)
    second = work(shop, bob)
    assert sorted(first + second) == list(range(1, 21))
    assert progress(shop) == tasks.Progress(open=0, done=20, disputed=0, locked=0)


def test_a_rater_stays_with_a_query_in_an_order_by_seed(shop):
    ann = shop.raters[0]
    order = work(shop, ann)
    with shop.store.read() as connection:
        task_rows = [tasks.get_task(connection, task_id) for task_id in order]
    queries = [task.query.query_id for task in task_rows]
    assert len(list(dict.fromkeys(queries))) == 4
    assert all(queries[i : i + 5] == [queries[i]] * 5 for i in range(0, 20, 5))
    docs = [task.document.doc_id for task in task_rows]
    assert docs != PAIRS["doc_id"].to_list()
    assert {docs[i] for i in range(0, 20, 5)} != {"d0"}  # no weight for the first rank


def test_two_grades_disagreement_and_the_final_word(store):
    shop = Shop(store, strategy="2")
    ann, bob, cid = shop.raters[:3]
    assert len(work(shop, ann)) == len(work(shop, bob, lambda task: task % 3)) == 20
    assert work(shop, cid) == []
    differ = [task for task in range(1, 21) if task % 3 != 1]
    assert progress(shop).disputed == len(differ)
    with store.read() as connection:
        queue = tasks.disputes(connection, shop.project)
        assert [dispute.task for dispute in queue] == differ
        assert [(answer.rater, answer.grade) for answer in queue[0].answers] == [("ann", 1.0), ("bob", 2.0)]
        assert [
            dispute.task for dispute in tasks.disputes(connection, shop.project, after=differ[0], most=2)
        ] == differ[1:3]
    with store.write() as connection:
        final_rating = ratings.rate(connection, differ[0], cid, rating_id="f", grade=3.0, final=True)
        assert final_rating.state == "done"
    with store.read() as connection:
        table = ratings.read_ratings(connection, shop.project).table
    assert table.row(-1)[2:4] == (ratings.FINAL, 3.0)
    assert len(table) == 41


def test_until_two_agree(store):
    shop = Shop(store, strategy="agree", most=3)
    ann, bob, cid, dan = shop.raters
    work(shop, ann, lambda _: 0.0)
    work(shop, bob, lambda task: float(task % 2))
    work(shop, cid, lambda _: 2.0)
    assert progress(shop) == tasks.Progress(open=0, done=10, disputed=10, locked=0)
    assert work(shop, dan) == []


@pytest.mark.parametrize(
    ("grades", "answers", "strategy", "state"),
    [
        ([], 0, "1", "open"),
        ([2.0], 1, "1", "done"),
        ([], 4, "1", "open"),
        ([], 5, "1", "disputed"),
        ([1.0], 1, "2", "open"),
        ([1.0, 1.0], 2, "2", "done"),
        ([1.0, 2.0], 2, "2", "disputed"),
        ([1.0, 2.0, 1.0], 3, "3", "done"),
        ([1.0, 2.0, 0.0], 3, "3", "disputed"),
        ([1.0, 2.0], 2, "agree", "open"),
        ([1.0, 2.0, 1.0], 3, "agree", "done"),
        ([1.0, 2.0], 5, "agree", "disputed"),
    ],
)
def test_states(grades, answers, strategy, state):
    assert state_of(grades, answers, strategy, 5) == state


def test_locks_end(shop):
    ann, bob = shop.raters[:2]
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    with shop.store.write() as connection:
        task_ids = [next_task.take(connection, shop.project, ann, moment=moment) for _ in range(2)]
        assert task_ids[0] == task_ids[1]  # a reload shows the same task
        assert next_task.claim(connection, task_ids[0], bob, moment=moment) is False
        later = moment + timedelta(minutes=11)
        assert next_task.claim(connection, task_ids[0], bob, moment=later) is True
        next_task.release(connection, task_ids[0], bob)
        assert next_task.claim(connection, task_ids[0], ann, moment=later) is True


def test_what_is_put_off_comes_last(shop):
    ann = shop.raters[0]
    with shop.store.write() as connection:
        first = next_task.take(connection, shop.project, ann)
        next_task.postpone(connection, first, ann)
    order = work(shop, ann)
    assert order[-1] == first
    assert len(order) == 20


def test_retries_corrections_and_withdrawals(shop):
    ann, bob = shop.raters[:2]
    with shop.store.write() as connection:
        first = ratings.rate(connection, 1, ann, rating_id="a", grade=1.0, comment="?")
        retried = ratings.rate(connection, 1, ann, rating_id="a", grade=1.0, comment="?")
        assert (first.new, retried.new, retried.rating) == (True, False, first.rating)
        second = ratings.rate(connection, 1, ann, rating_id="b", grade=2.0)
        assert second.rating.corrects == "a"
        assert second.rating.id > first.rating.id
        withdrawn = ratings.withdraw(connection, 1, ann, rating_id="c")
        assert (withdrawn.state, withdrawn.rating.corrects) == ("open", "b")
        assert not ratings.withdraw(connection, 1, ann, rating_id="c").new
        assert next_task.claim(connection, 1, bob) is False  # the task is theirs again
    with shop.store.write() as connection, raises("rating-conflict"):
        ratings.rate(connection, 1, ann, rating_id="a", grade=3.0, comment="?")
    with shop.store.write() as connection, raises("nothing-to-undo"):
        ratings.withdraw(connection, 2, ann, rating_id="d")
    with shop.store.write() as connection, raises("grade-outside-scale"):
        ratings.rate(connection, 1, ann, rating_id="e", grade=7.0)
    with shop.store.write() as connection, raises("missing-grade"):
        ratings.rate(connection, 1, ann, rating_id="e", grade=None)
    with shop.store.write() as connection, raises("unknown-task"):
        ratings.rate(connection, 999, ann, rating_id="e", grade=1.0)
    with shop.store.read() as connection:
        assert [rating.rating_id for rating in ratings.ratings_of_rater(connection, shop.project, ann)] == [
            "c",
            "b",
            "a",
        ]


def test_who_cannot_tell_does_not_fill_a_place(shop):
    ann, bob = shop.raters[:2]
    with shop.store.write() as connection:
        response = ratings.rate(connection, 1, ann, rating_id="a", grade=None, reason="blank")
        assert response.state == "open"
        assert next_task.claim(connection, 1, bob)
        assert ratings.rate(connection, 1, bob, rating_id="b", grade=1.0).state == "done"


def test_gold_is_asked_of_everybody_and_training_comes_first(store):
    shop = Shop(store)
    with store.write() as connection:
        gold = {("q0", "g0"): Gold(3.0, "it is"), ("q1", "g1"): Gold(0.0)}
        assert batches.add_pairs(connection, shop.batch, PAIRS, gold) == 2
        training = batches.add_batch(connection, shop.project, "training", kind="training", priority=-5)
        batches.add_pairs(connection, training, PAIRS.head(2), {("q0", "d0"): Gold(1.0)})
    first, second = (work(shop, rater) for rater in shop.raters[:2])
    with store.read() as connection:
        tasks_by_id = {task_id: tasks.get_task(connection, task_id) for task_id in first}
    trained = {task_id for task_id, task in tasks_by_id.items() if task.batch.kind == "training"}
    hidden = {task_id for task_id, task in tasks_by_id.items() if task.gold is not None} - trained
    assert (len(trained), len(hidden), len(first)) == (2, 2, 24)
    assert set(first[:2]) == set(second[:2]) == trained
    assert set(second[2:]) == hidden
    assert progress(shop).total == 20
    with store.read() as connection:
        assert len(ratings.read_ratings(connection, shop.project).table) == 24


def test_priorities_and_deadlines_of_batches(store):
    shop = Shop(store)
    with store.write() as connection:
        urgent = batches.add_batch(connection, shop.project, "urgent", priority=1)
        soon = batches.add_batch(connection, shop.project, "soon", deadline=datetime(2026, 1, 1, tzinfo=UTC))
        for batch in (soon, urgent):
            batches.add_pairs(connection, batch, pl.DataFrame({"query_id": ["q"], "doc_id": ["d"]}))
    order = work(shop, shop.raters[0], most=3)
    with store.read() as connection:
        names = [tasks.get_task(connection, task_id).batch.name for task_id in order]
    assert names == ["urgent", "soon", "first"]
    with store.write() as connection:
        batches.change_batch(connection, shop.batch.id, state="paused")
    assert work(shop, shop.raters[0]) == []


def test_sixteen_begin_together_and_the_next_elsewhere(store):
    shop = Shop(store, strategy="2")
    with store.write() as connection:
        statement = sa.select(table.c.id, table.c.place).order_by(table.c.place)
        places = dict(connection.execute(statement).all())
        taken_tasks = []
        for number in range(17):
            rater = users.ensure(connection, f"rater {number}").id
            taken_tasks.append(next_task.take(connection, shop.project, rater))
    order = list(places)
    assert taken_tasks[:16] == [task_id for task_id in order[:8] for _ in range(2)]
    later = [task_id for task_id in order if places[task_id] >= 40503 * 2**46]
    assert taken_tasks[16] == (later or order[8:])[0] != order[8]


def test_many_at_once_never_collect_too_much(store):
    shop = Shop(store, strategy="2")
    with ThreadPoolExecutor(4) as pool:
        rated_tasks = list(pool.map(lambda rater: work(shop, rater), shop.raters))
    assert sum(map(len, rated_tasks)) == 40
    assert progress(shop).done == 20


def test_preferences(store):
    shop = Shop(store)
    with store.write() as connection:
        batch = batches.add_batch(connection, shop.project, "pairs", kind="documents", priority=9)
        sides = [("q0", Side("d0"), Side("d1")), ("q1", Side("d0"), Side("d2"))]
        assert batches.add_preferences(connection, batch, sides) == 2
        assert batches.add_preferences(connection, batch, sides) == 0
        ann = shop.raters[0]
        task = next_task.take(connection, shop.project, ann)
        task_row = tasks.get_task(connection, task)
        assert task_row.document.doc_id == "d0"
        values = {"preference_id": "p", "choice": "left", "swapped": True}
        preference, new = preferences.prefer(connection, task, ann, **values)
        assert (new, preference.left) == (True, f"d{task_row.other_document.id}")
        assert preferences.prefer(connection, task, ann, **values) == (preference, False)
        assert tasks.get_task(connection, task).state == "done"
    with store.write() as connection, raises("rating-conflict"):
        preferences.prefer(connection, task, ann, preference_id="p", choice="right")


def test_a_user_takes_over_the_imported_ratings_of_the_same_name(store):
    with store.write() as connection:
        imported = {name: users.ensure(connection, name).id for name in ("ann", "bob")}
        ann = users.add(connection, "ann").id
        rater = users.rater_of_user(connection, ann)
        assert (rater.id, rater.user) == (imported["ann"], ann)
        assert users.rater_of_user(connection, ann) == rater
        assert users.ensure(connection, "bob").user is None


def test_two_users_do_not_rate_as_one_person(store):
    """The first was renamed after ratings under the old name."""
    with store.write() as connection:
        first = users.add(connection, "ann").id
        users.rater_of_user(connection, first)
        connection.execute(sa.update(people).where(people.c.id == first).values(name="anna"))
        second = users.add(connection, "ann").id
        with raises("name-taken", UsageError):
            users.rater_of_user(connection, second)
