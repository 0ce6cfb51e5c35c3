"""Scoring against definitions worked out one document at a time."""

from __future__ import annotations

import pytest
from hypothesis import given

from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.scoring import CONVENTIONS
from support import naive
from support.strategies import collections


@given(collections())
def test_every_query_has_the_value_of_the_definition(collection):
    qrels, run = collection
    scores = evaluate(qrels, run, naive.METRICS).runs[0]
    for query in qrels:
        expected = naive.values(qrels[query], run.get(query, {}))
        for metric in naive.METRICS:
            score = scores.per_query(metric)[query]
            assert score == pytest.approx(expected[metric], abs=1e-12), (query, metric)


@given(collections())
def test_32_bit_scores_tie_where_64_bit_ones_do_not(collection):
    qrels, run = collection
    with naive.np.errstate(over="ignore"):
        near = {
            query: {d: float(naive.FLOAT32(score)) for d, score in ranking.items()}
            for query, ranking in run.items()
            if query in qrels
        }
    scores = evaluate(qrels, run, ["RR", "AP"], CONVENTIONS["trec9"]).runs[0]
    for query, ranking in near.items():
        expected = naive.values(qrels[query], ranking)
        assert scores.per_query("RR")[query] == pytest.approx(expected["RR"])
        assert scores.per_query("AP")[query] == pytest.approx(expected["AP"])
