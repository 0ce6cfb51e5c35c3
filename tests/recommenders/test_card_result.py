"""A scorecard is a result: it prints, is written as JSON and read again, and is drawn."""

from __future__ import annotations

import json

import pytest

import rankgate
from rankgate.core.present.write_results import render_result
from rankgate.data.collection import Collection, Items
from rankgate.recommenders.scorecard import Scorecard

RUNS = {
    "same": {user: {"c": 2.0, "d": 1.0} for user in "uvwx"},
    "good": {"u": {"a": 3.0}, "v": {"c": 3.0}, "w": {"a": 3.0, "b": 1.0}, "x": {"d": 2.0}},
}
QRELS = {"u": {"a": 1}, "v": {"c": 1}, "w": {"a": 1}, "x": {"d": 1}}


@pytest.fixture(scope="module")
def card() -> Scorecard:
    return rankgate.scorecard(
        Collection(QRELS, items=Items(catalogue=list("abcde"))),
        RUNS,
        ["P@1", "Coverage@2", "Gini@2"],
        resamples=20,
    )


def test_it_prints_as_a_table(card: Scorecard) -> None:
    text = str(card)
    assert "Scorecard(" not in text
    assert "P@1 ↑" in text
    assert "4 users of qrels, 5 items" in text
    assert max(map(len, text.splitlines())) <= 80


def test_json_is_read_again(card: Scorecard) -> None:
    values = json.loads(json.dumps(card.to_dict()))
    restored = Scorecard.from_dict(values)
    assert json.loads(json.dumps(restored.to_dict())) == values
    assert values["kind"] == "scorecard"
    for form in ("text", "markdown", "latex", "csv", "html"):
        assert render_result(restored, form) == render_result(card, form)


def test_its_main_table_is_the_figures(card: Scorecard) -> None:
    assert card.to_polars().equals(card.figures)


def test_its_warnings_are_notices(card: Scorecard) -> None:
    assert tuple(notice.text for notice in card.notices) == card.warnings


def test_a_subscript_is_the_value_of_a_system(card: Scorecard) -> None:
    assert len(card) == 2
    assert card["good", "P@1"] == 1.0
    assert card["same", "P@1"] == 0.25
    assert card["same", "Coverage@2"] == 2 / 5
    for key in (("good", "nDCG@5"), ("best", "P@1")):
        with pytest.raises(KeyError):
            card[key]
