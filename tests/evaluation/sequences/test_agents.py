"""Agents: evidence for calls, tokens and seconds; citations; refusals; conversations."""

from __future__ import annotations

import gzip
import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgate
from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.data import contents_of
from rankgate.data.collection import Collection
from rankgate.data.formats.registry import find_format
from rankgate.data.streams.source import InputFile
from rankgate.decisions.comparison.inference import Test
from rankgate.measurement.evaluation.scores import Scores
from rankgate.measurement.metrics.sequences import agent_metrics
from rankgate.measurement.metrics.sequences.context_metrics import redundancy
from rankgate.measurement.metrics.sequences.sequence import sequences
from support.wording import raises

TASK = {
    "query_id": "q1",
    "query": "who?",
    "calls": [
        {"query": "a", "documents": ["x", "y"], "tokens": 400, "seconds": 0.5},
        {"documents": [{"doc_id": "e", "score": 2}, {"id": "y", "score": 9}], "tokens": 300, "seconds": 0.75},
    ],
    "cited": ["e", "x"],
    "answered": True,
    "evidence": ["e", "f"],
}
REFUSED = {"query_id": "q2", "calls": [{"documents": ["x"]}], "answered": False, "evidence": []}
ANSWERED = REFUSED | {"query_id": "q3", "answered": True, "cited": ["x"]}


def data(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture
def trajectories(tmp_path):
    path = tmp_path / "agent.jsonl"
    path.write_bytes(data([TASK, REFUSED, ANSWERED]))
    return str(path)


def test_by_hand(trajectories):
    """Shown: x y | y e; evidence: e f; 700 tokens, 1.25 seconds."""
    expected = {
        "EvidenceR": 1 / 2,
        "EvidenceR@1": 0,
        "EvidenceR(tokens=699)": 0,
        "EvidenceR(tokens=700)": 1 / 2,
        "EvidenceR(seconds=1.0)": 0,
        "EvidenceP": 1 / 3,
        "EvidenceP@1": 0,
        "EvidenceRate": 1 / 2,
        "EvidenceRate(per='tokens')": 1 / 0.7,
        "EvidenceRate(per='seconds')": 1 / 1.25,
        "FirstUseful": 2,
        "Redundancy": 1 / 4,
        "CitationP": 1 / 2,
        "CitationR": 1 / 2,
        "RR": (0 + 1 / 2) / 2,  # the mean over its calls
    }
    scores = rankgate.evaluate(trajectories, trajectories, list(expected)).runs[0]
    assert {metric: scores.per_query(metric)["q1"] for metric in expected} == pytest.approx(expected)
    assert scores.means["EvidenceR"] == 1 / 2  # questions without evidence do not count


def test_refusals(trajectories):
    scores = rankgate.evaluate(trajectories, trajectories, ["RefusalP", "RefusalR"]).runs[0]
    assert scores.per_query("RefusalP") == {"q1": None, "q2": 1, "q3": None}
    assert scores.per_query("RefusalR") == {"q1": None, "q2": 1, "q3": 0}
    assert scores.means == {"RefusalP": 1, "RefusalR": 1 / 2}


def test_judgments_of_their_own_and_a_question_that_was_not_asked(trajectories, tmp_path):
    qrels = {"q1": {"e": 2, "f": 1}, "q2": {"x": 0}, "q4": {"z": 1}}
    scores = rankgate.evaluate(qrels, trajectories, ["EvidenceR", "EvidenceR(rel=2)", "RefusalR"])
    assert scores.runs[0].per_query("EvidenceR") == {"q1": 1 / 2, "q2": None, "q4": 0}
    assert scores.runs[0].per_query("EvidenceR(rel=2)") == {"q1": 1, "q2": None, "q4": None}
    assert scores.runs[0].counts.missing == 1
    other_path = tmp_path / "other.jsonl"
    better = TASK | {"calls": [{"documents": ["e", "f"]}]}
    other_path.write_bytes(data([better, REFUSED | {"query_id": "q4"}]))
    result = rankgate.compare(qrels, trajectories, str(other_path), ["EvidenceR"], test=Test(unequal="zero"))
    assert dict(result.only.queries.select("query_id", "delta").iter_rows()) == {"q1": 1 / 2, "q4": 0}


def test_a_run_that_does_not_know_is_one_error(tmp_path):
    bare = tmp_path / "bare.jsonl"
    bare.write_bytes(data([{"query_id": "q", "calls": [{"documents": ["a"]}], "evidence": ["a"]}]))
    for metric in ("EvidenceR(tokens=9)", "EvidenceRate(per='seconds')"):
        with raises("missing-lengths", UsageError):
            rankgate.evaluate(str(bare), str(bare), [metric])
    for metric in ("CitationP", "CitationR", "RefusalP", "RefusalR"):
        with raises("missing-input", UsageError):
            rankgate.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, [metric])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"query_id": None}, "invalid-id"),
        ({"calls": 3}, "wrong-type"),
        ({"calls": [{"query": "x"}]}, "wrong-type"),
        ({"calls": [{"documents": ["a"], "tokens": -1}]}, "not-a-number"),
        ({"calls": [{"documents": ["a"], "seconds": "x"}]}, "not-a-number"),
        ({"answered": "yes"}, "wrong-type"),
        ({"cited": "a"}, "wrong-type"),
        ({"evidence": "a"}, "wrong-type"),
    ],
)
def test_what_is_wrong_is_named(changes, code):
    with raises(code, InputError) as error:
        find_format("trajectories").read(InputFile(None, data([REFUSED, TASK | changes])))
    assert error.value.line == 2


