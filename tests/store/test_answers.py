"""Queries of pages to a store: last answers, pairs by filter, comparisons, effort."""

from __future__ import annotations

import polars as pl
import pytest

from rankgate.data import read_run
from rankgate.store.blobs import stored_runs
from rankgate.store.material import queries_documents
from rankgate.store.people import users
from rankgate.store.rating import batches, next_task, preferences, rating_answers, ratings, tasks
from rankgate.store.rating.working_time import list_rater_work
from support.stored_answers import list_ratings
from support.stores import mostly_sqlite  # noqa: F401 - new_store
from support.wording import raises


@pytest.fixture
def compared(shop):
    """The shop with a batch that compares two runs for its first query."""
    with shop.store.write() as connection:
        runs = [
            stored_runs.add_run(connection, shop.store.blobs, shop.project, read_run(table, name), name=name)
            for name, table in (("old", {"q0": {"d0": 1.0}}), ("new", {"q0": {"d1": 1.0}}))
        ]
        batch = batches.add_batch(connection, shop.project, "two", kind="lists", strategy="2")
        sides = [("q0", batches.Side(run=runs[0].id), batches.Side(run=runs[1].id))]
        assert batches.add_preferences(connection, batch, sides) == 1
        assert batches.add_preferences(connection, batch, sides) == 0
        task = next_task.take(connection, shop.project, shop.raters[0], batch=batch.id)
    return shop, batch, task


def test_the_last_answers_are_of_ratings_and_preferences(compared):
    shop, _, task = compared
    rater = shop.raters[0]
    with shop.store.write() as connection:
        ratings.rate(connection, 1, rater, rating_id="r1", grade=2.0, comment="so", seconds=3)
    with shop.store.write() as connection:
        preferences.prefer(connection, task, rater, preference_id="p1", choice="left", seconds=5)
    with shop.store.read() as connection:
        last = rating_answers.latest_answers(connection, shop.project, rater, 5)
        assert [(answer.task, answer.grade, answer.choice) for answer in last] == [
            (task, None, "left"),
            (1, 2.0, None),
        ]
        assert len(rating_answers.latest_answers(connection, shop.project, rater, 1)) == 1
        assert rating_answers.latest_answers(connection, shop.project, shop.raters[1], 5) == []
        (work,) = list_rater_work(connection, shop.project)
        assert (work.rater, work.ratings, work.without_grade) == ("ann", 2, 0)
        assert (work.seconds, work.pace) == (8, 4)


def test_a_preference_is_taken_back(compared):
    shop, batch, task = compared
    rater = shop.raters[0]
    with shop.store.write() as connection:
        preferences.prefer(connection, task, rater, preference_id="p1", choice="right")
        assert preferences.preferences_table(connection, batch.id)["better"].to_list() == ["second"]
        assert preferences.withdraw(connection, task, rater, preference_id="w1")
        assert not preferences.withdraw(connection, task, rater, preference_id="w1")
        assert preferences.preferences_table(connection, batch.id).is_empty()
        assert next_task.take(connection, shop.project, rater, batch=batch.id) == task
        with raises("nothing-to-undo"):
            preferences.withdraw(connection, task, rater, preference_id="w2")
        preferences.prefer(connection, task, rater, preference_id="p2", choice="left", swapped=True)
        preferences.prefer(connection, task, shop.raters[1], preference_id="p3", choice="left")
        table = preferences.preferences_table(connection, batch.id)
        assert table.select("first", "second", "better", "on_left").rows() == [
            ("old", "new", "second", "second"),
            ("old", "new", "first", "first"),
        ]
        assert tasks.progress(connection, shop.project, batch.id).done == 1
        works = list_rater_work(connection, shop.project)
        assert [(work.rater, work.ratings) for work in works] == [("ann", 2), ("bob", 1)]  # p1 took time too


