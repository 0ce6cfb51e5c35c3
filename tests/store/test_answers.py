"""What pages ask of a store: last answers, pairs by filter, comparisons, effort."""

from __future__ import annotations

import polars as pl
import pytest

from rankgate.data import read_run
from rankgate.store.kept import runs
from rankgate.store.material import documents, queries
from rankgate.store.people import raters
from rankgate.store.rating import answers, batches, next_task, pairs, preferences, ratings, tasks
from support.wording import raises


@pytest.fixture
def compared(shop):
    """The shop with a batch that compares two runs for its first query."""
    with shop.store.write() as connection:
        found = [
            runs.add_run(
                connection, shop.store.blobs, shop.project, read_run(table, name), name=name
            )
            for name, table in (("old", {"q0": {"d0": 1.0}}), ("new", {"q0": {"d1": 1.0}}))
        ]
        batch = batches.add_batch(connection, shop.project, "two", kind="lists", strategy="2")
        sides = [("q0", batches.Side(run=found[0].id), batches.Side(run=found[1].id))]
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
        last = answers.latest_answers(connection, shop.project, rater, 5)
        assert [(each.task, each.grade, each.choice) for each in last] == [
            (task, None, "left"), (1, 2.0, None)]  # fmt: skip
        assert len(answers.latest_answers(connection, shop.project, rater, 1)) == 1
        assert answers.latest_answers(connection, shop.project, shop.raters[1], 5) == []
        found = answers.efforts(connection, shop.project)
        assert [(graded, seconds) for _, _, graded, seconds, _ in found] == [(True, 3), (True, 5)]


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
            ("old", "new", "second", "second"), ("old", "new", "first", "first")]  # fmt: skip
        assert tasks.progress(connection, shop.project, batch.id).done == 1
        assert len(answers.efforts(connection, shop.project)) == 3  # p1 took time too


def test_pairs_by_filter_and_asked_again(shop):
    one, other = shop.raters[:2]
    with shop.store.write() as connection:
        for task in (1, 2):
            ratings.rate(connection, task, one, rating_id=f"a{task}", grade=1.0)
        ratings.rate(connection, 1, other, rating_id="b1", grade=2.0)
        named = raters.raters_of_project(connection, shop.project)
        assert set(named.values()) == {one, other}
        every = pairs.list_pairs(connection, shop.project, pairs.TaskFilter())
        assert [each.task for each in every] == sorted(each.task for each in every)
        assert [len(each.answers) for each in every[:2]] == [2, 1]
        mine = pairs.list_pairs(connection, shop.project, pairs.TaskFilter(rater=other))
        assert [each.task for each in mine] == [1]
        asked = pairs.TaskFilter(query=every[0].query_id)
        assert {each.query_id for each in pairs.list_pairs(connection, shop.project, asked)} == {
            every[0].query_id}  # fmt: skip
        after = pairs.list_pairs(connection, shop.project, pairs.TaskFilter(), after=1, most=1)
        assert [each.task for each in after] == [2]
        assert len(ratings.graded_pairs(connection, shop.project)) == 2
        assert pairs.withdraw_answers(connection, shop.project, one, pairs.TaskFilter()) == 2
        assert raters.raters_of_project(connection, shop.project) == {
            name: number for name, number in named.items() if number == other}  # fmt: skip
        assert tasks.get_task(connection, 2).answers == 0
        assert len(list(ratings.list_ratings(connection, shop.project))) == 5


def test_documents_of_a_query(shop):
    with shop.store.write() as connection:
        before = documents.count_documents(connection, shop.project)
        table = {"query_id": ["", "q0"], "doc_id": ["z1", "z1"], "title": ["all", "own"]}
        documents.add_documents(connection, shop.project, pl.DataFrame(table))
        assert documents.count_documents(connection, shop.project) == before + 2
        found = documents.documents_of_query(connection, shop.project, "q0", ["z1", "none"])
        assert {name: each.fields["title"] for name, each in found.items()} == {"z1": "own"}
        other = documents.documents_of_query(connection, shop.project, "q1", ["z1"])
        assert other["z1"].fields["title"] == "all"
        assert "title" in documents.field_names(connection, shop.project)
        assert queries.count_queries(connection, shop.project) == len(
            queries.list_queries(connection, shop.project))  # fmt: skip