def test_a_call_without_its_cost_is_not_free(tmp_path):
    path = tmp_path / "calls.jsonl"
    free = {"query_id": "q0", "calls": [], "evidence": ["a"]}
    calls = [{"documents": ["a"], "tokens": 5, "seconds": 1}, {"documents": ["b"], "seconds": 1}]
    task = {"query_id": "q1", "calls": calls, "evidence": ["a"]}
    path.write_text(json.dumps(free) + "\n" + json.dumps(task) + "\n")
    for metric in ("EvidenceRate(per='tokens')", "EvidenceR(tokens=9)", "EvidenceP(tokens=9)"):
        with raises("missing-lengths", InputError, line=2):
            rankgate.evaluate(path, path, metric)
    result = rankgate.evaluate(path, path, "EvidenceRate(per='seconds')").runs[0]
    assert result.per_query("EvidenceRate(per='seconds')") == {"q0": 0, "q1": 1 / 2}


def test_a_document_or_question_twice():
    repeated = data([TASK | {"calls": [{"documents": ["a", "a"]}]}])
    (run,) = find_format("trajectories").read(InputFile(None, repeated)).runs
    with raises("duplicate-document", DuplicateError, line=1):
        _ = run.table  # a convention says what such a document is
    with raises("duplicate-query", InputError, line=2):
        contents_of(InputFile(None, data([TASK, TASK])))


CALL = st.lists(st.sampled_from("abcdef"), unique=True, min_size=1, max_size=5)


@given(st.lists(CALL, min_size=1, max_size=4), st.data())
def test_splitting_a_call_changes_nothing_but_what_counts_calls(calls, drawn):
    grades = {"a": 2, "b": 1, "c": 0, "d": None, "e": 1, "f": None}
    call_index = drawn.draw(st.integers(0, len(calls) - 1))
    split_point = drawn.draw(st.integers(0, len(calls[call_index])))
    tokens = [float(drawn.draw(st.integers(1, 500))) for _ in calls]
    first_tokens = float(drawn.draw(st.integers(0, int(tokens[call_index]))))
    parts = [
        *calls[:call_index],
        calls[call_index][:split_point],
        calls[call_index][split_point:],
        *calls[call_index + 1 :],
    ]
    spent = [*tokens[:call_index], first_tokens, tokens[call_index] - first_tokens, *tokens[call_index + 1 :]]

    def task(rankings, costs):
        return sequences(
            [[[(doc, grades[doc]) for doc in ranking] for ranking in rankings]],
            [[2, 1, 1, 0]],
            spent=np.array([costs]),
            seconds=np.array([costs]) / 128,
            cited=np.array([[0, 1]]),
            cited_grade=np.array([[2.0, math.nan]]),
            answered=np.ones(1),
        )

    unsplit, split = task(calls, tokens), task(parts, spent)
    for value in (
        agent_metrics.evidence_recall,
        agent_metrics.evidence_precision,
        lambda each: agent_metrics.evidence_rate(each, per="tokens"),
        lambda each: agent_metrics.evidence_rate(each, per="seconds"),
        redundancy,
        agent_metrics.citation_precision,
        agent_metrics.citation_recall,
        agent_metrics.refusal_precision,
        agent_metrics.refusal_recall,
    ):
        assert np.array_equal(value(unsplit), value(split), equal_nan=True)
    assert agent_metrics.evidence_rate(split) <= agent_metrics.evidence_rate(unsplit)


def test_depth_of_conversations(shared):
    """Means of each turn, against trec_eval's values of single queries."""
    folder = shared / "cast2021"
    name = "org_manual_ance"
    result = rankgate.evaluate(
        Collection(folder / "trec-cast-qrels-docs.2021.qrel.gz", tags=r"ids:(?P<talk>\d+)_(?P<turn>\d+)"),
        folder / f"runs/{name}.run.gz",
        ["nDCG@3"],
        slices=["turn"],
    )
    lines = gzip.decompress((folder / f"expected/{name}.trec_eval.gz").read_bytes()).decode()
    rows = [line.split() for line in lines.splitlines() if line.startswith("ndcg_cut_3 ")]
    first = [float(value) for _, query, value in rows if query.endswith("_1") and "_" in query]
    assert first
    first_turn = result.slices.filter(pl.col("value") == "1")
    assert first_turn["n"].item() == len(first)
    assert first_turn["mean"].item() == pytest.approx(sum(first) / len(first), abs=1e-4)
    turns = [int(turn) for turn in result.slices["value"]]
    assert turns == sorted(turns)
    restored = Scores.from_dict(result.to_dict())
    assert restored.slices.equals(result.slices)


def test_slices_need_tags():
    with raises("missing-input", UsageError):
        rankgate.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["RR"], slices=["turn"])
    with raises("unknown-tag", UsageError):
        rankgate.evaluate(
            Collection({"q": {"a": 1}}, tags="ids:(?P<turn>.)"), {"q": {"a": 1.0}}, ["RR"], slices=["x"]
        )
