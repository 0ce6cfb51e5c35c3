"""Agreement of raters on ratings with a result that is counted by hand or published."""

import gzip
import json
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from rankgate.core.errors import InputError
from rankgate.core.present.write_results import FORMS, render_result
from rankgate.data.qrels import Ratings, Scale
from rankgate.judging.agreement import agreement_coefficients
from rankgate.judging.agreement.agree import RaterAgreement, agree
from rankgate.judging.agreement.agreement_alarms import alarms
from rankgate.judging.agreement.rated_pairs import rated_pairs
from support.wording import assert_wording, raises


def agreements(ratings, scale=None, **options):
    return agreement_coefficients.agreements(rated_pairs(ratings, scale), **options)


def ratings_of(grades, raters="ABCDEFGH", queries=15, **columns):
    """Rows are pairs, columns raters; None if a rater did not rate."""
    rows = [
        {"query_id": f"q{i % queries}", "doc_id": f"d{i}", "rater": raters[j], "grade": grade}
        for i, row in enumerate(grades)
        for j, grade in enumerate(row)
        if grade is not None
    ]
    return Ratings(pl.DataFrame(rows, schema_overrides={"grade": pl.Float64}).with_columns(**columns))


HAND = [[0, 0, 0], [1, 1, 2], [2, 2, None], [3, None, 1], [0, None, None], [1, 2, 0]]


def test_figures_counted_by_hand():
    result = agreements(ratings_of(HAND))
    assert dict(result.counts) == {
        "ratings": 14,
        "raters": 3,
        "pairs": 6,
        "overlap": 5,
        "cannot_tell": 0,
        "corrected": 0,
        "ties": 2,  # 3 against 1, and 1, 2, 0
        "queries": 5,
        "outside": 0,
    }
    # shares of agreeing pairs: 1, 1/3, 1, 0, 0
    assert result.coefficients["raw agreement"].value == pytest.approx((1 + 1 / 3 + 1) / 5)
    by_rater = {row["rater"]: row for row in result.raters.iter_rows(named=True)}
    # A against the mean of the others: 0-0, 1-1.5, 2-2, 3-1, 1-1
    assert by_rater["A"]["bias"] == pytest.approx((0 - 0.5 + 0 + 2 + 0) / 5)
    assert by_rater["A"]["overlap"] == 5
    assert by_rater["A"]["agreement"] == pytest.approx((1 + 0.5 + 1 + 0 + 0) / 5)
    pair = result.pairs.filter((pl.col("first") == "A") & (pl.col("second") == "B")).row(0, named=True)
    assert (pair["overlap"], pair["agreement"]) == (4, 0.75)
    assert pair["bias"] == pytest.approx(-0.25)
    # others of C: on d0 both say 0, on d1 both say 1, on d3 A says 3, on d5 they differ
    against = result.confusion.filter(pl.col("rater") == "C").rows()
    assert against == [("C", 0.0, 0.0, 1), ("C", 1.0, 2.0, 1), ("C", 3.0, 1.0, 1)]
    assert result.grades["ratings"].to_list() == [5, 4, 4, 1]
    assert result.grades["share"].sum() == pytest.approx(1)


