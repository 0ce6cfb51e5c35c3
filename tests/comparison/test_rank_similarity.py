"""Two runs without judgments: values by hand, of repro_eval, and refusals."""

import json
from math import sqrt

import pytest

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.comparison.similarity import kendall_union
from support.wording import raises

ONE = {"q1": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, "q2": {"a": 2.0, "b": 1.0}, "q3": {"a": 1.0}}
TWO = {"q1": {"b": 4.0, "a": 3.0, "e": 2.0, "c": 1.0}, "q2": {"a": 2.0, "b": 1.0}, "q4": {"a": 1.0}}


def values(result, query):
    rows = result.per_query.filter(query_id=query).select("measure", "value").iter_rows()
    return dict(rows)


def test_measures_are_their_formulas():
    found = values(rankgate.rank_similarity(ONE, TWO), "q1")
    assert (found["overlap@1"], found["overlap@3"]) == (0, 2 / 3)
    # a, b, c are in both: a-b differs, a-c and b-c agree
    assert found["tau"] == found["tau-b"] == pytest.approx(1 / 3)
    assert found["Spearman"] == pytest.approx(1 - 6 * 2 / (3 * 8))
    # by the second run: b, a, c; a has 0 of 1 right before it, c has 2 of 2
    assert found["tau-AP"] == pytest.approx(2 / 2 * (0 / 1 + 2 / 2) - 1)
    assert found["RBO low"] <= found["RBO"] <= found["RBO high"]


def test_equal_rankings_are_wholly_alike():
    result = rankgate.rank_similarity(ONE, ONE)
    assert result.measures.filter(measure="RBO")["mean"][0] == pytest.approx(1)
    assert (result.agreement["overlap"][0], result.only_first) == (1, 0)


@pytest.mark.parametrize("ties", ["a", "b", "w"])
def test_treatments_of_ties_are_those_of_rbo(ties):
    from rankgate.measurement.stats.ranks.rbo import rbo

    tied = {"q": {"a": 2.0, "b": 2.0, "c": 1.0}}
    other = {"q": {"a": 3.0, "c": 2.0, "b": 2.0}}
    found = values(rankgate.rank_similarity(tied, other, p=0.7, ties=ties), "q")
    expected = rbo([["a", "b"], ["c"]], [["a"], ["b", "c"]], 0.7, ties)
    assert found["RBO"] == pytest.approx(expected.value)
    assert (found["RBO low"], found["RBO high"]) == (expected.low, expected.high)


def test_a_parameter_changes_the_value():
    base, deep = (rankgate.rank_similarity(ONE, TWO, p=p).measures["mean"][0] for p in (0.5, 0.95))
    assert base != deep
    assert rankgate.rank_similarity(ONE, TWO, depth=1).measures["mean"][0] != base


def test_kendall_s_tau_of_the_union_is_that_of_repro_eval():
    # places in the sorted union a..e: 0 1 2 3 and 1 0 4 2
    assert kendall_union(list("abcd"), list("baec")) == pytest.approx((4 - 2) / 6)


def test_the_reproduction_of_values():
    qrels = {"q1": {"a": 1, "c": 1}, "q2": {"b": 1}}
    base = {"q1": {"d": 2.0}, "q2": {"b": 1.0}}
    other = {"q1": {"c": 1.0}, "q2": {"a": 3.0, "c": 2.0, "b": 1.0}}
    result = rankgate.rank_similarity(
        ONE, TWO, collection=qrels, metrics=["RR"], baselines=(base, other)
    )
    row = result.reproduction.row(0, named=True)
    # RR of the runs: 1, 1/2 and 1/2, 1/2; of the baselines 0, 1 and 1, 1/3
    first, second, old, new = 3 / 4, 1 / 2, 1 / 2, 2 / 3
    assert (row["first"], row["second"], row["n"]) == (first, second, 2)
    assert row["rmse"] == pytest.approx(sqrt((1 / 2) ** 2 / 2))
    assert row["effect_ratio"] == pytest.approx((second - new) / (first - old))
    assert row["delta_ri"] == pytest.approx((first - old) / old - (second - new) / new)


def test_queries_of_one_run_alone_are_reported():
    result = rankgate.rank_similarity(ONE, TWO)
    assert [notice.code for notice in result.notices] == ["missing-queries"] * 2
    with raises("queries-differ", InputError):
        rankgate.rank_similarity({"x": {"a": 1.0}}, {"y": {"a": 1.0}})
    with raises("missing-input", UsageError):
        rankgate.rank_similarity(ONE, TWO, metrics=["P@1"])


def test_the_command_prints_what_python_returns(run, tmp_path):
    for name, rows in (("one", ONE), ("two", TWO)):
        lines = [f"{q} Q0 {d} 0 {s} {name}\n" for q, docs in rows.items() for d, s in docs.items()]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    words = [str(tmp_path / "one.run"), str(tmp_path / "two.run"), "--p", "0.7", "--ties", "w"]
    done = run("rank-similarity", *words, "--format", "json")
    expected = rankgate.rank_similarity(ONE, TWO, p=0.7, ties="w").measures["mean"][0]
    assert json.loads(done.out)["measures"][0]["mean"] == pytest.approx(expected)
    assert "overlap by depth" in run("rank-similarity", *words).out


def test_the_curve_of_overlap_is_drawn():
    result = rankgate.rank_similarity(ONE, TWO)
    picture = result.plot("overlap-curve")
    assert [row["overlap"] for row in picture.rows] == pytest.approx([1 / 2, 1, 2 / 3, 5 / 8])
    assert "<svg" in picture.svg()
