"""Design-weighted means of a population, and clusters of queries as units of a mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.mean_intervals import unseen_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats

    Codes = NDArray[np.int64]


LEAST_EFFECTIVE = 10.0
"""Fewer effective queries than this decide nothing."""

MOST_SPREAD = 2.0
"""Weights of a larger design effect, (1 + squared coefficient of variation), decide nothing:
queries that were not drawn may carry more of the weight than the interval allows for."""

_EQUAL = 1e-9  # weights are equal if they differ by a smaller share
_FAR = 3.0  # standard deviations; predictions beyond count as that far
_DETERMINED = 6.0  # members, (Σx²)²/Σx⁴; a slope that fewer determine errs with the mean


@dataclass(frozen=True)
class Population:
    """Predictions and weights of all members of the population, sampled or not.

    Attributes:
        predicted: (N,) the model's prediction for each member.
        weights: (N,) the weight of each member.
    """

    predicted: Floats
    weights: Floats


@dataclass(frozen=True)
class WeightPrecision:
    """The precision of n weighted members: effective size and degrees of freedom.

    Attributes:
        n: the number of members.
        effective: (Σv)²/Σv² (Kish 1965) of those that were not certain to be drawn.
        degrees: the degrees of freedom of the standard error, (Σv²)²/Σv⁴ − 1 (Satterthwaite 1946,
            for values of equal variance).
        spread: Σ_h W_h n_h Σv²/(Σv)² within strata h of the share W_h: the design effect of
            weights whose largest ones may not have been drawn; 1 where they are equal.
    """

    n: int
    effective: float
    degrees: float
    spread: float = 1.0

    @classmethod
    def from_weights(
        cls, weights: Floats, strata: Codes | None = None, certain: NDArray[np.bool_] | None = None
    ) -> WeightPrecision:
        """From the weight of each member, its stratum, and if it was certain to be drawn."""
        n = len(weights)
        is_random = np.ones(n, np.bool_) if certain is None else ~certain
        v = weights[is_random]
        if not len(v):
            return cls(n, 0.0, 0.0)
        codes = np.zeros(len(v), np.int64) if strata is None else strata[is_random]
        count, total, squares = (np.bincount(codes, addends) for addends in (np.ones(len(v)), v, v**2))
        has_weight = total > 0
        design_effect = (count * squares)[has_weight] @ (1 / total[has_weight]) / total.sum()
        if np.ptp(v) <= _EQUAL * v.max():
            return cls(n, float(len(v)), len(v) - 1.0)
        degrees = float((v @ v) ** 2 / (v**4).sum()) - 1
        return cls(n, effective_size(v), degrees, float(design_effect))

    @property
    def equal(self) -> bool:
        """True if all weights are equal and no member was certain to be drawn."""
        return self.degrees == self.n - 1

    def worth(self, estimate: PopulationEstimate) -> float:
        """Effective members: by the weights, or by the values where these give fewer.

        The latter are (weighted sd / standard error)², the members drawn by weight whose mean has
        the same error (the design effect of the values).
        """
        if self.equal or not estimate.sampled_error > 0:
            return self.effective
        return min(self.effective, (estimate.sd / estimate.sampled_error) ** 2)

    def problem(self, estimate: PopulationEstimate) -> tuple[str, str] | None:
        """The code and the reason if no inference is possible; else None."""
        if self.equal:
            return None
        prefix, effective = (f"{self.n} queries of these weights are worth", self.worth(estimate))
        if effective < LEAST_EFFECTIVE:
            return "few-effective-queries", (
                f"{prefix} {effective:.1f} of equal weight; fewer than {LEAST_EFFECTIVE:.0f} effective "
                "queries decide nothing"
            )
        if self.spread > MOST_SPREAD:
            return "heavy-weights", (
                f"{prefix} {effective:.1f} of equal weight (design effect of the weights {self.spread:.1f}, "
                f"above {MOST_SPREAD:g}): queries of large weight that were not drawn may decide the mean, "
                "and no interval allows for them"
            )
        return None


@dataclass(frozen=True)
class PopulationEstimate:
    """An estimate of a population's mean, written as the mean of n values.

    Attributes:
        values: (n,) values with the estimate as mean and its standard error as s/√n: what
            can be done with a simple random sample can be done with them.
        slope: λ, how much the predictions count; 0 without any.
        correlation: the correlation of the sample's values with their predictions; NaN without
            predictions.
        sampled: the estimate without predictions.
        sampled_error: its standard error.
        per_member: the part of the variance that falls as 1/n as the sample grows, times n.
        fixed: the part that a larger sample does not lower.
        sd: the standard deviation of the values by their weights; that of a sample drawn with
            chances proportional to the weights.
    """

    values: Floats
    slope: float
    correlation: float
    sampled: float
    sampled_error: float
    per_member: float
    fixed: float
    sd: float = float("nan")

    @property
    def mean(self) -> float:
        """The estimate."""
        return float(self.values.mean())

    @property
    def variance(self) -> float:
        """The square of the standard error of the estimate."""
        return self.per_member / len(self.values) + self.fixed


def estimate_population(
    values: Floats,
    weights: Floats | None = None,
    strata: Codes | None = None,
    predicted: Floats | None = None,
    population: Population | None = None,
    total: float | None = None,
    certain: NDArray[np.bool_] | None = None,
) -> PopulationEstimate:
    """Estimate the mean of a population from a random sample of it.

    With v the weights (how much a member counts, divided by its chance to be drawn) the estimate
    without predictions is Hájek's, ȳ = Σvy/Σv, with the linearised variance of sampling with
    replacement, within strata where there are some (Särndal, Swensson and Wretman 1992, sections
    5.7 and 3.7): slightly too large where a large part of the population is drawn. Its residuals
    are divided by 1 − v/Σv of their stratum, as those of the delete-one jackknife: the residual of
    a member that makes most of the mean is near 0 whatever its value. Members that were certain to
    be drawn add no error.

    If the size of the population is known it is Horvitz and Thompson's estimate (1952), Σvy/N.

    With predictions x of the sample and of all N members it is the regression estimator of
    two-phase sampling,

        θ = ȳ + λ(X̄ − x̄),  λ = c · Σv²(y − ȳ)(x − x̄) / Σv²(x − x̄)²,

    which is prediction-powered inference with a tuned weight (Angelopoulos, Duchi and Zrnic,
    arXiv 2311.01453) where the sample is a part of what the model predicts. It is valid for every
    model: a biased one has a bias in both x̄ and X̄, a useless one a small λ. c = max(0, 1 − 1/t²)
    shrinks λ by its own t, so that a useless model costs nothing, and predictions more than 3
    standard deviations from their mean count as that far: any function of predictions predicts.
    λ is 0 where fewer than 6 members determine it, (Σx²)²/Σx⁴ with x from x̄.
    The variance is, for v of mean 1 and H strata,

        V = Σ(vgε)²/(n(n − H − 1)) + λ²S²(x)/N,

    of residuals ε, each divided by 1 − its leverage (HC3: MacKinnon and White 1985) and weighed by
    g = 1 + c·n(X̄ − x̄)(x − x̄)v/Σv²(x − x̄)² for the error of λ; and of the population, which is a
    sample too, as far as the predictions explain it.

    Args:
        values: (n,) the values of the sample.
        weights: (n,) v; equal by default.
        strata: (n,) the stratum of each member; a single stratum by default.
        predicted: (n,) the model's predictions for the sample.
        population: the model's predictions for all members.
        total: N, the sum of the weights of all members, for Horvitz and Thompson's estimate.
        certain: (n,) True for members with probability 1; not allowed with predictions.
    """
    if total is not None and weights is not None:
        estimate = estimate_population(values * weights * len(values) / total, None, strata)
        return replace(estimate, sd=_weighted_sd(values, weights))
    n = len(values)
    v = np.ones(n) if weights is None else weights / weights.mean()
    codes = np.zeros(n, np.int64) if strata is None else strata
    groups = len(np.unique(codes))
    mean = float(v @ values / n)
    weighted_deviations = _within_strata(v * (values - mean), codes)
    if predicted is None or population is None:
        weighted_deviations, sampled_variance = _sampled_deviations(values - mean, weights, strata, certain)
        shape, nan = _scale_to_variance(weighted_deviations, sampled_variance), float("nan")
        error, sd = float(np.sqrt(sampled_variance)), _weighted_sd(values, v)
        return PopulationEstimate(mean + shape, 0.0, nan, mean, error, n * sampled_variance, 0.0, sd)
    sampled_variance = _mean_variance(weighted_deviations, codes, n) if n > groups else float("nan")
    share = population.weights / population.weights.sum()
    population_predictions, sample_predictions = _clipped_predictions(population.predicted, predicted, share)
    prediction_deviations = _within_strata(v * (sample_predictions - v @ sample_predictions / n), codes)
    total = float(prediction_deviations @ prediction_deviations)
    population_mean, shift = (
        float(share @ population_predictions),
        float(share @ population_predictions - v @ sample_predictions / n),
    )
    leverage = prediction_deviations**2 / total if total > 0 else np.zeros(n)
    slope, shrinkage = _slope(weighted_deviations, prediction_deviations, leverage)
    weight_factor = 1 + (shrinkage * n * shift * prediction_deviations / total if total > 0 else np.zeros(n))
    residual = (
        weight_factor
        * (weighted_deviations - slope * prediction_deviations)
        / np.maximum(1 - shrinkage * leverage, 1 / n)
    )
    sampling_variance = float(residual @ residual) / (n * max(n - groups - 1, 1))
    size = len(share)
    fixed = (
        slope**2 * float(share**2 @ (population_predictions - population_mean) ** 2) * size / max(size - 1, 1)
    )
    shape = (
        residual
        - residual.mean()
        + slope * np.sqrt(n / size) * (prediction_deviations - prediction_deviations.mean())
    )
    return PopulationEstimate(
        mean + slope * shift + _scale_to_variance(shape, sampling_variance + fixed),
        slope,
        _correlation(weighted_deviations, prediction_deviations),
        mean,
        float(np.sqrt(sampled_variance)),
        n * sampling_variance,
        fixed,
        _weighted_sd(values, v),
    )


def _sampled_deviations(
    deviations: Floats, weights: Floats | None, strata: Codes | None, certain: NDArray[np.bool_] | None
) -> tuple[Floats, float]:
    """Weighted deviations without those of certain members, and the variance of their mean."""
    n = len(deviations)
    is_random = np.ones(n, np.bool_) if certain is None else ~certain
    codes = (np.zeros(n, np.int64) if strata is None else strata)[is_random]
    random_deviations = deviations[is_random]
    if weights is not None:
        v = weights[is_random]
        count, total = np.bincount(codes)[codes], np.bincount(codes, v)[codes]
        remaining_share = np.maximum(1 - v / total, _EQUAL / n)  # without this member
        random_deviations = random_deviations * v / weights.mean() * (1 - 1 / count) / remaining_share
    if weights is None or strata is not None:
        random_deviations = _within_strata(random_deviations, codes)
    deviations_of_all = np.zeros(n)
    deviations_of_all[is_random] = random_deviations
    groups = len(np.unique(codes))
    return deviations_of_all, _mean_variance(random_deviations, codes, n) if len(
        random_deviations
    ) > groups else float("nan")


def _weighted_sd(values: Floats, weights: Floats) -> float:
    """√(Σv(y − ȳ)²/Σv · n/(n − 1)); NaN for one value."""
    n, share = len(values), weights / weights.sum()
    if n < 2:
        return float("nan")
    return float(np.sqrt(share @ (values - share @ values) ** 2 * n / (n - 1)))


def _clipped_predictions(population: Floats, sample: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Predictions of all and of the sample, none further than `_FAR` from their mean."""
    mean = float(share @ population)
    limit = _FAR * float(np.sqrt(share @ (population - mean) ** 2))
    return (np.clip(population, mean - limit, mean + limit), np.clip(sample, mean - limit, mean + limit))


