"""Sessions and variations of a topic: worked examples, laws, and the same by drawing paths."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.data.collection import Collection
from rankgate.measurement.metrics.graded.rank_biased import RBP
from rankgate.measurement.metrics.judged_block import block
from rankgate.measurement.metrics.sequences import agent_metrics, session_metrics
from rankgate.measurement.metrics.sequences.sequence import sequences
from support.command import assert_refused
from support.wording import raises

QRELS = {"s1": {"a": 2, "b": 1}, "s2": {"c": 1}}
RUN = {
    "s1-1": {"x": 3.0, "b": 2.0},
    "s1-2": {"a": 3.0, "b": 2.0},
    "s2-1": {"y": 3.0},
    "s2-2": {"z": 3.0, "c": 2.0},
}
IDS = "ids:(?P<session>.+)-(?P<position>[0-9]+)"


def of(result, metric):
    return result.runs[0].per_query(metric)


def test_by_hand():
    first = 1 / math.log2(3)  # of s1-1: b, grade 1, at rank 2
    second = 3 + 1 / math.log2(3)  # of s1-2: a, grade 2, then b
    by_query = 1 / math.log(5, 4)
    expected = {
        "sessionDCG": first + by_query * second,
        "sessionDCG(discount='added')": first + second / (1 + math.log(2, 4)),
        "sessionDCG(discount='none')": first + second,
        "sessionDCG@1": by_query * 3,
        "sessionDCG(gain='linear')": first + by_query * (2 + 1 / math.log2(3)),
        "sessionDCG(base=4)": 1 / math.log(5, 4) + by_query * (3 + 1 / math.log(5, 4)),
        "sessionDCG(query_base=2)": first + second / math.log2(3),
        "nsDCG": (first + by_query * second) / (second * (1 + by_query)),
        "sRBP": 0.2 * (0.4 + (0.4 / 0.6) * 1.4),
        "sRBP(b=1)": 0.2 * 0.8,
        "sRBP(p=0.5)": 0.5 * (0.25 + (0.25 / 0.75) * 1.25),
        "sRBP(max_grade=2)": 0.2 * (0.2 + (0.4 / 0.6) * 1.2),
        "RR": (1 / 2 + 1) / 2,
        "Worst(of='RR')": 1 / 2,
        "Best(of='RR')": 1,
        "Variance(of='RR')": 1 / 8,
    }
    result = rankgate.evaluate(Collection(QRELS, sequences=IDS), RUN, list(expected))
    assert {name: of(result, name)["s1"] for name in expected} == pytest.approx(expected)


def test_expected_session_ndcg_by_its_four_paths():
    """down = 0.5, reformulate = 0.5 on s1: x b | a b, by the number read of each query."""
    ideal = [3, 3 + 1 / math.log2(3), 3 + 1 / math.log2(3), 3 + 1 / math.log2(3)]
    gain = {"x": 0, "a": 3, "b": 1}
    expected = 0.0
    for n, q in ((1, 0.5), (2, 0.5)):
        paths = [(["x", "b"][:n], q * 0.5)]
        paths += [(["x", "b"][:n] + ["a", "b"][:m], q * 0.5 * 0.5) for m in (1, 2)]
        for path, chance in paths:
            dcg = sum(gain[doc] / math.log2(i + 2) for i, doc in enumerate(path))
            expected += chance * dcg / ideal[len(path) - 1]
    result = rankgate.evaluate(Collection(QRELS, sequences=IDS), RUN, ["esNDCG(down=0.5)"])
    assert of(result, "esNDCG(down=0.5)")["s1"] == pytest.approx(expected)


GRADES = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=3)


def task(grades):
    ids = iter(range(9999))
    return sequences([[[(f"d{next(ids)}", grade) for grade in row] for row in grades]])


@given(GRADES, st.floats(0.1, 0.9), st.floats(0.1, 0.9))
def test_expectations_are_those_of_drawn_paths(grades, down, reformulate):
    """The sampler of Jiang & Allan: read, perhaps go on; perhaps ask again."""
    result = session_metrics.expected_session_ndcg(task(grades), down=down, reformulate=reformulate)
    pool = sorted((g for row in grades for g in row), reverse=True)
    if not pool[0]:
        assert np.isnan(result)
        return
    rng, values = random.Random(7), []
    for _ in range(1500):
        path = []
        for row in grades:
            for grade in row:
                path.append(grade)
                if rng.random() >= down:
                    break
            if rng.random() >= reformulate:
                break
        dcg, ideal = (
            sum((2**g - 1) / math.log2(i + 2) for i, g in enumerate(gains[: len(path)]))
            for gains in (path, pool)
        )
        values.append(dcg / ideal)
    spread = np.std(values) / math.sqrt(len(values))
    assert abs(result[0] - np.mean(values)) <= 6 * spread + 1e-9


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.floats(0.1, 0.9))
def test_a_session_of_one_query_is_a_query(grades, p):
    session = task([grades])
    if not any(grades):
        return
    plain = block([grades])
    assert session_metrics.session_rbp(session, p=p, b=1) == pytest.approx(
        RBP(p=p, rel=1).compute(plain, {"gain": "binary"})
    )
    dcg = sum((2**g - 1) / math.log2(i + 2) for i, g in enumerate(grades))
    assert session_metrics.session_dcg(session) == pytest.approx([dcg])
    ideal = sum((2**g - 1) / math.log2(i + 2) for i, g in enumerate(sorted(grades, reverse=True)))
    assert session_metrics.normalised_session_dcg(session) == pytest.approx([dcg / ideal])
    assert session_metrics.expected_session_ndcg(session, down=1) == pytest.approx([dcg / ideal])


@given(GRADES, st.floats(0.05, 0.95), st.floats(0, 1))
def test_bounds(grades, p, b):
    value = session_metrics.session_rbp(task(grades), p=p, b=b)
    assert np.isnan(value) or 0 <= value <= 1 + 1e-12
    all_relevant = task([[1] * 40] * 40)
    assert session_metrics.session_rbp(all_relevant, p=0.5, b=b) == pytest.approx([1.0], abs=1e-6)
    for kernel in (session_metrics.normalised_session_dcg, session_metrics.expected_session_ndcg):
        value = kernel(task(grades))
        assert np.isnan(value) or 0 <= value <= 1 + 1e-12


def test_tables_of_sessions(tmp_path):
    table = tmp_path / "s.csv"
    table.write_text("query_id,session,position\ns1-2,s1,1\ns1-1,s1,2\ns2-1,s2,1\ns2-2,s2,2\n")
    result = rankgate.evaluate(Collection(QRELS, sequences=table), RUN, ["FirstUseful"])
    assert of(result, "FirstUseful") == {"s1": 1, "s2": 2}
    for text, code in (
        ("query_id,x\ns1-1,1\n", "missing-column"),
        ("query_id,session,position\ns1-1,s1,x\n", "not-a-number"),
        ("query_id,session\nq,other\n", "queries-differ"),
    ):
        table.write_text(text)
        with raises(code, InputError):
            rankgate.evaluate(
                Collection({"z": {"a": 1}} if "other" in text else QRELS, sequences=table), RUN, ["RR"]
            )


def test_queries_may_have_judgments_of_their_own():
    qrels = {"s1-1": {"b": 1}, "s1-2": {"b": 1}, "s2": {"c": 1}}
    result = rankgate.evaluate(Collection(qrels, sequences=IDS), RUN, ["RR", "EvidenceR"])
    assert of(result, "RR") == {"s1": 1 / 2, "s2": 1 / 4}
    assert of(result, "EvidenceR") == {"s1": 1, "s2": 1}


def test_a_topic_that_a_run_lacks_counts_as_missing():
    result = rankgate.evaluate(Collection({**QRELS, "s3": {"q": 1}}, sequences=IDS), RUN, ["RR", "sRBP"])
    assert of(result, "sRBP")["s3"] == of(result, "RR")["s3"] == 0
    assert result.runs[0].counts.missing == 1


def test_comparisons_are_of_topics(tmp_path):
    qrels = {f"t{i}": {"a": 1} for i in range(20)}
    old = {f"{t}-{i}": {"b": 2.0, "a": 1.0} for t in qrels for i in (1, 2)}
    new = {f"{t}-{i}": {"a": 2.0 * i, "b": 3.0} for t in qrels for i in (1, 2)}
    ids = "ids:(?P<topic>.+)-[0-9]+"
    metrics = ["RR", "Worst(of='RR')", "Best(of='RR')"]
    comparison = rankgate.compare(Collection(qrels, sequences=ids), old, new, metrics).only.metrics
    assert comparison["n"].to_list() == [20, 20, 20]
    assert comparison["delta"].to_list() == [0.25, 0, 0.5]
    new |= {f"t{i}-2": old["t0-1"] for i in (3, 8)}
    policy = tmp_path / "rankgate.toml"
    policy.write_text(
        '[gate]\nholes = "ignore"\n[lists]\nsequences = "ids:(?P<topic>.+)-[0-9]+"\n'
        '[[rules]]\nid = "r"\nkind = "noninferiority"\nmargin = 0.1\nmetric = "Best(of=\'RR\')"\n'
    )
    assert rankgate.gate(qrels, old, new, policy).verdict == "pass"
    assert rankgate.gate(qrels, new, old, policy).verdict == "fail"


def test_what_cannot_be_combined():
    with raises("conflicting-options", UsageError):
        rankgate.evaluate(Collection(QRELS, sequences=IDS), RUN, ["RR"], bounds=True)
    with raises("conflicting-options", UsageError):
        rankgate.evaluate(Collection(QRELS, sequences=IDS), RUN, ["RR", "Coverage@5"])
    with raises("unknown-metric", UsageError):
        rankgate.evaluate(Collection(QRELS, sequences=IDS), RUN, ["Worst(of='nothing')"])
    with raises("incomplete-metric", UsageError):
        rankgate.evaluate(Collection(QRELS, sequences=IDS), RUN, ["Worst(of='Success')"])


def test_verbs_of_single_rankings_say_where_metrics_of_tasks_are(run, tmp_path):
    qrels, ranking = tmp_path / "q.txt", tmp_path / "r.run"
    qrels.write_text("1 0 a 1\n")
    ranking.write_text("1 Q0 a 1 1 r\n")
    paths = [str(qrels), str(ranking)]
    assert_refused(run("reconcile", *paths, "-m", "ContextP@3"), "unsupported-metric")
    assert_refused(run("explain", *paths, "--query", "1", "-m", "ContextP@3"), "unknown-metric")
    with raises("unsupported-metric", UsageError):
        rankgate.Accumulator(["ContextP@3"])


def test_files_of_tasks_are_described_and_valid(run, tmp_path):
    agent_path = tmp_path / "agent.jsonl"
    agent_path.write_text(
        '{"query_id": "q", "calls": [{"documents": ["a"]}], "cited": ["a"], "answered": true, "evidence": '
        '["a"]}\n'
    )
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        '{"topic_id": 1, "references": ["a"], "answer": [{"citations": [0], "support": [2]}]}\n'
    )
    for path in (agent_path, answers):
        assert run("describe", str(path)).code == 0
        assert "nothing can be scored" not in run("validate", str(path)).out


def test_every_parameter_changes_a_value():
    """Parameters that no example by hand has."""
    tasks = sequences(
        [[[("a", 2), ("b", 1), ("c", 0), ("g", 0)], [("d", 0), ("e", 3), ("f", 1)]]],
        spent=np.array([[300.0, 500.0]]),
        seconds=np.array([[1.0, 3.0]]),
        cited=np.array([[0, 1]]),
        cited_grade=np.array([[2.0, 1.0]]),
        answered=np.zeros(1),
    )
    for kernel, changes in {
        session_metrics.normalised_session_dcg: [
            {"cutoff": 1},
            {"gain": "linear"},
            {"gain": "binary"},
            {"base": 5},
            {"query_base": 9},
            {"discount": "added"},
            {"discount": "none"},
        ],
        session_metrics.session_rbp: [{"cutoff": 1}, {"rel": 2}, {"max_grade": 3}, {"p": 0.5}, {"b": 0.1}],
        session_metrics.expected_session_ndcg: [
            {"cutoff": 1},
            {"gain": "linear"},
            {"down": 0.1},
            {"reformulate": 0.1},
        ],
        agent_metrics.evidence_precision: [{"calls": 1}, {"tokens": 300}, {"seconds": 1}, {"rel": 2}],
        agent_metrics.evidence_recall: [{"calls": 1}, {"tokens": 300}, {"seconds": 1}],
        agent_metrics.evidence_rate: [{"per": "tokens"}, {"per": "seconds"}, {"rel": 2}],
        agent_metrics.first_useful: [{"rel": 3}],
        agent_metrics.citation_precision: [{"rel": 2}],
        agent_metrics.citation_recall: [{"rel": 3}],
        agent_metrics.refusal_precision: [{"rel": 4}],
    }.items():
        for parameters in changes:
            assert kernel(tasks, **parameters) != kernel(tasks), (kernel, parameters)


def test_matrices_and_companions_of_runs(tmp_path):
    grades, scores = np.array([[1.0, 0, 2], [0, 1, 0]]), np.array([[3.0, 2, 1], [1, 2, 3]])
    result = rankgate.evaluate(grades, scores, ["ContextP@1", "ContextR@2"]).runs[0]
    assert result.means == {"ContextP@1": 1 / 2, "ContextR@2": (1 / 2 + 1) / 2}
    run_path = tmp_path / "old.run"
    run_path.write_text(
        "".join(f"{q} Q0 {d} 1 {s} x\n" for q, documents in RUN.items() for d, s in documents.items())
    )
    (tmp_path / "old.run.meta.jsonl").write_text(
        "".join(f'{{"query_id": "{q}", "sequence": "{q[:2]}", "position": {q[-1]}}}\n' for q in RUN)
    )
    result = rankgate.evaluate(QRELS, run_path, ["sRBP"])
    assert of(result, "sRBP") == of(
        rankgate.evaluate(Collection(QRELS, sequences=IDS), RUN, ["sRBP"]), "sRBP"
    )
