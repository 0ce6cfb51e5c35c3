"""Correlations corrected for errors of measurement: how often their intervals hold the truth.

Past experiments with a metric and a KPI whose true differences have a known correlation, each
measured with known standard errors that differ from experiment to experiment; the interval of
`rankgate online agreement`, beside percentiles of resampled experiments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.online.experiments.online_prediction import (
    corrected_correlation,
    corrected_interval,
    pearson,
    reliability,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HISTORIES = 400
RESAMPLES = 300
LEVEL = 0.95
SIZES = (10, 20, 40)
TRUTHS = (  # correlation, reliability of the metric and of the KPI
    (0.8, 0.9, 0.8),
    (0.95, 0.9, 0.9),
    (0.5, 0.8, 0.5),
    (0.0, 0.8, 0.5),
    (0.8, 0.9, 0.15),
)
_UNRELIABLE = 0.2
SHAPES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda random, n: random.normal(size=(2, n)),
    "long tails (t, 3)": lambda random, n: random.standard_t(3, size=(2, n)) / np.sqrt(3),
    "skewed (exponential)": lambda random, n: random.exponential(size=(2, n)) - 1,
    "few large launches": lambda random, n: np.where(
        random.random((2, n)) < 0.15, random.normal(0, 2.5, (2, n)), random.normal(0, 0.27, (2, n))
    ),
}
"""Two independent variables of mean 0 and variance 1."""


@dataclass(frozen=True)
class Cell:
    """How often intervals of the corrected correlation hold the true one.

    Attributes:
        shape: of the true differences.
        experiments: of a history.
        correlation: the true one.
        metric: reliability of the metric.
        kpi: reliability of the KPI.
        histories: how many.
        answered: share of the histories with an interval.
        covered: share of these whose interval holds the truth.
        width: mean width.
        answered_before: share with percentiles of resamples.
        covered_before: the same of these.
        width_before: the same of these.
    """

    shape: str
    experiments: int
    correlation: float
    metric: float
    kpi: float
    histories: int
    answered: float
    covered: float
    width: float
    answered_before: float
    covered_before: float
    width_before: float

    @property
    def holds(self) -> bool:
        """True if no more histories have a wrong interval than the level says, within two errors.

        No interval says no more than one from -1 to 1, which is never wrong.
        """
        error = np.sqrt(LEVEL * (1 - LEVEL) / self.histories)
        return bool(self.answered * (1 - self.covered) <= 1 - LEVEL + 2 * error)


def run(histories: int = HISTORIES, seed: int = 0) -> list[Cell]:
    """Every shape, size and correlation."""
    random = np.random.default_rng(seed)
    return [
        _cell(shape, size, truth, histories, random) for shape in SHAPES for size in SIZES for truth in TRUTHS
    ]


def _cell(
    shape: str, size: int, truth: tuple[float, float, float], histories: int, random: np.random.Generator
) -> Cell:
    correlation = truth[0]
    now, previous = [], []
    for _ in range(histories):
        metric, kpi, metric_error, kpi_error = _history(SHAPES[shape], size, truth, random)
        seed = int(random.integers(1 << 30))
        now.append(corrected_interval(metric, kpi, metric_error, kpi_error, LEVEL, seed))
        rows = random.integers(size, size=(RESAMPLES, size))
        draws = corrected_correlation(
            pearson(metric[rows], kpi[rows]),
            reliability(metric[rows], metric_error[rows]),
            reliability(kpi[rows], kpi_error[rows]),
        )
        draws = draws[np.isfinite(draws)]
        enough = len(draws) >= RESAMPLES / 2
        tail = (1 - LEVEL) / 2
        previous.append(np.quantile(draws, [tail, 1 - tail]) if enough else (np.nan, np.nan))
    return Cell(
        shape,
        size,
        *truth,
        histories,
        *_shares(np.array(now), correlation),
        *_shares(np.array(previous), correlation),
    )


def _history(
    draw: Callable[[np.random.Generator, int], Floats],
    size: int,
    truth: tuple[float, float, float],
    random: np.random.Generator,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Measured differences of a metric and of a KPI, with their standard errors."""
    correlation, *reliabilities = truth
    first, second = draw(random, size)
    values = first, correlation * first + np.sqrt(1 - correlation**2) * second
    measured, errors = [], []
    for true, reliable in zip(values, reliabilities, strict=True):
        uneven = random.uniform(0.5, 1.5, size)  # a mean square of 13/12
        error = np.sqrt(1 / reliable - 1) * uneven / np.sqrt(13 / 12)
        measured.append(true + random.normal(size=size) * error)
        errors.append(error)
    return measured[0], measured[1], errors[0], errors[1]


def _shares(ends: Floats, truth: float) -> tuple[float, float, float]:
    """The share with an interval, the share of these that holds the truth, and the mean width."""
    low, high = ends[np.isfinite(ends[:, 0])].T
    if not len(low):
        return 0.0, 0.0, 0.0
    covered = (low <= truth) & (truth <= high)
    return len(low) / len(ends), float(covered.mean()), float((high - low).mean())


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page: every setting, before and now."""
    from tables import marked, percent, table

    rows = [
        (
            c.shape,
            str(c.experiments),
            f"{c.correlation:g}",
            f"{c.metric:g}, {c.kpi:g}",
            percent(c.answered),
            marked(c.answered * (1 - c.covered), c.holds),
            percent(c.covered),
            f"{c.width:.2f}",
            percent(c.answered_before),
            percent(c.covered_before),
            f"{c.width_before:.2f}",
        )
        for c in cells
    ]
    lowest = min(c.covered for c in cells if c.kpi > _UNRELIABLE)
    unreliable = [c for c in cells if c.kpi <= _UNRELIABLE]
    text = (
        f"{cells[0].histories:,} histories of past experiments of each kind, intervals of 95 %. The interval "
        "comes from drawn covariances, and is missing if the measured differences allow every correlation; "
        "percentiles of resampled experiments were used before. Of the intervals, at least "
        f"{percent(lowest)} contain the truth, and "
        f"{percent(min(c.covered for c in unreliable))} to "
        f"{percent(max(c.covered for c in unreliable))} where the KPI's reliability is .15: only "
        f"{percent(min(c.answered for c in unreliable))} to "
        f"{percent(max(c.answered for c in unreliable))} of these histories have one, those in which chance "
        "makes the KPI look reliable."
    )
    heads = (
        "true differences",
        "experiments",
        "correlation",
        "reliabilities",
        "with an interval",
        "wrong of all",
        "covered",
        "width",
        "with, before",
        "covered, before",
        "width, before",
    )
    return f"## Corrected correlations of offline and online\n\n{text}\n\n{table(heads, rows)}"
