"""Contexts of language models: budgets of tokens, redundancy, positions, utility."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgate
from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.data.collection import Collection, Items
from rankgate.measurement.metrics.sequences.context_metrics import (
    context_precision,
    context_recall,
    position_gain,
    redundancy,
    utility,
)
from rankgate.measurement.metrics.sequences.sequence import sequences
from support.wording import raises

QRELS = {"1": {"a1": 1, "c1": 1}, "2": {"d1": 2}}
RUN = {"1": {"a1": 9.0, "a2": 8.0, "c1": 7.0}, "2": {"x1": 9.0, "d1": 8.0}}
ITEMS = pl.DataFrame(
    {
        "doc_id": ["a1", "a2", "c1", "x1", "d1"],
        "tokens": [300, 500, 400, 900, 200],
        "doc": ["a", "a", "c", "x", "d"],
    }
)


def values(result, metric):
    return result.runs[0].per_query(metric)


def test_a_budget_ends_the_context_at_the_first_passage_that_does_not_fit():
    metrics = [f"Context{x}(tokens={b})" for x in "PR" for b in (200, 800, 1200)]
    result = rankgate.evaluate(Collection(QRELS, items=Items(ITEMS, length="tokens")), RUN, metrics)
    assert [values(result, metric) for metric in metrics] == [
        {"1": 0, "2": 0},
        {"1": 1 / 2, "2": 0},
        {"1": 2 / 3, "2": 1 / 2},
        {"1": 0, "2": 0},
        {"1": 1 / 2, "2": 0},
        {"1": 1, "2": 1},
    ]


TWICE = {
    "first": (2 / 3, 1, (1 + 1) / (1 + 1 / 2 + 1), 0, 2 / 3),
    "last": (2 / 3, 1, (1 + 1) / (1 + 1 / 2 + 1), 0, 2 / 3),
    "each": (3 / 4, 1, (2 + 5 / 9) / (2 + 10 / 9), 1 / 4, 3 / 4),
    "place": (2 / 4, 1, 2 / (2 + 10 / 9), 1 / 4, 2 / 4),
}
"""Values of `_OF_CONTEXTS` for the ranking a a b c, of which b is not relevant."""
_OF_CONTEXTS = ["ContextP", "ContextR", "PositionP", "Redundancy", "UDCG"]


@pytest.mark.parametrize("rule", TWICE)
def test_a_document_ranked_twice_is_what_the_convention_says(rule, tmp_path):
    rows = "".join(f"1 Q0 {doc} 1 {9 - row} x\n" for row, doc in enumerate("aabc"))
    (tmp_path / "twice.run").write_text(rows)
    qrels = {"1": {"a": 1, "b": 0, "c": 1}}
    convention = rankgate.convention("trec", {"duplicates": rule})
    result = rankgate.evaluate(qrels, tmp_path / "twice.run", _OF_CONTEXTS, convention)
    *shares, useful = TWICE[rule]
    assert list(result.runs[0].means.values()) == pytest.approx([*shares, 1 / (1 + math.exp(-useful))])
    special_convention = replace(rankgate.convention("ranx"), special={"ContextP": {"duplicates": rule}})
    result = rankgate.evaluate(qrels, tmp_path / "twice.run", "ContextP", special_convention)
    assert result.runs[0].means["ContextP"] == pytest.approx(TWICE[rule][0])


def test_contexts_of_a_file_obey_the_rule_for_duplicates(tmp_path):
    path = tmp_path / "samples.jsonl"
    sample = {"user_input": "q", "retrieved_contexts": ["a", "a", "b"]}
    path.write_text(json.dumps(sample | {"reference_contexts": ["a"]}) + "\n")
    with raises("duplicate-document", DuplicateError, line=1):
        rankgate.evaluate(path, path, "ContextP")
    for rule, value in (("last", 1 / 2), ("each", 2 / 3), ("place", 1 / 3)):
        convention = rankgate.convention("trec", {"duplicates": rule})
        (mean,) = rankgate.evaluate(path, path, "ContextP", convention).runs[0].means.values()
        assert mean == pytest.approx(value)


def test_passages_ranked_twice_have_the_rule_before_they_become_documents():
    run = pl.DataFrame({"query_id": ["1"] * 3, "doc_id": ["a1", "c1", "a1"], "score": [9.0, 8.0, 7.0]})
    for rule, reciprocal in (("first", 1), ("last", 1 / 2)):
        convention = rankgate.convention("trec", {"duplicates": rule})
        result = rankgate.evaluate(
            Collection({"1": {"a": 1}}, items=Items(ITEMS, document="doc")), run, "RR", convention
        )
        assert result.runs[0].means["RR"] == reciprocal


def test_without_a_budget_they_are_precision_and_recall():
    plain = rankgate.evaluate(QRELS, RUN, ["P@2", "R@2", "ContextP@2", "ContextR@2"])
    for query in QRELS:
        assert values(plain, "P@2")[query] == values(plain, "ContextP@2")[query]
        assert values(plain, "R@2")[query] == values(plain, "ContextR@2")[query]


def test_a_budget_without_lengths_is_one_error():
    for metric in (
        "ContextP(tokens=100)",
        "ContextR(tokens=100)",
        "UDCG(tokens=9)",
        "ContextP(unit='tokens')",
    ):
        with raises("missing-lengths", UsageError):
            rankgate.evaluate(QRELS, RUN, [metric])
    with raises("missing-lengths", InputError):
        rankgate.evaluate(
            Collection(QRELS, items=Items(ITEMS.head(2), length="tokens")), RUN, ["ContextP(tokens=9)"]
        )
    with raises("missing-input", UsageError):
        rankgate.evaluate(Collection(QRELS, items=Items(length="tokens")), RUN, ["ContextP(tokens=9)"])
    with raises("missing-column", UsageError):
        rankgate.evaluate(Collection(QRELS, items=Items(ITEMS, length="words")), RUN, ["ContextP(tokens=9)"])
    for bad in ([-1.0, 1, 1, 1, 1], ["x", "1", "1", "1", "1"]):
        with raises("not-a-number", InputError):
            rankgate.evaluate(
                Collection(QRELS, items=Items(ITEMS.with_columns(pl.Series("tokens", bad)), length="tokens")),
                RUN,
                ["ContextP(tokens=9)"],
            )


def test_redundancy_by_documents_needs_the_documents():
    with raises("missing-input", UsageError):
        rankgate.evaluate(QRELS, RUN, "Redundancy(by='documents')")
    with raises("missing-input", UsageError):
        rankgate.evaluate(
            Collection(QRELS, items=Items(ITEMS, length="tokens")), RUN, "Redundancy(by='documents')"
        )


def test_rankings_of_passages_become_rankings_of_documents():
    qrels = {"1": {"a": 1, "c": 1}, "2": {"d": 2}}
    metrics = ["P@2", "RR", "ContextR(tokens=800)", "Redundancy(by='documents')"]
    result = rankgate.evaluate(
        Collection(qrels, items=Items(ITEMS, length="tokens", document="doc")), RUN, metrics
    )
    assert values(result, "P@2") == {"1": 1, "2": 1 / 2}  # a, c; x, d
    assert values(result, "RR") == {"1": 1, "2": 1 / 2}
    assert values(result, "ContextR(tokens=800)") == {"1": 1 / 2, "2": 0}  # a1 and a2 are one
    assert values(result, "Redundancy(by='documents')") == {"1": 1 - 2 / 3, "2": 0}


def test_judgments_of_passages_stay_so():
    result = rankgate.evaluate(Collection(QRELS, items=Items(ITEMS, document="doc")), RUN, ["P@2"])
    assert values(result, "P@2") == {"1": 1 / 2, "2": 1 / 2}


def test_compare_and_gate_take_them(tmp_path):
    qrels = {str(i): {"a": 1} for i in range(12)}
    old = {q: {"b": 2.0, "a": 1.0} for q in qrels}
    new = {q: {"a": 2.0, "c": 1.0} for q in qrels}
    items = pl.DataFrame({"doc_id": ["a", "b", "c"], "tokens": [10, 10, 10]})
    metric = "ContextR(tokens=10)"
    comparison = rankgate.compare(Collection(qrels, items=Items(items, length="tokens")), old, new, [metric])
    assert comparison.only.metrics["delta"].to_list() == [1.0]
    policy = tmp_path / "rankgate.toml"
    policy.write_text(
        '[gate]\nholes = "ignore"\n[lists]\nlength = "tokens"\n'
        '[[rules]]\nid = "r"\nkind = "noninferiority"\n'
        f'metric = "{metric}"\nmargin = 0.1\n'
    )
    assert rankgate.gate(Collection(qrels, items=Items(items)), old, new, policy).verdict == "pass"
    assert rankgate.gate(Collection(qrels, items=Items(items)), new, old, policy).verdict == "fail"


def test_utility_is_that_of_its_authors_code():
    """1 / (1 + exp(−x)), x the mean of (1 − p) where relevant and of −(1 − p) / 3 where not."""
    abstains = [(True, 0.1), (False, 0.4), (False, 0.95), (True, 0.5)]
    worth = [(1 - p) * (1 if relevant else -1 / 3) for relevant, p in abstains]
    expected = 1 / (1 + math.exp(-sum(worth) / 4))
    qrels = {"q": {f"d{i}": (1 if r else -1) * (1 - p) for i, (r, p) in enumerate(abstains)}}
    run = {"q": {f"d{i}": -float(i) for i in range(4)}}
    assert rankgate.evaluate(qrels, run, ["UDCG"]).runs[0].means["UDCG"] == pytest.approx(expected)


def test_a_discount_takes_from_lower_ranks():
    tasks = sequences([[[("a", 1), ("b", -1)]]])
    utilities = utility(tasks, discount="log2", form="plain", distraction=1)
    assert utilities == pytest.approx([1 - 1 / math.log2(3)])


GRADES = st.lists(st.sampled_from([None, 0, 1, 2]), max_size=8)


@given(GRADES, st.lists(st.integers(1, 9), min_size=8, max_size=8), st.integers(1, 40))
def test_the_naive_way(grades, lengths, budget):
    docs = [f"d{i}" for i in range(len(grades))]
    tasks = sequences(
        [[list(zip(docs, grades, strict=True))]],
        [[1, *(g for g in grades if g is not None)]],
        tokens={f"d{i}": n for i, n in enumerate(lengths)},
    )
    used, remaining = [], budget
    for grade, length in zip(grades, lengths, strict=False):
        if length > remaining:
            break
        used.append(grade)
        remaining -= length
    hits = sum(grade is not None and grade >= 1 for grade in used)
    relevant = 1 + sum(grade is not None and grade >= 1 for grade in grades)
    assert context_precision(tasks, tokens=budget) == [hits / len(used) if used else 0]
    assert context_recall(tasks, tokens=budget) == [hits / relevant]
    assert position_gain(tasks, tokens=budget, dip=0) == pytest.approx(
        context_precision(tasks, tokens=budget)
    )
    larger_recall = context_recall(tasks, tokens=budget + 1)
    assert larger_recall >= context_recall(tasks, tokens=budget)


@given(st.lists(st.lists(st.sampled_from("abcd"), unique=True, max_size=4), min_size=1, max_size=4))
def test_redundancy_is_the_share_of_repeats(calls):
    tasks = sequences([[[(doc, None) for doc in call] for call in calls]])
    documents = [doc for call in calls for doc in call]
    expected = 1 - len(set(documents)) / len(documents) if documents else math.nan
    assert redundancy(tasks) == pytest.approx([expected], nan_ok=True)
    split = [[doc] for doc in documents] or [[]]
    split_tasks = sequences([[[(doc, None) for doc in call] for call in split]])
    assert np.array_equal(redundancy(split_tasks), redundancy(tasks), equal_nan=True)


def test_an_explicit_parameter_changes_the_value():
    tasks = sequences(
        [[[("a", 2), ("b", -1), ("c", 1), ("d", None), ("e", 1)]]],
        tokens=dict.fromkeys("abcde", 10) | {"a": 5},
        source={"a": "x", "c": "x"},
    )
    for kernel, changes in {
        context_precision: [{"cutoff": 2}, {"tokens": 15}, {"rel": 2}, {"unit": "tokens"}],
        context_recall: [{"cutoff": 2}, {"tokens": 15}, {"rel": 2}],
        redundancy: [{"by": "documents"}],
        position_gain: [{"cutoff": 2}, {"tokens": 15}, {"rel": 2}, {"dip": 1}],
        utility: [{"cutoff": 2}, {"distraction": 1}, {"discount": "log2"}, {"form": "plain"}],
    }.items():
        for parameters in changes:
            assert kernel(tasks, **parameters) != kernel(tasks), (kernel, parameters)
