"""Errors in a scorecard's input name file and line; oddities are counted."""

from __future__ import annotations

import pytest

import rankgate
from rankgate.errors import RankgateError

RUN = {"u": {"a": 2.0, "b": 1.0}, "v": {"a": 2.0, "c": 1.0}}
QRELS = {"u": {"a": 1}, "v": {"b": 1}}


@pytest.fixture
def result(tmp_path):
    """A card with some files next to it: its warnings, or the error."""

    def card(qrels=QRELS, run=RUN, metrics=("nDCG@10", "Coverage@10"), **given):
        for name in ("train", "items", "users", "candidates"):
            if name in given:
                (tmp_path / f"{name}.csv").write_text(given[name])
                given[name] = str(tmp_path / f"{name}.csv")
        try:
            return rankgate.scorecard(qrels, {"one": run}, list(metrics), **given).warnings
        except RankgateError as error:
            return str(error)

    return card


def test_users_are_counted_that_are_unknown_or_have_nothing(result):
    run = {**RUN, "stranger": {"a": 1.0}, "other": {"a": 1.0}}
    assert (
        "one: 2 users are without judgments: metrics of lists count them, accuracy leaves them out."
        in result(run=run)
    )
    assert "one: 1 of 2 users gets no item." in result(run={"u": RUN["u"]})
    (without,) = [w for w in result({"u": {"a": 0}, "v": {"b": 1}}) if "relevant" in w]
    assert without.startswith("1 user is without a relevant item: accuracy counts them as")


def test_leaks_and_new_items_are_counted(result):
    found = result(train="user,item\nu,a\nv,a\n")
    assert any(line.startswith("1 relevant item is in their user's training too") for line in found)
    assert "one: 2 items are shown and not in training." in found
    assert any(line.startswith("one: 2 places show what the user had") for line in found)


def test_lists_longer_than_the_catalogue_are_reported(result):
    found = result(metrics=["Coverage@50", "Gini@3"])
    assert "Coverage@50: lists cannot be so long, as there are only 3 items." in found
    assert "must be a whole number of at least 1" in result(metrics=["Coverage@0"])


def test_items_without_a_row_are_counted(result):
    found = result(items="item,kind\na,x\n", category="kind")
    assert (
        "2 items are not in the table of items: without category and group, with features of 0."
        in found
    )


@pytest.mark.parametrize(
    ("table", "line", "problem"),
    [
        ("item,size\na,1\nb,big\n", 3, "size 'big' of item 'b' is not a finite number."),
        ("item,size\na,1\n\nb,2\na,3\n", 5, "item 'a' appears twice; remove one of its rows."),
        ("item,size\na,1\nb\n", 3, "1 field, expected 2"),
        ("size\n1\n", 1, "no column of ids among size; call one item_id."),
    ],
)
def test_tables_of_items_name_the_line(result, table, line, problem):
    error = result(items=table, features=["size"])
    assert f"items.csv:{line}: " in error
    assert problem in error


def test_empty_features_count_0(result):
    assert not isinstance(result(items="item,size\na, \nb,2\nc,3\n", features=["size"]), str)


def test_tables_of_users_are_read_alike(result):
    error = result(users="user,age\nu,old\nu,young\n", slices=["age"])
    assert "users.csv:3: user 'u' appears twice" in error
    found = result(users='{"user_id": "u", "age": ["old", "rich"]}\n', slices=["age"])
    assert "1 user is not in the table of users, and in the part (none)." in found


def test_samples_of_two_kinds_name_the_line(result):
    table = "user,item,candidates\nu,a,sampled(1)\nv,a,sampled(1)\nv,b,sampled(2)\n"
    assert "candidates.csv:4: candidates of several kinds: sampled(1), sampled(2)." in result(
        candidates=table
    )


def test_an_item_twice_in_a_list_names_both_lines(result, tmp_path):
    place = tmp_path / "run.csv"
    place.write_text("user,item,score\nu,a,2\nu,b,1\nu,a,0\n")
    error = result(run=str(place))
    assert "run.csv:4: document 'a' is ranked twice for query 'u' (first on line 2)" in error