FOUR = [
    [1, 1, None, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [None, 5, 5, 5],
    [None, None, 1, 1],
    [None, None, 3, None],
]
"""Four raters of twelve items, one of which one rater graded alone (Gwet 2014)."""


def test_gwets_raters_have_the_published_coefficients():
    """A pair with one grade gives no agreement, but counts for the frequency of grades."""
    result = agreements(ratings_of(FOUR))
    published = {
        "Fleiss' kappa": 0.761169,
        "Conger's kappa": 0.762817,
        "Gwet's AC1": 0.775444,
        "Gwet's AC2, linear": 0.858739,
        "Gwet's AC2, quadratic": 0.914001,
        "Brennan-Prediger": 0.772727,
        "alpha, nominal": 0.743421,
    }
    assert {name: result.coefficients[name].value for name in published} == pytest.approx(published, abs=1e-6)


def test_specific_agreement_of_two():
    """For a 2x2 table a, b, c, d: 2a/(2a+b+c) and 2d/(2d+b+c) (Fleiss 1981)."""
    result = agreements(ratings_of([[1, 1]] * 20 + [[1, 0]] * 5 + [[0, 1]] * 10 + [[0, 0]] * 15))
    assert result.grades["agreement"].to_list() == pytest.approx([30 / 45, 40 / 55])
    assert result.coefficients["Conger's kappa"].value == pytest.approx(0.4)
    assert result.pairs["kappa"].to_list() == pytest.approx([0.4])


def test_the_scale_counts_where_a_coefficient_needs_it():
    """Brennan-Prediger's chance is one in the grades of the scale, also of those unused."""
    scale = Scale(0, 3, tuple((grade, str(grade)) for grade in range(4)))
    grades = [[1, 1], [0, 0], [1, 0], [0, 0]]
    assert agreements(ratings_of(grades), scale=scale).coefficients[
        "Brennan-Prediger"
    ].value == pytest.approx((0.75 - 0.25) / 0.75)


def test_months_are_reported_where_times_are_known():
    times = pl.Series([datetime(2026, 1 + i // 4, 3, tzinfo=UTC) for i in range(8)])
    result = agreements(ratings_of([[1, 1], [1, 0], [2, 2], [3, 3]], at=times))
    assert result.periods.rows() == [("2026-01", 2, 0.5, 0.75), ("2026-02", 2, 1.0, 2.5)]


def test_people_and_a_model(shared):
    """The confusion of 10,284 pairs judged twice (data of TREC RAG 2025)."""
    tables = []
    for rater, name in (("people", "qrels.rag25.test"), ("model", "qrels.rag25.test-umbrela2")):
        with gzip.open(shared / "rag25-human-vs-llm" / f"{name}.txt.gz", "rt") as lines:
            rows = [line.split() for line in lines]
        tables.append(
            pl.DataFrame(
                {
                    "query_id": [row[0] for row in rows],
                    "doc_id": [row[2] for row in rows],
                    "rater": rater,
                    "grade": [float(row[3]) for row in rows],
                }
            )
        )
    result = agreements(Ratings(pl.concat(tables)))
    from statsmodels.stats import inter_rater as metrics

    joined = tables[0].join(tables[1], on=["query_id", "doc_id"])
    table = np.zeros((5, 5))
    np.add.at(table, (joined["grade"].cast(int), joined["grade_right"].cast(int)), 1)
    assert result.counts["overlap"] == table.sum() == 10_284
    expected = metrics.cohens_kappa(table)
    assert result.coefficients["Conger's kappa"].value == pytest.approx(expected.kappa, abs=1e-12)
    assert result.coefficients["raw agreement"].value == pytest.approx(np.trace(table) / 10_284)
    interval = result.coefficients["Conger's kappa"]
    # 22 queries: the interval is three times as wide as if the 10,284 pairs were independent
    naive = expected.kappa_upp - expected.kappa_low
    assert 3 < (interval.high - interval.low) / naive < 4.5
    by_query = result.pairs.row(0, named=True)
    assert (interval.low, interval.high) == pytest.approx(
        (by_query["kappa_low"], by_query["kappa_high"]), abs=0.012
    )


def kinds(ratings):
    return [(alarm.kind, alarm.who) for alarm in alarms_of(ratings)]


def alarms_of(ratings, scale=None):
    pairs = rated_pairs(ratings, scale)
    return alarms(agreement_coefficients.agreements(pairs), pairs)


def test_perfect_agreement_is_no_good_news():
    rng = np.random.default_rng(1)
    identical = [[grade, grade] for grade in rng.integers(0, 4, 30).tolist()]
    assert kinds(ratings_of(identical)) == [("copied", "")]
    assert kinds(ratings_of(identical[:10])) == [("overlap", "")]


def test_two_of_three_copied():
    rng = np.random.default_rng(2)
    rows = [[grade, grade, int(rng.integers(0, 4))] for grade in rng.integers(0, 4, 30).tolist()]
    assert kinds(ratings_of(rows)) == [("random", "C"), ("copied", "A, B")]


def test_a_rater_of_one_grade_and_a_speeder():
    rng = np.random.default_rng(3)
    rows = [[*rng.integers(0, 4, 3).tolist(), 2] for _ in range(40)]
    seconds = pl.when(pl.col("rater") == "B").then(0.4).otherwise(9.0)
    assert kinds(ratings_of(rows, seconds=seconds)) == [("one-grade", "D"), ("speeder", "B")]


def test_a_rater_on_another_scale():
    """Binary grades on a scale of 0 to 3 are reported; grades of a harsh rater are not."""
    rng = np.random.default_rng(5)
    rows = [[first, second, min(first, 1)] for first, second, _ in clear(rng, 60, 3).tolist()]
    result = alarms_of(ratings_of(rows))
    assert [(alarm.kind, alarm.who) for alarm in result] == [("scale", "C")]
    share_above = np.mean([grade > 1 for row in rows for grade in row[:2]])
    assert result[0].what.startswith(
        f"C gave 0 to 1 in 60 ratings, the others up to 3, {share_above:.0%} of theirs above 1"
    )
    assert not kinds(ratings_of([[*row[:2], min(row[0], 2)] for row in rows]))


def test_the_kappa_paradox_is_said():
    rows = [[0, 0]] * 90 + [[0, 1]] * 5 + [[1, 0]] * 5
    assert kinds(ratings_of(rows)) == [("prevalence", "")]


def clear(rng, items=160, raters=4, noise=0.6):
    """Raters who see the same grade with some noise."""
    truth = rng.choice(4, items, p=[0.4, 0.25, 0.2, 0.15])
    observed = np.rint(truth[:, None] + rng.normal(0, noise, (items, raters)))
    return np.clip(observed, 0, 3).astype(int)


def test_honest_raters_get_no_mark():
    assert not kinds(ratings_of(clear(np.random.default_rng(8)).tolist()))


def test_a_reversed_and_a_random_rater_among_four():
    rng = np.random.default_rng(9)
    rows = clear(rng)
    rows[:, 1] = 3 - rows[:, 1]
    assert kinds(ratings_of(rows.tolist())) == [("reversed", "B")]
    rows = clear(rng)
    rows[:, 2] = rng.permutation(rows[:, 2])
    assert kinds(ratings_of(rows.tolist())) == [("random", "C")]


@pytest.mark.parametrize(("queries", "pairs"), [(3, 60), (8, 80)])
def test_a_reversed_rater_is_found_with_few_queries_and_a_random_one_is_not_called_reversed(queries, pairs):
    rng, counts = np.random.default_rng(14), {"reversed": 0, "random": 0}
    for _ in range(5):
        for bad in counts:
            rows = clear(rng, pairs, 3)
            rows[:, 0] = 3 - rows[:, 0] if bad == "reversed" else rng.permutation(rows[:, 0])
            counts[bad] += ("reversed", "A") in kinds(ratings_of(rows.tolist(), queries=queries))
    assert counts["reversed"] == 5
    assert counts["random"] <= 1  # of 5, with a chance of 1.7 % each


def test_a_rater_who_agrees_with_nobody_half_as_well():
    rng = np.random.default_rng(10)
    rows = clear(rng, 600, noise=0.4)
    guesses = rng.random(len(rows)) < 0.75
    rows[guesses, 3] = rng.integers(0, 4, guesses.sum())
    assert kinds(ratings_of(rows.tolist())) == [("against-all", "D")]


def test_a_second_bad_rater_is_found_behind_the_first():
    """A reversed rater makes the others look as unlike each other as one who guesses."""
    rng = np.random.default_rng(12)
    rows = clear(rng, 600)
    rows[:, 0] = 3 - rows[:, 0]
    rows[:, 1] = rng.permutation(rows[:, 1])
    assert kinds(ratings_of(rows.tolist())) == [("reversed", "A"), ("random", "B")]


def test_of_two_raters_the_pair_is_named():
    """Grades that are opposite, and 600 pairs of grades that have nothing in common."""
    rng = np.random.default_rng(11)
    rows = clear(rng, raters=2)
    assert kinds(ratings_of(np.stack([rows[:, 0], 3 - rows[:, 1]], 1).tolist())) == [("reversed", "A, B")]
    result = alarms_of(ratings_of(rng.integers(0, 4, (600, 2)).tolist()))
    assert [(alarm.kind, alarm.who) for alarm in result] == [("random", "A, B")]
    assert_wording(result[0].what)


def test_one_grade_outside_the_scale_changes_nothing():
    """A single 10 among 900 ratings moves Gwet's AC2 unless the scale is known."""
    rows = clear(np.random.default_rng(12), 300, 3).tolist()
    wrong = [[10, *rows[0][1:]], *rows[1:]]
    scale = Scale(0, 3)
    right = agreements(ratings_of([[None, *rows[0][1:]], *rows[1:]]), scale)
    result = agreements(ratings_of(wrong), scale)
    assert result.coefficients == right.coefficients
    assert result.counts["outside"] == 1
    (alarm,) = alarms_of(ratings_of(wrong), scale)
    assert (alarm.kind, "10 by A (1)" in alarm.what) == ("outside", True)
    name = "Gwet's AC2, linear"
    moved = agreements(ratings_of(wrong)).coefficients[name].value
    assert moved > right.coefficients[name].value + 0.1
    (alarm,) = alarms_of(ratings_of(wrong))
    assert (alarm.kind, "grade 10 was given 1 time" in alarm.what) == ("stray", True)


@pytest.mark.parametrize("grades", [[0, 1, 10, 100], [0, 1, 2, 3], [-2, 0, 1, 2], [1, 2, 5]])
def test_usual_scales_have_no_stray_grade(grades):
    rng = np.random.default_rng(13)
    rows = np.array(grades)[clear(rng, 200, 3) % len(grades)]
    assert "stray" not in {alarm.kind for alarm in alarms_of(ratings_of(rows.tolist()))}


def test_few_queries_give_values_without_intervals():
    rows = clear(np.random.default_rng(14)).tolist()
    result = agreements(ratings_of(rows, queries=5)).coefficients["alpha, ordinal"]
    assert np.isfinite(result.value)
    assert np.isnan([result.low, result.high]).all()
    (alarm,) = alarms_of(ratings_of(rows, queries=5))
    assert (alarm.kind, "of 5 queries" in alarm.what) == ("queries", True)


@pytest.mark.parametrize(("different", "kinds_of_alarms"), [(4, ["few-differences"]), (5, [])])
def test_few_queries_with_a_difference_are_named(different, kinds_of_alarms):
    """All disagreement of 20 queries is in some of them; without any, the alarm is copied."""
    rows = np.tile(np.arange(4), (2, 40)).T.copy()
    rows[: different * 8 : 8, 1] = (rows[: different * 8 : 8, 1] + 1) % 4  # one of 8 pairs
    alarms = alarms_of(ratings_of(rows.tolist(), queries=20))
    assert [alarm.kind for alarm in alarms] == kinds_of_alarms
    if alarms:
        assert f"in {different} of 20 queries" in alarms[0].what


def test_nobody_graded():
    with raises("no-grades", InputError):
        agreements(
            Ratings(pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "rater": ["A"], "grade": [None]}))
        )


def test_agreement_comes_back_from_json():
    rows = clear(np.random.default_rng(15)).tolist()
    for ratings in (ratings_of(rows), ratings_of(HAND), ratings_of([[1], [2]])):
        result = agree(ratings)
        restored = RaterAgreement.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
        assert restored.to_dict() == result.to_dict()
        for form in FORMS:
            assert render_result(restored, form) == render_result(result, form)
