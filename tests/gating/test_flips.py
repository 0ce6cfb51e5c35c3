"""A rule is undecided if grades of unjudged documents could change its result."""

from __future__ import annotations

import re

import polars as pl
import pytest

from rankgate.data.collection import Collection
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.policy import parse_policy
from support.wording import assert_wording

QUERIES = [f"q{i:02}" for i in range(60)]
HOLED = QUERIES[:20]
TAGS = pl.DataFrame({"query_id": QUERIES, "part": ["holed"] * 20 + ["whole"] * 40})


def outcome(rule, head="", *, candidate="y"):
    """How a rule on P@2 ends: of the 20 holed queries the candidate shows unjudged documents.

    Baseline and candidate show one relevant document of two; in queries with holes, the candidate
    shows two unjudged documents. Half of the judged documents are relevant.
    """
    qrels = {q: {"a": 1, "b": 0, "c": 1, "d": 0} for q in QUERIES}
    old = {q: {"a": 2.0, "b": 1.0} for q in QUERIES}
    new = {q: {"a": 2.0, "d": 1.0} for q in QUERIES}
    new |= {q: {"x": 2.0, candidate: 1.0} for q in HOLED}
    text = f"[gate]\n{head}\n[[rules]]\nmetric = 'P@2'\n{rule}\n"
    return gate(Collection(qrels, tags=TAGS), old, new, parse_policy(text, "p")).rules[0].outcome


@pytest.mark.parametrize("allowed", ["margin = 0.05", "relative = 0.1"])
def test_a_share_of_the_baseline_is_checked_as_the_same_margin_is(allowed):
    """The mean of the baseline is 0.5: both allow a loss of 0.05, of which 0.167 is measured."""
    result = outcome(f'kind = "noninferiority"\n{allowed}')
    assert result.status == "inconclusive"
    assert_wording(result.reason)
    # all 40 unjudged documents bad: 20 of 60 queries lose 0.5; all good: they gain 0.5
    assert "(the difference could be from -0.1667 to +0.1667)" in result.reason
    assert "judge the 40 unjudged documents" in result.next


def test_a_gain_is_checked_against_what_is_asked_for():
    # measured: 20 of 60 lose 0.5, so 0.15 is not gained; even with all good ones it is 0.167
    result = outcome('kind = "improvement"\nby = 0.3')
    assert result.status == "fail"
    assert outcome('kind = "improvement"\nby = 0.0').status == "inconclusive"


def test_a_slice_is_checked_by_its_own_queries():
    """At least 0.2: clear over all queries, but 20 of them show only unjudged documents."""
    rule = 'kind = "floor"\nat_least = 0.2\nby = "mean"\n'
    everywhere = outcome(rule)
    complete, holed = (outcome(f'{rule}slice = "part={slice_name}"') for slice_name in ("whole", "holed"))
    assert (everywhere.status, complete.status) == ("pass", "pass")
    assert holed.status == "inconclusive"
    assert "(the value could be from 0.0000 to +1.0000)" in holed.reason


@pytest.mark.parametrize("by", ["mean", "interval"])
def test_a_floor_sees_holes(by):
    result = outcome(f'kind = "floor"\nat_least = 0.4\nby = "{by}"', "alpha = 0.3")
    assert result.status == "inconclusive"
    assert ("judging" in result.reason) == (by == "mean" or "below" in result.reason)
    assert outcome('kind = "floor"\nat_least = 0.4\nby = "mean"', "holes = 'ignore'").status == "fail"


def test_what_can_hardly_flip_is_decided():
    assert outcome('kind = "noninferiority"\nmargin = 0.4').status == "pass"
    assert outcome('kind = "floor"\nat_least = 0.9').status == "fail"


def test_how_judged_documents_were_chosen_may_be_stated():
    """Measured: a loss of 0.167. Pooled, unjudged documents make up for less of it."""
    rule = 'kind = "noninferiority"\nmargin = 0.05'
    random, pooled, unknown = (
        int(re.search(r"probability of (\d+)%", outcome(rule, f'holes = "{holes}"').reason)[1])
        for holes in ("random", "pooled", "estimate")
    )
    assert random > pooled + 10
    assert unknown == pytest.approx(max(random, pooled), abs=10)
    assert outcome(rule, 'holes = "ignore"').status == "fail"
