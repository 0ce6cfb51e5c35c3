"""How strongly a query's own judgments speak is learnt from how much queries differ."""

from __future__ import annotations

import numpy as np
import pytest

from rankgate.unjudged.calibration import calibration
from rankgate.unjudged.hole_model import prior_strength


def drawn(strength, queries=4000, mean=0.4):
    """Judged and relevant documents of queries whose rates are of a beta law."""
    rng = np.random.default_rng(2)
    judged = rng.integers(2, 15, queries)
    rate = rng.beta(mean * strength, (1 - mean) * strength, queries)
    return judged, rng.binomial(judged, rate).astype(float)


@pytest.mark.parametrize("strength", [2.0, 8.0, 30.0])
def test_the_strength_that_rates_were_drawn_by_is_found(strength):
    assert prior_strength(*drawn(strength)) == pytest.approx(strength, rel=0.15)


def test_by_hand():
    """Three queries of four documents: N = 12, Σn² = 48, Σn(n − 1) = 36.

    D / (p(1 − p)) = (12 − 4) + ρ(36(1 − 2/3) + 48 · 36 / 144) = 8 + 24ρ.
    0, 2 and 4 relevant: p = 1/2, D = 8, ρ = 1. 1, 2 and 3: D = 2, ρ = 0.
    0, 2 and 3: p = 5/12, D = 14/3, 14/3 · 144/35 = 19.2, ρ = 7/15, strength 8/7.
    """
    four = np.array([4, 4, 4])
    assert prior_strength(four, np.array([0.0, 2, 4])) == 1.0
    assert prior_strength(four, np.array([1.0, 2, 3])) == 1000.0
    assert prior_strength(four, np.array([0.0, 2, 3])) == pytest.approx(8 / 7)


@pytest.mark.parametrize(
    ("judged", "relevant"), [([1, 1, 1], [1.0, 0, 1]), ([4, 3], [4.0, 3]), ([4, 3], [0.0, 0])]
)
def test_where_nothing_can_be_told_it_is_three(judged, relevant):
    assert prior_strength(np.array(judged), np.array(relevant)) == 3.0


def test_where_queries_do_not_differ_guesses_are_as_good_as_the_share_of_all():
    """Grades are coins of 0.4, whatever the query: nobody can guess better than p(1 − p)."""
    rng = np.random.default_rng(4)
    names = [f"d{j}" for j in range(8)]
    qrels = {f"q{i}": {d: int(rng.random() < 0.4) for d in names} for i in range(150)}
    old = {q: {d: 8.0 - j for j, d in enumerate(names)} for q in qrels}
    new = {q: {d: float(j) for j, d in enumerate(names)} for q in qrels}
    own, best = calibration(qrels, old, new, "P@8", experiments=0).brier["relevance"]
    assert own < best + 0.005
