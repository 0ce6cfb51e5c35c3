"""Predicted ratings: values as of scikit-learn and SciPy, pairs that are missing, bad input."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.measurement.metrics.rating_errors import (
    RATING_METRICS,
    calibration_error,
    kendall,
    ndpm,
    spearman,
)
from rankgate.recommenders.rating_accuracy import RatingAccuracy, rating_accuracy
from support.wording import raises

PAIRS = 40


def ratings() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(42)
    actual = rng.integers(1, 6, PAIRS).astype(float)
    predicted = np.round(actual * 0.6 + 1 + rng.normal(0, 0.8, PAIRS), 1)
    ones = (rng.random(PAIRS) < 0.4).astype(float)
    chances = np.clip(np.round(ones * 0.4 + rng.random(PAIRS) * 0.6, 2), 0, 1)
    chances[0], ones[0], chances[1], ones[1] = 0.0, 1, 1.0, 1
    return actual, predicted, ones, chances


# scikit-learn 1.x: root_mean_squared_error, mean_absolute_error, r2_score,
# explained_variance_score, log_loss(labels=[0, 1]); SciPy: spearmanr, kendalltau
PEERS = {
    "RMSE": 0.7586171630012071,
    "MAE": 0.615,
    "R2": 0.6820441988950277,
    "ExplainedVariance": 0.7019889502762431,
    "LogLoss": 1.2780564481500707,
    "Spearman": 0.8167965930550132,
    "Kendall": 0.6852041753410161,
}


def table(values: np.ndarray) -> dict[str, dict[str, float]]:
    return {"u": {f"i{item}": float(value) for item, value in enumerate(values)}}


@pytest.mark.parametrize("metric", list(PEERS))
def test_values_are_those_of_other_libraries(metric: str) -> None:
    actual, predicted, ones, chances = ratings()
    pair = (ones, chances) if RATING_METRICS[metric].binary else (actual, predicted)
    result = rating_accuracy(*map(table, pair), [metric])
    assert result[metric] == pytest.approx(PEERS[metric], rel=1e-12)


def test_orders_are_those_of_scipy_and_of_all_pairs() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        first, second = rng.integers(0, 4, 9).astype(float), rng.integers(0, 5, 9).astype(float)
        assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second)[0], nan_ok=True)
        assert kendall(first, second) == pytest.approx(stats.kendalltau(first, second)[0], nan_ok=True)
        pairs = [(a, b) for a, b in combinations(range(9), 2) if first[a] != first[b]]
        signs = [np.sign((first[a] - first[b]) * (second[a] - second[b])) for a, b in pairs]
        expected = np.mean([{1: 0, 0: 0.5, -1: 1}[int(sign)] for sign in signs])
        assert ndpm(first, second) == pytest.approx(expected)


def test_calibration_is_by_bins() -> None:
    chances = np.array([0.05, 0.05, 0.95, 1.0])
    happened = np.array([0.0, 1.0, 1.0, 1.0])
    expected = (2 * abs(0.05 - 0.5) + 2 * abs(0.975 - 1)) / 4
    assert calibration_error(happened, chances) == pytest.approx(expected)


def test_orders_are_of_each_user() -> None:
    actual = {"u": {"a": 5, "b": 1}, "v": {"a": 1, "b": 5}, "w": {"a": 3}}
    predicted = {"u": {"a": 9.0, "b": 8.0}, "v": {"a": 2.0, "b": 1.0}, "w": {"a": 3.0}}
    result = rating_accuracy(actual, predicted, ["NDPM", "Kendall"])
    assert (result["NDPM"], result["Kendall"]) == (0.5, 0.0)  # one right, one wrong, one alone
    assert (result.pairs, result.users, result.unpredicted) == (5, 3, 0)


def test_pairs_without_a_prediction_are_reported() -> None:
    result = rating_accuracy({"u": {"a": 5, "b": 1}}, {"u": {"a": 4.0, "z": 9.0}})
    assert (result["RMSE"], result.pairs, result.unpredicted) == (1.0, 1, 1)
    assert "1 of 2 rated pairs has no prediction" in " ".join(str(result).split())


def test_it_is_a_result() -> None:
    actual, predicted, *_ = ratings()
    result = rating_accuracy(table(actual), table(predicted))
    values = json.loads(json.dumps(result.to_dict()))
    assert RatingAccuracy.from_dict(values) == result
    assert result.to_polars()["value"].to_list() == list(result.values.values())


@pytest.mark.parametrize(
    ("given", "predicted", "metric", "code"),
    [
        ({"u": {"a": 5}}, {"v": {"a": 5.0}}, "RMSE", "no-shared-ids"),
        ({"u": {"a": 5}}, {"u": {"a": 0.5}}, "LogLoss", "out-of-range"),
        ({"u": {"a": 1}}, {"u": {"a": 1.5}}, "LogLoss", "out-of-range"),
    ],
)
def test_bad_input_is_refused(given: dict, predicted: dict, metric: str, code: str) -> None:
    with raises(code, InputError):
        rating_accuracy(given, predicted, [metric])


def test_an_unknown_metric_is_refused() -> None:
    with raises("unknown-metric", UsageError):
        rating_accuracy({"u": {"a": 1}}, {"u": {"a": 1.0}}, ["MSE"])


RATED = {f"{i}": {"a": 4.0, "b": 2.0} for i in range(20)}


def test_predictions_for_other_spellings_of_the_users_are_an_error_that_names_the_cure():
    predicted = {f"user_{i}": {"a": 3.0, "b": 2.0} for i in range(17)} | {"17": {"a": 3.0}, "18": {"b": 1.0}}
    with pytest.raises(InputError, match="--ids prefix:user_") as caught:
        rankgate.rating_accuracy(RATED, predicted)
    assert caught.value.code == "ids-do-not-fit"
    respelled = rankgate.Collection(RATED, ids="prefix:user_")
    assert rankgate.rating_accuracy(respelled, predicted).pairs == 36
    assert rankgate.rating_accuracy(rankgate.Collection(RATED, ids="as-they-are"), predicted).pairs == 2


def test_predictions_may_be_for_more_users_and_items():
    predicted = {f"{i}": {"a": 3.0, "b": 2.0, "c": 1.0} for i in range(10)}
    assert rankgate.rating_accuracy(RATED, predicted | {"x": {"a": 1.0}, "y": {"a": 1.0}}).pairs == 20