def _slope(deviations: Floats, predictions: Floats, leverage: Floats) -> tuple[float, float]:
    """λ, and its ratio to the least-squares slope."""
    total = float(predictions @ predictions)
    if not total > 0 or total**2 / float((predictions**4).sum()) < _DETERMINED:
        return 0.0, 0.0
    slope = float(deviations @ predictions) / total
    slope_noise = (
        predictions * (deviations - slope * predictions) / np.maximum(1 - leverage, 1 / len(deviations))
    )
    squared_covariance = (slope * total) ** 2
    shrinkage = (
        max(0.0, 1 - float(slope_noise @ slope_noise) / squared_covariance) if squared_covariance > 0 else 0.0
    )
    return shrinkage * slope, shrinkage


def _within_strata(deviations: Floats, codes: Codes) -> Floats:
    """Deviations from the mean of the stratum."""
    means = np.bincount(codes, deviations) / np.maximum(np.bincount(codes), 1)
    return np.asarray(deviations - means[codes], np.float64)


def _mean_variance(deviations: Floats, codes: Codes, n: int) -> float:
    """The variance of the mean of n weighted values: within strata, each of its own size."""
    count, squares = np.bincount(codes), np.bincount(codes, deviations**2)
    return float((squares * count / np.maximum(count - 1, 1)).sum()) / n**2


