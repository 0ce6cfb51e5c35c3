"""Judgments from exact search: recall by neighbours and by distance, as ann-benchmarks counts."""

from __future__ import annotations

import numpy as np
import pytest

import rankgate
from rankgate.data import read_qrels
from rankgate.data.files.conversion import convert
from support.wording import raises

K, DEEP, QUERIES = 10, 60, 40
EPSILON = 1e-3


def as_run(scores, order):
    """Lists of the documents in this order, with their scores."""
    return {
        f"q{i}": {f"d{doc}": float(scores[i, doc]) for doc in documents} for i, documents in enumerate(order)
    }


@pytest.fixture(scope="module")
def search():
    """Exact distances with many ties, the deep lists of exact search, and lists of an approximate one."""
    chance = np.random.default_rng(3)
    vectors = chance.integers(-2, 3, (600, 6)).astype(float)
    queries = chance.integers(-2, 3, (QUERIES, 6)).astype(float)
    distances = ((queries[:, None] - vectors[None]) ** 2).sum(2)
    noisy = distances + chance.normal(0, 1.5, distances.shape)
    exact = np.argsort(distances, axis=1, kind="stable")[:, :DEEP]
    approximate = np.argsort(noisy, axis=1)[:, :K]
    return distances, as_run(-distances, exact), as_run(-noisy, approximate), approximate


def judged(tmp_path, exact, **settings):
    result = convert(exact, tmp_path / "neighbours.qrels", as_="qrels", depth=K, **settings)
    return result, read_qrels(tmp_path / "neighbours.qrels")


def recall(qrels, run):
    values = rankgate.evaluate(qrels, run, [f"RelP@{K}"]).runs[0].per_query(f"RelP@{K}")
    return [values[f"q{i}"] for i in range(QUERIES)]


def test_recall_by_distance_is_that_of_ann_benchmarks(tmp_path, search):
    distances, exact, approximate, documents = search
    result, qrels = judged(tmp_path, exact, tolerance=EPSILON)
    threshold = np.sort(distances, axis=1)[:, K - 1] + EPSILON
    expected = (np.take_along_axis(distances, documents, 1) <= threshold[:, None]).sum(1) / K
    assert not result.notes  # every list is deep enough
    assert recall(qrels, approximate) == pytest.approx(expected, abs=1e-12)
    counts = (distances <= threshold[:, None]).sum(1)
    assert len(qrels.table) == counts.sum() > K * QUERIES


def test_recall_by_neighbours_is_the_share_of_exactly_k(tmp_path, search):
    _, exact, approximate, _ = search
    _, qrels = judged(tmp_path, exact)
    assert len(qrels.table) == K * QUERIES
    for i, value in enumerate(recall(qrels, approximate)):
        nearest = sorted(exact[f"q{i}"].items(), key=lambda pair: (pair[1], pair[0]), reverse=True)[:K]
        assert value == pytest.approx(len({*dict(nearest)} & {*approximate[f"q{i}"]}) / K)


def test_lists_that_may_lack_near_documents_are_named(tmp_path):
    exact = {
        "tied": {"a": 3.0, "b": 2.0, "c": 2.0},
        "deep": {"a": 3.0, "b": 2.0, "c": 1.0},
        "short": {"a": 3.0},
    }
    result = convert(exact, tmp_path / "n.qrels", as_="qrels", depth=2, tolerance=0)
    assert [(note.count, note.examples) for note in result.notes] == [(1, ("short",)), (1, ("tied",))]
    assert result.rows == {"qrels": 6}


def test_the_command_makes_judgments_of_a_run(tmp_path, run):
    (tmp_path / "exact.run").write_text("".join(f"q Q0 d{i} {i} {-i * 0.1} t\n" for i in range(1, 6)))
    words = ("convert", tmp_path / "exact.run", tmp_path / "n.qrels", "--as", "qrels", "--depth", "2")
    assert run(*words).code == 0
    assert read_qrels(tmp_path / "n.qrels").table["doc_id"].to_list() == ["d1", "d2"]
    assert run(*words, "--tolerance", "0.11").code == 0
    assert read_qrels(tmp_path / "n.qrels").table["doc_id"].to_list() == ["d1", "d2", "d3"]


@pytest.mark.parametrize(
    "settings", [{"depth": 2}, {"depth": 2, "as_": "run"}, {"tolerance": 0.1, "as_": "qrels"}]
)
def test_a_depth_is_for_judgments_and_a_tolerance_for_a_depth(tmp_path, settings):
    with raises("unused-option"):
        convert({"q": {"a": 1.0}}, tmp_path / "n.qrels", **settings)
