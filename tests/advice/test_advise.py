"""Advice: the documents' own mappings, power by statsmodels, policies that the gate accepts."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.power import TTestPower

import rankgate
from rankgate.core.errors import UsageError
from rankgate.decisions.advice.advice_inputs import STAGES, TASKS, DataFacts
from rankgate.decisions.advice.advice_rules import CAUTIONS, ROLES, RULES, SOURCES, fill_cutoffs, fill_facts
from rankgate.decisions.gating.policy import parse_policy
from rankgate.measurement.metrics.metric_name_parser import parse
from support.wording import raises

FACTS = DataFacts(
    task="explore",
    stage="final",
    page=10,
    depth=100,
    queries=200,
    judgments=4000,
    grades=(0.0, 1.0, 2.0, 3.0),
    graded=True,
    irrelevant=True,
    relevant=12.0,
    single=0.0,
    without=0.0,
    over_page=0.6,
    over_depth=0.0,
    runs=0,
    judged={},
    latency=False,
)


def judged(count=40, grades=(0, 1, 2, 3), seed=3):
    rng = np.random.default_rng(seed)
    return {f"q{i:02d}": {f"d{j}": float(rng.choice(grades)) for j in range(20)} for i in range(count)}


def noisy(qrels, noise, seed):
    rng = np.random.default_rng(seed)
    return {
        query: {doc: grade + rng.normal(0, noise) for doc, grade in grades.items()}
        for query, grades in qrels.items()
    }


@pytest.fixture(scope="module")
def collection():
    qrels = judged()
    return qrels, {name: noisy(qrels, n, n) for name, n in (("old", 4), ("mid", 3), ("new", 2))}


def roles(result):
    return {choice.metric: choice.role for choice in result.choices}


def test_the_stages_of_the_esci_document():
    """Recall@100 where candidates are found; NDCG@10 and MRR@10 where they are ordered."""
    qrels = judged(100)
    metric_roles = roles(rankgate.advise(qrels, stage="retrieval"))
    assert metric_roles["R@100"] == "gate"
    assert [metric for metric, role in metric_roles.items() if role == "gate"] == ["R@100"]
    metric_roles = roles(rankgate.advise(qrels, stage="reranking"))
    assert (metric_roles["nDCG@10"], metric_roles["RR@10"], metric_roles["R@100"]) == (
        "gate",
        "report",
        "watch",
    )
    avoided = {choice.metric for choice in rankgate.advise(qrels).avoided}
    assert {"P@10", "AP@100", "Success@10"} <= avoided  # its metrics not used


def test_the_migration_document():
    """The first hit for users who want one answer, and the order after it."""
    metric_roles = roles(rankgate.advise(judged(), task="find-one"))
    assert (metric_roles["RR@10"], metric_roles["nDCG@10"]) == ("gate", "watch")
    result = rankgate.advise(judged(), task="explore")
    assert roles(result)["nDCG@10"] == "gate"
    assert "RR@10" in {choice.metric for choice in result.avoided}


def test_the_guide_without_grades():
    metric_roles = roles(rankgate.advise(judged(grades=(0, 1)), task="explore"))
    assert (metric_roles["AP@100"], metric_roles["nDCG@10"]) == ("gate", "watch")


def test_the_recommender_document():
    qrels = {f"u{i}": {"a": 1, "b": 0} for i in range(30)}
    result = rankgate.advise(qrels, task="recommend")
    assert (roles(result)["nDCG@10"], roles(result)["R@10"]) == ("gate", "watch")
    assert "diversity" in {caution.rule for caution in result.cautions}
    assert roles(rankgate.advise(qrels, task="recommend", stage="retrieval"))["R@100"] == "gate"


def test_cutoffs_are_the_answers():
    metric_roles = roles(rankgate.advise(judged(), page=3, depth=50, stage="reranking"))
    assert (metric_roles["nDCG@3"], metric_roles["R@50"]) == ("gate", "watch")


@pytest.mark.parametrize(
    ("task", "queries", "steadier"),
    [("explore", 49, True), ("recall", 49, True), ("find-one", 49, False), ("recall", 50, False)],
)
def test_few_queries_of_tasks_with_many_answers_are_steadier_to_the_depth(task, queries, steadier):
    (rule,) = (rule for rule in RULES if rule.id == "steadier")
    assert rule.when(replace(FACTS, task=task, queries=queries)) is steadier


@pytest.mark.parametrize(("task", "stage"), list(product(TASKS, STAGES)))
@pytest.mark.parametrize("grades", [(0, 1), (0, 1, 2, 3), (1, 2)])
def test_every_answer_leads_to_a_policy_of_the_gate(task, stage, grades):
    result = rankgate.advise(judged(grades=grades), task=task, stage=stage)
    gates = [choice.metric for choice in result.of("gate")]
    assert gates
    read = parse_policy(result.policy, "advice")
    decided = {rule["metric"]: rule.tier for rule in read.rules if rule.kind == "noninferiority"}
    assert decided == {
        **dict.fromkeys(gates, "block"),
        **{choice.metric: "warn" for choice in result.of("watch")},
    }
    assert set(read["metrics"]) == {choice.metric for choice in result.of("report")}
    assert not {choice.metric for choice in result.avoided} & set(decided)


@pytest.mark.parametrize(("task", "stage"), list(product(TASKS, STAGES)))
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"graded": False, "grades": (0.0, 1.0)},
        {"queries": 30},
        {"single": 1.0},
        {"judged": {"a": 0.4, "b": 0.7}, "runs": 2},
        {"over_page": 0.1},
        {"relevant": 1.0},
        {"irrelevant": False},
    ],
)
def test_no_two_rules_contradict_each_other(task, stage, changes):
    facts = replace(FACTS, task=task, stage=stage, **changes)
    roles_by_metric = {}
    for rule in RULES:
        if rule.when(facts):
            roles_by_metric.setdefault(rule.metric, set()).add(rule.role)
            assert fill_facts(rule.reason, facts)
    assert any("gate" in metric_roles for metric_roles in roles_by_metric.values())
    for metric, metric_roles in roles_by_metric.items():
        assert not (metric_roles & {"gate", "watch"} and "avoid" in metric_roles), metric
    for caution in CAUTIONS:
        if caution.when(facts):
            assert "{" not in fill_facts(caution.words, facts)


def test_rules_are_whole():
    names = [entry.id for entry in (*RULES, *CAUTIONS)]
    assert len(names) == len(set(names))
    for rule in RULES:
        assert rule.role in ROLES
        assert rule.source in SOURCES
        assert str(parse(fill_cutoffs(rule.metric, 10, 100, 7)))
    assert {caution.source for caution in CAUTIONS} <= set(SOURCES)
    assert set(SOURCES) >= {entry.source for entry in (*RULES, *CAUTIONS)}


def test_what_queries_carry_is_as_statsmodels_has_it(collection):
    qrels, runs = collection
    result = rankgate.advise(qrels, runs, test=rankgate.Test(margin=0.03))
    values = rankgate.evaluate(qrels, runs, ["nDCG@10"]).values
    run_values = {
        name: values.filter(pl.col("run") == name).sort("query_id")["value"].to_numpy() for name in runs
    }
    sd = max((run_values[name] - run_values["old"]).std(ddof=1) for name in ("mid", "new"))
    query_power = next(choice.carrying for choice in result.choices if choice.metric == "nDCG@10")
    solve = TTestPower().solve_power
    assert query_power.sd == pytest.approx(sd)
    assert query_power.n == 40
    assert query_power.needed == pytest.approx(
        solve(0.03 / sd, None, 0.05, 0.8, alternative="larger"), rel=1e-4
    )
    assert query_power.margin / sd == pytest.approx(
        solve(None, 40, 0.05, 0.8, alternative="larger"), rel=1e-4
    )
    assert query_power.detectable / sd == pytest.approx(solve(None, 40, 0.05, 0.8), rel=1e-4)
    assert query_power.carries == (query_power.needed <= 40)
    assert dict(query_power.means)["mid"] == pytest.approx(run_values["mid"].mean())
    multi_comparison = rankgate.compare(qrels, runs["old"], [runs["mid"], runs["new"]], ["nDCG@10"]).many
    assert query_power.e_rho2 == pytest.approx(multi_comparison.reliability["e_rho2"][0])


def test_a_metric_that_stands_still_is_reported():
    """The first hit stays where it is while everything behind it moves."""
    qrels = {f"q{i}": {"a": 3, "b": 2, "c": 1} for i in range(20)}
    old = {query: {"a": 9.0, "b": 5.0, "c": 4.0} for query in qrels}
    new = {query: {"a": 9.0, "b": 4.0, "c": 5.0} for query in qrels}
    result = rankgate.advise(qrels, [old, new], task="find-one")
    unmoved = {choice.metric: choice.carrying.unmoved for choice in result.choices if choice.carrying}
    assert (unmoved["RR@10"], unmoved["nDCG@10"]) == (1.0, 0.0)


def test_completeness_is_seen():
    qrels = {f"q{i}": {"a": 3, "b": 0} for i in range(20)}
    complete_run = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    half = {query: {"a": 4.0, "b": 3.0, "x": 2.0, "y": 1.0} for query in qrels}
    result = rankgate.advise(qrels, {"whole": complete_run, "half": half})
    assert dict(result.facts.judged) == {"whole": 1.0, "half": 0.5}
    assert {"Bpref", "nDCG(judged_only=True)@10", "RBP(p=0.8)"} <= set(roles(result))
    assert {"holes", "uneven"} <= {caution.rule for caution in result.cautions}
    assert not {"holes", "uneven"} & {
        caution.rule for caution in rankgate.advise(qrels, complete_run).cautions
    }


def test_a_log_has_no_holes():
    """Unseen items of a log are no missing judgments: condensed lists would hide misses."""
    qrels = {f"q{i}": {"a": 1} for i in range(20)}
    first_run = {query: {"a": 9.0, **{f"x{j}": 8.0 - j for j in range(8)}} for query in qrels}
    second_run = {query: {**{f"x{j}": 8.0 - j for j in range(8)}, "a": 0.5} for query in qrels}
    result = rankgate.advise(qrels, [first_run, second_run], task="recommend")
    assert not {"nDCG(judged_only=True)@10", "RBP(p=0.8)", "Judged@10", "Bpref"} & set(roles(result))
    assert "log" in {caution.rule for caution in result.cautions}
    assert 'kind = "judged"' not in result.policy
    assert 'kind = "judged"' in rankgate.advise(qrels, [first_run, second_run]).policy


def test_facts_are_those_of_the_judgments():
    qrels = {
        "one": {"a": 2, "b": 0},
        "many": {f"d{i}": 1 for i in range(12)},
        "none": {"z": 0},
        "pool": {"y": -1, "k": 1},
    }
    facts = rankgate.advise(qrels).facts
    assert (facts.queries, facts.judgments, facts.grades) == (4, 16, (0.0, 1.0, 2.0))
    assert (facts.graded, facts.irrelevant, facts.relevant) == (True, True, 1.0)
    assert (facts.single, facts.without, facts.over_page) == (2 / 3, 0.25, 0.25)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"task": "shop"}, "unknown-choice"),
        ({"stage": "last"}, "unknown-choice"),
        ({"page": 20, "depth": 10}, "out-of-range"),
    ],
)
def test_answers_that_cannot_be(said, code):
    with raises(code, UsageError):
        rankgate.advise(judged(), **said)


def test_the_verdict_of_the_policy_is_what_was_predicted(collection, tmp_path):
    """At the recommended margin, an equally good candidate passes about as often as predicted."""
    qrels, runs = collection
    result = rankgate.advise(qrels, runs)
    margin = next(choice.carrying.margin for choice in result.choices if choice.metric == "nDCG@10")
    wide_advice = rankgate.advise(qrels, runs, test=rankgate.Test(margin=round(margin * 3, 3)))
    policy_path = tmp_path / "rankgate.toml"
    policy_path.write_text(wide_advice.policy)
    assert rankgate.gate(qrels, runs["old"], runs["new"], policy_path).verdict == "pass"
    policy_path.write_text(result.policy)
    assert rankgate.gate(qrels, runs["new"], runs["old"], policy_path).verdict == "fail"


def test_it_shows_itself_with_every_word_escaped(collection):
    qrels, runs = collection
    html = rankgate.advise(qrels, {"<b>": runs["old"]})._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