def _scale_to_variance(shape: Floats, variance: float) -> Floats:
    """The shape with a mean of 0, and of a size at which s²/n is the variance."""
    n, deviations = len(shape), shape - shape.mean()
    sum_of_squares = float(deviations @ deviations)
    if not sum_of_squares > 0 or not np.isfinite(variance):
        return np.zeros(n)
    return np.asarray(deviations * np.sqrt(variance * n * (n - 1) / sum_of_squares), np.float64)


def _correlation(first: Floats, second: Floats) -> float:
    size = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / size if size > 0 else float("nan")


def effective_size(weights: Floats) -> float:
    """The effective sample size of weighted members: (Σv)²/Σv² (Kish 1965)."""
    return float(weights.sum() ** 2 / (weights @ weights))


def unseen_weight(weights: Floats, alpha: float) -> float:
    """The largest share of the weight that a sample misses with a probability of alpha.

    By the rule of three it is n·(1 − α^(1/n)) of n members, and the heaviest ones may be missed:
    the share of the weight that the sample's heaviest ones have.
    """
    n = len(weights)
    count = n * unseen_share(n, alpha)
    weight_shares = np.sort(weights)[::-1] / weights.sum()
    first = int(count)
    return float(weight_shares[:first].sum() + (count - first) * weight_shares[min(first, n - 1)])


