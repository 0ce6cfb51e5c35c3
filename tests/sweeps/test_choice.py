"""The chosen setting, and its gain on queries that it was not chosen by."""

import numpy as np
import pytest
from scipy import stats

from rankgate.decisions.sweeps.choice import choose
from rankgate.decisions.sweeps.dials import Dial, importances

HOW = {"folds": 5, "repeats": 10, "level": 0.95, "seed": 0}


def gains(chance, n, settings, means=0.0, spread=0.15):
    """Gains over a baseline, with gains of 0 for the baseline."""
    deltas = means + spread * chance.standard_normal((n, settings))
    return np.column_stack([np.zeros(n), deltas])


def test_a_clear_winner_is_chosen_everywhere_and_its_gain_is_the_mean():
    chance = np.random.default_rng(1)
    table = gains(chance, 60, 4)
    table[:, 3] += 1
    choice = choose(table, 0, **HOW)
    delta = table[:, 3]
    assert choice.place == 3
    assert choice.stability == 1
    assert choice.held_out.mean == pytest.approx(delta.mean())
    assert choice.optimism == pytest.approx(0)
    n, trained = 60, 48
    reach = stats.t.ppf(0.975, n - 1) * delta.std(ddof=1) * np.sqrt(1 / n + 1 / trained)
    assert choice.held_out.low <= delta.mean() - reach + 1e-12
    assert choice.held_out.high >= delta.mean() + reach - 1e-12
    assert choice.held_out.high - choice.held_out.low == pytest.approx(2 * reach, rel=0.1)
    assert choice.p_value == pytest.approx(stats.ttest_1samp(delta, 0).pvalue)


def test_held_out_gains_are_of_choices_by_the_other_folds():
    table = gains(np.random.default_rng(2), 20, 3)
    choice = choose(table, 0, folds=20, repeats=1, level=0.95, seed=0)
    total = table.sum(axis=0)
    expected = np.mean([row[(total - row).argmax()] for row in table])
    assert choice.held_out.mean == pytest.approx(expected)


def test_nothing_better_leaves_the_baseline():
    table = np.column_stack([np.zeros(30), np.full(30, -0.1), np.zeros(30)])
    choice = choose(table, 0, **HOW)
    assert choice.place == 0
    assert (choice.held_out.mean, choice.held_out.low, choice.held_out.high) == (0, 0, 0)
    assert choose(np.roll(table, 1, axis=1), 1, **HOW).place == 1


def test_few_queries():
    assert choose(np.zeros((1, 2)), 0, **HOW) is None
    choice = choose(np.array([[0, 1.0], [0, 2.0]]), 0, **HOW)
    assert choice.folds == 2
    assert choice.held_out.low is None


@pytest.mark.parametrize("n", [40, 225])
def test_the_gain_of_equal_settings_is_not_biased_upwards(n):
    chance = np.random.default_rng(n)
    choices = [choose(gains(chance, n, 63), 0, **HOW | {"repeats": 2}) for _ in range(150)]
    in_sample = np.array([choice.same_queries.mean for choice in choices])
    held_out = np.array([choice.held_out.mean for choice in choices])
    error = held_out.std(ddof=1) / np.sqrt(len(held_out))
    assert abs(held_out.mean()) < 3.5 * error
    assert in_sample.mean() > 1.8 * 0.15 / np.sqrt(n)  # the largest of 63 is 2.4 standard errors up
    assert np.mean([choice.held_out.low <= 0 <= choice.held_out.high for choice in choices]) > 0.9


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
        choice = choose(gains(chance, n, 63, true), 0, **HOW)
        truth = np.r_[0.0, true][choice.place]
        gain = choice.held_out
        covered += gain.low <= truth <= gain.high
        half = (gain.high - gain.low) / 2 / 1.5  # without the correction, 1 + 5 / 4 under a root
        usual += abs(gain.mean - truth) <= half
    assert covered / times > 0.95 - 2 * 0.0109  # standard errors of 400 draws
    assert usual / times < 0.95  # so that the correction is needed


def grid(*sizes):
    places = np.array(list(np.ndindex(*sizes)))
    dials = tuple(Dial(f"d{i}", tuple(range(size))) for i, size in enumerate(sizes))
    points = [dict(zip((dial.name for dial in dials), map(int, row), strict=True)) for row in places]
    return dials, points, places


def test_importance_of_additive_dials_is_their_share_of_variance():
    dials, points, levels = grid(3, 4, 2)
    first_effect, second_effect = np.array([0.0, 1.0, 5.0]), np.array([0.0, 2.0, 2.0, 4.0])
    means = first_effect[levels[:, 0]] + second_effect[levels[:, 1]]
    shares = {importance.dials: importance.share for importance in importances(dials, points, means)}
    total = first_effect.var() + second_effect.var()
    assert shares["d0",] == pytest.approx(first_effect.var() / total)
    assert shares["d1",] == pytest.approx(second_effect.var() / total)
    assert shares["d2",] == pytest.approx(0)
    assert sum(shares.values()) == pytest.approx(1)
    assert next(iter(shares)) == ("d0",)


def test_importance_of_an_interaction_is_of_the_pair():
    dials, points, levels = grid(2, 2)
    means = np.where(levels[:, 0] == levels[:, 1], 1.0, 0.0)
    shares = {importance.dials: importance.share for importance in importances(dials, points, means)}
    assert shares["d0", "d1"] == pytest.approx(1)
    assert shares["d0",] == shares["d1",] == pytest.approx(0)


def test_importance_without_some_points_is_what_only_the_dial_explains():
    dials, points, levels = grid(3, 4)
    indices = [index for index in range(12) if index not in (1, 6, 7)]
    means = np.array([0.0, 1.0, 5.0])[levels[indices, 0]]
    shares = {
        importance.dials: importance.share
        for importance in importances(dials, [points[i] for i in indices], means)
    }
    assert 0 < shares["d0",] <= 1
    assert shares["d1",] == pytest.approx(0, abs=1e-12)
    assert shares["d0", "d1"] == pytest.approx(0, abs=1e-12)


def test_importance_of_equal_means_is_unknown():
    dials, points, _ = grid(2, 2)
    assert {importance.share for importance in importances(dials, points, np.ones(4))} == {None}


def test_importance_of_many_values_is_by_parts_of_the_range():
    chance = np.random.default_rng(4)
    values = chance.uniform(0, 1, 120)
    dials = (Dial("a", low=0, high=1), Dial("b", low=0, high=1))
    points = [{"a": float(a), "b": float(b)} for a, b in zip(values, chance.uniform(0, 1, 120), strict=True)]
    shares = {importance.dials: importance.share for importance in importances(dials, points, values)}
    assert shares["a",] > 0.9
    assert shares["b",] < 0.2
