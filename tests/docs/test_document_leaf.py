"""Two engines, two metrics: the page's own code and dictionaries, and its table."""

from __future__ import annotations

import json
import math

import pytest
from click.testing import CliRunner

import rankgate
from rankgate.interface.cli import rankgate as program
from support.wording import raises

judgments = {
    "refund policy": {"d_refund": 3, "d_returns": 2, "d_billing": 1},
    "reset password": {"d_reset": 3, "d_security": 2, "d_signin": 1},
    "api limits": {"d_limits": 3, "d_quotas": 2, "d_errors": 2, "d_changes": 1},
    "invoice": {"d_download": 3, "d_mail": 3, "d_tax": 1},
}
old = {
    "refund policy": ["d_billing", "d_refund", "d_returns", "d_jobs"],
    "reset password": ["d_signin", "d_reset", "d_security", "d_prices"],
    "api limits": ["d_quotas", "d_changes", "d_limits", "d_errors"],
    "invoice": ["d_download", "d_mail", "d_tax", "d_press"],
}
new = {
    "refund policy": ["d_returns", "d_refund", "d_jobs", "d_billing"],
    "reset password": ["d_reset", "d_security", "d_signin", "d_prices"],
    "api limits": ["d_limits", "d_quotas", "d_errors", "d_changes"],
    "invoice": ["d_download", "d_mail", "d_press", "d_tax"],
}
SYSTEMS = {"old": old, "new": new}
METRICS = ["nDCG@4", "RR"]


def reciprocal_rank(ranking, rel):  # MRR: 1/rank of the FIRST relevant doc
    for i, d in enumerate(ranking, start=1):
        if rel.get(d, 0) > 0:
            return 1.0 / i
    return 0.0


def dcg(ranking, rel, k):  # discounted cumulative gain over top-k
    return sum(rel.get(d, 0) / math.log2(i + 1) for i, d in enumerate(ranking[:k], start=1))


def ndcg(ranking, rel, k):  # DCG normalized by the ideal ordering's DCG
    ideal = sorted(rel.values(), reverse=True)
    idcg = sum(g / math.log2(i + 1) for i, g in enumerate(ideal[:k], start=1))
    return dcg(ranking, rel, k) / idcg if idcg else 0.0


def mean(function, ranking, *options):
    return sum(function(ranking[q], rel, *options) for q, rel in judgments.items()) / len(judgments)


@pytest.fixture
def json_files(tmp_path, monkeypatch):
    for name, table in {"judgments": judgments, **SYSTEMS}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(table))
    monkeypatch.chdir(tmp_path)
    return ["judgments.json", "old.json", "new.json"]


def run(*arguments):
    return CliRunner().invoke(program, [*arguments])


def test_metrics_may_follow_the_two_systems():
    result = rankgate.compare(judgments, SYSTEMS, METRICS).only
    rows = result.metrics.select("metric", "baseline", "candidate").rows()
    assert (result.baseline.name, result.candidate.name) == ("old", "new")
    assert rows[0] == ("nDCG@4", *(pytest.approx(mean(ndcg, system, 4), abs=1e-9) for system in (old, new)))
    assert rows[1] == ("RR", mean(reciprocal_rank, old), mean(reciprocal_rank, new)) == ("RR", 1, 1)
    assert rows[0][1:] == pytest.approx((0.878, 0.974), abs=5e-4)  # the page's table
    assert result.metrics["delta"].to_list() == pytest.approx([0.096, 0], abs=5e-4)


def test_json_files_of_the_dictionaries_are_the_same(json_files):
    in_memory = rankgate.compare(judgments, old, new, METRICS).only
    from_files = rankgate.compare(*json_files, METRICS).only
    assert from_files.metrics["delta"].to_list() == in_memory.metrics["delta"].to_list()
    output = run("compare", *json_files, "-m", "nDCG@4", "-m", "RR").output
    assert "nDCG@4  0.8780  0.9738  +0.0958" in output
    assert "RR: no query changed its value" in output


def test_systems_without_names_are_baseline_and_candidate():
    result = rankgate.compare(judgments, old, new, METRICS).only
    assert (result.baseline.name, result.candidate.name) == ("baseline", "candidate")
    assert rankgate.gate(judgments, old, new).names == ("baseline", "candidate")
    names = [
        result.candidate.name for result in rankgate.compare(judgments, old, [new, old], METRICS).comparisons
    ]
    assert names == ["candidate", "candidate#2"]


def test_the_gate_has_the_metrics_of_the_call(json_files):
    verdict = rankgate.gate(judgments, SYSTEMS, METRICS)
    tiers = [(result.rule.get("metric"), result.rule.tier) for result in verdict.rules[:2]]
    assert tiers == [("nDCG@4", "block"), ("RR", "warn")]
    assert [row["metric"] for row in verdict.means] == METRICS
    same = run("gate", *json_files, "-m", "nDCG@4", "-m", "RR")
    assert same.exit_code == 3
    assert "nDCG@4  0.8780  0.9738  +0.0958" in same.output


def test_few_queries_show_the_table_then_the_reason():
    verdict = rankgate.gate(judgments, SYSTEMS, METRICS)
    assert verdict.verdict == "inconclusive"
    text = str(verdict)
    steps = ["nDCG@4  0.8780  0.9738", "invoice  1.0000  0.9871", "fewer than 10", "at least 6 queries"]
    positions = [text.index(step) for step in [*steps, "must_have", "RR moved for none of 4 queries"]]
    assert positions == sorted(positions)


def test_the_worst_query_is_the_page_s_perfect_ordering_that_became_near_perfect():
    rows = rankgate.compare(judgments, SYSTEMS, METRICS).only.queries
    assert rows.filter(rows["delta"] < 0)["query_id"].to_list() == ["invoice"]
    assert ndcg(old["invoice"], judgments["invoice"], 4) == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (({"a": old, "b": new, "c": old}, None, METRICS), "missing-input"),
        ((old, new, ["nope@4"]), "unknown-metric"),
    ],
)
def test_other_arguments_are_refused(arguments, code):
    with raises(code):
        rankgate.gate(judgments, *arguments)


def test_metrics_and_a_policy_are_one_too_many(json_files):
    with raises("conflicting-options"):
        program.main(["gate", *json_files, "-m", "RR", "--policy", "rankgate.toml"], standalone_mode=False)


def test_json_of_mixed_values_is_refused(tmp_path):
    (tmp_path / "x.json").write_text('{"q": ["d1"], "r": {"d1": 1}}')
    with raises("wrong-type"):
        rankgate.evaluate(judgments, tmp_path / "x.json")
