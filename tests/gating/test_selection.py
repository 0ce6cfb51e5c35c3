"""What unjudged documents mean: lost documents, complete and sparse judgments, and what describe proposes."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

import rankgate
from rankgate.decisions.gating.flip_checks import MIN_KEPT, is_lost

QUERIES = [f"q{n}" for n in range(40)]
QRELS = {query: {f"{query}a": 2, f"{query}b": 1, f"{query}c": 0} for query in QUERIES}
OLD = {query: [f"{query}a", f"{query}b", f"{query}c"] for query in QUERIES}
HALF = {query: [f"{query}a", f"{query}x", f"{query}y"] for query in QUERIES}
JUNK = {query: [f"{query}x", f"{query}y", f"{query}z"] for query in QUERIES} | {"q0": ["q0a"]}


@pytest.mark.parametrize("relevant", [1, 20, 28, 29, 40, 100, 1_000])
def test_lost_is_below_the_upper_bound_of_clopper_and_pearson(relevant):
    for kept in range(min(relevant, 60)):
        interval = binomtest(kept, relevant).proportion_ci(0.9, "exact")
        assert is_lost(kept, relevant) == (interval.high < MIN_KEPT)


def test_a_candidate_that_lost_all_known_documents_fails():
    verdict = rankgate.gate(QRELS, OLD, JUNK)
    assert verdict.verdict == "fail"
    assert verdict.rules[0].outcome.reason.endswith(
        "of 80 relevant documents that the baseline shows in its first 10, the candidate shows 1"
    )
    assert rankgate.gate(QRELS, OLD, HALF).verdict == "inconclusive"
    few = {query: JUNK[query] for query in QUERIES[:14]}
    assert rankgate.gate({query: QRELS[query] for query in few}, OLD, few).verdict == "inconclusive"


@pytest.mark.parametrize("selection", ["complete", "sparse"])
def test_a_stated_selection_decides(selection):
    collection = rankgate.Collection(QRELS, selection=selection)
    verdict = rankgate.gate(collection, OLD, HALF)
    assert (verdict.verdict, rankgate.gate(collection, OLD, OLD).verdict) == ("fail", "pass")
    assert [note for note in verdict.notes if note.startswith(f"judgments are {selection}")]
    assert not [note for note in verdict.notes if note.startswith("judged@")]
    judged = next(result.outcome for result in verdict.rules if result.rule.kind == "judged")
    assert judged.status == "pass"
    holes = rankgate.holes(collection, OLD, HALF)
    assert set(holes.metrics["flip"]) == {0.0}


def test_an_open_verdict_names_the_selection():
    outcome = rankgate.gate(QRELS, OLD, HALF).rules[0].outcome
    assert "--selection complete" in outcome.next
    worse = str(rankgate.gate(QRELS, OLD, HALF))
    assert "it is worse, and whether by more than the allowed 0.02 is not settled" in " ".join(worse.split())


@pytest.mark.parametrize(
    ("judgments", "advice"),
    [
        ({query: {query: 1} for query in QUERIES}, "sparse: "),
        ({query: {f"{query}{n}": 1 for n in range(8)} for query in QUERIES}, "no grade is 0 or less, with 8"),
        ({query: {"a": 1, "b": 0} for query in QUERIES}, "complete: "),
        (QRELS, ""),
        ({"q": {"a": 1}}, ""),
    ],
)
def test_describe_proposes_a_selection_with_its_evidence(judgments, advice):
    described = rankgate.describe(rankgate.Collection(judgments))
    proposed = described.files[0].judgments.selection_advice
    assert proposed.startswith(advice)
    assert bool(advice) == bool(proposed) == ("--selection" in str(described))
