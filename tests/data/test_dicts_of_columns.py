"""A dictionary of columns is the table that its frame is, and rankings by query stay rankings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rankgate
from rankgate import Collection
from support.wording import raises

QRELS = pd.DataFrame({"query-id": ["q1", "q2", "q3"], "corpus-id": ["a", "b", "c"]})
RUN = pd.DataFrame({"query-id": ["q1", "q2", "q3"], "corpus-id": ["x", "b", "y"], "rank": [1, 2, 3]})
RR = (0 + 1 + 0) / 3

FORMS = {
    "frame": lambda frame: frame,
    "list": lambda frame: frame.to_dict("list"),
    "tuples": lambda frame: {name: tuple(column) for name, column in frame.items()},
    "pandas' default": lambda frame: frame.to_dict(),
    "NumPy": lambda frame: {name: np.array(column) for name, column in frame.items()},
    "two runs": lambda frame: {"old": frame.to_dict("list"), "new": frame.to_dict("list")},
    "runs in a list": lambda frame: [frame.to_dict("list")],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_same_table(form):
    qrels = QRELS if "run" in form else FORMS[form](QRELS)
    assert rankgate.evaluate(qrels, FORMS[form](RUN), ["RR"]).means["RR"][0] == RR


def test_other_verbs_take_them():
    qrels, run = QRELS.to_dict("list"), RUN.to_dict("list")
    assert rankgate.compare(qrels, run, run, ["RR"]).only.metrics["baseline"][0] == RR
    assert rankgate.explain(qrels, run, "q2", "RR").value == 1
    assert rankgate.describe(qrels, as_="qrels").to_dict()["files"][0]["judgments"]["queries"] == 3


def test_columns_that_the_user_names():
    collection = Collection(
        {"term": ["a", "b"], "sku": ["x", "y"], "label": [1, 2]}, columns="query=term,doc=sku,grade=label"
    )
    run = {"term": ["a", "b"], "sku": ["x", "z"], "score": [1.0, 2.0]}
    assert rankgate.evaluate(collection, run, ["RR"]).means["RR"][0] == 1 / 2


SOUND = {
    "one name": ({"query": ["a", "b"], "phone": ["c", "d"]}, {"query": ["a"], "phone": ["x"]}, 1 / 2),
    "other lengths": ({"query": ["a", "b"], "item": ["c"]}, {"query": ["b"], "item": ["x", "c"]}, 3 / 4),
    "dictionaries": ({"query": {"a": 1}, "item": {"b": 1}}, {"query": {"a": 1.0}, "item": {"b": 1.0}}, 1),
    "numbers": ({3: [7, 8], 4: [9, 1]}, {3: [8], 4: [2, 1]}, 3 / 4),
}


@pytest.mark.parametrize("name", SOUND)
def test_rankings_by_query_stay_rankings(name):
    qrels, run, value = SOUND[name]
    assert rankgate.evaluate(qrels, run, ["RR"]).means["RR"][0] == value


def test_what_could_be_either_is_an_error():
    with raises("ambiguous-input"):
        rankgate.evaluate({"item": ["a", "b"], "rating": ["c", "d"]}, {"item": ["a"]}, ["RR"])
