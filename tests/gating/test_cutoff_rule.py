"""The rule on a threshold of scores: pass, fail, inconclusive with the labels missing."""

import json

import numpy as np
import pytest

from rankgate import compare
from rankgate.core.errors import InputError, UsageError
from rankgate.data.collection import Collection
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.policy import parse_policy
from support.wording import raises

QRELS = {**{f"a{i:03}": {"r": 1, "n": 0} for i in range(60)}, **{f"b{i:03}": {"n": 0} for i in range(80)}}
RUN = {
    query: {"n": 0.3 + i / 1000, **({"r": 0.6 + i / 1000} if "r" in grades else {})}
    for i, (query, grades) in enumerate(QRELS.items())
}


def outcome(rule, candidate=RUN, collection=QRELS):
    policy = parse_policy(f'[gate]\nholes = "ignore"\n[[rules]]\nkind = "cutoff"\n{rule}', "policy")
    return gate(collection, RUN, candidate, policy).rules[0].outcome


def test_a_threshold_that_keeps_both_demands_passes():
    result = outcome("threshold = 0.5\nsilent = 0.95\nkept = 0.9")
    assert (result.status, result.n) == ("pass", 60)
    assert "95%" in result.reason
    assert "90%" in result.reason
    none = outcome("threshold = 0.5\nsilent = 0.95", collection={q: g for q, g in QRELS.items() if "r" in g})
    assert (none.status, none.n) == ("inconclusive", 0)
    assert "judge about 59 more" in none.next


@pytest.mark.parametrize(
    ("rule", "status", "words"),
    [
        ("threshold = 0.2\nsilent = 0.95", "fail", "raise the threshold"),
        ("threshold = 0.9\nkept = 0.9", "fail", "lower the threshold"),
        ("threshold = 0.5\nsilent = 0.99", "inconclusive", f"{299 - 80} more questions without an answer"),
        ("threshold = 0.4375\nsilent = 0.95", "inconclusive", "more questions without an answer"),
        ("threshold = 0.2\nsilent = 0.95\nkept = 0.9", "fail", "raise"),
    ],
)
def test_one_that_does_not_fails_or_says_what_is_missing(rule, status, words):
    result = outcome(rule)
    assert result.status == status
    assert words in result.next


def test_a_new_model_with_another_scale_fails():
    scaled = {query: {doc: score / 2 for doc, score in row.items()} for query, row in RUN.items()}
    assert outcome("threshold = 0.5\nkept = 0.9", scaled).status == "fail"


def test_a_slice_has_questions_of_its_own():
    import polars as pl

    tags = pl.DataFrame({"query_id": [*QRELS], "half": [str(i % 2) for i in range(140)]})
    collection = Collection(QRELS, tags=tags)
    result = outcome('threshold = 0.5\nsilent = 0.9\nslice = "half=1"', collection=collection)
    assert (result.status, result.n) == ("pass", 40)
    assert "half=1" in result.reason


def test_what_it_cannot_decide_is_refused():
    with raises("invalid-policy", InputError):
        outcome("silent = 0.95")
    with raises("invalid-policy", InputError):
        outcome("threshold = 0.5")
    with raises("unknown-tag", UsageError):
        outcome('threshold = 0.5\nsilent = 0.95\nno_answer = "answerable=no"')
    equal = {query: {doc: float(doc == "r") for doc in row} for query, row in RUN.items()}
    assert outcome("threshold = 0.5\nsilent = 0.95", equal).status == "pass"
    ranks = {query: {doc: -float(rank) for rank, doc in enumerate(row)} for query, row in RUN.items()}
    with raises("equal-scores", InputError):
        outcome("threshold = 0.5\nsilent = 0.95", ranks)


def test_the_promise_holds_in_repetitions():
    """A threshold at which 6 % of all questions without an answer return something passes in 5 % at most."""
    rng, passed = np.random.default_rng(6), 0
    policy = parse_policy(
        '[gate]\nholes = "ignore"\n[[rules]]\nkind = "cutoff"\nthreshold = 0.94\nsilent = 0.95', "policy"
    )
    for _ in range(60):
        run = {query: {doc: float(rng.random()) for doc in row} for query, row in RUN.items()}
        verdict = gate(QRELS, run, run, policy, redraws=0)
        passed += verdict.rules[0].outcome.status == "pass"
    assert passed / 60 <= 0.15


def test_a_comparison_has_the_scores_of_its_runs_and_a_saved_one_none():
    text = '[[rules]]\nkind = "cutoff"\nthreshold = 0.5\nsilent = 0.95\n'
    policy = parse_policy(f'{text}[[rules]]\nkind = "floor"\nmetric = "RR"\nat_least = 0', "policy")
    result = compare(QRELS, RUN, RUN, ["RR"])
    assert gate(result, policy).rules[0].outcome == gate(QRELS, RUN, RUN, policy).rules[0].outcome
    saved = Comparisons.from_dict(json.loads(json.dumps(result.to_dict(lists=True))))
    outcome = gate(saved, policy).rules[0].outcome
    assert outcome.status == "inconclusive"
    assert "it needs the judgments, and the comparison was read from JSON" in outcome.reason
