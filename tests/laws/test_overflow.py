"""Metrics never return the result of an overflow: too large grades are refused by name."""

from __future__ import annotations

import json
import math
import warnings

import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError, RankgateError
from rankgate.measurement.metrics.browsing import BROWSING_METRICS
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from rankgate.measurement.metrics.preference_metrics import PREFERENCE_METRICS
from rankgate.measurement.metrics.sequences.sequence_catalogue import SEQUENCE_METRICS
from rankgate.measurement.metrics.stratified_samples import SAMPLE_METRICS
from rankgate.measurement.scoring.presets import CONVENTIONS
from support.wording import raises

LARGE = (1024.0, 1e200, 1.7e308, -1.7e308, 5e-324)
OF_JUDGMENTS = (*BROWSING_METRICS, *PREFERENCE_METRICS, *SAMPLE_METRICS)
OF_CALLS = "EvidenceRate(per=", "CitationP", "CitationR", "RefusalP", "RefusalR"
"""How the names of metrics begin that need calls or answers of an agent."""
RUN = {"q": {"a": 3.0, "b": 2.0, "c": 1.0, "z": 0.5}}


def _variants(metrics):
    """Metrics with each choice of each parameter, each name once."""
    all_variants = (variant for metric in metrics for variant in _variants_of(metric))
    return list({str(variant): variant for variant in all_variants}.values())


def _variants_of(metric):
    examples = {name: 10 if metric.parameters[name].kind == "int" else 0.5 for name in metric.missing}
    choices = [(name, word) for name, parameter in metric.parameters.items() for word in parameter.choices]
    for choice in [{}, *({name: word} for name, word in choices)]:
        try:
            yield metric(**examples | choice)
        except RankgateError:  # a parameter that needs another one
            continue


def _refused(error):
    """True if an error is about a grade that does not fit, or about parameters."""
    return not isinstance(error, InputError) or error.code == "grade-outside-scale"


def _means(variants, error_value, collection, runs):
    """The mean of each variant; the value of its error for one that is refused.

    Evaluate variants together; if one is refused, evaluate the variants before and after it.
    """
    if not variants:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return rankgate.evaluate(collection, runs, variants).runs[0].means
        except RankgateError as error:
            refused, parts = _split(variants, error)
            means = {str(variant): error_value(error) for variant in refused}
    for subset in parts:
        means |= _means(subset, error_value, collection, runs)
    return means


def _split(variants, error):
    """The variant that an error names and the others in two parts, or two halves without a name."""
    if len(variants) == 1:
        return variants, []
    for index, variant in enumerate(variants):
        if error.problem.startswith((f"{variant}: grade ", f"{variant} needs ")):
            return [variant], [variants[:index], variants[index + 1 :]]
    half = len(variants) // 2
    return [], [variants[:half], variants[half:]]


def _infinite(variants, qrels):
    """Variants with an infinite mean, or with an error other than a refusal."""
    means = _means(variants, lambda error: 0.0 if _refused(error) else math.inf, qrels, RUN)
    return [name for name, mean in means.items() if math.isinf(mean)]


@pytest.mark.parametrize("grade", LARGE)
def test_great_grades_give_finite_values_or_are_refused_by_name(grade):
    qrels = {"q": {"a": grade, "b": 3.0, "c": 0.0, "d": grade}}
    assert not _infinite(_variants(CATALOGUE), qrels)


@pytest.mark.parametrize("grade", LARGE)
def test_great_grades_of_subtopics_and_samples_are_finite_or_refused(grade):
    grades = {"a": grade, "b": 3.0, "c": 0.0, "d": grade}
    rows = [("q", topic, *graded) for topic in "12" for graded in grades.items()]
    columns = ["query_id", "subtopic", "doc_id", "grade"]
    with_topics = pl.DataFrame(rows, columns, orient="row")
    assert not _infinite(_variants(FACET_METRICS), with_topics)
    assert not _infinite(_variants(OF_JUDGMENTS), {"q": grades})


def _zero_if_lacking(error):
    """0 if numbers of lists or sequences are refused or are lacking."""
    if error.code not in {"grade-outside-scale", "missing-input", "missing-lengths"}:
        raise error
    return 0.0


def _assert_finite(variants, collection, run):
    """Variants of metrics of lists or sequences never have an infinite mean."""
    means = _means(variants, _zero_if_lacking, collection, [run])
    assert not [name for name, mean in means.items() if math.isinf(mean)]


