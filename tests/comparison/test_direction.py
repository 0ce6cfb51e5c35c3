"""The direction of a metric in a comparison: gain is above 0 where the candidate is better."""

import polars as pl
import pytest

import rankgate
from rankgate.core.present.base_result import ReportOptions
from rankgate.data.collection import Collection
from rankgate.decisions.comparison import query_charts
from rankgate.decisions.comparison.documents import comparison_document, comparison_report
from rankgate.decisions.comparison.documents.comparison_grids import leaderboard

METRIC = "RankingLoss"
QUERIES = [f"q{i:02d}" for i in range(20)]


def run_of(places):
    """A list of six documents for each query; the one relevant document is at its place."""
    run = {}
    for query, rank in zip(QUERIES, places, strict=True):
        nonrelevant = [f"n{i}" for i in range(5)]
        order = [*nonrelevant[: rank - 1], "good", *nonrelevant[rank - 1 :]]
        run[query] = {doc: 10.0 - i for i, doc in enumerate(order)}
    return run


QRELS = {query: {"good": 1} | {f"n{i}": 0 for i in range(5)} for query in QUERIES}
GOOD = run_of([1 + (i % 3 == 0) for i in range(20)])
BAD = run_of([3 + (i % 4) for i in range(20)])


@pytest.fixture(scope="module")
def better():
    """A candidate that wins every query by a metric where lower values are better."""
    return rankgate.compare(QRELS, BAD, GOOD, [METRIC])


@pytest.fixture(scope="module")
def worse():
    return rankgate.compare(QRELS, GOOD, BAD, [METRIC])


def headings(found):
    return [heading for heading, _ in comparison_document.grids(found.only)]


def test_gain_is_above_0_where_the_candidate_is_better(better, worse):
    assert (better.queries["delta"] < 0).all()
    assert (better.queries["gain"] == -better.queries["delta"]).all()
    assert (worse.queries["gain"] < 0).all()
    assert worse.queries["gain"].is_sorted()
    row = better.metrics.row(0, named=True)
    assert (row["wins"], row["losses"]) == (20, 0)
    assert row["gain"] == -row["delta"] > 0


def test_the_gain_of_a_metric_that_is_better_when_higher_is_its_delta():
    comparison = rankgate.compare(QRELS, BAD, GOOD, ["RR"])
    assert comparison.queries["gain"].equals(comparison.queries["delta"].alias("gain"))


def test_a_candidate_that_lost_every_query_shows_its_worst(better, worse):
    assert f"{METRIC}: worst queries (5 of 20 that lost)" in headings(worse)
    assert not any("that lost" in heading for heading in headings(better))


def test_pictures_paint_an_improvement_blue(better, worse):
    for comparison, blue in ((better, True), (worse, False)):
        bars = comparison.plot("deltas")
        assert all((row["gain"] > 0) == blue for row in bars.rows)
        assert "datum.gain" in str(bars.chart.to_dict())
        assert "datum.delta" not in str(bars.chart.to_dict())
        mark = "█" if blue else "░"
        opposite_mark = "░" if blue else "█"
        text = query_charts.text_deltas(comparison, 80)
        assert mark in text
        assert opposite_mark not in text
        points = comparison.plot("scatter")
        assert "datum.gain" in str(points.chart.to_dict())
        lines = comparison.plot("forest")
        assert all((row["gain"] > 0) == blue for row in lines.rows)
        assert "datum.gain" in str(lines.chart.to_dict())


def test_the_best_candidate_stands_first_in_a_forest():
    comparison = rankgate.compare(QRELS, run_of([4] * 20), {"bad": BAD, "good": GOOD}, [METRIC])
    assert "'sort': ['good', 'bad']" in str(comparison.plot("forest").chart.to_dict())


def test_a_leaderboard_marks_the_better_system(better):
    grid = leaderboard(better)[0].grid
    assert grid.rows[1][1].endswith("ᵃ")
    assert not grid.rows[0][1].endswith("ᵇ")
    comparison = rankgate.compare(QRELS, BAD, {"good": GOOD, "bad again": BAD}, [METRIC])
    assert comparison.many.means["system"][0] == "good"
    marked = leaderboard(comparison)[0].grid.rows
    assert marked[1][1].endswith("ᵃᶜ")
    assert not any(mark in row[1] for row in (marked[0], marked[2]) for mark in "ᵃᵇᶜ")
    gains = dict(comparison.many.pairs.select("first", "gain").iter_rows())
    assert gains["good"] > 0


def test_metrics_of_both_directions_order_systems_alike():
    comparison = rankgate.compare(QRELS, run_of([4] * 20), {"bad": BAD, "good": GOOD}, [METRIC, "RR"])
    row = comparison.many.orderings.row(0, named=True)
    assert row["tau"] > 0
    assert row["rbo"] > 0.9


def test_a_report_counts_what_gained_and_what_lost(better, worse):
    for comparison, counts_text in ((better, "20 gained, 0 lost"), (worse, "0 gained, 20 lost")):
        assert counts_text in str(comparison_report.sections(comparison.only, "0", ReportOptions(worst=5)))
    assert "better." in comparison_report.sentence(better.only)
    assert "worse." in comparison_report.sentence(worse.only)


def test_a_comparison_read_from_json_has_the_gain(better):
    restored = type(better).from_dict(better.to_dict())
    assert restored.only.queries.equals(better.only.queries)
    assert restored.only.metrics.equals(better.only.metrics)


def test_slices_count_wins_by_the_direction():
    tags = pl.DataFrame({"query_id": QUERIES, "half": ["a", "b"] * 10})
    comparison = rankgate.compare(Collection(QRELS, tags=tags), BAD, GOOD, [METRIC], slices=["half"])
    assert comparison.only.slices.select("wins", "losses").rows() == [(10, 0), (10, 0)]
    assert (comparison.only.slices["gain"] > 0).all()


def test_candidates_with_a_sample_of_queries_are_marked_against_the_baseline():
    """Tests of all pairs do not weigh queries, so the marks are those of each candidate's test."""
    collection = Collection(QRELS, sample="random")
    comparison = rankgate.compare(collection, BAD, {"good": GOOD, "bad": BAD}, [METRIC])
    rows = leaderboard(comparison)[0].grid.rows
    assert comparison.many is None
    assert [row[1].strip("-.0123456789") for row in rows] == ["", "ᵃ", ""]
    assert comparison.document().title.startswith("2 systems against")