def test_a_count_with_the_answers_since_is_the_whole_count(compared):
    shop, batch, task = compared
    rater = shop.raters[0]
    scopes = (None, shop.batch.id, batch.id)
    earlier = []

    def check(connection):
        earlier.extend(
            (scope, rating_answers.count_answered(connection, shop.project, rater, scope)) for scope in scopes
        )
        for scope, counts in earlier:
            count = rating_answers.count_since(connection, shop.project, rater, counts, scope)
            whole_count = tasks.count_answered(connection, shop.project, rater, scope)
            assert count[0] == whole_count[0]
            assert count[1] >= whole_count[1]  # another's answer may end a task

    def rate(number, name, grade=1.0, by=rater, **more):
        ratings.rate(connection, number, by, rating_id=name, grade=grade, **more)

    with shop.store.write() as connection:
        check(connection)
        steps = (
            lambda: rate(1, "r1"),
            lambda: rate(1, "r2", 2.0),
            lambda: rate(2, "r3", None, reason="unclear"),
            lambda: rate(1, "f1", 3.0, final=True),
            lambda: rate(2, "b1", by=shop.raters[1]),
            lambda: ratings.withdraw(connection, 1, rater, rating_id="w1"),
            lambda: preferences.prefer(connection, task, rater, preference_id="p1", choice="left"),
            lambda: rate(1, "r4"),
            lambda: preferences.withdraw(connection, task, rater, preference_id="w2"),
            lambda: ratings.withdraw(connection, 2, rater, rating_id="w3"),
        )
        for step in steps:
            step()
            check(connection)
        assert [counts.answered for _, counts in earlier[-3:]] == [1, 1, 0]
        assert rating_answers.has_many_answers(connection, rater, 1)
        assert not rating_answers.has_many_answers(connection, rater, 2)


def test_pairs_by_filter_and_asked_again(shop):
    first_rater, second_rater = shop.raters[:2]
    with shop.store.write() as connection:
        for task in (1, 2):
            ratings.rate(connection, task, first_rater, rating_id=f"a{task}", grade=1.0)
        ratings.rate(connection, 1, second_rater, rating_id="b1", grade=2.0)
        raters_by_name = users.raters_of_project(connection, shop.project)
        assert set(raters_by_name.values()) == {first_rater, second_rater}
        all_pairs = rating_answers.list_pairs(connection, shop.project, rating_answers.TaskFilter())
        assert [rated_pair.task for rated_pair in all_pairs] == sorted(
            rated_pair.task for rated_pair in all_pairs
        )
        assert [len(rated_pair.answers) for rated_pair in all_pairs[:2]] == [2, 1]
        rater_pairs = rating_answers.list_pairs(
            connection, shop.project, rating_answers.TaskFilter(rater=second_rater)
        )
        assert [rated_pair.task for rated_pair in rater_pairs] == [1]
        query_filter = rating_answers.TaskFilter(query=all_pairs[0].query_id)
        asked_pairs = rating_answers.list_pairs(connection, shop.project, query_filter)
        assert {pair.query_id for pair in asked_pairs} == {all_pairs[0].query_id}
        next_pairs = rating_answers.list_pairs(
            connection, shop.project, rating_answers.TaskFilter(), after=1, most=1
        )
        assert [rated_pair.task for rated_pair in next_pairs] == [2]
        assert len(ratings.graded_pairs(connection, shop.project)) == 2
        assert (
            rating_answers.withdraw_answers(
                connection, shop.project, first_rater, rating_answers.TaskFilter()
            )
            == 2
        )
        assert users.raters_of_project(connection, shop.project) == {
            name: number for name, number in raters_by_name.items() if number == second_rater
        }
        assert tasks.get_task(connection, 2).answers == 0
        assert len(list_ratings(connection, shop.project)) == 5


def test_documents_of_a_query(shop):
    with shop.store.write() as connection:
        count_before = queries_documents.count_documents(connection, shop.project)
        table = {"query_id": ["", "q0"], "doc_id": ["z1", "z1"], "title": ["all", "own"]}
        queries_documents.add_documents(connection, shop.project, pl.DataFrame(table))
        assert queries_documents.count_documents(connection, shop.project) == count_before + 2
        documents = queries_documents.documents_of_query(connection, shop.project, "q0", ["z1", "none"])
        assert {name: document.fields["title"] for name, document in documents.items()} == {"z1": "own"}
        other_documents = queries_documents.documents_of_query(connection, shop.project, "q1", ["z1"])
        assert other_documents["z1"].fields["title"] == "all"
        assert "title" in queries_documents.field_names(connection, shop.project)
        assert queries_documents.count_queries(connection, shop.project) == len(
            queries_documents.list_queries(connection, shop.project)
        )
