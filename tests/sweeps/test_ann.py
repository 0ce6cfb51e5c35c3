"""Recall of approximate search against exact search, and its latency, by usearch."""

import pytest

import rankgate
from support.programs import importable

pytestmark = pytest.mark.usearch

ENGINE = """
from functools import cache

import numpy as np
from usearch.index import Index, search as scan

chance = np.random.default_rng(0)
MAP = chance.standard_normal((8, 32))
NOISE = chance.standard_normal((3050, 32))
VECTORS = (chance.standard_normal((3050, 8)) @ MAP + NOISE).astype("f4")
DOCUMENTS, QUERIES = VECTORS[50:], VECTORS[:50]


@cache
def graph():
    index = Index(ndim=32, metric="cos", connectivity=6, expansion_add=16)
    index.add(np.arange(len(DOCUMENTS)), DOCUMENTS)
    return index


def near(text, depth, expansion):
    graph().expansion_search = expansion
    return found(graph().search(QUERIES[int(text)], depth))


def exact(text, depth):
    return found(scan(DOCUMENTS, QUERIES[int(text)], depth, "cos", exact=True))


def found(matches):
    return [(str(key), -float(far)) for key, far in zip(matches.keys, matches.distances)]
"""


def test_recall_rises_with_the_expansion(tmp_path):
    (tmp_path / "near_search.py").write_text(ENGINE)
    with importable(tmp_path):
        _sweep_recall(tmp_path)


def _sweep_recall(tmp_path):
    text = '[engine]\nkind = "python"\nfunction = "near_search:{}"\ndepth = 10\n'
    (tmp_path / "exact.toml").write_text(text.format("exact"))
    near = f"{text.format('near')}[engine.parameters]\nexpansion = 16\n"
    (tmp_path / "near.toml").write_text(f"{near}[snapshot]\nconcurrency = 1\n")
    queries = {f"q{i}": str(i) for i in range(50)}
    exact = rankgate.snapshot(tmp_path / "exact.toml", queries).run
    rankgate.convert(exact, tmp_path / "neighbours.qrels", as_="qrels", depth=10)
    plan = {
        "sweep": {
            "engine": str(tmp_path / "near.toml"),
            "queries": queries,
            "qrels": str(tmp_path / "neighbours.qrels"),
            "metrics": ["R@10"],
        },
        "dials": {"expansion": [10, 16, 64, 256]},
    }
    result = rankgate.sweep(plan)
    recall = {p.parameters["expansion"]: p.metrics["R@10"].mean for p in result.points}
    assert recall[10] < recall[64] <= recall[256]
    assert recall[256] > 0.98
    assert result.chosen.parameters["expansion"] >= 64
    assert all(point.latency["p50"] > 0 for point in result.points)
    assert result.front
