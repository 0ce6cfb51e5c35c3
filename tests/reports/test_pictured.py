"""The results that pictures are drawn from."""

from __future__ import annotations

import pytest

from rankgate.core.errors import UsageError
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.comparison_power import power_curves
from rankgate.decisions.comparison.comparison_tables import grades_by_rank, ranks
from rankgate.workspace.reports.chart_results import ChartRequest, compute_result, metrics_at_cutoffs
from support.wording import raises

QUERIES = [f"q{i}" for i in range(12)]
QRELS = {q: {"a": 3, "b": 1, "c": 0, "d": 2} for q in QUERIES}
OLD = {q: {"x": 5.0, "b": 4.0, "a": 3.0, "c": 2.0, "d": 1.0} for q in QUERIES}
NEW = {q: {"a": 5.0 - i % 3, "b": 4.5, "y": 3.5, "d": 1.0 + i % 4} for i, q in enumerate(QUERIES)}


@pytest.mark.parametrize(
    ("need", "runs", "code"),
    [
        ("comparison", (OLD,), "wrong-run-count"),
        ("comparison", (OLD, NEW, OLD), "wrong-run-count"),
        ("reconciliation", (OLD, NEW), "wrong-run-count"),
        ("evaluation", (), "wrong-run-count"),
        ("explanation", (OLD,), "missing-input"),
        ("agreed", (OLD,), "wrong-run-count"),
    ],
)
def test_too_few_or_too_many_runs_are_reported(need, runs, code):
    with raises(code, UsageError):
        compute_result(need, ChartRequest(QRELS, runs))


def test_what_is_unasked_is_by_how_many_runs_there_are():
    one_run, two_runs = (
        compute_result("cutoffs", ChartRequest(QRELS, runs)) for runs in ((OLD,), (OLD, NEW))
    )
    stems = [list(dict.fromkeys(m.split("@")[0] for m in cutoffs.metrics)) for cutoffs in (one_run, two_runs)]
    assert stems == [["P", "R", "F", "AP", "nDCG"], ["P", "R", "nDCG"]]


def test_a_cutoff_that_is_named_stays():
    assert metrics_at_cutoffs(("P", "nDCG(gain='exp')", "RR@7"), (1, 5)) == (
        "P@1",
        "P@5",
        "nDCG(gain='exp')@1",
        "nDCG(gain='exp')@5",
        "RR@7",
    )


def test_two_metrics_where_one_is_needed_are_reported():
    with raises("several-metrics", UsageError):
        compute_result("reconciliation", ChartRequest(QRELS, (OLD,), ("AP", "RR")))


def test_power_at_the_queries_there_are_is_what_the_comparison_says():
    compared = compare(QRELS, OLD, NEW, ["nDCG@10"]).comparisons[0]
    result, curves = compared.metrics.row(0, named=True), power_curves(compared).curves
    detectable = curves.filter(curves["n"] == result["n"])["detectable"][0]
    assert detectable == pytest.approx(result["mde"], rel=1e-9)
    assert curves["detectable"].is_sorted(descending=True)


def test_equal_differences_have_no_power():
    with raises("no-spread", UsageError):
        power_curves(compare(QRELS, OLD, OLD, ["nDCG@10"]).comparisons[0])


def test_ranks_of_a_comparison_are_those_of_its_runs():
    result = grades_by_rank(compare(QRELS, OLD, {"new": NEW}, ["nDCG@10"], depth=4))
    run_ranks = ranks(QRELS, {result.systems[0]: OLD, "new": NEW}, depth=4)
    assert result.judged.equals(run_ranks.judged)
    assert result.grades.equals(run_ranks.grades)
    assert (result.queries, result.qrels_sha256) == (run_ranks.queries, run_ranks.qrels_sha256)


def test_more_grades_than_can_be_distinguished_become_two():
    qrels = {"q": {f"d{i}": i for i in range(12)}}
    result = ranks(qrels, {"q": {f"d{i}": 20.0 - i for i in range(12)}}, depth=12)
    assert result.grades["label"].to_list() == ["not relevant", *["relevant"] * 11]
