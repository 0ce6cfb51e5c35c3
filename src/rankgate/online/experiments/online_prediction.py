"""Prediction of online values from offline ones, over few units with known errors.

`Observations` has offline and online values of the same units: past experiments, or queries of a
log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.logs.item_tables import read_frame
from rankgate.measurement.stats.rank_correlation import mean_ranks

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.data.input_types import QrelsLike, TableLike
    from rankgate.data.table_rows import RowLocation
    from rankgate.online.clicks.packed_searches import PackedSearches
    from rankgate.online.events.events import EventsLike


SIDES = ("offline", "online")
_DIGITS = 12
_REQUIRED_COLUMNS = ("experiment", "side", "name", "delta")


@dataclass(frozen=True)
class Observations:
    """U units with M metrics and K KPIs.

    Attributes:
        units: the names of the units.
        metrics: (M,) names; ``offline`` and ``offline_error``: (U, M), NaN if not measured.
        kpis: (K,) names; ``online`` and ``online_error``: (U, K), NaN if not measured.
        differences: True if values are differences of two systems, whose sign has a meaning.
    """

    units: tuple[str, ...]
    metrics: tuple[str, ...]
    kpis: tuple[str, ...]
    offline: Floats
    offline_error: Floats
    online: Floats
    online_error: Floats
    differences: bool


def read_experiments(table: TableLike) -> Observations:
    """Past experiments.

    Args:
        table: a row for each experiment and metric or KPI: ``experiment``, ``side`` (offline or
            online), ``name``, ``delta``, ``standard_error`` (needed online).

    Raises:
        InputError: a missing column or value, an unknown side, an error that is not above 0, a
            duplicate value, no experiment with both sides.
    """
    frame, location = read_frame(table, "experiments")
    for name in _REQUIRED_COLUMNS:
        if name not in frame.columns:
            problem = (
                f"no column {name}; a table of experiments has {', '.join(_REQUIRED_COLUMNS)} and "
                "standard_error."
            )
            raise InputError(problem, source=location.label, line=1, code="missing-column")
    if "standard_error" not in frame.columns:
        frame = frame.with_columns(standard_error=pl.lit(None, pl.String))
    values: dict[str, dict[tuple[str, str], tuple[float, float]]] = {side: {} for side in SIDES}
    for row, record in enumerate(frame.iter_rows(named=True)):
        side = str(record["side"] or "").strip().lower()
        if side not in values:
            _refuse_row(
                f"side {record['side']!r} is neither offline nor online.", location, row, "unknown-side"
            )
        key = str(record["experiment"]), str(record["name"])
        if key in values[side]:
            _refuse_row(f"{key[1]} of {key[0]} occurs twice.", location, row, "duplicate-value")
        delta = _parse_number(record["delta"], "delta", location, row)
        error = _parse_number(
            record["standard_error"], "standard_error", location, row, empty=side == "offline"
        )
        if error <= 0:
            _refuse_row(f"standard_error {error:g} must be above 0.", location, row, "invalid-value")
        values[side][key] = delta, error
    units = tuple(dict.fromkeys(unit for side in SIDES for unit, _ in values[side]))
    names = {side: tuple(dict.fromkeys(name for _, name in values[side])) for side in SIDES}
    common_units = {unit for unit, _ in values["offline"]} & {unit for unit, _ in values["online"]}
    if not common_units:
        problem = "no experiment has an offline and an online value; give them the same name."
        raise InputError(problem, source=location.label, code="no-common-experiments")
    tables = {side: _value_tables(values[side], units, names[side]) for side in SIDES}
    return Observations(
        units, names["offline"], names["online"], *tables["offline"], *tables["online"], differences=True
    )


def _refuse_row(problem: str, location: RowLocation, row: int, code: str) -> None:
    raise location.error(problem, row, code)


def _parse_number(
    value: object, column: str, location: RowLocation, row: int, *, empty: bool = False
) -> float:
    if empty and (value is None or str(value).strip() == ""):
        return float("nan")
    try:
        number = float(str(value))
    except ValueError:
        number = float("nan")
    if not np.isfinite(number):
        _refuse_row(f"{column} {value!r} is not a number.", location, row, "not-a-number")
    return number


def _value_tables(
    values: Mapping[tuple[str, str], tuple[float, float]], units: Sequence[str], names: Sequence[str]
) -> tuple[Floats, Floats]:
    """(U, N) values and their errors."""
    values_and_errors = np.full((2, len(units), len(names)), np.nan)
    for (unit, name), pair in values.items():
        values_and_errors[:, units.index(unit), names.index(name)] = pair
    return values_and_errors[0], values_and_errors[1]


def observations_of_log(
    events: EventsLike | PackedSearches, qrels: QrelsLike, metrics: Sequence[str], min_searches: int = 10
) -> Observations:
    """The queries of a log, with metrics of the shown lists and KPIs of users.

    KPIs are ``clicked`` (searches with a click) and ``mrr_first_click``.

    Args:
        events: the log, or packed searches.
        qrels: judgments whose query ids are the texts of queries in the log.
        metrics: the metrics of the shown lists.
        min_searches: the lowest number of searches of a query.

    Raises:
        InputError: a log that cannot be read; fewer than three judged queries with `min_searches`
            searches.
    """
    from rankgate.online.clicks.packed_searches import PackedSearches, pack_events
    from rankgate.online.events.events import Events

    if isinstance(events, PackedSearches):
        searches = events
    else:
        with Events.of(events).open() as log:
            searches = pack_events(log.base)
    scores = _scores(searches, qrels, metrics)
    weight = searches.weight
    has_click = np.asarray(searches.clicked.any(axis=1))
    reciprocal_rank = np.where(has_click, 1 / (searches.clicked.argmax(axis=1) + 1), 0.0)
    query = _queries(searches)
    has_scores = np.asarray(np.isfinite(scores).all(axis=1))
    names_of = np.array(query)
    names = sorted({name for name, is_judged in zip(query, has_scores, strict=True) if is_judged})
    rows = []
    for name in names:
        is_query = np.asarray(names_of == name) & has_scores
        total = float(weight[is_query].sum())
        if total >= min_searches:
            share = weight[is_query] / total
            means = np.array([share @ has_click[is_query], share @ reciprocal_rank[is_query]])
            variance = np.array(
                [
                    share @ (has_click[is_query] - means[0]) ** 2,
                    share @ (reciprocal_rank[is_query] - means[1]) ** 2,
                ]
            )
            floor = 0.25 / (total + 1)  # a few equal searches do not prove a spread of 0
            error = np.sqrt(np.maximum(variance, floor) / total)
            mean = np.round(share @ scores[is_query], _DIGITS)  # equal lists have equal means
            rows.append((name, mean, means, error))
    if len(rows) < 3:
        problem = (
            f"only {count_noun(len(rows), 'judged query has', 'judged queries have')} "
            f"{count_noun(min_searches, 'search')} or more; query ids of judgments must be the query texts "
            "of the log."
        )
        raise InputError(problem, code="too-few-queries")
    units, offline, online, error = zip(*rows, strict=True)
    return Observations(
        tuple(units),
        tuple(metrics),
        ("clicked", "mrr_first_click"),
        np.array(offline),
        np.full((len(units), len(metrics)), np.nan),
        np.array(online),
        np.array(error),
        differences=False,
    )


def _queries(searches: PackedSearches) -> list[str]:
    """(N,) the query of each packed search."""
    first_position = searches.shown.argmax(axis=1)
    ids = searches.pairs["query_id"].to_list()
    return [ids[pair] for pair in searches.pair[np.arange(len(first_position)), first_position]]


def _scores(searches: PackedSearches, qrels: QrelsLike, metrics: Sequence[str]) -> Floats:
    """(N, M) the metrics of each list; NaN for queries without judgments."""
    from rankgate.data.read import read_qrels
    from rankgate.measurement.evaluation.evaluate import evaluate
    from rankgate.measurement.scoring.scoring_facts import refuse_no_shared_document

    keys = np.where(searches.shown, searches.pair, -1)
    lists, inverse = np.unique(keys, axis=0, return_inverse=True)
    rows, positions = np.nonzero(lists >= 0)
    pairs = searches.pairs[lists[rows, positions]]
    run = pairs.with_columns(
        list=pl.Series(rows).cast(pl.String), score=pl.Series(-positions.astype(np.float64))
    )
    judged = read_qrels(qrels).by_document().table.select("query_id", "doc_id", "grade")
    of_list = run.select("list", "query_id").unique().join(judged, on="query_id")
    if of_list.is_empty():
        problem = "no query of the log is judged; query ids must be the query texts of the log."
        raise InputError(problem, code="no-common-queries")
    grades = of_list.select(query_id="list", doc_id="doc_id", grade="grade")
    judged_lists = grades["query_id"].unique().implode()
    shown_run = run.select(query_id="list", doc_id="doc_id", score="score").filter(
        pl.col("query_id").is_in(judged_lists)
    )
    evaluation = evaluate(grades, {"shown": shown_run}, metrics)
    refuse_no_shared_document("the log", evaluation.runs[0].counts.cautions)
    table = np.full((len(lists), len(metrics)), np.nan)
    for column, name in enumerate(evaluation.metrics):
        metric_values = evaluation.values.filter(pl.col("metric") == name)
        list_index = metric_values["query_id"].cast(pl.Int64).to_numpy()
        table[list_index, column] = metric_values["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.asarray(table[inverse.ravel()])


_SEARCH_STEPS = 400  # steps of the search for a threshold
_DRAWS = 4000  # draws of a covariance
_KURTOSIS_FACTOR = 1.5  # times the excess of fourth moments; validity/studies/offline_agreement.py


@dataclass(frozen=True)
class Line:
    """A line that predicts online from offline values, with the unexplained variance.

    online = intercept + slope offline + noise; the noise has variance ``scatter`` plus that of
    measurement.

    Attributes:
        intercept, slope: the coefficients by weighted least squares, weights 1 / (scatter +
            error²).
        scatter: the variance of true online values around the line, by moments; at least 0.
        covariance: (2, 2) the covariance of intercept and slope.
    """

    intercept: float
    slope: float
    scatter: float
    covariance: Floats

    def predict(self, offline: Floats) -> tuple[Floats, Floats]:
        """The expected true online value and its standard deviation."""
        design = np.stack([np.ones_like(offline), offline], axis=-1)
        variance = self.scatter + np.einsum("...i,ij,...j->...", design, self.covariance, design)
        return self.intercept + self.slope * offline, np.sqrt(np.maximum(variance, 0))


def fit_line(offline: Floats, online: Floats, error: Floats) -> Line:
    """Fit a line; needs two different offline values.

    Args:
        offline: (n,) the offline values.
        online: (n,) the online values.
        error: (n,) standard errors of the online values.
    """
    design = np.stack([np.ones_like(offline), offline], axis=1)
    plain_coefficients, *_ = np.linalg.lstsq(design, online, rcond=None)
    residuals = online - design @ plain_coefficients
    freedom = max(len(online) - 2, 1)
    scatter = max(float(residuals @ residuals) / freedom - float((error**2).mean()), 0.0)
    weight = 1 / (scatter + error**2)
    covariance = np.asarray(np.linalg.pinv(design.T @ (design * weight[:, None])), np.float64)
    coefficients = covariance @ (design.T @ (weight * online))
    return Line(float(coefficients[0]), float(coefficients[1]), scatter, covariance)


def threshold_of_chance(line: Line, chance: float, low: float, high: float) -> float | None:
    """The least offline value at which the true online value is above 0 with this chance.

    P = Phi((intercept + slope x) / sd(x)); x is searched from low to high, with one range width
    more on both sides; None if P never reaches the chance.
    """
    from rankgate.measurement.stats.special_functions import ndtri

    width = max(high - low, 1e-12)
    candidates = np.linspace(low - width, high + width, 3 * _SEARCH_STEPS)
    mean, deviation = line.predict(candidates)
    is_likely = mean >= float(ndtri(chance)) * np.maximum(deviation, 1e-300)
    if line.slope <= 0 or not is_likely.any():
        return None
    return float(candidates[is_likely.argmax()])


def predict_left_out(offline: Floats, online: Floats, error: Floats) -> tuple[Floats, Floats]:
    """(n,) each online value predicted from the other units: by the line, and by the mean."""
    line, mean = np.full(len(online), np.nan), np.full(len(online), np.nan)
    for held_out in range(len(online)):
        is_other = np.arange(len(online)) != held_out
        weight = 1 / error[is_other] ** 2
        mean[held_out] = float(weight @ online[is_other] / weight.sum())
        if np.ptp(offline[is_other]) > 0:
            fitted = fit_line(offline[is_other], online[is_other], error[is_other])
            line[held_out] = fitted.intercept + fitted.slope * offline[held_out]
    return line, mean


def skill(online: Floats, predicted: Floats, mean: Floats) -> float:
    """1 - MSE of left-out predictions / MSE of the mean of other units; 1 is perfect, 0 useless."""
    base = float(((online - mean) ** 2).sum())
    return 1 - float(((online - predicted) ** 2).sum()) / base if base > 0 else float("nan")


def pearson(first: Floats, second: Floats) -> Floats:
    """(...) Pearson's correlation along the last axis; NaN without spread."""
    a = first - first.mean(axis=-1, keepdims=True)
    b = second - second.mean(axis=-1, keepdims=True)
    size = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(size > 0, (a * b).sum(axis=-1) / size, np.nan))


