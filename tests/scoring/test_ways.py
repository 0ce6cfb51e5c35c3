"""Every way to hand over the same data gives the same values to the last bit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.scoring import CONVENTIONS
from support.strategies import collections

METRICS = ["nDCG@3", "AP", "RR", "Bpref", "infAP", "NumRet", "Judged@2"]


def rows(table, number):
    flat = [(q, d, value) for q, row in table.items() for d, value in row.items()]
    return pl.DataFrame(flat, schema=["query_id", "doc_id", number], orient="row")


def result(qrels, run, how):
    scores = evaluate(qrels, run, METRICS, how).runs[0]
    values = {metric: values.tobytes() for metric, values in scores.values.items()}
    return values, scores.counts


@given(collections())
def test_dictionaries_and_frames(collection):
    qrels, run = collection
    for convention in (CONVENTIONS["trec"], CONVENTIONS["trec9"]):
        first = result(qrels, run, convention)
        assert first == result(rows(qrels, "grade"), rows(run, "score"), convention)
        mixed = rows(run, "score").sample(fraction=1, shuffle=True, seed=3)
        assert first == result(qrels, mixed, convention)


@given(collections())
def test_where_all_hashes_are_the_same(collection):
    qrels, run = collection
    expected = result(qrels, run, CONVENTIONS["trec"])

    def one(frame, starts=None):  # noqa: ARG001 - the signature of the real one
        return np.zeros(len(frame), np.uint64)

    homes = (
        "rankgate.data.qrels",
        "rankgate.data.run",
        "rankgate.measurement.scoring.alignment.judgment_index",
    )
    with pytest.MonkeyPatch.context() as patch:
        for home in homes:
            patch.setattr(f"{home}.hash_pairs", one)
        with_collisions = result(rows(qrels, "grade"), rows(run, "score"), CONVENTIONS["trec"])
    assert with_collisions == expected
