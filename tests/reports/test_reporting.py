"""Results write reports of themselves: pages, Markdown, LaTeX, CSV."""

import pytest

import rankgate
from rankgate.core.errors import UsageError
from support.wording import raises

QRELS = {f"q{i}": {"a": 2, "b": 1, "c": 0} for i in range(12)}
OLD = {query: {"c": 3.0, "b": 2.0, "a": 1.0} for query in QRELS}
NEW = {query: {"a": 3.0, "c": 2.0, "b": 1.0} for query in QRELS} | {
    "q3": {"c": 3.0, "<script>": 2.0, "b": 1.0}
}
RUNS = {"old": OLD, "new": NEW}
RESULTS = {
    "evaluate": lambda: rankgate.evaluate(QRELS, RUNS, ["nDCG@3"]),
    "explain": lambda: rankgate.explain(QRELS, NEW, "q1", "nDCG@3"),
    "reconcile": lambda: rankgate.reconcile(QRELS, NEW, "nDCG@3"),
    "blindspots": lambda: rankgate.blindspots(QRELS, OLD, NEW, ["nDCG@3"]),
    "holes": lambda: rankgate.holes(QRELS, OLD, NEW, ["nDCG@10"]),
    "stages": lambda: rankgate.stages(QRELS, RUNS),
    "scorecard": lambda: rankgate.scorecard(QRELS, RUNS, ["nDCG@3", "Coverage@3"]),
    "advise": lambda: rankgate.advise(QRELS, [OLD, NEW]),
}


def _compared():
    return rankgate.compare(QRELS, OLD, {"new": NEW}, ["nDCG@3"])


def test_the_page_of_a_comparison_has_both_lists_of_the_query_that_lost(tmp_path):
    _compared().report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    row = _compared().metrics.row(0, named=True)
    assert f"{row['candidate']:.4f}" in page
    assert "&lt;script&gt;" in page  # of the list of the query that lost
    assert page.count("<script>") == 1


@pytest.mark.parametrize(("ending", "begins"), [("md", "# "), ("tex", "% "), ("csv", "part,")])
def test_the_name_says_the_form(tmp_path, ending, begins):
    _compared().report(str(tmp_path / f"page.{ending}"))
    assert (tmp_path / f"page.{ending}").read_text().startswith(begins)


@pytest.mark.parametrize("verb", RESULTS)
def test_each_result_has_a_page(tmp_path, verb):
    RESULTS[verb]().report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert page.count("<section") > 1


def test_another_ending_is_reported(tmp_path):
    with raises("unknown-format", UsageError):
        _compared().report(tmp_path / "page.doc")
    assert not list(tmp_path.iterdir())
