"""Sentences on results of rules: no number looks like a bound that was not reached."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankgate.data.collection import Collection
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.outcome_sentences import (
    limit_percent,
    measured_number,
    needed_decimals,
    percent,
    signed_number,
)
from rankgate.decisions.gating.policy import parse_policy
from support.wording import assert_wording

QRELS = {f"q{i:02}": {"good": 1, "bad": 0} for i in range(40)}


def ended(rule, gains, head=""):
    """The result of a rule on P@1 and its notes, by numbers of better and worse queries."""
    won, lost = gains
    first, reversed_scores = {"good": 2.0, "bad": 1.0}, {"good": 1.0, "bad": 2.0}
    names = list(QRELS)
    old = {q: reversed_scores if i < won else first for i, q in enumerate(names)}
    new = {q: reversed_scores if won <= i < won + lost else first for i, q in enumerate(names)}
    text = f"[gate]\nholes = 'ignore'\n{head}\n[[rules]]\n{rule}\nmetric = 'P@1'\n"
    result = gate(QRELS, old, new, parse_policy(text, "p"))
    return result.rules[0].outcome, (*result.methods, *result.notes)


@pytest.mark.parametrize(
    ("rule", "gains", "status"),
    [
        ("margin = 0.1", (8, 0), "pass"),
        ("margin = 0.1", (0, 20), "fail"),
        ("margin = 0.1", (0, 8), "inconclusive"),
        ("margin = 0.1", (3, 0), "inconclusive"),  # 3 of 40 changed: up to 18 % of queries may
        ("margin = 0", (0, 20), "fail"),
    ],
)
def test_a_loss_is_excluded_confirmed_or_left_open(rule, gains, status):
    outcome, _ = ended(f'kind = "noninferiority"\n{rule}', gains)
    assert outcome.status == status
    assert_wording(outcome.reason)


@pytest.mark.parametrize(
    ("by", "gains", "status"),
    [
        ("by = 0.1", (20, 0), "pass"),
        ("by = 0.1", (0, 8), "fail"),
        ("by = 0.1", (0, 4), "inconclusive"),
        ("by = 0.1", (8, 0), "inconclusive"),
        ("", (20, 0), "pass"),
        ("", (1, 0), "inconclusive"),
    ],
)
def test_a_gain_is_confirmed_excluded_or_left_open(by, gains, status):
    outcome, _ = ended(f'kind = "improvement"\n{by}', gains)
    assert outcome.status == status
    assert_wording(outcome.reason)


def test_an_open_gain_says_which_gain_could_be_shown():
    outcome, _ = ended('kind = "improvement"\nby = 0.1', (8, 0))
    assert outcome.next.startswith(
        f"these queries can show a gain of about {0.1 + outcome.mde:.4f} or more; add about "
    )


@pytest.mark.parametrize(
    ("bound", "status"),
    [
        ("at_least = 0.5", "pass"),
        ("at_least = 0.99", "fail"),
        ("at_least = 0.75", "inconclusive"),
        ("at_most = 0.75", "inconclusive"),
    ],
)
def test_a_floor_is_reported_with_the_interval(bound, status):
    outcome, _ = ended(f'kind = "floor"\n{bound}', (0, 10))
    assert outcome.reason.startswith("P@1 0.7500 (bounds 0.")
    assert outcome.status == status
    assert_wording(outcome.reason)


def test_errors_are_promised_where_rules_infer_and_only_there():
    """If one of two rules blocks and infers, a fail needs 95 %; if both do, 97.5 %."""
    rule = 'kind = "noninferiority"\nmargin = 0.1'
    second = f"{rule}\nmetric = 'P@1'\n[[rules]]\n{rule}\n"
    _, one_rule = ended(rule, (0, 4))
    _, two_rules = ended(second, (0, 4))
    _, none = ended('kind = "per_query"\nmax_drop = 0.5', (0, 4))
    assert [
        sum("false-pass and false-fail rates" in note for note in notes)
        for notes in (one_rule, two_rules, none)
    ] == [1, 1, 0]
    assert one_rule[1] == "bounds: one-sided 95% confidence bounds"
    assert two_rules[1] == "bounds: one-sided confidence bounds, 95% for a pass and 97.5% for a fail"
    assert "over the 2 blocking rules that infer" in two_rules[0]


@pytest.mark.parametrize("value", np.linspace(0.6999, 0.7001, 41))
def test_no_number_looks_like_a_bound_that_it_is_not_at(value):
    bound = 0.7
    away = abs(value - bound) > 1e-9
    for result in (measured_number(value, bound), signed_number(value, bound)):
        assert (float(result) != bound) == away
    assert (percent(value, bound) != limit_percent(bound)) == away or percent(value, bound) == "70.0%"
    assert needed_decimals(value, ()) == 4


def test_a_slice_of_too_few_queries_is_named():
    tags = pl.DataFrame({"query_id": ["q00"], "band": ["head"]})
    run = {query: {"good": 2.0, "bad": 1.0} for query in QRELS}
    new_run = run | {"q00": {"good": 1.0, "bad": 2.0}}
    rules = ('kind = "floor"\nat_least = 0.1', 'kind = "improvement"')
    text = "".join(f"[[rules]]\n{rule}\nmetric = 'P@1'\nslice = 'band=head'\n" for rule in rules)
    result = gate(
        Collection(QRELS, tags=tags), run, new_run, parse_policy(f"[gate]\nholes = 'ignore'\n{text}", "p")
    )
    says = "band=head: 1 query has a value on both sides; fewer than 10 decide nothing"
    assert [rule_result.outcome.reason for rule_result in result.rules] == [says, says]
