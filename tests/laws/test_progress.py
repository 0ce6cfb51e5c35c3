"""Verbs that take long report their steps inside a context, and nowhere else."""

from __future__ import annotations

import inspect
import re
import sys

import pytest

import rankgate
from rankgate.core.progress import progress

QUERIES = {f"q{i}": f"words {i}" for i in range(20)}
QRELS = {query: {"a": 2, "b": i % 3, "c": 0} for i, query in enumerate(QUERIES)}
OLD = {query: {"a": 1.0, "b": 2.0, "x": 0.5} for query in QUERIES}
NEW = {query: {"a": 3.0, "b": 2.0, "y": 0.5} for query in QUERIES}
RUNS = {"old": OLD, "new": NEW}
RATERS = [{query: {"a": 2, "b": i % 2} for query in QRELS} for i in range(2)]
SHORT = {"q1": "one", "q2": "two"}
SWEEP = {
    "sweep": {
        "engine": lambda text, depth, weight: {"x": weight, "y": 1.0},  # noqa: ARG005
        "queries": SHORT,
        "qrels": {"q1": {"x": 1}, "q2": {"y": 1}},
    },
    "dials": {"weight": [0.5, 2]},
    "baseline": {"weight": 0.5},
}


def answers(text, depth):  # noqa: ARG001
    """An engine."""
    return ["a", "b"]


CASES = {
    "admit": (lambda: rankgate.admit(QRELS, QRELS, [OLD, NEW]), 3),
    "advise": (lambda: rankgate.advise(QRELS, [OLD, NEW]), 3),
    "blindspots": (lambda: rankgate.blindspots(QRELS, OLD, NEW, ["nDCG@2"]), 3),
    "compare_engines": (lambda: rankgate.compare_engines(answers, answers, SHORT), 4),
    "describe": (lambda: rankgate.describe([QRELS, QRELS], as_="qrels"), 2),
    "fuse": (lambda: rankgate.fuse(RUNS), 2),
    "fuse, trained": (
        lambda: rankgate.fuse(RUNS, "probfuse", learning=rankgate.FusionLearning(QRELS, folds=2)),
        4,
    ),
    "cutoff": (lambda: rankgate.cutoff(QRELS, {"old": {**OLD, "q1": {"a": 9.0}}}), 1),
    "holes": (lambda: rankgate.holes(QRELS, OLD, NEW, ["nDCG@2"]), 3),
    "migrate": (lambda: rankgate.migrate(OLD, NEW), 2),
    "pool": (lambda: rankgate.pool([OLD, NEW]), 2),
    "pool, by influence": (
        lambda: rankgate.pool(
            [OLD, NEW], rankgate.PoolDesign(order="influence", metric="nDCG@3"), collection=QRELS
        ),
        2,
    ),
    "rank_similarity": (
        lambda: rankgate.rank_similarity({**RUNS, "third": {query: {"b": 1.0} for query in QUERIES}}),
        3,
    ),
    "reusability": (lambda: rankgate.reusability(QRELS, [OLD, NEW]), 2),
    "settle": (lambda: rankgate.settle(rankgate.Collection(predicted=QRELS), OLD, NEW), 1),
    "snapshot": (lambda: rankgate.snapshot(answers, SHORT), 2),
    "stages": (lambda: rankgate.stages(QRELS, RUNS, ["nDCG@2"]), 3),
    "sweep": (lambda: rankgate.sweep(SWEEP), 3),
    "total_error": (lambda: rankgate.total_error(RATERS, OLD, NEW, ["P@1"]), 3),
    "validate": (lambda: rankgate.validate([OLD, NEW], QRELS, as_="run"), 3),
    "compare": (lambda: rankgate.compare(QRELS, OLD, NEW, ["nDCG@2"]), 4),
    "evaluate": (lambda: rankgate.evaluate(QRELS, [OLD, NEW], ["RR"]), 2),
    "gate": (lambda: rankgate.gate(QRELS, OLD, NEW), 2),
    "scorecard": (lambda: rankgate.scorecard(QRELS, [OLD, NEW], ["P@1", "Coverage@1"]), 2),
    "self_check": (lambda: rankgate.self_check(QRELS, [OLD, NEW]), 2),
    "self_check, engine": (lambda: rankgate.self_check(QRELS, answers, queries=QUERIES, snapshots=2), 4),
}
"""Calls of the verbs with the number of steps that each reports."""
ELSEWHERE = {"rate"}
"""Verbs whose steps are counted in a test of their own: they need a server."""


def steps_of(call):
    steps = []
    with progress(steps.append):
        call()
    return steps


def test_every_verb_that_reports_steps_is_here():
    """A verb reports if its module calls `step`."""
    verbs = {
        name
        for name in rankgate.__all__
        if inspect.isfunction(verb := getattr(rankgate, name))
        and re.search(r"(?<!def )\bstep\(", inspect.getsource(sys.modules[inspect.unwrap(verb).__module__]))
    }
    assert verbs - {"progress"} <= {name.partition(",")[0] for name in CASES} | ELSEWHERE


@pytest.mark.parametrize("name", CASES)
def test_steps_are_reported_inside_a_context_and_nothing_outside(name, capfd):
    """The innermost context has them, the outer one has the same after it, and none is printed."""
    call, count = CASES[name]
    outer, inner = [], []
    with progress(outer.append):
        with progress(inner.append):
            call()
        assert (len(inner), outer) == (count, [])
        call()
    call()
    assert all(inner)
    first, second = (
        sorted(text.partition(", ")[0] for text in messages)  # without the time that is left
        for messages in (inner, outer)
    )
    assert first == second
    assert capfd.readouterr() == ("", "")


def test_none_is_reported_in_a_context_of_none():
    outer = []
    with progress(outer.append), progress(None):
        rankgate.pool([OLD, NEW])
    assert outer == []


@pytest.mark.parametrize("name", CASES)
def test_an_error_of_the_reporter_reaches_the_caller_and_ends_the_context(name):
    def refuse(text):
        raise LookupError(text)

    call, _ = CASES[name]
    outer = []
    with progress(outer.append):
        with pytest.raises(LookupError), progress(refuse):
            call()
        assert outer == []
        rankgate.pool([OLD, NEW])
    assert outer


def test_an_error_of_a_verb_leaves_the_outer_reporter():
    steps = []
    with progress(steps.append):
        with pytest.raises(rankgate.UsageError) as error, progress(None):
            rankgate.reusability(QRELS, [OLD])
        assert error.value.code == "missing-input"
        rankgate.pool([OLD, NEW])
    assert len(steps) == 2
