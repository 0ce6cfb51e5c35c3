"""Score interleaved lists by their clicks.

`PairTest` shows which of two systems wins more units, and by what margin.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.mean_intervals import t_interval
from rankgate.measurement.stats.multiple_comparisons import correct
from rankgate.measurement.stats.paired_tests import sign_test, student_test
from rankgate.online.interleaving.interleaved_requests import (
    AssignmentsLike,
    InterleavedRequest,
    Unit,
    add_clicks_of_events,
    credits_of_requests,
    read_requests,
)
from rankgate.online.interleaving.interleaving_methods import METHODS
from rankgate.online.interleaving.preference import PAIRS, SLOTS, Preference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.online.events.events import EventsLike
    from rankgate.online.interleaving.interleaving_method import Interleaving


@dataclass(frozen=True)
class PairTest:
    """The test of one system against another, from the differences of their credits.

    Attributes:
        wins_one, wins_other, ties: numbers of units.
        preference: (wins_other + ties / 2) / all - 1/2 (Chapelle, Joachims, Radlinski and Yue,
            TOIS 2012); with the t-test the mean difference of credits; NaN without units.
        low, high: the interval of the preference; 0 is outside exactly if the test's p is below 1 -
            level.
        p_sign: the p-value of the exact sign test without ties.
        credit: the mean difference of credits.
        spread: the standard deviation of the differences.
        credit_low, credit_high, p_t: the interval and p-value by Student's t over units; NaN for
            fewer than two.
    """

    wins_one: int
    wins_other: int
    ties: int
    preference: float
    low: float
    high: float
    p_sign: float
    credit: float
    spread: float
    credit_low: float
    credit_high: float
    p_t: float


def pair_test(delta: Floats, level: float, test: Literal["sign", "t"]) -> PairTest:
    """Test the differences of credits of one system and another.

    Args:
        delta: (n,) the credit of the other system less the credit of the one, for each unit with a
            click.
        level: the confidence level of intervals.
        test: the test that keeps its level; its estimate is the preference.
    """
    wins, losses = int((delta > 0).sum()), int((delta < 0).sum())
    ties = len(delta) - wins - losses
    column = delta[:, None]
    mean, deviation, low_t, high_t, p_t = (math.nan,) * 5
    if len(delta):
        interval = t_interval(column, level)
        mean, low_t, high_t = (float(interval.mean[0]), float(interval.low[0]), float(interval.high[0]))
        deviation = float(delta.std(ddof=1)) if len(delta) > 1 else math.nan
        p_t = float(student_test(column).p_value[0])
    p_sign = float(sign_test(column).p_value[0])
    if test == "t":
        value, low, high = mean, low_t, high_t
    else:
        value, low, high = wins_preference(losses, ties, wins, level)
    return PairTest(losses, wins, ties, value, low, high, p_sign, mean, deviation, low_t, high_t, p_t)


def wins_preference(losses: int, ties: int, wins: int, level: float) -> tuple[float, float, float]:
    """(wins + ties / 2) / all - 1/2, with the interval of the exact sign test.

    The value is (decisive / all) (share - 1/2), with the share of wins among decisive units; the
    interval of the share is that of Clopper and Pearson (Biometrika 26, 1934).
    """
    from scipy.stats import beta

    total, decisive = losses + ties + wins, losses + wins
    if not total:
        return math.nan, math.nan, math.nan
    value = (wins + ties / 2) / total - 0.5
    if not decisive:
        return value, math.nan, math.nan
    tail = (1 - level) / 2
    low = float(beta.ppf(tail, wins, losses + 1)) if wins else 0.0
    high = float(beta.ppf(1 - tail, wins + 1, losses)) if losses else 1.0
    scale = decisive / total
    return value, scale * (low - 0.5), scale * (high - 0.5)


def needed_units(win_rate: float, level: float = 0.95, power: float = 0.8) -> int | None:
    """The units with a winner that the sign test needs; None at a rate of one half.

    ((z(1 - alpha/2) / 2 + z(power) sqrt(p (1 - p))) / (p - 1/2))², the normal approximation.

    >>> [needed_units(rate) for rate in (0.51, 0.52, 0.55, 0.6)]
    [19620, 4904, 783, 194]
    """
    from rankgate.measurement.stats.special_functions import ndtri

    if win_rate == 0.5 or not 0 <= win_rate <= 1:
        return None
    deviation = math.sqrt(win_rate * (1 - win_rate))
    z_sum = float(ndtri((1 + level) / 2)) / 2 + float(ndtri(power)) * deviation
    return math.ceil((z_sum / (win_rate - 0.5)) ** 2)


def needed_credits(mean: float, deviation: float, level: float = 0.95, power: float = 0.8) -> int | None:
    """Units that the t-test of credits needs, ((z(1 - alpha/2) + z(power)) deviation / mean)²."""
    from rankgate.measurement.stats.special_functions import ndtri

    if not mean or not math.isfinite(deviation):
        return None
    z_sum = float(ndtri((1 + level) / 2)) + float(ndtri(power))
    return math.ceil((z_sum * deviation / mean) ** 2)


def preference(
    assignments: AssignmentsLike,
    events: EventsLike | None = None,
    *,
    unit: Unit = "request",
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95,
) -> Preference:
    """Say which system users prefer, from clicks on interleaved lists.

    Args:
        assignments: a file of logged assignments, one in a line of JSON, or assignments; clicks
            are in its key clicks (slots from 1), or in events.
        events: the log: a folder of events, a table of them, files of logs, or ``Events``;
            query_event_id is the request.
        unit: the unit of observation of clicks; the unit must be independent of others, so that
            users are safest where they come back.
        level: the confidence level of intervals and tests.

    Raises:
        InputError: a log that cannot be read, or that mixes experiments.
        UsageError: a method that there is not.
    """
    requests = read_requests(assignments, "request" if events is not None else unit)
    if events is not None:
        requests = add_clicks_of_events(requests, events, unit)
    first_assignment = requests[0].assignment
    method = METHODS.find(first_assignment.method)
    credits_of = _credits(requests)
    pair_indices = list(combinations(range(len(first_assignment.systems)), 2))
    tests = [pair_test(credits_of[:, b] - credits_of[:, a], level, method.test) for a, b in pair_indices]
    slots = _slots(requests) if method.teams else pl.DataFrame(schema=SLOTS)
    p_teams = _p_teams(slots, first_assignment.systems) if method.teams else None
    balanced = p_teams is None or p_teams >= Preference.UNBALANCED
    return Preference(
        first_assignment.method,
        first_assignment.systems,
        unit,
        len(requests),
        len({request.unit for request in requests}),
        len(credits_of),
        sum(len(request.clicked) for request in requests),
        _competitive_share(requests),
        _pairs(first_assignment.systems, pair_indices, tests, level, method, balanced=balanced),
        slots,
        p_teams,
        level,
        test=method.test,
        bias=method.bias,
    )


def _credits(requests: Sequence[InterleavedRequest]) -> NDArray[np.float64]:
    """(n, systems) the credit of each system in each unit with a click."""
    units: dict[str, NDArray[np.float64]] = {}
    rows = credits_of_requests(
        [request.assignment for request in requests], [sorted(request.clicked) for request in requests]
    )
    for request, credit in zip(requests, rows, strict=True):
        if request.clicked:
            units[request.unit] = units[request.unit] + credit if request.unit in units else credit
    width = len(requests[0].assignment.systems)
    return np.array(list(units.values()), dtype=np.float64).reshape(-1, width)


def _pairs(
    systems: tuple[str, ...],
    pair_indices: Sequence[tuple[int, int]],
    tests: Sequence[PairTest],
    level: float,
    method: Interleaving,
    *,
    balanced: bool,
) -> pl.DataFrame:
    signs = method.test == "sign"
    p_value = correct(np.array([test.p_sign if signs else test.p_t for test in tests]), "holm")
    rows = []
    for (first, second), test, p in zip(pair_indices, tests, p_value.tolist(), strict=True):
        decisive = test.wins_one + test.wins_other
        if signs:
            needed = needed_units(test.wins_other / decisive, level) if decisive else None
        else:
            needed = needed_credits(test.credit, test.spread, level)
        estimate = test.preference if signs else test.credit
        winner = systems[second] if estimate > 0 else systems[first]
        values = {key: value for key, value in vars(test).items() if key != "spread"}
        rows.append(
            {
                "one": systems[first],
                "other": systems[second],
                **values,
                "p_value": p,
                "needed": needed,
                "preferred": winner if balanced and p < 1 - level else None,
            }
        )
    return pl.DataFrame(rows, schema=PAIRS).with_columns(pl.col(pl.Float64).fill_nan(None))


def _slots(requests: Sequence[InterleavedRequest]) -> pl.DataFrame:
    impressions: Counter[tuple[int, str]] = Counter()
    clicks: Counter[tuple[int, str]] = Counter()
    for request in requests:
        systems = request.assignment.systems
        for slot, team in enumerate(request.assignment.teams):
            if team is not None:
                impressions[slot + 1, systems[team]] += 1
                clicks[slot + 1, systems[team]] += slot in request.clicked
    rows = [(*key, impressions[key], clicks[key]) for key in sorted(impressions)]
    return pl.DataFrame(rows, schema=SLOTS, orient="row")


def _p_teams(slots: pl.DataFrame, systems: tuple[str, ...]) -> float | None:
    """The smallest p of equal shares at a slot, by Bonferroni over slots; None without teams."""
    from rankgate.measurement.stats.special_functions import chdtrc

    p_values = []
    for _, slot_rows in slots.group_by("slot"):
        shown_by_system = dict(zip(slot_rows["system"], slot_rows["shown"], strict=True))
        counts = np.array([shown_by_system.get(name, 0) for name in systems], dtype=np.float64)
        expected = counts.sum() / len(systems)
        statistic = float(((counts - expected) ** 2 / expected).sum())
        p_values.append(float(chdtrc(len(systems) - 1, statistic)))
    return min(1.0, min(p_values) * len(p_values)) if p_values else None


def _competitive_share(requests: Sequence[InterleavedRequest]) -> float:
    """The share of shown slots whose document the systems rank differently."""
    slots = [ranks for request in requests for ranks in request.assignment.ranks]
    return sum(len(set(ranks)) > 1 for ranks in slots) / max(len(slots), 1)