@pytest.mark.parametrize("number", LARGE)
def test_great_grades_and_features_give_finite_values_of_lists(number):
    rankings = {"u": {"a": 3.0, "b": 2.0, "c": 1.0}, "v": {"b": 3.0, "c": 2.0, "d": 1.0}}
    first = {"u": {"a": 1.0}, "v": {"a": 1.0}}
    log = {"user_id": ["u", "u", "v", "w"], "item_id": ["d", "b", "a", "b"]}
    items = pl.DataFrame(
        {
            "item": list("abcd"),
            "size": [number, 1.0, -number, 2.0],
            "price": [number, number, 1.0, 0.0],
            "genre": ["x", "y", "x|y", "z"],
            "maker": ["1", "2", "1", "2"],
        }
    )
    collection = rankgate.Collection(
        {"u": {"a": number, "b": 3, "d": number}, "v": {"b": number, "c": 1}},
        items=rankgate.Items(items, features=["size", "price"], category="genre", group="maker"),
        training=pl.DataFrame(log | {"rating": [number, 1.0, number, 2.0]}),
        reference=first,
    )
    run = rankgate.read_run(rankings, earlier=first)
    _assert_finite(_variants([metric @ 3 for metric in LIST_METRICS]), collection, run)


@pytest.mark.parametrize("number", LARGE)
def test_great_grades_lengths_and_calls_give_finite_values_of_sequences(number, tmp_path):
    ids = "ids:(?P<session>.+)-(?P<position>[0-9]+)"
    rankings = {"s-1": {"x": 3.0, "b": 2.0, "z": 1.0}, "s-2": {"a": 3.0, "b": 2.0}, "t-1": {"c": 1.0}}
    agent = tmp_path / "agent.jsonl"
    variants = _variants(SEQUENCE_METRICS)
    of_rankings = [variant for variant in variants if not str(variant).startswith(OF_CALLS)]
    without_lengths = [variant for variant in variants if "unit='tokens'" not in str(variant)]
    size = abs(number)
    lengths = {"item": list("abcxz"), "tokens": [size, 1.0, size, size, 2.0]}
    calls = [
        {"query": "a", "documents": ["x", "y"], "tokens": size, "seconds": size},
        {"documents": ["e", "y"], "tokens": size, "seconds": 1.0},
    ]
    task = {"calls": calls, "cited": ["e", "x"], "evidence": ["e", "f"]}
    rows = [
        {"query_id": query, **task, "answered": answered}
        for query, answered in {"p": True, "q": False}.items()
    ]
    agent.write_text("".join(json.dumps(row) + "\n" for row in rows))
    by_task = {"s": {"a": number, "b": 3.0, "c": 0.0, "d": number}, "t": {"c": number}}
    by_query = {"s-1": {"x": number, "z": number, "b": 1.0}, "s-2": {"a": number}}
    items = rankgate.Items(pl.DataFrame(lengths), length="tokens")
    of_tasks = rankgate.Collection(by_task, items=items, sequences=ids)
    _assert_finite(of_rankings, of_tasks, rankings)
    _assert_finite(of_rankings, rankgate.Collection(by_query, items=items), rankings)
    _assert_finite(without_lengths, agent, agent)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_great_grades_give_no_infinite_value_under_any_convention(convention):
    qrels = {"q": {"a": 2000.0, "b": 1.0}}
    for name in ("nDCG(gain='exp')@2", "ERR@2", "DCG@2", "RBP", "Q"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                scores = rankgate.evaluate(qrels, RUN, [name], convention).runs[0]
            except RankgateError:
                continue
        assert not math.isinf(scores.means[name]), name


def test_the_error_names_the_grade_and_the_query():
    with raises("grade-outside-scale") as caught:
        rankgate.evaluate({"p": {"a": 1}, "q": {"a": 1024}}, RUN, ["nDCG(gain='exp')"])
    assert "1024" in str(caught.value)
    assert "'q'" in str(caught.value)


def test_the_greatest_grade_that_fits_is_exact():
    qrels = {"q": {"a": 1023, "b": 1022}}
    value = rankgate.evaluate(qrels, RUN, ["nDCG(gain='exp')@10"]).runs[0].means
    assert value["nDCG(gain='exp')@10"] == 1.0


def test_a_grade_of_a_subtopic_that_is_too_great_is_named():
    rows = [("q", "1", "a", 1.0), ("q", "2", "a", 1e200)]
    qrels = pl.DataFrame(rows, ["query_id", "subtopic", "doc_id", "grade"], orient="row")
    with raises("grade-outside-scale") as caught:
        rankgate.evaluate(qrels, RUN, ["alpha_nDCG"])
    assert "query 'q' has grade 1e+200" in str(caught.value)
