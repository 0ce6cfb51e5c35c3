"""The rule of equivalence, and whether a gate would decide the same again."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from rankgate.data.collection import Collection
from rankgate.decisions.gating.decide import decide
from rankgate.decisions.gating.flip_checks import compute_flip_rate
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.policy import parse_policy
from rankgate.decisions.gating.rule import Evidence, Inputs, Terms
from rankgate.decisions.gating.verdict import Verdict
from rankgate.measurement.stats.paired_tests import tost
from support.command import assert_refused
from support.comparisons import compared, spread

RULE = "[[rules]]\nid = 'same'\nkind = 'equivalence'\nmetric = 'AP'\n"


def outcome(delta, head="", more="margin = 0.05"):
    (rule_result,) = decide(compared(delta), parse_policy(f"{head}\n{RULE}{more}\n", "p")).rules
    return rule_result.outcome


@pytest.mark.parametrize(
    ("mean", "status"),
    [
        (0.0, "pass"),
        (0.01, "pass"),
        (-0.01, "pass"),
        (0.05, "inconclusive"),
        (-0.04, "inconclusive"),
        (0.15, "fail"),
        (-0.15, "fail"),
    ],
)
def test_passes_within_the_margin_and_fails_beyond_it_either_way(mean, status):
    assert outcome(spread(mean)).status == status


def test_passes_where_two_one_sided_tests_do():
    """Symmetric values have no skew, so that the bounds of the gate are Student's."""
    rng = np.random.default_rng(0)
    half = np.abs(rng.normal(0, 0.1, 30))
    for mean in np.linspace(-0.06, 0.06, 25):
        delta = np.concatenate([half, -half]) + mean
        p = tost(delta, 0.05).p_value[0]
        assert (outcome(delta).status == "pass") == (p < 0.05), mean


def test_shows_the_bounds_of_both_tests_and_the_margin():
    delta = np.concatenate([np.linspace(0, 0.3, 20), -np.linspace(0, 0.3, 20)])
    result, peer = outcome(delta, more="margin = 0.1"), tost(delta, 0.1)
    assert (result.low, result.high) == pytest.approx((peer.low[0], peer.high[0]))
    assert (result.margin, result.n, result.status) == (0.1, 40, "pass")


def test_a_relative_margin_is_a_share_of_the_baseline():
    """The baseline has .5 everywhere: 10 % of it is .05."""
    for mean in (0.0, 0.04, -0.15):
        absolute, relative = (
            outcome(spread(mean), more=margin) for margin in ("margin = 0.05", "relative = 0.1")
        )
        assert (absolute.status, absolute.margin) == (relative.status, pytest.approx(relative.margin))
        assert (absolute.low, absolute.high) == pytest.approx((relative.low, relative.high))


def test_what_is_equal_everywhere_is_equivalent_where_lists_are_too():
    qrels = {f"q{i}": {"a": 1} for i in range(20)}
    run = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    policy = parse_policy(f"{RULE}margin = 0.01\n", "p")
    assert gate(qrels, run, run, policy).verdict == "pass"
    few_qrels = dict(list(qrels.items())[:5])
    assert gate(few_qrels, run | {"q1": {"b": 1.0}}, run, policy).verdict == "inconclusive"


def test_a_margin_or_a_share_is_needed(tmp_path, run):
    (tmp_path / "p.toml").write_text(f"{RULE}margin = 0.1\nrelative = 0.1\n")
    assert_refused(run("policy", str(tmp_path / "p.toml")), "invalid-policy", line=1)


def again(delta, text, **options):
    return decide(compared(delta), parse_policy(text, "p"), redraws=2000, **options).again


PER_QUERY = "[[rules]]\nid = 'drop'\nkind = 'per_query'\nmetric = 'AP'\nmax_drop = 0.3\n"


def test_one_bad_query_of_n_is_missing_from_as_many_resamples_as_chance_says():
    """(1 − 1/n)ⁿ of them do not have it, and then the gate passes."""
    delta = np.zeros(40)
    delta[7], delta[8] = -0.5, 0.1
    flip_rate = again(delta, PER_QUERY)
    assert flip_rate.share == pytest.approx((1 - 1 / 40) ** 40, abs=0.03)
    assert flip_rate.verdicts["pass"] == flip_rate.share
    excused = again(delta, f"{PER_QUERY}allow = ['q007']\n")
    assert (excused.share, excused.fixed) == (0, ())


