"""Runs without judgments: values by hand, of repro_eval, matrices, and refusals."""

import json
from math import sqrt

import numpy as np
import pytest

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.reproduction.rank_similarity import kendall_union
from support.command import assert_refused
from support.wording import raises

ONE = {"q1": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, "q2": {"a": 2.0, "b": 1.0}, "q3": {"a": 1.0}}
TWO = {"q1": {"b": 4.0, "a": 3.0, "e": 2.0, "c": 1.0}, "q2": {"a": 2.0, "b": 1.0}, "q4": {"a": 1.0}}


def values(result, query):
    rows = result.per_query.filter(query_id=query).select("measure", "value").iter_rows()
    return dict(rows)


def test_measures_are_their_formulas():
    measures = values(rankgate.rank_similarity(ONE, TWO), "q1")
    assert (measures["overlap@1"], measures["overlap@3"]) == (0, 2 / 3)
    # a, b, c are in both: a-b differs, a-c and b-c agree
    assert measures["tau"] == measures["tau-b"] == pytest.approx(1 / 3)
    assert measures["Spearman"] == pytest.approx(1 - 6 * 2 / (3 * 8))
    # by the second run: b, a, c; a has 0 of 1 right before it, c has 2 of 2
    assert measures["tau-AP"] == pytest.approx(2 / 2 * (0 / 1 + 2 / 2) - 1)
    assert measures["RBO low"] <= measures["RBO"] <= measures["RBO high"]


def test_equal_rankings_are_wholly_alike():
    result = rankgate.rank_similarity(ONE, ONE)
    assert result.measures.filter(measure="RBO")["mean"][0] == pytest.approx(1)
    assert (result.agreement["overlap"][0], result.only_first) == (1, 0)


