"""Comparisons over data sets: published ranks and tests, exact p-values, refusals, the table."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations, product
from math import comb

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankgate
from rankgate import DataSetComparison
from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.comparison.data_sets import _lowest_p
from rankgate.measurement.stats.multiple_comparisons import permuted_friedman
from support.command import assert_refused
from support.wording import raises

# AUC of C4.5 with its variants on 14 data sets (Demšar, JMLR 7, 2006, table 6); the 0.976 is printed as
# 0.975 there, with the better rank of the two
AUC = """
0.763 0.768 0.771 0.798
0.599 0.591 0.590 0.569
0.954 0.971 0.968 0.967
0.628 0.661 0.654 0.657
0.882 0.888 0.886 0.898
0.936 0.931 0.916 0.931
0.661 0.668 0.609 0.685
0.583 0.583 0.563 0.625
0.775 0.838 0.866 0.875
1.000 1.000 1.000 1.000
0.940 0.962 0.965 0.962
0.619 0.666 0.614 0.669
0.972 0.981 0.976 0.975
0.957 0.978 0.946 0.970
"""
MATRIX = np.array([line.split() for line in AUC.split("\n") if line], float)
LEARNERS = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")


def comparison(means, names, *, queries=4, label="q", metrics=("P@1",)):
    """A comparison of systems whose mean of P@1 is each of these shares of some queries."""
    judgments = {f"{label}{i}": {"a": 1} for i in range(queries)}
    runs = {
        name: {f"{label}{i}": {"a" if i < round(mean * queries) else "b": 1.0} for i in range(queries)}
        for name, mean in zip(names, means, strict=True)
    }
    (baseline, run), *candidates = runs.items()
    test = rankgate.Test(resamples=1000)
    return rankgate.compare(judgments, {baseline: run}, dict(candidates), list(metrics), test=test)


@pytest.fixture(scope="module")
def learners():
    """Demšar's example: a comparison whose means are replaced by his."""
    template = comparison((0.25, 0.5, 0.75, 1.0), LEARNERS)
    comparisons = {}
    for i, (baseline, *others) in enumerate(MATRIX):
        changed = [
            replace(
                single,
                qrels_sha256=f"{i}",
                metrics=single.metrics.with_columns(baseline=pl.lit(baseline), candidate=pl.lit(mean)),
            )
            for single, mean in zip(template.comparisons, others, strict=True)
        ]
        comparisons[f"set{i}"] = replace(template, comparisons=tuple(changed), many=None)
    return DataSetComparison.from_comparisons(comparisons)


def test_ranks_and_tests_are_those_published(learners):
    assert learners.ranks["mean_rank"].to_list() == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert learners.ranks["macro_mean"].to_list() == pytest.approx(MATRIX.mean(axis=0), abs=1e-12)
    test = learners.tests.row(0, named=True)
    squares = (learners.ranks["mean_rank"] ** 2).sum()
    assert 12 * 14 / 20 * (squares - 25) == pytest.approx(
        9.28, abs=0.005
    )  # the paper leaves ties uncorrected
    assert test["statistic"] == pytest.approx(stats.friedmanchisquare(*MATRIX.T).statistic, abs=1e-9)
    assert test["critical"] == pytest.approx(1.25, abs=0.01)  # the paper rounds q to 2.569
    # the paper: z = 2.416 and 2.342 for two variants against C4.5, 0.512 for the third
    with_baseline = learners.pairs.drop_nulls("p_holm")
    assert with_baseline["second"].to_list() == list(LEARNERS[1:])
    p = 2 * stats.norm.sf([2.342, 0.512, 2.416])
    assert with_baseline["p_holm"].to_list() == pytest.approx([3 * p[2], p[1], 3 * p[2]], abs=5e-4)
    assert test["p_value"] == pytest.approx(
        stats.chi2.sf(test["statistic"], 3), abs=0.01
    )  # 14 data sets are many


def test_marks_of_ranks_need_both_tests(learners):
    """The paper finds no pair that Nemenyi's test separates: 3.143 − 1.964 is below 1.25."""
    assert learners.ranks["worse"].to_list() == [[]] * 4
    names = ("worst", "middle", "best")
    always = {f"d{i}": comparison((0.25, 0.5, 1.0), names, label=f"d{i}-") for i in range(5)}
    ranks = DataSetComparison.from_comparisons(always).ranks
    assert ranks["worse"].to_list() == [[], [], ["worst"]]
    two = {name: always[name] for name in ("d0", "d1")}
    result = DataSetComparison.from_comparisons(two)
    assert result.ranks["worse"].to_list() == [[], [], []]
    assert [notice.code for notice in result.notices] == ["few-data-sets", "few-data-sets-for-ranks"]
    assert "at least 3 are needed" in result.notices[0].text


@pytest.mark.parametrize("ties", [False, True])
def test_the_p_by_permutation_is_that_of_all_permutations(ties):
    matrix = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.4], [0.1, 0.3, 0.3 if ties else 0.2]])
    ranks = stats.rankdata(matrix, axis=1)
    orders = [[row[list(order)] for order in permutations(range(3))] for row in ranks]
    sums = np.array([(np.sum(rows, axis=0) ** 2).sum() for rows in product(*orders)])
    exact = np.mean(sums >= (ranks.sum(axis=0) ** 2).sum() - 1e-9)
    assert permuted_friedman(matrix) == pytest.approx(exact, abs=4 * np.sqrt(exact / 100_000))
    assert permuted_friedman(-matrix) == pytest.approx(exact, abs=4 * np.sqrt(exact / 100_000))


