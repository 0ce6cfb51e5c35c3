"""``.plot()`` of results."""

from __future__ import annotations

from functools import cache

import pytest

import rankgate
from support.wording import raises

QRELS = {f"q{i}": {"a": 2, "b": 1, "c": 0} for i in range(8)}
OLD = {q: {"c": 3.0, "b": 2.0, "a": 1.0} for q in QRELS}
NEW = {q: {"a": 3.0, "x": 2.0 + i % 3, "b": 1.0} for i, q in enumerate(QRELS)}


@cache
def _compared():
    return rankgate.compare(QRELS, OLD, {"new": NEW}, ["nDCG@3"])


@cache
def _scored():
    metrics = ["P@1", "P@3", *(f"IPrec@{level / 10}" for level in range(11))]
    return rankgate.evaluate(QRELS, {"old": OLD, "new": NEW}, metrics)


MADE = [
    *((_compared, name) for name in ("deltas", "scatter", "forest", "heat", "judged", "grades", "power")),
    *((_scored, name) for name in ("distributions", "cutoffs", "precision-recall", "scorecard", "pareto")),
    (cache(lambda: rankgate.holes(QRELS, OLD, NEW, ["nDCG@3"])), "holes"),
    (cache(lambda: rankgate.cutoff(QRELS, {"new": {**NEW, "q1": {"a": 9.0}}})), "cutoff"),
    (cache(lambda: rankgate.explain(QRELS, OLD, "q1", "nDCG@3")), "explain"),
    (cache(lambda: rankgate.reconcile(QRELS, OLD, "nDCG@3")), "reconcile"),
    (cache(lambda: rankgate.blindspots(QRELS, OLD)), "blindspots"),
    (cache(lambda: rankgate.stages(QRELS, {"old": OLD, "new": NEW}, ["nDCG@3"])), "stages"),
]
"""The result of each kind of picture, computed once: tests only read it."""


@pytest.mark.parametrize(("make", "name"), MADE, ids=[name for _, name in MADE])
def test_results_draw_themselves(make, name):
    assert make().plot(name).kind == name


def test_a_notebook_shows_a_picture():
    """As SVG, which test_charts.py draws of every kind."""
    assert _compared().plot("deltas")._repr_svg_().startswith("<svg")


def test_each_result_has_a_picture_unasked():
    first = dict(reversed(MADE))
    for make, name in first.items():
        assert make().plot().kind == name


def test_the_first_documents_are_those_of_the_comparison():
    rows = [row for row in _compared().plot("judged").rows if row["series"] == "new"]
    # x, which nobody judged, is first for q1, q2, q4, q5, q7, ties broken by the greater id
    assert rows[0]["at"] == 1 - sum(2.0 + i % 3 >= 3 for i in range(8)) / 8


def test_a_scorecard_sets_accuracy_against_lists():
    qrels = {"u": {"a": 1}, "v": {"b": 1}}
    same_lists = {"u": {"a": 2.0}, "v": {"a": 2.0}}
    personal_lists = {"u": {"a": 2.0}, "v": {"b": 2.0}}
    card = rankgate.scorecard(qrels, {"same": same_lists, "own": personal_lists}, ["P@1", "RR", "Coverage@1"])
    result = card.plot("pareto")
    assert result.title == "P@1 against Coverage@1: 2 systems"
    assert [(row["system"], row["x"], row["y"], row["front"]) for row in result.rows] == [
        ("same", 0.5, 0.5, False),
        ("own", 1.0, 1.0, True),
    ]
    assert {row["metric"] for row in card.plot().rows} == {"P@1", "RR", "Coverage@1"}


def test_the_verb_draws_what_the_command_draws():
    result = rankgate.plot("forest", QRELS, {"old": OLD, "new": NEW}, ["nDCG@3"])
    assert result.rows == _compared().plot("forest").rows
    assert rankgate.plot("explain", QRELS, OLD, "nDCG@3", query="q1").kind == "explain"
    with raises("wrong-run-count", rankgate.UsageError):
        rankgate.plot("deltas", QRELS, OLD)
    with raises("unknown-picture", rankgate.UsageError):
        rankgate.plot("pie", QRELS, OLD)


def test_another_picture_is_refused_with_those_there_are():
    with raises("unknown-picture", rankgate.UsageError):
        _compared().plot("stages")


@pytest.mark.parametrize("form", ["svg", "png", "html", "json"])
def test_a_picture_is_saved(tmp_path, form):
    path = tmp_path / f"picture.{form}"
    _compared().plot().save(path)
    assert path.stat().st_size > 1000
    with raises("unknown-format", rankgate.UsageError):
        _compared().plot().save(tmp_path / "picture.bmp")


def test_the_scorecard_is_drawn_by_the_metrics_of_the_card():
    runs = {"old": OLD, "new": NEW}
    card = rankgate.scorecard(QRELS, runs)
    picture = rankgate.plot("scorecard", QRELS, runs)
    assert {row["metric"] for row in picture.rows} == {row["metric"] for row in card.plot().rows}
