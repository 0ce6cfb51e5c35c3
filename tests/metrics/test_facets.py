"""Diversity, against what ndeval gives for its example, and against a loop."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from rankgate.metrics.facets import Faceted, alpha_dcg, alpha_ndcg, subtopic_recall

COVERS = {"d1": {1, 2}, "d2": {1}, "d3": {3}, "d4": {2, 3}, "d5": set()}


def flags(docs):
    return [[subtopic in COVERS[doc] for subtopic in (1, 2, 3)] for doc in docs]


RUN = Faceted(
    np.array([flags(["d2", "d1", "d5", "d3", "d4"])]),
    np.array([flags(["d1", "d2", "d3", "d4", "d5"])]),
)


def test_the_example_of_ndeval():
    assert alpha_ndcg(RUN, cutoff=5)[0] == pytest.approx(0.810123204, abs=1e-9)
    assert alpha_dcg(RUN, cutoff=5)[0] == pytest.approx(2.763923996, abs=1e-9)
    assert subtopic_recall(RUN, cutoff=5)[0] == 1.0


def test_values_are_written_out():
    assert alpha_dcg(RUN, cutoff=2)[0] == pytest.approx(1 + (0.5 + 1) / log2(3))
    assert alpha_dcg(RUN, cutoff=2, alpha=0.2)[0] == pytest.approx(1 + (0.8 + 1) / log2(3))
    # the best two: d1 with two subtopics, then d4 with one of them again and a new one
    best = 2 + (0.5 + 1) / log2(3)
    assert alpha_ndcg(RUN, cutoff=2)[0] == pytest.approx((1 + 1.5 / log2(3)) / best)
    assert subtopic_recall(RUN, cutoff=1)[0] == 1 / 3


def test_nothing_to_cover():
    nothing = Faceted(np.zeros((1, 2, 3), bool), np.zeros((1, 1, 3), bool))
    assert np.isnan([alpha_ndcg(nothing)[0], subtopic_recall(nothing)[0]]).all()
    assert alpha_dcg(nothing)[0] == 0
    assert alpha_dcg(Faceted(np.zeros((1, 0, 3), bool), RUN.pool))[0] == 0


def test_a_batch_has_the_values_of_its_queries():
    two = Faceted(np.concatenate([RUN.covers, RUN.covers[:, ::-1]]), np.tile(RUN.pool, (2, 1, 1)))
    values = alpha_ndcg(two, cutoff=3)
    assert values[0] == alpha_ndcg(RUN, cutoff=3)[0]
    assert values[1] != values[0]
