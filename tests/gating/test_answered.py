"""No rule passes on few answered queries, and queries without answers are not unchanged."""

from __future__ import annotations

import pytest

from rankgate.data.collection import Collection
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.policy import parse_policy
from rankgate.decisions.gating.verdict import Verdict
from rankgate.decisions.gating.verdict_document import verdict_document, verdict_sentence

QRELS = {f"q{i:02}": {"good": 1} for i in range(40)}
RULE = '[[rules]]\nkind = "noninferiority"\nmetric = "RR"\nmargin = 0.1\n'


def answers(count):
    return {query: {"bad": 2.0, "good": 1.0} for query in list(QRELS)[:count]}


def verdict(answered, head="", candidate=None):
    policy = parse_policy(f"[gate]\nholes = 'ignore'\n{head}\n{RULE}", "policy")
    return gate(QRELS, answers(answered), candidate or answers(answered), policy)


@pytest.mark.parametrize(
    ("answered", "word"), [(40, "pass"), (36, "pass"), (35, "inconclusive"), (2, "inconclusive")]
)
def test_nine_tenths_of_the_judged_queries_are_answered(answered, word):
    result = verdict(answered)
    assert (result.verdict, result.rules[0].outcome.status) == (word, word)
    assert result.rules[0].outcome.n == answered
    assert result.subset == ((answered, 40) if answered < 36 else ())


def test_a_declared_subset_passes_and_is_in_the_headline():
    result = verdict(10, "min_answered = 0.25")
    assert result.verdict == "pass"
    assert result.headline.endswith(", 10 of 40 judged queries are answered")
    assert verdict_document(result).lead[0] == "10 of 40 judged queries are answered."
    assert verdict_sentence(result) == "None of 10 queries changed by RR."
    assert Verdict.from_dict(result.to_dict()).subset == (10, 40)
    assert verdict(9, "min_answered = 0.25").verdict == "inconclusive"


def test_the_run_with_fewer_answers_counts():
    better = {query: {"good": 1.0} for query in list(QRELS)[:30]}
    result = verdict(40, 'unequal = "drop"', better)
    assert (result.verdict, result.subset) == ("inconclusive", (30, 40))


def test_queries_that_ran_and_returned_nothing_are_answered(tmp_path):
    paths = []
    for name in ("old", "new"):
        path = tmp_path / f"{name}.run"
        path.write_text("".join(f"{query} Q0 good 1 1 t\n" for query in list(QRELS)[:20]))
        states = [f'{{"query_id": "{query}", "state": "zero"}}\n' for query in list(QRELS)[20:]]
        states += [f'{{"query_id": "{query}", "state": "ok"}}\n' for query in list(QRELS)[:20]]
        path.with_name(f"{path.name}.meta.jsonl").write_text("".join(states))
        paths.append(path)
    policy = parse_policy(f"[gate]\nholes = 'ignore'\n{RULE}", "policy")
    result = gate(Collection(QRELS), *paths, policy)
    assert (result.verdict, result.subset, result.rules[0].outcome.n) == ("pass", (), 40)


@pytest.mark.parametrize(("convention", "word"), [("trec", "pass"), ("beir", "inconclusive")])
def test_queries_that_nobody_rated_are_not_judged_where_the_convention_leaves_them_out(convention, word):
    policy = parse_policy(f"[gate]\nholes = 'ignore'\nconvention = '{convention}'\n{RULE}", "policy")
    qrels = QRELS | {f"u{i}": {} for i in range(10)}
    assert gate(qrels, answers(40), answers(40), policy).verdict == word