def test_rules_of_the_same_queries_get_the_same_resamples():
    """Two equivalent rules change together: no draw fails only one of them."""
    delta = np.zeros(40)
    delta[7], delta[8] = -0.5, 0.1
    flip_rate = again(delta, PER_QUERY + PER_QUERY.replace("drop'", "two'"))
    assert flip_rate.share == pytest.approx((1 - 1 / 40) ** 40, abs=0.03)
    assert flip_rate.rules == {"drop": flip_rate.share, "two": flip_rate.share}


def test_a_clear_difference_decides_the_same_and_a_close_one_does_not():
    rule = "[[rules]]\nid = 'up'\nkind = 'improvement'\nmetric = 'AP'\n"
    assert again(spread(0.2), rule).share == 0
    # a mean at the bound of the interval passes about as often as not
    reach = 1.685 * spread(0.2).std(ddof=1) / np.sqrt(40)
    close = again(spread(reach * 1.05), rule)
    assert 0.3 < close.share < 0.6
    assert sum(close.verdicts.values()) == pytest.approx(1)
    assert close == again(spread(reach * 1.05), rule)


def test_rules_that_look_at_no_values_keep_their_outcome():
    qrels = {f"q{i}": {"a": 1, "b": 0} for i in range(30)}
    old = {query: {"b": 2.0, "a": 1.0} for query in qrels}
    new = {query: {"a": 2.0, "b": 1.0} for query in qrels} | {"q3": {"b": 2.0, "a": 1.0}}
    result = gate(qrels, old, new)
    assert result.again.fixed == ("sees-the-change", "judged")
    assert list(result.again.rules) == ["no-worse"]
    restored = Verdict.from_dict(json.loads(json.dumps(result.to_dict())))
    assert restored.again == result.again
    assert gate(qrels, old, new, redraws=0).again is None
    assert gate(qrels, new, new).again is None  # nothing moved


def test_what_takes_too_long_is_drawn_less_often_or_not_at_all():
    delta = spread(0.02, n=1000)
    evidence = Evidence(compared(delta), Terms(interval="bca"), Inputs())
    rule_results = decide(compared(delta), parse_policy(f"{RULE}margin = 0.1\n", "p")).rules
    assert compute_flip_rate(rule_results, evidence, 400) is None
    fewer = Evidence(compared(delta[:100]), Terms(interval="bca"), Inputs())
    assert compute_flip_rate(rule_results, fewer, 400).draws == 100


def test_slices_keep_their_numbers_of_queries():
    tags = pl.DataFrame({"query_id": [f"q{i}" for i in range(40)], "part": ["x"] * 12 + ["y"] * 28})
    qrels = {query: {"a": 1, "b": 0} for query in tags["query_id"]}
    rng = np.random.default_rng(3)
    old, new = ({query: {"a": float(rng.random()), "b": 0.5} for query in qrels} for _ in range(2))
    rule = "[[rules]]\nid = '{0}'\nkind = 'floor'\nmetric = 'RR'\nat_least = 0.4\nslice = 'part={0}'\n"
    policy = parse_policy(rule.format("x") + rule.format("y"), "p")
    flip_rate = gate(Collection(qrels, tags=tags), old, new, policy).again
    assert set(flip_rate.rules) == {"x", "y"}


def test_the_command_shows_it_in_every_form(tmp_path, run):
    lines = [f"q{i} 0 {doc} {grade}\n" for i in range(20) for doc, grade in (("a", 1), ("b", 0))]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    for name, first, second in (("old", 1, 2), ("new", 2, 1)):
        (tmp_path / f"{name}.run").write_text(
            "".join(f"q{i} Q0 a 1 {first} t\nq{i} Q0 b 2 {second + i % 3} t\n" for i in range(20))
        )
    files = [str(tmp_path / name) for name in ("qrels.txt", "old.run", "new.run")]
    for form in ("text", "markdown", "html"):
        assert "stability: " in run("gate", *files, "--format", form).out
    rate = json.loads(run("gate", *files, "--format", "json").out)["flip_rate"]
    assert (rate["draws"], rate["seed"]) == (400, 0)
    assert "decide the same" not in run("gate", *files, "--redraws", "0").out
