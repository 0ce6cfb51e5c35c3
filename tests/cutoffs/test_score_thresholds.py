"""Thresholds of scores against closed forms, and against populations whose shares are known."""

import math

import numpy as np
import pytest
from scipy import stats

from rankgate.measurement.stats.score_thresholds import Demand, QuestionScores


@pytest.mark.parametrize(
    ("floor", "alpha"), [(0.95, 0.05), (0.9, 0.05), (0.99, 0.05), (0.95, 0.01), (0.8, 0.1)]
)
def test_the_smallest_sample_is_that_of_the_closed_form(floor, alpha):
    demand = Demand(floor, alpha)
    n = math.ceil(math.log(alpha) / math.log(floor))  # floor ** n <= alpha
    assert demand.missing() == n
    assert demand.allowed_losses(n) == 0
    assert demand.allowed_losses(n - 1) == -1
    assert demand.missing(0, n - 7) == 7


def test_allowed_losses_are_quantiles_of_the_binomial_distribution():
    demand = Demand(0.95)
    for n in range(1, 700, 7):
        k = demand.allowed_losses(n)
        assert k < 0 or stats.binom.cdf(k, n, 0.05) <= 0.05
        assert stats.binom.cdf(k + 1, n, 0.05) > 0.05


def test_bounds_are_those_of_clopper_and_pearson():
    for losses, n in ((0, 59), (3, 59), (59, 59), (40, 100)):
        interval = stats.binomtest(n - losses, n).proportion_ci(0.9, "exact")  # two sides of 5 %
        assert Demand(0.95).bounds(losses, n) == pytest.approx(tuple(interval))


def test_labels_are_missing_by_the_present_share():
    demand = Demand(0.95)
    more = demand.missing(2, 100)  # 2 % are lost
    assert demand.is_kept(math.ceil(0.02 * (100 + more)), 100 + more)
    assert demand.missing(5, 100) is None  # no number shows 95 % by a share of 95 %


def test_thresholds_are_order_statistics_worked_by_hand():
    tops = np.arange(93.0)  # 93 questions may lose one: P(X <= 1) = 0.0497
    relevant = np.arange(46.0) + 0.5  # 46 may lose one: P(X <= 1 | 46, 0.1) = 0.048
    scores = QuestionScores(tops, relevant)
    assert Demand(0.95).allowed_losses(93) == 1
    assert Demand(0.9).allowed_losses(46) == 1
    silent = scores.choose("silent", Demand(0.95))
    assert 91 < silent <= 92  # the second highest score is not shown, the highest is
    assert silent == 91.1  # few digits, near the score that is not shown
    assert scores.losses("silent", silent) == 1
    kept = scores.choose("kept", Demand(0.9))
    assert 1 < kept <= 1.5  # the lowest score is given up
    assert scores.losses("kept", kept) == 1


def test_equal_scores_are_all_on_the_safe_side():
    tied = QuestionScores(np.repeat([1.0, 2.0, 3.0], 40), np.repeat([3.0, 4.0], 50))
    silent = tied.choose("silent", Demand(0.95))
    assert 3 < silent <= 4  # above all of the 3s, and what is shown from 4 on
    assert tied.losses("silent", silent) == 0
    kept = tied.choose("kept", Demand(0.9))
    assert kept == 3
    assert tied.losses("kept", kept) == 0


def test_a_question_that_returned_nothing_is_silent():
    scores = QuestionScores(np.r_[np.full(58, -np.inf), 0.7], np.array([0.5]))
    assert scores.choose("silent", Demand(0.95)) > 0.7
    scores = QuestionScores(np.full(59, -np.inf), np.array([0.5]))
    assert scores.choose("silent", Demand(0.95)) <= 0.5  # everything may be shown


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0.6213, 0.6391),
        (-5.2, -5.1),
        (0.0, 0.5),
        (-1.0, 0.0),
        (0.1, np.nextafter(0.1, 1)),
        (3e-9, 4e-9),
        (1e9, 1e9 + 1),
    ],
)
def test_a_threshold_is_above_a_score_and_at_most_the_next_one(low, high):
    scores = QuestionScores(np.array([low]), np.array([high]))
    for gap, ends in enumerate([(-np.inf, low), (low, high), (high, np.inf)]):
        for threshold in (scores.threshold(gap), scores.threshold(gap, above=True)):
            assert ends[0] < threshold <= ends[1]
            assert np.isfinite(threshold)
    assert len(repr(scores.threshold(1))) <= max(len(repr(low)), len(repr(high)))


def test_no_question_and_too_few_have_no_threshold():
    scores = QuestionScores(np.zeros(0), np.arange(28.0))
    assert scores.choose("silent", Demand(0.95)) is None
    assert scores.choose("kept", Demand(0.9)) is None


def _broken(draw, share, floor, n, subject, repetitions=2000):
    """The share of repetitions in which a demand does not hold, of draws whose share is known."""
    rng, demand = np.random.default_rng(5), Demand(floor)
    broken = 0
    for _ in range(repetitions):
        values = draw(rng, n)
        scores = QuestionScores(values, values)
        broken += share(scores.choose(subject, demand)) < floor
    return broken / repetitions


NORMAL = (lambda rng, n: rng.normal(size=n), stats.norm.cdf)
HEAVY = (lambda rng, n: rng.standard_cauchy(n), stats.cauchy.cdf)


@pytest.mark.parametrize("n", [59, 100, 181])
@pytest.mark.parametrize(("draw", "cdf"), [NORMAL, HEAVY], ids=["normal", "heavy tails"])
def test_silence_is_broken_as_often_as_the_binomial_distribution_says(draw, cdf, n):
    broken = _broken(draw, cdf, 0.95, n, "silent")
    expected = stats.binom.cdf(Demand(0.95).allowed_losses(n), n, 0.05)  # exact for continuous scores
    assert broken <= expected + 3 * (0.05 * 0.95 / 2000) ** 0.5  # digits are rounded to the safe side
    assert broken >= expected / 2


def test_tied_scores_break_it_less_often():
    def draw(rng, n):
        return rng.integers(0, 40, n).astype(float)  # a share of 0.975 is below 39, 0.95 below 38

    def below(threshold):
        return math.ceil(threshold) / 40

    assert _broken(draw, below, 0.95, 100, "silent") <= 0.05
    assert _broken(draw, lambda threshold: 1 - below(threshold), 0.9, 100, "kept") <= 0.05


def test_a_bound_over_documents_does_not_hold_where_those_of_a_question_are_alike():
    rng, demand = np.random.default_rng(8), Demand(0.9)
    by_documents = by_questions = 0
    for _ in range(400):
        documents = np.repeat(rng.normal(size=60), 10) + 0.01 * rng.normal(size=600)
        drawn = documents[np.arange(60) * 10 + rng.integers(0, 10, 60)]
        for_documents = QuestionScores(drawn, documents).choose("kept", demand)
        for_questions = QuestionScores(drawn, drawn).choose("kept", demand)
        by_documents += stats.norm.sf(for_documents) < 0.9
        by_questions += stats.norm.sf(for_questions) < 0.9
    assert by_questions / 400 < 0.06
    assert by_documents / 400 > 0.2
