"""The gate and compare on queries of unequal weights."""

import numpy as np
import polars as pl
import pytest

from rankgate import compare, evaluate, gate
from rankgate.data.collection import Collection
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.reported_systems import read_scores
from support.wording import assert_wording


def _scores(n=40, seed=1, loss=0.0):
    new = np.random.default_rng(seed).normal(0.5 - loss, 0.1, n)
    systems = {"old": np.full(n, 0.5), "new": new}
    return [
        pl.DataFrame({"query_id": _ids(n), "run": run, "nDCG@10": values}) for run, values in systems.items()
    ]


def _ids(n):
    return [f"q{i}" for i in range(n)]


def _sample(weights, **columns):
    return pl.DataFrame({"query_id": _ids(len(weights)), "weight": weights, **columns})


def _gate(scores, sample):
    return gate(read_scores(*scores, sample=sample), baseline="old", candidate="new", log=False)


def _one(share, n=40):
    return _sample(np.r_[share, np.full(n - 1, (1 - share) / (n - 1))])


@pytest.mark.parametrize("share", [0.61, 0.84, 0.9999])
def test_one_query_with_most_of_the_traffic_decides_nothing(share):
    verdict = _gate(_scores(), _one(share))
    rule = verdict.rules[0].outcome
    assert (rule.status, rule.code) == ("inconclusive", "few-effective-queries")
    assert (rule.low, rule.high) == (None, None)
    assert "--query-sampling pps" in rule.next
    assert verdict.to_dict()["rules"][0]["code"] == "few-effective-queries"
    assert any(note.startswith("effective: ") for note in verdict.notes)


def test_weights_with_a_heavy_tail_decide_nothing():
    zipf = np.arange(1, 101.0) ** -0.8
    outcome = _gate(_scores(100), _sample(zipf)).rules[0].outcome
    assert (outcome.status, outcome.code) == ("inconclusive", "heavy-weights")


def test_compare_gives_no_interval_and_says_why():
    result = compare(
        read_scores(*_scores(), sample=_one(0.61)), metrics="nDCG@10", test=Test(margin=0.02)
    ).only
    row = result.metrics.row(0, named=True)
    assert [row[name] for name in ("low", "high", "p_raw", "mde", "needed")] == [None] * 5
    assert result.represented["effective"][0] == pytest.approx(2.66, abs=0.01)
    assert any("2.7 of equal weight" in text for text in result.warnings)
    assert result.equivalence["p_raw"][0] is None


def test_mildly_unequal_weights_are_decided():
    weights = np.random.default_rng(3).uniform(0.5, 1.5, 60)
    outcome = _gate(_scores(60, loss=0.2), _sample(weights)).rules[0].outcome
    assert (outcome.status, outcome.code) == ("fail", "")
    passed = _gate(_scores(60, loss=-0.03), _sample(weights)).rules[0].outcome
    assert_wording(passed.caution)


def test_equal_weights_are_as_none():
    scores = _scores()
    plain, equal = (_gate(scores, sample) for sample in (None, _sample(np.full(40, 3.0))))
    assert (plain.rules[0].outcome.low, plain.rules[0].outcome.high) == pytest.approx(
        (equal.rules[0].outcome.low, equal.rules[0].outcome.high)
    )
    assert not any(note.startswith("effective: ") for note in equal.notes)


def test_queries_drawn_by_traffic_with_a_certain_head_are_decided():
    weights = np.r_[0.61, np.full(39, 0.01)]  # the first has 61 % of the traffic
    sample = _sample(weights, query_inclusion=np.r_[1.0, np.full(39, 0.1)])
    assert _gate(_scores(loss=0.2), sample).rules[0].outcome.status == "fail"


def test_eval_has_no_interval_and_says_why():
    ids = _ids(40)
    run = {query: {"a": 2.0, "b": 1.0} for query in ids}
    qrels = {query: {"a": row % 2, "b": 1} for row, query in enumerate(ids)}
    result = evaluate(Collection(qrels, sample=_one(0.61)), {"run": run}, ["P@1"])
    assert result.weighted.select("low", "high").row(0) == (None, None)
    (notice,) = (entry for entry in result.notices if entry.code == "few-effective-queries")
    assert_wording(notice.text)
    assert notice.text.partition(":")[0] in str(result)
