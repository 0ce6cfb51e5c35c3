"""Scores that count as absent, repeated documents, and means over queries with a hit."""

from math import isnan

import polars as pl
import pytest

from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.scoring import Convention
from rankgate.measurement.scoring.presets import CONVENTIONS

PLAIN = Convention("plain", ties="file_order")
QRELS = {"1": {"a": 1, "b": 1}, "2": {"c": 1}}


def means(run, metrics, how=PLAIN, qrels=QRELS):
    return evaluate(qrels, run, metrics, how).runs[0].means


def rows(*rows):
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")


def changed(**choices):
    return Convention("changed", ties="file_order", **choices)


@pytest.mark.parametrize("as_frame", [False, True])
def test_an_absent_score_gives_its_rank_to_the_next_document(as_frame):
    run = {"1": {"x": 2.0, "y": 0.0, "a": -1.0}}
    if as_frame:
        run = rows(*((query, *pair) for query in run for pair in run[query].items()))
    qrels = {"1": {"a": 1}}
    assert means(run, ["RR"], PLAIN, qrels) == {"RR": 1 / 3}
    assert means(run, ["RR"], changed(absent=0.0), qrels) == {"RR": 1 / 2}


def test_repeated_documents_hold_their_places():
    run = rows(("1", "a", 3.0), ("1", "a", 2.0), ("1", "b", 1.0))
    qrels = {"1": {"a": 1, "b": 1}}
    values = {rule: means(run, ["AP"], changed(duplicates=rule), qrels)["AP"] for rule in RULES}
    assert values == RULES


RULES = {"first": (1 / 1 + 2 / 2) / 2, "each": (1 / 1 + 2 / 2 + 3 / 3) / 2, "place": (1 / 1 + 2 / 3) / 2}


@pytest.mark.parametrize("as_frame", [False, True])
def test_queries_of_value_zero_can_be_left_out(as_frame):
    run = {"1": {"a": 2.0}, "2": {"x": 1.0}}
    if as_frame:
        run = rows(("1", "a", 2.0), ("2", "x", 1.0))
    assert means(run, ["R@5"])["R@5"] == (1 / 2 + 0) / 2
    left_out = changed(forced={"zero": None}, nothing_judged=None)
    assert means(run, ["R@5"], left_out)["R@5"] == 1 / 2
    assert means(run, ["R@5"], changed(forced={"zero": 1.0}))["R@5"] == (1 / 2 + 1) / 2


def test_without_any_relevant_document_in_the_list_is_not_without_one_in_the_cutoff():
    run = {"1": {"x": 2.0, "a": 1.0}, "2": {"y": 1.0}}
    convention = changed(forced={"no_hit": None}, nothing_judged=None)
    assert means(run, ["P@1", "P@2"], convention) == {"P@1": 0.0, "P@2": 1 / 2}


def test_the_mean_where_nobody_has_a_hit():
    convention = changed(forced={"zero": None}, nothing_judged=None, no_hits=0.25)
    run = {"1": {"x": 2.0, "a": 1.0}, "2": {"y": 1.0}}
    scores = means(run, ["P@1", "P@2"], convention)
    assert scores == {"P@1": 0.25, "P@2": 1 / 2}


def test_rounding_to_the_even_digit():
    run = {"1": dict.fromkeys("abcdefghijklmnop", 1.0)}
    qrels = {"1": {"a": 1}}  # SetP is 1/16 = 0.0625
    for rule, value in {"nearest": 0.063, "even": 0.062, "down": 0.062}.items():
        assert means(run, ["SetP"], changed(digits=3, rounding=rule), qrels) == {"SetP": value}


def test_recommenders_averages_r_precision_over_users_with_a_hit():
    convention = CONVENTIONS["recommenders"]
    hit, late, none = {"a": 1.0}, {"x": 2.0, "y": 1.5, "c": 1.0}, {"z": 1.0}
    word = "r_precision_at_k(k=3)"
    assert means({"1": hit, "2": none}, [word], convention)[word] == 1 / 2
    assert means({"1": hit, "2": late}, [word], convention)[word] == 1 / 2  # c is after R = 1
    assert isnan(means({"2": late}, [word], convention)[word])
    assert means({"2": none}, [word], convention)[word] == 0


EVIDENTLY = {
    "PrecisionTopKMetric(k=3)": 1 / 2,  # one of the two that are there
    "RecallTopKMetric(k=1)": 0.0,
    "RecallTopKMetric(k=2)": 1.0,  # b is relevant and has no row
    "MAPKMetric(k=2)": 1 / 2,
    "MARKMetric(k=2)": 1.0,
    "NDCGKMetric(k=1)": 0.0,
    "MRRKMetric(k=2)": 1 / 2,
    "HitRateKMetric(k=1)": 0.0,
}


def test_evidently_knows_the_rows_of_its_table_only():
    run = {"1": {"x": 2.0, "a": 1.0}, "2": {"y": 1.0}}  # user 2 has no relevant row
    assert means(run, list(EVIDENTLY), CONVENTIONS["evidently"]) == EVIDENTLY