def test_the_smallest_p_of_two_systems_is_that_of_the_sign_test():
    for data_sets in (2, 5, 6):
        assert _lowest_p(data_sets, 2) == pytest.approx(2 * comb(data_sets, 0) / 2**data_sets)
    assert _lowest_p(5, 8) == pytest.approx(
        stats.studentized_range.sf(7 / np.sqrt(72 / 60), 8, np.inf), rel=1e-6
    )


@pytest.mark.parametrize(
    ("change", "code", "problem"),
    [
        ({"names": ("a", "b")}, "data-sets-differ", "only one has c; compare with the same systems"),
        (
            {"names": ("a", "b", "c", "d")},
            "data-sets-differ",
            "only other has d; compare with the same systems",
        ),
        (
            {"names": ("b", "a", "c")},
            "data-sets-differ",
            "other baseline: only one has a and only other has b",
        ),
        ({"metrics": ("P@1", "RR")}, "data-sets-differ", "only other has RR"),
        ({"label": "q"}, "data-set-twice", "it has the judgments of one"),
    ],
)
def test_what_differs_is_named(change, code, problem):
    settings = {"names": ("a", "b", "c"), "label": "other", **change}
    one = comparison((0.25, 0.5, 0.75), ("a", "b", "c"))
    other = comparison((0.25, 0.5, 0.75, 1.0)[: len(settings["names"])], **settings)
    with raises(code, InputError, source="other") as caught:
        DataSetComparison.from_comparisons({"one": one, "other": other})
    assert problem in str(caught.value)


def test_other_tests_and_conventions_are_refused():
    one = comparison((0.25, 0.5, 0.75), ("a", "b", "c"))
    other = comparison((0.25, 0.5, 0.75), ("a", "b", "c"), label="other")
    first = other.comparisons[0]
    for field, setting in (
        ("test", "sign"),
        ("level", 0.9),
        ("correction", "bh over 2 tests"),
        ("convention", {**first.convention, "hash": "0" * 64}),
    ):
        changed = replace(other, comparisons=(replace(first, **{field: setting}), *other.comparisons[1:]))
        with raises("data-sets-differ", InputError):
            DataSetComparison.from_comparisons({"one": one, "other": changed})
    with raises("missing-input", UsageError):
        DataSetComparison.from_comparisons({"one": one})


def test_less_is_better_for_some_metrics():
    names = ("few", "many")
    comparisons = {
        f"d{i}": comparison((0.25, 1.0), names, label=f"d{i}-", metrics=["FallOut@1"]) for i in range(2)
    }
    result = DataSetComparison.from_comparisons(comparisons)
    means = dict(zip(result.ranks["system"], result.ranks["macro_mean"], strict=True))
    best = min(means, key=means.get)
    assert result.ranks.filter(system=best)["mean_rank"].item() == 1.0
    assert result.lower == ("FallOut@1",)


@pytest.fixture
def saved(tmp_path):
    """Comparisons of two data sets in files, each of two metrics."""
    for name, means in (("ml", (0.25, 0.5, 0.75)), ("games", (0.5, 0.25, 1.0))):
        comparison(means, ("pop", "knn", "ease"), label=name, metrics=("P@1", "RR")).save(
            tmp_path / f"{name}.json"
        )
    return tmp_path


def test_the_command_writes_one_latex_table(run, saved):
    paths = [str(saved / f"{name}.json") for name in ("ml", "games")]
    latex = run("report", "--data-sets", *paths, "--format", "latex").out
    assert latex.count(r"\begin{tabular}") == 1
    rows = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert rows[0] == r"metric & system & ml & games & mean & mean rank & ranks \\"
    assert len(rows) == 1 + 2 * 3
    cells = (
        r"\textsuperscript{c} ease",
        *(rf"\textbf{{{best}}}" for best in ("0.7500", "1.0000", "0.8750", "1.00")),
        "1--3",
    )
    assert rows[3] == rf" & {' & '.join(cells)} \\"
    assert rows[4].startswith(r"RR & \textsuperscript{a} pop & ")
    page = run("report", "--data-sets", *paths).out
    assert "pairs of systems over data sets" in page


def test_the_command_refuses_other_results(run, saved):
    evaluation = rankgate.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["P@1"])
    evaluation.save(saved / "eval.json")
    path, other = str(saved / "ml.json"), str(saved / "eval.json")
    assert_refused(run("report", "--data-sets", path, other), "not-a-comparison", "eval")
    assert_refused(run("report", "--data-sets", path, path), "data-set-twice", "ml")
    assert_refused(run("report", "--data-sets", "q.txt", "a.run"), "conflicting-options")


def test_it_makes_the_round_trip(learners):
    restored = DataSetComparison.from_dict(json.loads(json.dumps(learners.to_dict())))
    assert restored.to_latex() == learners.to_latex()
    assert restored.to_polars().schema["worse"] == pl.List(pl.String)
