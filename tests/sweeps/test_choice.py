"""The chosen setting, and its gain on queries that it was not chosen by."""

import numpy as np
import pytest
from scipy import stats

from rankgate.decisions.sweeps.dials import Dial, importances
from rankgate.decisions.sweeps.sweep import choose

HOW = {"folds": 5, "repeats": 10, "level": 0.95, "seed": 0}


def gains(chance, n, settings, means=0.0, spread=0.15):
    """Gains over a baseline, whose own are 0."""
    found = means + spread * chance.standard_normal((n, settings))
    return np.column_stack([np.zeros(n), found])


def test_a_clear_winner_is_chosen_everywhere_and_its_gain_is_the_mean():
    chance = np.random.default_rng(1)
    table = gains(chance, 60, 4)
    table[:, 3] += 1
    found = choose(table, 0, **HOW)
    delta = table[:, 3]
    assert found.place == 3
    assert found.stability == 1
    assert found.held_out.mean == pytest.approx(delta.mean())
    assert found.optimism == pytest.approx(0)
    n, trained = 60, 48
    reach = stats.t.ppf(0.975, n - 1) * delta.std(ddof=1) * np.sqrt(1 / n + 1 / trained)
    assert found.held_out.low <= delta.mean() - reach + 1e-12
    assert found.held_out.high >= delta.mean() + reach - 1e-12
    assert found.held_out.high - found.held_out.low == pytest.approx(2 * reach, rel=0.1)
    assert found.p_value == pytest.approx(stats.ttest_1samp(delta, 0).pvalue)


def test_held_out_gains_are_of_choices_by_the_other_folds():
    table = gains(np.random.default_rng(2), 20, 3)
    found = choose(table, 0, folds=20, repeats=1, level=0.95, seed=0)
    total = table.sum(axis=0)
    expected = np.mean([row[(total - row).argmax()] for row in table])
    assert found.held_out.mean == pytest.approx(expected)


def test_nothing_better_leaves_the_baseline():
    table = np.column_stack([np.zeros(30), np.full(30, -0.1), np.zeros(30)])
    found = choose(table, 0, **HOW)
    assert found.place == 0
    assert (found.held_out.mean, found.held_out.low, found.held_out.high) == (0, 0, 0)
    assert choose(np.roll(table, 1, axis=1), 1, **HOW).place == 1


def test_few_queries():
    assert choose(np.zeros((1, 2)), 0, **HOW) is None
    found = choose(np.array([[0, 1.0], [0, 2.0]]), 0, **HOW)
    assert found.folds == 2
    assert found.held_out.low is None


@pytest.mark.parametrize("n", [40, 225])
def test_the_gain_of_equal_settings_is_not_biased_upwards(n):
    chance = np.random.default_rng(n)
    found = [choose(gains(chance, n, 63), 0, **HOW | {"repeats": 2}) for _ in range(150)]
    seen = np.array([each.same_queries.mean for each in found])
    held = np.array([each.held_out.mean for each in found])
    error = held.std(ddof=1) / np.sqrt(len(held))
    assert abs(held.mean()) < 3.5 * error
    assert seen.mean() > 1.8 * 0.15 / np.sqrt(n)  # the largest of 63 is 2.4 standard errors up
    assert np.mean([each.held_out.low <= 0 <= each.held_out.high for each in found]) > 0.9


def means(shape, chance):
    """The true gains of 63 settings."""
    if shape == "one better":
        return np.r_[0.05, np.zeros(62)]
    return (0.02 if shape == "all different" else 0.0) * chance.standard_normal(63)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["all equal", "one better", "all different"])
@pytest.mark.parametrize("n", [50, 225])
def test_the_interval_covers_the_gain_of_the_chosen_setting(shape, n):
    chance = np.random.default_rng(7)
    covered, usual, times = 0, 0, 400
    for _ in range(times):
        true = means(shape, chance)
        found = choose(gains(chance, n, 63, true), 0, **HOW)
        truth = np.r_[0.0, true][found.place]
        held = found.held_out
        covered += held.low <= truth <= held.high
        half = (held.high - held.low) / 2 / 1.5  # without the correction, 1 + 5 / 4 under a root
        usual += abs(held.mean - truth) <= half
    assert covered / times > 0.95 - 2 * 0.0109  # standard errors of 400 draws
    assert usual / times < 0.95  # so that the correction is needed


def grid(*sizes):
    places = np.array(list(np.ndindex(*sizes)))
    dials = tuple(Dial(f"d{i}", tuple(range(size))) for i, size in enumerate(sizes))
    points = [
        dict(zip((dial.name for dial in dials), map(int, row), strict=True)) for row in places
    ]
    return dials, points, places


def test_importance_of_additive_dials_is_their_share_of_variance():
    dials, points, at = grid(3, 4, 2)
    one, other = np.array([0.0, 1.0, 5.0]), np.array([0.0, 2.0, 2.0, 4.0])
    means = one[at[:, 0]] + other[at[:, 1]]
    found = {each.dials: each.share for each in importances(dials, points, means)}
    total = one.var() + other.var()
    assert found["d0",] == pytest.approx(one.var() / total)
    assert found["d1",] == pytest.approx(other.var() / total)
    assert found["d2",] == pytest.approx(0)
    assert sum(found.values()) == pytest.approx(1)
    assert next(iter(found)) == ("d0",)


def test_importance_of_an_interaction_is_of_the_pair():
    dials, points, at = grid(2, 2)
    means = np.where(at[:, 0] == at[:, 1], 1.0, 0.0)
    found = {each.dials: each.share for each in importances(dials, points, means)}
    assert found["d0", "d1"] == pytest.approx(1)
    assert found["d0",] == found["d1",] == pytest.approx(0)


def test_importance_without_some_points_is_what_only_the_dial_explains():
    dials, points, at = grid(3, 4)
    kept = [place for place in range(12) if place not in (1, 6, 7)]
    means = np.array([0.0, 1.0, 5.0])[at[kept, 0]]
    found = {
        each.dials: each.share for each in importances(dials, [points[i] for i in kept], means)
    }
    assert 0 < found["d0",] <= 1
    assert found["d1",] == pytest.approx(0, abs=1e-12)
    assert found["d0", "d1"] == pytest.approx(0, abs=1e-12)


def test_importance_of_equal_means_is_unknown():
    dials, points, _ = grid(2, 2)
    assert {each.share for each in importances(dials, points, np.ones(4))} == {None}


def test_importance_of_many_values_is_by_parts_of_the_range():
    chance = np.random.default_rng(4)
    values = chance.uniform(0, 1, 120)
    dials = (Dial("a", low=0, high=1), Dial("b", low=0, high=1))
    points = [
        {"a": float(a), "b": float(b)}
        for a, b in zip(values, chance.uniform(0, 1, 120), strict=True)
    ]
    found = {each.dials: each.share for each in importances(dials, points, values)}
    assert found["a",] > 0.9
    assert found["b",] < 0.2
