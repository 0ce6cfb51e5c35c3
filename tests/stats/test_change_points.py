"""Changes of series: found at once where they are large, not found where nothing changed."""

import numpy as np
import pytest
from scipy.stats import t as student

from rankgate.measurement.stats.change_points import change_points, correlation_in_time, extend_change_points


def engine(rng, days, queries=50):
    """The same values each day: an engine that does not change."""
    return np.repeat(rng.uniform(size=(1, queries)), days, axis=0)


def test_the_same_values_have_no_change():
    rng = np.random.default_rng(0)
    assert change_points(engine(rng, 60)) == ()
    assert change_points(np.full((60, 7), 0.1)) == ()
    assert change_points(np.full(60, 0.1)) == ()


def test_a_change_of_an_engine_is_found_at_once_by_the_paired_test():
    rng = np.random.default_rng(1)
    table = engine(rng, 20)
    table[12:] -= rng.uniform(0, 0.2, size=50)
    (change,) = change_points(table)
    assert (change.place, change.found, change.queries) == (12, 12, 50)
    differences = table[12] - table[11]
    error = differences.std(ddof=1) / 50**0.5
    assert change.delta == pytest.approx(differences.mean())
    p = 2 * student.sf(abs(change.delta) / error, 49)
    assert change.p_value == pytest.approx(p * 4, rel=1e-6)  # windows 1, 2, 4 and 8
    reach = student.ppf(0.975, 49) * error
    assert (change.low, change.high) == pytest.approx((change.delta - reach, change.delta + reach))


def test_days_that_differ_anyway_are_no_change():
    rng = np.random.default_rng(2)
    days = rng.normal(0, 0.05, size=(40, 1))
    assert change_points(engine(rng, 40) + days) == ()
    table = engine(rng, 40) + days
    table[20:] += 0.3
    (change,) = change_points(table)
    assert change.place == 20
    assert change.found - change.place <= 4


def test_means_alone_need_a_longer_past():
    rng = np.random.default_rng(3)
    series = rng.normal(10, 1, size=60)
    series[30:] += 6
    (change,) = change_points(series)
    assert (change.place, change.queries) == (30, 0)
    assert change_points(np.r_[np.full(4, 1.0), np.full(3, 2.0)]) == ()


def test_two_changes_are_two():
    rng = np.random.default_rng(4)
    table = engine(rng, 30)
    table[10:] += rng.uniform(0, 0.2, size=50)
    table[20:] -= rng.uniform(0, 0.3, size=50)
    first, second = change_points(table)
    assert (first.place, second.place) == (10, 20)
    assert first.delta > 0 > second.delta
    assert second.before == pytest.approx(first.after)


def test_queries_without_a_value_are_left_out():
    rng = np.random.default_rng(5)
    table = engine(rng, 10)
    table[5:] += rng.uniform(0, 0.2, size=50)
    table[7, :10] = np.nan
    (change,) = change_points(table)
    assert (change.place, change.queries) == (5, 50)
    assert change_points(np.full((10, 3), np.nan)) == ()


@pytest.mark.parametrize("shape", [(60, 40), (60,)])
@pytest.mark.parametrize("looked", [0, 1, 21, 59, 60])
def test_a_longer_series_goes_on_from_what_was_found(shape, looked):
    values = np.random.default_rng(5).normal(0.5, 0.05, shape)
    values[20:] += 0.3
    values[40:] -= 0.3
    all_changes = change_points(values)
    assert len(all_changes) == 2
    assert extend_change_points(values, change_points(values[:looked]), looked) == all_changes


def test_no_outlier_day_is_a_change():
    series = np.random.default_rng(6).normal(size=60)
    series[[25, 40]] = -30
    assert change_points(series) == ()


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_heavy_tails_and_days_like_the_day_before_give_few_false_alarms(correlation):
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(6):
        series = rng.standard_t(3, 365)
        for day in range(1, 365):
            series[day] += correlation * series[day - 1]
        alarms += len(change_points(series))
    assert alarms <= 6  # 0.36 a year, or twice that; about 20 and 60 by a test of plain means