@pytest.mark.parametrize("ties", ["a", "b", "w"])
def test_treatments_of_ties_are_those_of_rbo(ties):
    from rankgate.measurement.stats.rank_correlation import rbo

    tied = {"q": {"a": 2.0, "b": 2.0, "c": 1.0}}
    second_run = {"q": {"a": 3.0, "c": 2.0, "b": 2.0}}
    measures = values(rankgate.rank_similarity(tied, second_run, p=0.7, ties=ties), "q")
    expected = rbo([["a", "b"], ["c"]], [["a"], ["b", "c"]], 0.7, ties)
    assert measures["RBO"] == pytest.approx(expected.value)
    assert (measures["RBO low"], measures["RBO high"]) == (expected.low, expected.high)


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
    second_baseline = {"q1": {"c": 1.0}, "q2": {"a": 3.0, "c": 2.0, "b": 1.0}}
    result = rankgate.rank_similarity(
        ONE, TWO, collection=qrels, metrics=["RR"], baselines=(base, second_baseline)
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
    arguments = [str(tmp_path / "one.run"), str(tmp_path / "two.run"), "--p", "0.7", "--ties", "w"]
    result = run("rank-similarity", *arguments, "--format", "json")
    expected = rankgate.rank_similarity(ONE, TWO, p=0.7, ties="w").measures["mean"][0]
    assert json.loads(result.out)["measures"][0]["mean"] == pytest.approx(expected)
    assert "overlap by depth" in run("rank-similarity", *arguments).out


def test_the_curve_of_overlap_is_drawn():
    result = rankgate.rank_similarity(ONE, TWO)
    picture = result.plot("overlap-curve")
    assert [row["overlap"] for row in picture.rows] == pytest.approx([1 / 2, 1, 2 / 3, 5 / 8])
    assert "<svg" in picture.svg()


THREE = {"q1": {"c": 4.0, "e": 3.0, "a": 2.0, "b": 1.0}, "q2": {"b": 2.0, "a": 1.0}}


def test_a_matrix_has_the_values_of_its_pairs():
    result = rankgate.rank_similarity({"one": ONE, "two": TWO, "three": THREE})
    assert result.runs == ("one", "two", "three")
    for measure in ("RBO", "KTU", "Spearman", "overlap@3"):
        cells = result.matrix(measure)
        assert np.array_equal(cells, cells.T, equal_nan=True)
        assert np.isnan(np.diag(cells)).all()
        pair = rankgate.rank_similarity(ONE, THREE).measures.filter(measure=measure)
        assert cells[0, 2] == pair["mean"][0]


def test_rows_of_a_directed_matrix_are_the_references():
    result = rankgate.rank_similarity(ONE, TWO, THREE)
    cells = result.matrix("tau-AP")
    for i, j, first, second in ((0, 2, ONE, THREE), (2, 0, THREE, ONE)):
        pair = rankgate.rank_similarity(first, second).measures.filter(measure="tau-AP")
        assert cells[i, j] == pair["mean"][0]
    assert cells[0, 2] != cells[2, 0]


def test_runs_of_a_matrix_are_told_apart_and_lack_queries():
    result = rankgate.rank_similarity(ONE, TWO, THREE)
    assert len(set(result.runs)) == 3
    assert [*result.missing.values()] == [1, 1, 2]  # of q1, q2, q3 and q4
    assert [notice.code for notice in result.notices] == ["missing-queries"] * 3


def test_what_a_matrix_refuses(tmp_path):
    for code, arguments, options in (
        ("run-twice", (ONE, TWO, ONE), {}),
        ("conflicting-options", (ONE, TWO, THREE), {"collection": {"q1": {"a": 1}}}),
        ("conflicting-options", (ONE, TWO, THREE), {"metrics": ["P@1"]}),
        ("wrong-run-count", ([ONE],), {}),
    ):
        with raises(code, UsageError):
            rankgate.rank_similarity(*arguments, **options)
    with raises("queries-differ", InputError):
        rankgate.rank_similarity(ONE, TWO, {"x": {"a": 1.0}})
    with raises("unknown-measure", UsageError):
        rankgate.rank_similarity(ONE, TWO, THREE).matrix("overlap@7")
    file = tmp_path / "one.run"
    file.write_text("q1 Q0 a 1 1 one\n")
    (tmp_path / "link.run").symlink_to(file)
    with raises("run-twice", UsageError):
        rankgate.rank_similarity(file, TWO, tmp_path / "link.run")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Runs in files, two of one name."""
    monkeypatch.chdir(tmp_path)
    for path, run in (("one.run", ONE), ("a/two.run", TWO), ("b/two.run", THREE)):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        rows = [f"{q} Q0 {d} 0 {s} x\n" for q, docs in run.items() for d, s in docs.items()]
        (tmp_path / path).write_text("".join(rows))
    return ("one.run", "a/two.run", "b/two.run")


def test_the_command_writes_the_matrix_of_a_measure(run, files):
    cells = rankgate.rank_similarity(ONE, TWO, THREE).matrix("overlap@3")
    result = run("rank-similarity", *files, "--measure", "overlap@3", "--format", "latex")
    rows = [line.split(" & ") for line in result.out.splitlines() if line.endswith("\\\\")]
    assert rows[0] == ["run", "one", "a/two", "b/two \\\\"]
    assert rows[1][2] == f"{cells[0, 1]:.4f}"
    assert rows[3][1] == f"{cells[2, 0]:.4f}"
    for measure, shared in (("overlap@3", False), ("RBO", False), ("Spearman", True)):
        out = " ".join(run("rank-similarity", *files, "--measure", measure).out.split())
        assert ("documents that both rankings have" in out) is shared
    assert_refused(run("rank-similarity", *files[:2], "--measure", "tau"), "conflicting-options")
    assert_refused(run("rank-similarity", *files, "--depth", 5, "--measure", "overlap@10"), "unknown-measure")


def test_metrics_of_the_project_s_file_are_for_commands_that_measure(run, files, tmp_path):
    (tmp_path / "rankgate.toml").write_text('[defaults]\nmetrics = ["P@1"]\n')
    assert run("rank-similarity", *files[:2]).code == 0
    assert run("rank-similarity", *files).code == 0
    assert_refused(run("rank-similarity", *files[:2], "-m", "P@1"), "missing-input")


def test_the_matrix_is_drawn():
    result = rankgate.rank_similarity(ONE, TWO, THREE)
    cells = [row["value"] for row in result.plot().rows]
    assert cells.count(None) == 3
    assert cells[1] == result.matrix()[0, 1]
    assert "<svg" in result.plot("similarity", measure="tau").svg()