def spearman(first: Floats, second: Floats) -> Floats:
    """(...) Spearman's correlation along the last axis, ties with mean ranks."""
    return pearson(mean_ranks(first), mean_ranks(second))


def reliability(values: Floats, error: Floats) -> Floats:
    """(...) the share of the variance that is not measurement error, 1 - mean error² / variance.

    Unknown errors (NaN) count as 0; the result is never below 0.
    """
    variance = values.var(axis=-1, ddof=1)
    noise = np.nan_to_num(error**2).mean(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(variance > 0, np.maximum(1 - noise / variance, 0.0), np.nan))


def corrected_correlation(
    correlation: Floats, first_reliability: Floats, second_reliability: Floats
) -> Floats:
    """Correlation of the true values, r / sqrt(first reliability x second reliability).

    Spearman 1904, limited to ±1; NaN if a reliability is 0, as all variance is then error.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = correlation / np.sqrt(first_reliability * second_reliability)
    return np.asarray(np.where(first_reliability * second_reliability > 0, np.clip(estimate, -1, 1), np.nan))


def corrected_interval(
    first_values: Floats,
    second_values: Floats,
    first_error: Floats,
    second_error: Floats,
    level: float,
    seed: int,
) -> tuple[float, float]:
    """Give the ends of an interval of the correlation of the true values.

    Covariances Σ that the sample S allows are drawn as Σ = L T⁻¹ T⁻ᵀ Lᵀ with S f = L Lᵀ and T Tᵀ
    Wishart of f degrees of freedom (generalized pivotal quantities, Weerahandi 1993; for
    correlations Krishnamoorthy and Xia 2007); the known variances of measurement are subtracted
    from each, and the ends are quantiles of the correlations that remain. f is n - 1, divided by
    1 + 1.5 κ with Mardia's kurtosis b / 8 - 1 = κ, at least 0: covariances of values with long
    tails vary more than those of normal ones.

    Args:
        first_values: (n,) measured values.
        second_values: (n,) measured values of the other variable.
        first_error: (n,) standard errors of ``first_values``; NaN counts as 0.
        second_error: (n,) standard errors of ``second_values``.
        level: the confidence level of the interval.
        seed: the seed of the draws.

    Returns:
        The ends; NaN where 1 - level or more of the draws leave no true spread: the values then
        allow every correlation.
    """
    random = np.random.default_rng(seed)
    n = len(first_values)
    r = float(pearson(first_values, second_values))
    freedom = max((n - 1) / (1 + _KURTOSIS_FACTOR * _excess_kurtosis(first_values, second_values)), 2.0)
    if n < 3 or not np.isfinite(r):
        return float("nan"), float("nan")
    scale_one, scale_other = (
        np.sqrt(freedom * values.var(ddof=1)) for values in (first_values, second_values)
    )
    first = 1 / np.sqrt(random.chisquare(freedom, _DRAWS))
    second = 1 / np.sqrt(random.chisquare(freedom - 1, _DRAWS))
    residual_scale = np.sqrt(max(1 - r**2, 0.0)) * second
    slope = scale_other * (r - residual_scale * random.normal(size=_DRAWS)) * first
    true_variance = (scale_one * first) ** 2 - float(np.nan_to_num(first_error**2).mean())
    other_variance = slope**2 + (scale_other * residual_scale) ** 2
    other_variance -= float(np.nan_to_num(second_error**2).mean())
    has_no_variance = (true_variance <= 0) | (other_variance <= 0)
    if has_no_variance.mean() >= 1 - level:
        return float("nan"), float("nan")
    draws = (
        scale_one * first * slope / np.sqrt(np.where(has_no_variance, 1.0, true_variance * other_variance))
    )
    # without a true spread every correlation is possible: half of these draws at either end
    ends = np.where(np.arange(_DRAWS) % 2, 1.0, -1.0)
    tail = (1 - level) / 2
    low, high = np.quantile(np.where(has_no_variance, ends, np.clip(draws, -1, 1)), [tail, 1 - tail])
    return float(low), float(high)


def _excess_kurtosis(first: Floats, second: Floats) -> float:
    """Mardia's (1970) kurtosis of two variables by that of normal ones, less 1; at least 0."""
    n = len(first)
    values = np.stack([first - first.mean(), second - second.mean()])
    inverse = np.linalg.pinv(values @ values.T / n)
    distance = np.einsum("in,ij,jn->n", values, inverse, values)
    return max(float((distance**2).mean()) / 8 * (n + 1) / (n - 1) - 1, 0.0)