def test_a_change_of_two_deviations_is_found_within_twenty_evaluations():
    rng = np.random.default_rng(8)
    delays = []
    for _ in range(20):
        series = rng.standard_t(3, 50) / 3**0.5
        series[30:] -= 2
        delays += [change.found - 30 for change in change_points(series) if change.found >= 30][:1]
    assert len(delays) >= 18
    assert np.median(delays) < 10


def test_correlation_in_time_is_that_around_the_changes():
    rng = np.random.default_rng(9)
    series = rng.normal(size=200)
    series[100:] += 10
    assert correlation_in_time(series) > 0.5
    assert abs(correlation_in_time(series, [100])) < 0.2
    assert correlation_in_time(series[:40]) == 0
    assert correlation_in_time(np.full(60, 0.1)) == 0


def autoregressive(rng, correlation, count):
    series = rng.normal(size=count + 50)
    for day in range(1, len(series)):
        series[day] += correlation * series[day - 1]
    return series[50:]


def moving_mean(values):
    return np.convolve(values, np.full(7, 1 / 7), "valid")


def normal_fall(rng):
    return rng.normal(size=80) - 5 * (np.arange(80) >= 60)


def correlated_fall(rng):
    return autoregressive(rng, 0.7, 80) - 5 * (np.arange(80) >= 60)


def weekend_fall(rng):
    return 10 * (np.arange(80) % 7 >= 5) + normal_fall(rng)


def moving_mean_fall(rng):
    return moving_mean(rng.normal(size=86) - 5 * (np.arange(86) >= 66))


@pytest.mark.parametrize(
    ("make", "limit"), [(normal_fall, 10), (correlated_fall, 10), (weekend_fall, 10), (moving_mean_fall, 17)]
)
def test_a_fall_of_five_deviations_of_what_a_day_adds_is_found_soon(make, limit):
    """Nine tenths of 500 such series; here 12 of 15."""
    rng = np.random.default_rng(10)
    hits = 0
    for _ in range(15):
        changes = change_points(make(rng), weekdays=np.arange(80) % 7)
        hits += any(60 <= change.found < 60 + limit and change.delta < 0 for change in changes)
    assert hits >= 12


@pytest.mark.parametrize("spread", [2.0, 10.0])
def test_weekends_are_no_changes(spread):
    rng = np.random.default_rng(11)
    weekdays = np.arange(200) % 7
    series = spread * (weekdays >= 5) + rng.normal(size=200)
    assert change_points(series, weekdays=weekdays) == ()


def test_one_outlying_day_of_a_correlated_series_is_no_fall():
    """An outlier moves two innovations, by 1 and by −ρ; a fall moves all, by 1 and by 1 − ρ."""
    rng = np.random.default_rng(12)
    series = autoregressive(rng, 0.8, 90)
    outlier, fall = series.copy(), series.copy()
    outlier[60] -= 8
    fall[60:] -= 8
    assert change_points(outlier) == ()
    assert [change.place for change in change_points(fall)] == [60]


def test_a_change_begins_where_the_step_fits_best():
    rng = np.random.default_rng(13)
    places = []
    for _ in range(10):
        series = rng.normal(size=80)
        series[43:] += 5
        places += [change.place for change in change_points(series)]
    assert len(places) == 10
    assert places.count(43) >= 8
    assert set(places) <= {42, 43, 44}  # an outlying neighbour may look like a part of the step


def test_a_short_segment_uses_the_spread_of_the_one_before():
    """Twelve days after a change would alone show too small a spread."""
    rng = np.random.default_rng(14)
    series = np.concatenate([autoregressive(rng, 0.7, 60), 20 + autoregressive(rng, 0.7, 60)])
    changes = change_points(series)
    assert [change.place for change in changes] == [60]
    for looked in (61, 63, 75, 100):
        earlier = change_points(series[:looked])
        assert extend_change_points(series, earlier, looked) == changes


@pytest.mark.parametrize("outlier", [0.0, 0.3])
def test_means_that_were_nearly_always_the_same_change_at_once(outlier):
    series = np.full(40, 0.5)
    series[10] += outlier
    series[30:] -= 0.1
    (change,) = change_points(series)
    assert change.place == 30
    assert change.found <= 34
    assert change.delta < 0