def sample_size_needed(
    estimate: PopulationEstimate, distance: float, multiple: float, max_size: int
) -> int | None:
    """The sample size that separates an estimate from a bound; None if ``max_size`` is too small.

    Args:
        estimate: the estimate, used as the true value.
        distance: the distance of the estimate from the bound.
        multiple: the distance in standard errors that the level and the power need.
        max_size: the number of members of the population.
    """
    allowed = (distance / multiple) ** 2 - estimate.fixed
    size = estimate.per_member / allowed if allowed > 0 else float("inf")
    return int(np.ceil(size)) if size <= max_size else None


def conformal_reach(residuals: Floats, level: float) -> float:
    """The largest distance of a new value from its prediction, with a probability of at least ``level``.

    The ⌈(n + 1)·level⌉-th smallest |residual| (split conformal prediction: Lei et al., JASA 2018),
    for values that were drawn at random like the n of the residuals, and predictions that were not
    fitted to them; infinite where n is too small.
    """
    rank = int(np.ceil((len(residuals) + 1) * level))
    sorted_residuals = np.sort(np.abs(residuals))
    return float(sorted_residuals[rank - 1]) if rank <= len(sorted_residuals) else float("inf")


_DRAWS, _PLAIN, _CELLS = 20_000, 0.01, 1 << 22


