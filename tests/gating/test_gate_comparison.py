"""``gate(comparison, policy)``: the verdict that the gate gives on the same runs, without a second pass."""

import json
import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate import Collection, Items, Test, compare, evaluate, gate, read_scores
from rankgate.decisions.comparison import compared_systems
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.gating.policy import parse_policy
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from support.wording import raises

RNG = np.random.default_rng(3)
DOCUMENTS = [f"d{j}" for j in range(8)]
QRELS = {f"q{i}": {doc: int(RNG.integers(0, 3)) for doc in DOCUMENTS[:6]} for i in range(60)}


def _run(noise):
    """Judged documents by noisy grade, and unjudged ones among them."""
    return {
        query: {doc: grades.get(doc, 1) + float(RNG.normal(0, noise)) for doc in DOCUMENTS}
        for query, grades in QRELS.items()
    }


OLD, NEW, THIRD = _run(1.5), _run(1.3), _run(1.4)
TAGS = pl.DataFrame({"query_id": list(QRELS), "kind": ["a", "b"] * 30})
METRICS = ["nDCG@5", "RR"]
RULES = """
[[rules]]
kind = "noninferiority"
metric = "nDCG@5"
margin = 0.05
[[rules]]
kind = "improvement"
metric = "RR"
by = 0.01
slice = "kind=a"
[[rules]]
kind = "per_query"
metric = "RR"
max_drop = 0.3
[[rules]]
kind = "floor"
metric = "RR"
at_least = 0.1
[[rules]]
kind = "judged"
at_least = 0.5
[[rules]]
kind = "states"
state = "zero"
more = 0.0
slice = "kind=b"
[[rules]]
kind = "unseen"
[[rules]]
kind = "must_have"
query = "q3"
doc = "d1"
[[rules]]
kind = "must_have"
query = "unjudged"
doc = "d1"
"""


def _policy(text):
    return parse_policy(text, "the test")


def _verdicts(collection, old, new, metrics, policy, **options):
    """The verdict on runs, and that on their comparison."""
    by_runs = gate(collection, old, new, policy)
    by_comparison = gate(compare(collection, old, new, metrics, **options), policy)
    return by_runs, by_comparison


@pytest.mark.parametrize("interval", ["t", "guaranteed", "bca"])
def test_a_comparison_gets_the_verdict_of_its_runs(interval):
    new = NEW | {"unjudged": {"d1": 1.0}}
    policy = _policy(f'[gate]\ninterval = "{interval}"\nseed = 5\n{RULES}')
    collection = Collection(QRELS, tags=TAGS)
    test = Test(seed=5, interval="bca" if interval == "bca" else "t")
    by_runs, by_comparison = _verdicts(collection, OLD, new, METRICS, policy, test=test)
    assert by_comparison.to_dict() == by_runs.to_dict()
    assert {result.outcome.status for result in by_runs.rules} > {"pass", "fail"}


def test_metrics_of_lists_and_activity_are_there():
    training = pl.DataFrame(
        {"user_id": [f"q{i // 3}" for i in range(90)], "item_id": [f"d{i % 7}" for i in range(90)]}
    )
    collection = Collection(QRELS, training=training, items=Items(catalogue=DOCUMENTS))
    rules = (
        "[[rules]]\nkind = 'noninferiority'\nmetric = 'Coverage@3'\nmargin = 0.1\n"
        "[[rules]]\nkind = 'floor'\nmetric = 'Novelty@3'\nat_least = 0.1\nslice = 'activity=new'\n"
    )
    metrics = [*DEFAULT_METRICS, "Coverage@3", "Novelty@3"]
    by_runs, by_comparison = _verdicts(collection, OLD, NEW, metrics, _policy(rules), slices=["activity"])
    assert by_comparison.to_dict() == by_runs.to_dict()
    assert by_runs.rules[1].outcome.n == 30


def test_a_sample_of_queries_is_weighed():
    weights = pl.DataFrame({"query_id": list(QRELS), "weight": [1.0 + i % 4 for i in range(60)]})
    collection = Collection(QRELS, sample=weights)
    policy = _policy("[[rules]]\nkind = 'noninferiority'\nmetric = 'RR'\nmargin = 0.1\n")
    by_runs, by_comparison = _verdicts(collection, OLD, NEW, ["RR"], policy)
    assert by_comparison.to_dict() == by_runs.to_dict()
    saved = Comparisons.from_dict(compare(collection, OLD, NEW, ["RR"]).to_dict())
    with raises("missing-part"):
        gate(saved, policy)


