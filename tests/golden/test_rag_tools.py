"""LongMemEval, Azure AI Evaluation, LlamaIndex and MTEB, query by query (`oracle/rag_tools.py`)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankgate
from support.wording import raises

FOLDER = Path(__file__).parent
GOLDEN = json.loads((FOLDER / "rag_tools.json").read_text())


@pytest.mark.parametrize("tool", GOLDEN["tools"])
def test_the_convention_gives_each_value_of_the_tool(tool):
    values = GOLDEN["tools"][tool]["values"]
    names = list(next(iter(values.values())))
    scores = rankgate.evaluate(GOLDEN["qrels"], GOLDEN["run"], names, tool).runs[0]
    wrong = [
        (query, name, scores.per_query(name)[query], value)
        for query, row in values.items()
        for name, value in row.items()
        if scores.per_query(name)[query] != pytest.approx(value, abs=1e-12)
    ]
    assert not wrong
    assert len(values) * len(names) == {"azure": 56, "llama_index": 252, "longmemeval": 126}[tool]


def test_mteb_leaves_out_queries_without_results():
    golden = json.loads((FOLDER / "own_ids.json").read_text())
    expected = golden["values"]["mteb 2.26.24 kept"]
    names = {name: name.replace("NDCG", "ndcg").replace("@", "_at_").lower() for name in expected}
    spelled = {"hitrate": "hit_rate", "p_": "precision_"}
    for old, new in spelled.items():
        names = {
            name: new + text.removeprefix(old) if text.startswith(old) else text
            for name, text in names.items()
        }
    means = rankgate.evaluate(golden["qrels"], golden["run"], list(names.values()), "mteb").runs[0].means
    assert [means[name] for name in names.values()] == pytest.approx(list(expected.values()), abs=6e-6)
    query = next(iter(golden["run"]))
    without = {other: row for other, row in golden["run"].items() if other != query}
    counts = rankgate.evaluate(golden["qrels"], without, ["ndcg_at_10"], "mteb").runs[0].counts
    assert counts.queries == len(golden["qrels"]) - 1


def test_edges_are_those_of_the_tools():
    nothing, empty = {"q": {"a": 0}}, {"q": {"a": 1}, "r": {"b": 1}}
    means = rankgate.evaluate(nothing, {"q": {"a": 1.0}}, ["recall_any@1", "recall_all@1"], "longmemeval")
    assert list(means.runs[0].means.values()) == [0, 1]  # any of nothing, and all of nothing
    azure = ["ndcg@3", "xdcg@3", "fidelity"]
    assert (
        list(rankgate.evaluate(nothing, {"q": {"a": 1.0}}, azure, "azure").runs[0].means.values()) == [0] * 3
    )
    with raises("no-relevant-document"):
        rankgate.evaluate(nothing, {"q": {"a": 1.0}}, ["ndcg@3"], "llama_index").means  # noqa: B018
    assert rankgate.evaluate(empty, {"q": {"a": 1.0}}, ["mrr@1"], "llama_index").runs[0].means["mrr@1"] == 0.5
