"""A RAG engineer: a golden set with one passage a question, and the chunks of two retrievers in JSONL."""

import json
import random

import pytest

from .journey import Journey

QUESTIONS = 120


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Keys of the engineer's own; the recall in the first five of the reranker is returned."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(7)
    golden, retrieved, found = [], {"bm25": [], "reranker": []}, 0
    for number in range(QUESTIONS):
        question = {"id": f"faq-{number:03}", "question": f"What about case {number}?"}
        golden.append({**question, "expected_passages": [f"doc{number}#2"]})
        others = [f"doc{rng.randrange(QUESTIONS)}#{rng.randrange(9)}" for _ in range(30)]
        for name, misses in (("bm25", 0.45), ("reranker", 0.1)):
            passages = list(dict.fromkeys(passage for passage in others if passage != f"doc{number}#2"))[:9]
            rng.shuffle(passages)
            if rng.random() > misses:
                passages.insert(rng.randrange(4), f"doc{number}#2")
            found += name == "reranker" and f"doc{number}#2" in passages[:5]
            chunks = [{"id": p, "score": round(1 - 0.05 * k, 3)} for k, p in enumerate(passages)]
            retrieved[name].append({**question, "retrieved_chunks": chunks})
    for name, rows in (("golden", golden), *retrieved.items()):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return found / QUESTIONS


def test_from_a_golden_set_to_a_verdict(folder, run):
    journey = Journey(run, folder, "R@5", "reranker")
    refused = journey.type("gate")
    assert "--selection sparse" in refused.err
    first, second = journey.lines
    assert journey.type(*first.split()[1:], "--selection", "sparse", "-m", "R@5").code == 0
    assert journey.type(*second.split()[1:], "--selection", "sparse", "-m", "R@5").code == 1
    journey.check()
    assert journey.verdict_at == 2
