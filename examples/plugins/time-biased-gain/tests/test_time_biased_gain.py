"""Time-biased gain against its formula, rank by rank."""

import numpy as np
import pytest
from rankgate_time_biased_gain import TimedGain

from rankgate.measurement.metrics.judged_block import block


def by_hand(grades, half_life=224.0, cutoff=None):
    time = value = 0.0
    for grade in grades[:cutoff]:
        relevant = grade is not None and grade >= 1
        if relevant:
            value += 0.64 * 0.77 * 2 ** (-time / half_life)
        time += 4.4 + (0.64 if relevant else 0.39) * 25.8
    return value


def test_a_relevant_document_on_top_is_worth_a_click_and_a_save():
    assert TimedGain.compute(block([[1]])) == pytest.approx(0.4928)
    # behind one other document: 4.4 s for its summary, 0.39 · 25.8 s for reading it
    assert TimedGain.compute(block([[0, 1]])) == pytest.approx(0.4928 * 2 ** (-14.462 / 224))


def test_random_rankings_are_worth_what_the_formula_says():
    rng = np.random.default_rng(12)
    grades = [rng.choice([None, 0, 1, 2], size=n).tolist() for n in rng.integers(0, 15, 100)]
    judged = block(grades)
    for bound in ({}, {"cutoff": 4}, {"half_life": 30.0}):
        expected = [by_hand(row, **bound) for row in grades]
        np.testing.assert_allclose(TimedGain(**bound).compute(judged), expected, rtol=1e-12)
