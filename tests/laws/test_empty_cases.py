"""The empty cases on pages of metrics agree with the metrics."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import rankgate
from rankgate.measurement.evaluation.metric_details import metric_details
from rankgate.measurement.metrics.metric_catalogue import by_name
from rankgate.measurement.metrics.sequences.sequence import sequences
from rankgate.measurement.metrics.sequences.sequence_catalogue import SEQUENCE_METRICS

CASES = {
    "without_relevant": ({"1": {"a": 0, "b": 0}}, {"1": {"a": 2.0, "b": 1.0}}),
    "nothing_retrieved": ({"1": {"a": 1}}, {"1": {}}),
    "nothing_judged": ({"1": {"a": 1}}, {"1": {"x": 2.0, "y": 1.0}}),
}
MARKS = (math.e, -math.pi)
"""Two values that no metric has of its own in these cases."""
NEEDS_ANSWERS = {"CitationP", "CitationR", "RefusalP", "RefusalR"}


def with_required(metric):
    for name in metric.missing:
        metric = metric(**{name: 10 if metric.parameters[name].kind == "int" else 0.5})
    return metric


METRICS = {metric.name: metric for metric in (*by_name.values(), *SEQUENCE_METRICS)}
NAMES = [name for name in METRICS if name not in NEEDS_ANSWERS]


@cache
def values(case, mark):
    """The value of each metric, with a mark for filled-in values or by the plain convention."""
    convention = rankgate.convention("trec")
    if mark is not None:
        convention = replace(convention, special={}, **dict.fromkeys(CASES, mark))
    metrics = {name: with_required(METRICS[name]) for name in NAMES}
    scores = rankgate.evaluate(*CASES[case], list(metrics.values()), convention).runs[0]
    return {
        name: next(iter(scores.per_query(str(metric)).values()), None) for name, metric in metrics.items()
    }


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_an_empty_case_counts_what_the_page_says_or_has_a_value_of_its_own(name, case):
    """Under two conventions that mark filled-in values, marks are where the page has marks."""
    filled = [values(case, mark)[name] for mark in MARKS]
    if filled[0] == filled[1]:
        if filled[0] is None:
            assert metric_details(name).conventions["trec"]["without_relevant"] == "left out"
        return
    assert filled == list(MARKS)
    if case != "nothing_judged":
        plain_value = values(case, None)[name]
        assert ("undefined" if plain_value is None else plain_value) == metric_details(name).conventions[
            "trec"
        ][case]


@pytest.mark.parametrize("name", METRICS)
def test_metrics_that_leave_out_tasks_say_so_for_every_convention(name):
    metric = METRICS[name]
    if not getattr(metric, "undefined", False):
        return
    for facts in metric_details(name).conventions.values():
        assert facts["without_relevant"] == facts["nothing_retrieved"] == "left out"


def test_formulas_have_the_values_of_empty_contexts_and_calls():
    empty_context = sequences([[[]]], [[1]], tokens={})
    too_long = sequences([[[("a", 1)]]], tokens={"a": 500})
    kernels = {name: METRICS[name].kernel for name in METRICS}
    assert kernels["UDCG"](too_long, tokens=100) == kernels["UDCG"](empty_context) == [1 / 2]
    assert "1/2 for an empty context" in METRICS["UDCG"].formula
    assert kernels["FirstUseful"](empty_context) == [2]
    assert "at least 2" in METRICS["FirstUseful"].formula
    assert np.isnan(kernels["Redundancy"](too_long, tokens=100)).all()
    assert "no value if no document is shown" in METRICS["Redundancy"].formula
    assert np.isnan(kernels["EvidenceR"](sequences([[[("a", 0)]]]))).all()
    assert "no value without relevant documents" in METRICS["EvidenceR"].formula
