"""examples/pipeline on the demo's collection: the stages, the dials, the verdict, the pictures."""

# ruff: noqa: ARG001 - the fixture makes the modules of the example known

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import rankgate
from support.programs import importable, tool

HERE = Path(__file__).parents[2] / "examples" / "pipeline"


@pytest.fixture
def example():
    with importable(HERE):
        yield tool("examples/pipeline/run.py")


@pytest.fixture
def small(example, monkeypatch):
    """A grid of few points."""
    monkeypatch.setattr(example, "K1", (0.9, 1.2))
    monkeypatch.setattr(example, "B", (0.4,))
    monkeypatch.setattr(example, "RRF", (5, 60))
    monkeypatch.setattr(example, "DEPTHS", (5, 50))
    return example


def test_words_only_from_documents_to_a_verdict(small, capsys, tmp_path, monkeypatch):
    documents = small.corpora.harvest_docstrings()[::4]
    monkeypatch.setattr(small.corpora, "harvest_docstrings", lambda: documents)
    assert small.main(["--lexical", "--into", str(tmp_path), "stdlib", "cacm"]) == 0
    printed = capsys.readouterr().out
    for phrase in (
        "stages of words only",
        "BM25, k1 0.9, b 0.4: AP",
        "titles → bm25 → hybrid",
        "The bottleneck now is",
        "latency in milliseconds",
        "the ceiling: nDCG@10",
        "The best of 2 settings",
        "replace bm25",
        "cacm: not in any folder",
    ):
        assert phrase in printed
    file_names = {path.name for path in (tmp_path / "stdlib").iterdir()}
    assert {"titles.run", "bm25.run", "hybrid.run", "stages.html"} <= file_names
    if importlib.util.find_spec("vl_convert"):
        assert {"stages.png", "bm25.png", "rrf.png"} <= file_names


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.separate
def test_dense_stages_too(small, capsys, tmp_path, monkeypatch):
    documents = small.corpora.harvest_docstrings()[::12]
    monkeypatch.setattr(small.corpora, "harvest_docstrings", lambda: documents)
    assert small.main(["--into", str(tmp_path), "stdlib"]) == 0
    printed = capsys.readouterr().out
    assert "bm25 → dense → hybrid → rerank" in " ".join(printed.split())
    assert re.search(r"Depth of the reranker.*\n +5 0\.\d{4}", printed)


def test_bm25_by_its_formula(example, tmp_path):
    bm25 = sys.modules["bm25"]
    texts = {"a": "Running runs", "b": "a dog's run in the park", "c": "parks of dogs"}
    index = {
        doc: terms.split() for doc, terms in {"a": "run run", "b": "dog run park", "c": "park dog"}.items()
    }
    lines = [f'{{"id": "{doc}", "title": "", "words": "{text}"}}\n' for doc, text in texts.items()]
    (tmp_path / "documents.jsonl").write_text("".join(lines))
    mean, k1, b = np.mean([len(terms) for terms in index.values()]), 0.9, 0.4
    expected = {}
    for doc, terms in index.items():
        score = 0.0
        for word in ("run", "dog"):
            has = sum(word in other_terms for other_terms in index.values())
            tf = terms.count(word)
            weight = np.log(1 + (3 - has + 0.5) / (has + 0.5))
            score += weight * tf / (tf + k1 * (1 - b + b * len(terms) / mean))
        expected[doc] = score
    results = bm25.search("running the DOG", 10, str(tmp_path), k1, b)
    assert dict(results) == pytest.approx(expected)
    assert [doc for doc, _ in results] == sorted(expected, key=lambda doc: -expected[doc])


def test_words_are_cut_as_lucene_does(example):
    stems = sys.modules["bm25"].stems
    assert stems(["The U.S.A's 3.14, don't well-known"])[0] == Counter(
        {"u.s.a": 1, "3.14": 1, "don't": 1, "well": 1, "known": 1}
    )


def test_the_weights_of_a_query_are_learned_from_others(example, monkeypatch):
    learned = sys.modules["learned"]
    rng = np.random.default_rng(0)
    lessons = []
    for fold in range(5):
        table = rng.normal(size=(20, 3))
        labels = np.zeros(20)
        labels[np.argmax(table[:, fold % 3])] = 1.0
        lessons.append((fold, (table, labels)))
    monkeypatch.setattr(learned, "_lessons", lambda _: lessons)
    weights = learned.weights("x", 2)
    lessons[2] = (2, (rng.normal(size=(20, 3)), lessons[2][1][1]))
    learned.weights.cache_clear()
    assert learned.weights("x", 2).tolist() == weights.tolist()
    assert learned.weights("x", 1).tolist() != weights.tolist()


@pytest.mark.model
def test_tokens_are_those_of_bert(example):
    encoder = sys.modules["encoder"]
    model = encoder.Encoder(encoder.model_folder())
    names = {number: piece for piece, number in model.vocabulary.items()}
    pieces = [names[number] for number in model.tokens("Naïve unaffable csv_file, 日本")]
    assert pieces == [
        "[CLS]",
        "naive",
        "una",
        "##ffa",
        "##ble",
        "cs",
        "##v",
        "_",
        "file",
        ",",
        "日",
        "本",
        "[SEP]",
    ]


@pytest.mark.model
def test_vectors_are_those_of_the_reference(example):
    encoder = sys.modules["encoder"]
    vectors, tokens = encoder.Encoder(encoder.model_folder()).texts(["a cat", "a kitten", "tax law"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] @ vectors[1] > 0.6
    assert vectors[0] @ vectors[2] < 0.2
    assert [len(text_tokens) for text_tokens in tokens] == [4, 4, 4]


@pytest.mark.parametrize(
    ("name", "documents", "published", "near"),
    [("cacm", 3204, 0.3123, 0.005), ("cranfield", 1400, 0.2928, 0.02)],
)
def test_bm25_is_near_what_is_published(example, shared, tmp_path, name, documents, published, near):
    corpora, bm25 = sys.modules["corpora"], sys.modules["bm25"]
    corpora.write(name, tmp_path, shared)
    assert len(corpora.read(tmp_path)) == documents
    lines = (tmp_path / "queries.tsv").read_text().splitlines()
    run = {
        query_id: dict(bm25.search(text, 1000, str(tmp_path), 0.9, 0.4))
        for query_id, text in (line.split("\t") for line in lines)
    }
    mean = rankgate.evaluate(tmp_path / "qrels.txt", run, ["AP"]).runs[0].means["AP"]
    assert mean == pytest.approx(published, abs=near)
