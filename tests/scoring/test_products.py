"""Products with empty queries, duplicates, fine grades and rounding."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest

from rankgate.core.errors import DuplicateError, InputError
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.scoring import CONVENTIONS
from support.wording import raises

PRODUCTS = (
    *("quepid", "searchtweak", "elasticsearch", "opensearch", "rre"),
    *("pyvespa", "haystack", "haystack-3.0", "mlflow", "phoenix", "rankquest"),
)
DOCUMENTS = ("guide", "esci", "esci-code", "note", "leaf")
TWO = {"1": {"a": 1}, "2": {"b": 0}}
FOUND = {"1": {"a": 1}, "2": {"b": 1}}
UNGRADED = {"1": {"a": 1}, "2": {"c": 1}}


@pytest.mark.parametrize(
    ("name", "metric", "run", "mean", "second"),
    [
        ("quepid", "ap@10", FOUND, math.nan, None),  # 0 / 0 spoils the mean
        ("searchtweak", "AP@10", FOUND, 1 / 2, 0.0),  # graded, nothing relevant
        ("searchtweak", "AP@10", UNGRADED, 1.0, None),  # nothing graded: out of the mean
        ("searchtweak", "RR@10", {"1": {"a": 1}}, 1.0, None),  # not there: as little
        ("rre", "P@10", UNGRADED, 1 / 2, 0.0),
        ("rre", "P@10", FOUND, 1.0, 1.0),  # a judgment counts, whatever it says
        ("note", "R@2", FOUND, 1.0, None),
        ("note", "AP@2", FOUND, (1 + 1 / 2) / 2 / 2, 0.0),
        ("mlflow", "recall_at_k(10)", {"1": {"a": 1}, "2": {}}, 1.0, 1.0),  # nothing for nothing
        ("mlflow", "precision_at_k(10)", {"1": {"a": 1}, "2": {}}, 1 / 2, 0.0),
    ],
)
def test_what_an_empty_query_does_to_the_mean(name, metric, run, mean, second):
    scores = evaluate(TWO, run, metric, name).runs[0]
    assert scores.means[metric] == pytest.approx(mean, nan_ok=True)
    assert scores.per_query(metric).get("2") == second


def test_the_best_document_of_rre_may_come_late_and_values_have_two_decimals():
    qrels = {"1": {"a": 1, "b": 3, "c": 3}}
    run = {"1": {"a": 9, "x": 8, "y": 7, "z": 6, "v": 5, "b": 4, "c": 3}}
    means = evaluate(qrels, run, ["RR@10", "P@10", "NDCG@10"], "rre").runs[0].means
    dcg = 1 + 2.49 + 2.33  # 7 / log2(7) and 7 / log2(8)
    ideal = 7 + 4.41 + 0.5
    assert means == pytest.approx(
        {"RR@10": 0.17, "P@10": 0.43, "NDCG@10": math.floor(100 * dcg / ideal) / 100}
    )


def test_a_rating_between_0_and_1_is_relevant_where_the_tool_says_above_0():
    qrels, run = {"1": {"a": 0.2}}, {"1": {"a": 1}}
    precisions = {
        name: evaluate(qrels, run, "P@1", name).runs[0].means["P@1"] for name in (*PRODUCTS, *DOCUMENTS)
    }
    assert [name for name in precisions if precisions[name] == 0] == [
        *("searchtweak", "elasticsearch", "rankquest", "esci-code")
    ]


@pytest.mark.parametrize(
    ("name", "metric", "value"),
    [
        ("haystack", "DocumentNDCG", 1 / math.log2(3)),  # credited once, at its first place
        ("haystack", "DocumentMAP", 1 / 2),  # since 3.1 there too
        ("haystack-3.0", "DocumentMAP", (1 / 2 + 2 / 3) / 2),  # and before both times
        ("guide", "nDCG@3", 1 / math.log2(3) + 1 / 2),
        ("leaf", "nDCG@3", 1 / math.log2(3) + 1 / 2),
    ],
)
def test_a_document_that_stands_there_twice(name, metric, value):
    run = pl.DataFrame({"query_id": ["1"] * 3, "doc_id": ["x", "a", "a"], "score": [3, 2, 1]})
    scores = evaluate({"1": {"a": 1}}, run, metric, name).runs[0]
    assert scores.means[metric] == pytest.approx(value)
    with raises("duplicate-document", DuplicateError):
        evaluate({"1": {"a": 1}}, run, "P@1", "quepid")


@pytest.mark.parametrize(("hits", "rounding", "value"), [(29, "down", 0.2), (29, "nearest", 0.3)])
def test_values_are_rounded_before_the_mean(hits, rounding, value):
    docs = {f"d{i}": 1.0 for i in range(hits)}
    for digits, want in ((2, 0.29), (1, value)):  # 0.29 times 100 is below 29 in binary
        convention = replace(CONVENTIONS["trec"], name="mine", digits=digits, rounding=rounding)
        assert evaluate({"1": docs}, {"1": docs}, "P@100", convention).runs[0].means["P@100"] == want


def test_halves_are_rounded_up():
    docs = {"a": 1, "b": 0, "c": 0, "d": 0, "e": 0, "f": 0, "g": 0, "h": 0}
    run = {"1": {doc: float(-position) for position, doc in enumerate(docs)}}
    means = evaluate({"1": docs}, run, "P@8", "opensearch").runs[0].means
    assert means["P@8"] == 0.13  # 1 / 8


def test_a_rating_above_the_scale_is_refused_with_the_way_out():
    with raises("grade-outside-scale", InputError):
        evaluate({"1": {"a": 5}}, {"1": {"a": 1}}, "err@10", "quepid")


def test_the_tools_own_names_are_read():
    for convention in map(CONVENTIONS.__getitem__, PRODUCTS):
        numbers = {"k": "10", "top": "4"}
        for spelling in convention.spellings:
            name = spelling.format(**numbers)
            scores = evaluate({"1": {"a": 1}}, {"1": {"a": 1}}, name, convention).runs[0]
            assert list(scores.means) == [name]


def test_each_says_where_it_can_be_read():
    for name in (*PRODUCTS, *DOCUMENTS):
        convention = CONVENTIONS[name]
        assert convention.name == name
        assert convention.title
        assert convention.source


def test_haystack_divides_by_all_relevant_documents_since_3_1():
    """Values of DocumentMAPEvaluator of haystack-ai 3.0.0 and 3.4.0."""
    judged, run = {"1": {"a": 1, "b": 1, "c": 1}}, {"1": {"x": 3.0, "a": 2.0, "b": 1.0}}
    values = {
        name: evaluate(judged, run, "DocumentMAP", name).runs[0].means["DocumentMAP"]
        for name in ("haystack", "haystack-3.0")
    }
    assert values == pytest.approx({"haystack": (1 / 2 + 2 / 3) / 3, "haystack-3.0": (1 / 2 + 2 / 3) / 2})