def chance_of_sample(values: Floats, is_sampled: NDArray[np.bool_], seed: int = 0) -> float:
    """The p-value that a sample is random: the probability of a mean as far from that of all members.

    By the normal approximation of a mean of n of N values, which has the variance (1 − n/N)S²/n;
    by random samples where that is below 1 %, because the mean of a few skewed values is not
    normal. Of several columns the distance of the means is Hotelling's (1931), in terms of their
    covariance. 1 where nothing differs.

    Args:
        values: (N,) or (N, P), a column for each thing that is compared.
        is_sampled: (N,) True for members of the sample.
        seed: the seed of the random samples.
    """
    from rankgate.measurement.stats.special_functions import chdtrc

    n, size = int(is_sampled.sum()), len(is_sampled)
    scores = _uncorrelated(values) if 0 < n < size else np.zeros((size, 0))
    if not scores.shape[1]:
        return 1.0
    distance = float((scores[is_sampled].mean(axis=0) ** 2).sum())
    p = float(chdtrc(scores.shape[1], distance / ((1 / n) - (1 / size))))
    if p > _PLAIN:
        return p
    rng, exceed_count = np.random.default_rng(seed), 0
    step = max(1, _CELLS // (size * scores.shape[1]))
    for begin in range(0, _DRAWS, step):
        chance = rng.random((min(step, _DRAWS - begin), size))
        sample_rows = np.argpartition(chance, n - 1, axis=1)[:, :n]
        distances = (scores[sample_rows].mean(axis=1) ** 2).sum(axis=1)
        exceed_count += int((distances >= distance * (1 - 1e-9) - 1e-18).sum())
    return (exceed_count + 1) / (_DRAWS + 1)


def _uncorrelated(values: Floats) -> Floats:
    """(N, R) columns of mean 0, variance 1 and no correlation that span the same; R ≤ P."""
    table = values.reshape(len(values), -1)
    deviations = table - table.mean(axis=0)
    sd = deviations.std(axis=0, ddof=1)
    varies = sd > np.finfo(float).eps * np.maximum(1.0, np.abs(table).max(axis=0, initial=0.0))
    standardised = deviations[:, varies] / sd[varies]
    sizes, vectors = np.linalg.eigh(standardised.T @ standardised / (len(table) - 1))
    is_distinct = sizes > _ALIKE
    return np.asarray(standardised @ vectors[:, is_distinct] / np.sqrt(sizes[is_distinct]), np.float64)


_ALIKE = 1e-9  # share of the variance; columns with the same information


@dataclass(frozen=True)
class QueryClusters:
    """The clusters of n queries.

    Attributes:
        codes: (n,) the cluster of each query, 0 to C − 1 in the order of first appearance.
        first: (C,) the first query of each cluster.
        sizes: (C,) the number of queries in each cluster.
    """

    codes: NDArray[np.int64]
    first: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def from_queries(cls, queries: Sequence[str], clusters: Mapping[str, str]) -> QueryClusters:
        """Make clusters from queries and their clusters; a query without one is its own."""
        numbers: dict[tuple[bool, str], int] = {}
        codes, first = np.zeros(len(queries), np.int64), []
        for row, query in enumerate(queries):
            cluster = clusters.get(query)
            key = (cluster is None, query if cluster is None else cluster)
            if key not in numbers:
                numbers[key] = len(numbers)
                first.append(row)
            codes[row] = numbers[key]
        return cls(codes, np.array(first, np.int64), np.bincount(codes, minlength=len(first)))

    @property
    def equal(self) -> bool:
        """True if all clusters have the same number of queries."""
        return not len(self.sizes) or bool((self.sizes == self.sizes[0]).all())

    @property
    def weighing(self) -> WeightPrecision:
        """The precision of the clusters, by their sizes."""
        return WeightPrecision.from_weights(self.sizes.astype(np.float64))

    def problem(self, values: Floats) -> tuple[str, str] | None:
        """The code and the reason if the sizes make inference impossible; else None."""
        if self.equal:
            return None
        sizes = self.sizes.astype(np.float64)
        problem = self.weighing.problem(estimate_population(self.means(values), sizes))
        if problem is None:
            return None
        code, reason = problem
        return code, reason.replace("queries of these weights", "clusters of these sizes")

    def sums(self, table: Floats) -> Floats:
        """(C, …) sums over the queries of each cluster, of (n, …) values."""
        result = np.zeros((len(self.sizes), *table.shape[1:]))
        np.add.at(result, self.codes, table)
        return result

    def means(self, table: Floats) -> Floats:
        """(C, …) means of each cluster."""
        shape = (-1, *(1,) * (table.ndim - 1))
        return np.asarray(self.sums(table) / self.sizes.reshape(shape), np.float64)

    def weighted(self, values: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        """(C,) means of clusters by the weights of their queries, and the sums of these."""
        v = np.ones(len(values)) if weights is None else weights
        totals = self.sums(v)
        return self.sums(v * values) / totals, totals

    def values(self, table: Floats) -> Floats:
        """(C, …) values with the mean of all queries, and its standard error as s/√C.

        Means of clusters of equal sizes m; else ȳ + m(ȳ_c − ȳ)/m̄ · (1 − 1/C)/(1 − m/Σm), the ratio
        of two means of clusters (Cochran 1977, section 9A.1) with the error of the jackknife.
        """
        means = self.means(table)
        if self.equal:
            return means
        shape, count = (-1, *(1,) * (table.ndim - 1)), len(self.sizes)
        share = self.sizes / self.sizes.sum()
        lever = count * share * (1 - 1 / count) / np.maximum(1 - share, 1 / self.sizes.sum())
        mean = table.mean(axis=0)
        deviations = lever.reshape(shape) * (means - mean)
        return np.asarray(mean + deviations - deviations.mean(axis=0), np.float64)
