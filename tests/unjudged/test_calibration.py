"""Predictions of hidden judgments: the counts equal the hidden judgments."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rankgate.core.errors import UsageError
from rankgate.decisions.unjudged.calibration import bin_predictions, brier, calibration
from support.wording import raises


def _collection(queries, seed=0):
    """Runs of different quality; a tenth of the pool is unjudged."""
    rng = random.Random(seed)
    qrels, old, new = {}, {}, {}
    for i in range(queries):
        docs = {f"d{j}": int(rng.random() < 0.4) for j in range(30)}
        old[f"q{i}"] = {doc: g * 0.2 + rng.random() for doc, g in docs.items()}
        new[f"q{i}"] = {doc: g * 0.5 + rng.random() for doc, g in docs.items()}
        qrels[f"q{i}"] = {doc: g for doc, g in docs.items() if rng.random() < 0.9}
    return qrels, old, new


def _first(run, k):
    return {q: sorted(docs, key=lambda d: (-docs[d], d))[:k] for q, docs in run.items()}


def test_tenths_are_counted_by_hand():
    result = bin_predictions(np.array([0.0, 0.05, 0.5, 0.55, 0.59, 1.0]), np.array([0.0, 1, 1, 0, 1, 1]))
    assert result.select("low", "high", "n").rows() == [(0, 0.1, 2), (0.5, 0.6, 3), (0.9, 1.0, 1)]
    assert result["predicted"].to_list() == pytest.approx([0.025, 1.64 / 3, 1.0])
    assert result["measured"].to_list() == pytest.approx([1 / 2, 2 / 3, 1])
    assert all(row["measured_low"] <= row["measured"] <= row["measured_high"] for row in result.to_dicts())


def test_brier_by_hand():
    score, mean = brier(np.array([0.8, 0.3]), np.array([1.0, 0.0]))
    assert (score, mean) == pytest.approx(((0.2**2 + 0.3**2) / 2, 0.25))


def test_every_judged_document_of_the_lists_is_guessed_once():
    qrels, old, new = _collection(40)
    result = calibration(qrels, old, new, "P@5", experiments=6)
    ranked_pairs = {
        (q, doc)
        for run in (old, new)
        for q, docs in _first(run, 5).items()
        for doc in docs
        if doc in qrels[q]
    }
    assert result.documents == result.relevance["n"].sum() == len(ranked_pairs)
    relevant = sum(qrels[q][doc] > 0 for q, doc in ranked_pairs)
    measured_total = sum(row["n"] * row["measured"] for row in result.relevance.to_dicts())
    assert measured_total == pytest.approx(relevant)
    assert result.experiments == result.flips["n"].sum() == 6
    assert result.queries == 40


def test_guesses_are_better_than_the_mean_where_queries_differ():
    qrels = {f"q{i}": {f"d{j}": int(i % 2 == 0) for j in range(20)} for i in range(30)}
    run = {q: {f"d{j}": 20.0 - j for j in range(20)} for q in qrels}
    reversed_run = {q: {f"d{j}": float(j) for j in range(20)} for q in qrels}
    result = calibration(qrels, run, reversed_run, "P@5", experiments=0)
    score, mean = result.brier["relevance"]
    assert mean == pytest.approx(0.25)
    assert score < 0.1


def test_the_same_seed_gives_the_same():
    qrels, old, new = _collection(12)
    first, second = (calibration(qrels, old, new, "P@5", experiments=3).to_dict() for _ in range(2))
    assert first == second
    other_seed = calibration(qrels, old, new, "P@5", experiments=3, seed=1).to_dict()
    assert other_seed["relevance"] != first["relevance"]


def test_flips_of_trials_are_predicted_as_often_as_they_happen():
    """14 of 24 queries gain and 3 lose: hidden judgments turn the result of some trials."""
    qrels = {f"q{i}": {"good": 1, "bad": 0} for i in range(24)}
    new = {f"q{i}": {"bad" if 14 <= i < 17 else "good": 1.0} for i in range(24)}
    old = {f"q{i}": {"bad" if i < 14 else "good": 1.0} for i in range(24)}
    flips = calibration(qrels, old, new, "P@1", experiments=24).flips
    predicted, measured = ((flips["n"] * flips[name]).sum() for name in ("predicted", "measured"))
    assert 3 <= measured <= 12
    assert predicted == pytest.approx(measured, abs=2)


def test_trials_that_hide_everything_are_left_out():
    run = {"q": {"b": 2.0, "a": 1.0}}
    result = calibration({"q": {"a": 1}}, {"q": {"a": 1.0}}, run, "RR@10", experiments=12)
    assert result.experiments < 12
    assert result.documents == 1


def test_a_metric_without_a_cutoff_is_refused():
    with raises("missing-cutoff", UsageError):
        calibration(*_collection(3), "AP")


def test_lists_without_judged_documents_are_refused():
    with raises("no-judged-document", UsageError):
        calibration({"q": {"a": 1}}, {"q": {"x": 1.0}}, {"q": {"y": 1.0}}, "P@5")