def test_nothing_is_scored_or_compared_a_second_time(monkeypatch):
    comparison = compare(Collection(QRELS, tags=TAGS), OLD, NEW, METRICS)

    def refuse(*_args, **_options):
        raise AssertionError("a second pass")

    monkeypatch.setattr(Scorer, "scored", refuse)
    monkeypatch.setattr(compared_systems, "compare_pairs", refuse)
    assert len(gate(comparison, _policy(RULES)).rules) == 9


def test_one_of_several_candidates_is_named():
    comparisons = compare(QRELS, {"old": OLD, "new": NEW, "third": THIRD}, METRICS)
    policy = ["RR"]
    verdict = gate(comparisons, candidate="third", policy=policy)
    assert verdict.names == ("old", "third")
    assert verdict.to_dict() == gate(comparisons["third"], policy).to_dict()
    assert verdict.to_dict() == gate(comparisons, "old", "third", policy).to_dict()
    for names in ((None, None), (None, "other"), ("new", "third")):
        with raises("missing-input"):
            gate(comparisons, *names, policy)


def test_a_comparison_from_json_decides_what_was_saved():
    comparison = compare(Collection(QRELS, tags=TAGS), OLD, NEW, METRICS)
    policy = _policy(f"[gate]\nholes = 'ignore'\n{RULES}")
    alive = gate(comparison, policy)
    values = json.loads(json.dumps(comparison.to_dict(lists=True)))
    saved = gate(Comparisons.from_dict(values), policy)
    outcomes = {result.rule.id: result.outcome for result in saved.rules}
    assert outcomes["states-6"].status == "inconclusive"
    for result in alive.rules:
        if result.rule.id != "states-6":
            assert outcomes[result.rule.id] == result.outcome
    assert saved.hashes == alive.hashes
    sent = gate(pickle.loads(pickle.dumps(comparison)), policy)  # noqa: S301 - our own bytes
    assert sent.to_dict() == saved.to_dict()
    without_lists = gate(Comparisons.from_dict(comparison.to_dict()), policy)
    statuses = {result.rule.kind: result.outcome.status for result in without_lists.rules}
    assert (statuses["floor"], statuses["judged"]) == ("pass", "inconclusive")
    with raises("missing-part"):
        gate(Comparisons.from_dict(comparison.to_dict(per_query=False)), policy)


def test_values_of_another_tool_pass_through_a_comparison():
    scores = evaluate(QRELS, {"old": OLD, "new": NEW}, ["RR"])
    reported = read_scores(
        {
            run.run: {query: {"RR": value} for query, value in run.per_query("RR").items()}
            for run in scores.runs
        }
    )
    assert gate(compare(reported), ["RR"]).to_dict() == gate(reported, policy=["RR"]).to_dict()


@pytest.mark.parametrize(
    ("options", "policy", "code"),
    [
        ({"metrics": ["nDCG@5"]}, RULES, "missing-part"),
        ({"depth": 3}, RULES, "missing-part"),
        ({"convention": "ranx"}, RULES, "not-comparable"),
        ({}, f"[gate]\ninterval = 'bca'\n{RULES}", "conflicting-options"),
        ({}, "[[rules]]\nkind = 'noninferiority'\nmetric = 'RR'\nmargin = 1.5\n", "impossible-bound"),
    ],
)
def test_a_comparison_that_does_not_fit_the_policy_is_refused(options, policy, code):
    comparison = compare(Collection(QRELS, tags=TAGS), OLD, NEW, **{"metrics": METRICS, **options})
    with raises(code):
        gate(comparison, _policy(policy))


def test_queries_of_one_system_are_counted_as_the_policy_says():
    short = dict(list(NEW.items())[:50])
    comparison = compare(QRELS, OLD, short, ["RR"], test=Test(unequal="drop"))
    rules = "[[rules]]\nkind = 'noninferiority'\nmetric = 'RR'\nmargin = 0.3\n"
    with raises("conflicting-options"):
        gate(comparison, _policy(rules))
    policy = _policy(f"[gate]\nunequal = 'drop'\n{rules}")
    assert gate(comparison, policy).to_dict() == gate(QRELS, OLD, short, policy).to_dict()


def test_several_seeds_are_refused():
    new = replace(Collection(QRELS).run(NEW), seeds=(THIRD,))
    with raises("conflicting-options"):
        gate(compare(QRELS, OLD, new, ["RR"]), ["RR"])
    with raises("conflicting-options"):
        gate(QRELS, OLD, new, ["RR"])


def test_unrelated_ids_are_refused():
    other = {
        query: {f"{7 * len(doc) + int(doc[1:])}": score for doc, score in docs.items()}
        for query, docs in NEW.items()
    }
    comparison = compare(QRELS, OLD, other, ["RR"])
    with raises("documents-differ"):
        gate(comparison, ["RR"])
    assert isinstance(rankgate.gate(compare(QRELS, OLD, NEW, ["RR"]).only, ["RR"]).verdict, str)
