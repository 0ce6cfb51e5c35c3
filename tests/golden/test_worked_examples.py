"""The worked examples of the documents that asked for this."""

from __future__ import annotations

from math import log2

import pytest

from rankgate.demo.build import build
from rankgate.services import evaluate

HEADPHONES = {"headphones": {"sony": 3, "jbl": 2, "stand": 1, "unseen": 3}}
SHOWN = {"headphones": {"sony": 3.0, "jbl": 2.0, "stand": 1.0}}


def of(qrels, run, metric):
    return evaluate(qrels, run, metric).runs[0].means[metric]


def test_gains_discounts_and_the_ideal():
    dcg = 7 / log2(2) + 3 / log2(3) + 1 / log2(4)
    best = 7 / log2(2) + 7 / log2(3) + 3 / log2(4)
    linear = (3 + 2 / log2(3) + 1 / 2) / (3 + 3 / log2(3) + 2 / 2)
    assert (round(dcg, 3), round(best, 3)) == (9.393, 12.917)  # the document cuts to 12.916
    assert of(HEADPHONES, SHOWN, "DCG(gain='exp')@3") == pytest.approx(dcg, abs=1e-12)
    assert of(HEADPHONES, SHOWN, "nDCG(gain='exp')@3") == pytest.approx(dcg / best, abs=1e-12)
    assert of(HEADPHONES, SHOWN, "nDCG(dcg='exp-log2')@3") == pytest.approx(0.727, abs=5e-4)
    assert of(HEADPHONES, SHOWN, "nDCG@3") == pytest.approx(linear, abs=1e-12)
    assert round(linear, 3) == 0.808


def test_the_first_relevant_result():
    qrels = {query: {"good": 1} for query in ("headphones", "treats", "hub")}
    run = {
        "headphones": {"good": 3.0, "x": 2.0},
        "treats": {"x": 3.0, "y": 2.0, "good": 1.0},
        "hub": {"good": 1.0},
    }
    assert of(qrels, run, "MRR@10") == pytest.approx((1 + 1 / 3 + 1) / 3)
    assert of(qrels, run, "MRR@10") == pytest.approx(0.778, abs=5e-4)


def test_six_of_eight_relevant_documents():
    qrels = {"q": {f"d{i}": 1 for i in range(8)}}
    run = {"q": {f"d{i}": -float(i) for i in range(6)} | {"other": -9.0}}
    assert of(qrels, run, "Recall@100") == 0.75


def test_the_guide_s_movies_with_its_loop_mended(tmp_path):
    demo = build(tmp_path)
    metrics = ["MRR@1", "MRR@3", "MRR@5"]
    means = evaluate(demo.movies_qrels, demo.movies_run, metrics).runs[0].means
    assert [round(means[metric], 4) for metric in metrics] == [0.4, 0.5, 0.59]
