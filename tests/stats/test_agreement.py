"""Agreement against the papers' own numbers and other implementations' (STATISTICS, part G)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankgate.core.errors import UsageError
from rankgate.measurement.stats.dawid_skene import dawid_skene
from rankgate.measurement.stats.rater_agreement import (
    FEWEST_CLUSTERS,
    RatingMatrix,
    Tallies,
    agreement,
    alpha,
    brennan_prediger,
    cohen_values,
    conger,
    fleiss,
    gwet,
    intervals,
    jackknife,
    weights,
)
from support import published_ratings as published
from support.wording import raises


def tallies(matrix, grades=None):
    return Tallies.from_clusters(RatingMatrix.from_grades(matrix, grades))


LEVELS = ("nominal", "ordinal", "interval", "ratio")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("WIKIPEDIA", (0.691358, 0.806721, 0.810845, 0.808944)),
        ("FOUR", (0.743421, 0.815388, 0.849107, 0.797403)),
    ],
)
def test_alpha_by_level(name, expected):
    sheet = tallies(getattr(published, name))
    assert [float(alpha(sheet, level)[0]) for level in LEVELS] == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(("name", "expected"), [("BINARY", 0.095238), ("LETTERS", 0.691964)])
def test_alpha_of_two(name, expected):
    value = alpha(tallies(getattr(published, name)), "nominal")
    assert value == pytest.approx([expected], abs=5e-7)


def test_gwets_four_raters():
    sheet = tallies(published.FOUR)
    assert gwet(sheet) == pytest.approx([0.775444], abs=5e-7)
    assert gwet(sheet, "linear") == pytest.approx([0.858739], abs=5e-7)
    assert gwet(sheet, "quadratic") == pytest.approx([0.914001], abs=5e-7)
    assert gwet(sheet, "ordinal") == pytest.approx([0.898940], abs=5e-7)
    assert fleiss(sheet) == pytest.approx([0.761169], abs=5e-7)
    assert conger(sheet) == pytest.approx([0.762817], abs=5e-7)
    assert brennan_prediger(sheet) == pytest.approx([0.772727], abs=5e-7)


def test_fleiss_of_the_table_and_of_1971():
    rows = [np.repeat(np.arange(5.0), counts) for counts in published.FLEISS_TABLE]
    table = tallies(np.array(rows))
    assert fleiss(table) == pytest.approx([0.2099307], abs=5e-8)
    assert brennan_prediger(table) == pytest.approx([0.2225275], abs=5e-8)
    assert fleiss(tallies(published.DIAGNOSES)) == pytest.approx([0.4302445], abs=5e-8)


def cohen(table, kind="identity"):
    return cohen_values(np.array([table], float), np.arange(float(len(table))), kind)[0]


def test_cohen():
    assert cohen([[20, 5], [10, 15]]) == pytest.approx(0.4)
    table = [[0, 4, 1], [0, 8, 0], [0, 1, 5]]
    assert cohen(table) == pytest.approx(0.4842, abs=5e-5)
    assert cohen(table, "linear") == pytest.approx(0.4701, abs=5e-5)


@given(arrays(float, (4, 4), elements=st.integers(1, 30)), st.sampled_from(["linear", "quadratic"]))
def test_cohen_is_statsmodels(table, kind):
    from statsmodels.stats import inter_rater

    expected = inter_rater.cohens_kappa(table, wt={"linear": "ca", "quadratic": "fc"}[kind])
    assert cohen(table, kind) == pytest.approx(expected.kappa, abs=1e-10)


def test_weights_by_places_are_those_of_scikit_learn():
    """``cohen_kappa_score`` of scikit-learn 1.9.1 weighs by places, whatever the labels are."""
    first, second = [0, 1, 3, 7, 7, 3, 1, 0, 0, 3], [0, 1, 1, 7, 3, 3, 0, 0, 1, 7]
    grades = np.array([0.0, 1.0, 3.0, 7.0])
    table = np.zeros((1, 4, 4))
    np.add.at(table[0], (np.searchsorted(grades, first), np.searchsorted(grades, second)), 1)
    for kind, by_places in (("linear", 0.5967741935483871), ("quadratic", 0.7967479674796748)):
        assert cohen_values(table, np.arange(4.0), kind) == pytest.approx([by_places], abs=1e-12)
        by_name = cohen_values(table, grades, f"{kind} by places")
        assert by_name == pytest.approx([by_places], abs=1e-12)
        assert cohen_values(table, grades, kind) != pytest.approx([by_places], abs=0.01)


@given(arrays(float, (12, 2), elements=st.integers(0, 3)))
def test_conger_of_two_is_cohen(matrix):
    table = np.zeros((4, 4))
    np.add.at(table, tuple(matrix.astype(int).T), 1)
    sheet = RatingMatrix.from_grades(matrix, [0, 1, 2, 3])
    np.testing.assert_allclose(conger(Tallies.from_clusters(sheet))[0], cohen(table), atol=1e-10)


@given(arrays(float, (9, 4), elements=st.sampled_from([0.0, 1.0, 2.0, np.nan])))
def test_sums_without_a_cluster_are_those_of_the_other_items(matrix):
    clusters = np.arange(len(matrix)) // 3
    leave_one_out = Tallies.from_clusters(RatingMatrix.from_grades(matrix, [0, 1, 2]), clusters).without_one()
    remaining = [tallies(matrix[clusters != cluster], [0, 1, 2]) for cluster in range(3)]
    for measure in (agreement, fleiss, conger, gwet, brennan_prediger):
        expected = [measure(subset, "linear")[0] for subset in remaining]
        np.testing.assert_allclose(measure(leave_one_out, "linear"), expected, atol=1e-9)
    for level in LEVELS:
        expected = [alpha(subset, level)[0] for subset in remaining]
        np.testing.assert_allclose(alpha(leave_one_out, level), expected, atol=1e-9)


def test_perfect_agreement_is_one_and_one_grade_is_undefined():
    perfect = tallies(np.array([[0, 0], [1, 1], [3, 3]]))
    for measure in (agreement, fleiss, conger, gwet, brennan_prediger):
        assert measure(perfect) == pytest.approx([1.0])
    flat = tallies(np.array([[1, 1], [1, 1]]))
    assert np.isnan(fleiss(flat)).all()
    assert np.isnan(alpha(flat)).all()


def test_nobody_rated_twice():
    lonely = tallies(np.array([[0, np.nan], [np.nan, 1]]))
    assert np.isnan(agreement(lonely)).all()
    assert np.isnan(alpha(lonely)).all()


def test_a_grade_outside_the_scale():
    with raises("grade-outside-scale", UsageError):
        RatingMatrix.from_grades(np.array([[5.0, 1.0]]), [0, 1, 2, 3])


def test_quadratic_weights_follow_the_values():
    assert weights(np.array([0.0, 1.0, 10.0]), "linear")[0, 1] == pytest.approx(0.9)


def test_dawid_skene_1979():
    model = dawid_skene(*published.patients())
    assert model.converged
    assert model.share == pytest.approx([0.3996, 0.4220, 0.1118, 0.0667], abs=6e-5)
    assert model.log_likelihood == pytest.approx(-192.890881, abs=1e-5)
    assert model.errors[0] == pytest.approx(
        np.array(
            [
                [0.8895, 0.1105, 0, 0],
                [0.0706, 0.8764, 0.0530, 0],
                [0, 0.3388, 0.6612, 0],
                [0, 0, 0.5556, 0.4444],
            ]
        ),
        abs=6e-5,
    )
    most_likely = "".join(str(1 + label) for label in model.belief.argmax(axis=1))
    assert most_likely == "142222132243121111222222112111131224233111212"
    assert model.belief.sum(axis=1) == pytest.approx(np.ones(45))


def two_raters(share, rng, items=400):
    first = rng.integers(0, 2, items)
    second = np.where(rng.random(items) < share, first, 1 - first)
    return RatingMatrix.from_grades(np.stack([first, second], axis=1).astype(float))


def left_out(clusters):
    return jackknife(agreement(clusters.total())[0], agreement(clusters.without_one()))


@pytest.mark.parametrize("of", [lambda c: intervals({"pa": agreement}, c)["pa"], left_out])
def test_clusters_of_one_item_give_the_binomial_interval(of):
    sheet = two_raters(0.8, np.random.default_rng(5))
    clusters = Tallies.from_clusters(sheet, np.arange(400))
    result = of(clusters)
    spread = 1.96 * np.sqrt(result.value * (1 - result.value) / 400)
    assert (result.low, result.high) == pytest.approx(
        (result.value - spread, result.value + spread), abs=0.006
    )
    assert result == of(clusters)


def test_items_that_repeat_each_other_add_no_precision():
    """Every item ten times over, as ten items of one query: the interval is that of the queries."""
    sheet = two_raters(0.8, np.random.default_rng(6), 40)
    items = (10 * sheet.items[:, None] + np.arange(10)).ravel()
    ratings = (items, np.repeat(sheet.raters, 10), np.repeat(sheet.grade_index, 10))
    tenfold = RatingMatrix.from_ratings((400, 2), *ratings)
    single = intervals({"pa": agreement}, Tallies.from_clusters(sheet, np.arange(40)))["pa"]
    tens = intervals({"pa": agreement}, Tallies.from_clusters(tenfold, np.arange(400) // 10))["pa"]
    assert (single.low, single.high) == pytest.approx((tens.low, tens.high))
    naive = intervals({"pa": agreement}, Tallies.from_clusters(tenfold, np.arange(400)))["pa"]
    assert naive.high - naive.low < 0.4 * (tens.high - tens.low)


def test_few_clusters_give_no_interval():
    sheet = two_raters(0.8, np.random.default_rng(7), 90)
    too_few = intervals(
        {"pa": agreement}, Tallies.from_clusters(sheet, np.arange(90) % (FEWEST_CLUSTERS - 1))
    )
    assert np.isfinite(too_few["pa"].value)
    assert np.isnan([too_few["pa"].low, too_few["pa"].high]).all()
    enough = intervals({"pa": agreement}, Tallies.from_clusters(sheet, np.arange(90) % FEWEST_CLUSTERS))
    assert enough["pa"].low < enough["pa"].value < enough["pa"].high
    assert np.isnan(left_out(Tallies.from_clusters(sheet)).low)
