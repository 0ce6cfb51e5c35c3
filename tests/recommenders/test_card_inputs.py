"""Errors in a scorecard's input name file and line; oddities are counted."""

from __future__ import annotations

import pytest

import rankgate
from rankgate.core.errors import InputError, UsageError
from support.wording import assert_warned, raises

RUN = {"u": {"a": 2.0, "b": 1.0}, "v": {"a": 2.0, "c": 1.0}}
QRELS = {"u": {"a": 1}, "v": {"b": 1}}


@pytest.fixture
def result(tmp_path):
    """A card with some files next to it."""

    def card(
        qrels=QRELS,
        run=RUN,
        metrics=("nDCG@10", "Coverage@10"),
        items=None,
        features=(),
        category=None,
        slices=(),
        **tables,
    ):
        def written(name, text):
            (tmp_path / f"{name}.csv").write_text(text)
            return str(tmp_path / f"{name}.csv")

        table = None if items is None else written("items", items)
        collection = rankgate.Collection(
            qrels,
            items=rankgate.Items(table, features=features, category=category),
            **{name: written(name, text) for name, text in tables.items()},
        )
        return rankgate.scorecard(collection, {"one": run}, list(metrics), slices=slices)

    return card


def test_users_are_counted_that_are_unknown_or_have_nothing(result):
    run = {**RUN, "stranger": {"a": 1.0}, "other": {"a": 1.0}}
    assert_warned(result(run=run))
    assert_warned(result(run={"u": RUN["u"]}))
    assert_warned(result({"u": {"a": 0}, "v": {"b": 1}}))


def test_leaks_and_new_items_are_counted(result):
    assert_warned(result(training="user,item\nu,a\nv,a\n"))


def test_lists_longer_than_the_catalogue_are_reported(result):
    assert_warned(result(metrics=["Coverage@50", "Gini@3"]))
    with raises("invalid-parameter", UsageError):
        result(metrics=["Coverage@0"])


def test_items_without_a_row_are_counted(result):
    assert_warned(result(items="item,kind\na,x\n", category="kind"))


@pytest.mark.parametrize(
    ("table", "line", "code"),
    [
        ("item,size\na,1\nb,big\n", 3, "not-a-number"),
        ("item,size\na,1\n\nb,2\na,3\n", 5, "duplicate-id"),
        ("item,size\na,1\nb\n", 3, "wrong-field-count"),
        ("size\n1\n", 1, "missing-column"),
    ],
)
def test_tables_of_items_name_the_line(result, tmp_path, table, line, code):
    with raises(code, InputError, source=str(tmp_path / "items.csv"), line=line):
        result(items=table, features=["size"])


def test_empty_features_count_0(result):
    assert result(items="item,size\na, \nb,2\nc,3\n", features=["size"]).figures.height


def test_tables_of_users_are_read_alike(result, tmp_path):
    with raises("duplicate-id", InputError, source=str(tmp_path / "users.csv"), line=3):
        result(users="user,age\nu,old\nu,young\n", slices=["age"])
    assert_warned(result(users='{"user_id": "u", "age": ["old", "rich"]}\n', slices=["age"]))


def test_samples_of_two_kinds_name_the_line(result, tmp_path):
    table = "user,item,candidates\nu,a,sampled(1)\nv,a,sampled(1)\nv,b,sampled(2)\n"
    with raises("mixed-kinds", InputError, source=str(tmp_path / "candidates.csv"), line=4):
        result(candidates=table)


def test_an_item_twice_in_a_list_names_both_lines(result, tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("user,item,score\nu,a,2\nu,b,1\nu,a,0\n")
    with raises("duplicate-document", InputError, source=str(path), line=4):
        result(run=str(path))
