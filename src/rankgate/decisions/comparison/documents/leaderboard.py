"""All systems by all metrics, with marks where one is better than another beyond chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.marks import mark
from rankgate.core.present.numbers import decimal

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparisons


def leaderboard(result: Comparisons, *, best_first: bool = False) -> tuple[Grid, str]:
    """A row a system, and what the marks say.

    Of two systems the comparison's own test marks; of more Tukey's HSD over all pairs, paired.

    Args:
        result: the comparisons.
        best_first: by the first metric; else in the order given.
    """
    first = result.comparisons[0]
    systems = [first.baseline.name, *(each.candidate.name for each in result.comparisons)]
    level = first.level
    means, better, test = _of_many(result) if result.many else _of_two(result)
    order = list(enumerate(systems))
    if best_first:
        sign = 1 if first.names[0] in first.lower else -1
        leading = [means.get((first.names[0], i)) for i, _ in order]
        order.sort(key=lambda each: _place(leading[each[0]], sign))
    rows = tuple(
        (
            f"{mark(i)} {printable(name)}",
            *(
                decimal(means.get((metric, i)))
                + "".join(map(mark, sorted(better.get((metric, i), ()))))
                for metric in first.names
            ),
        )
        for i, name in order
    )
    words = f"A mark next to a value names a system that is worse (p < {1 - level:.2g}, {test})."
    return Grid(("system", *first.names), rows), words


def _place(mean: float | None, sign: int) -> float:
    return float("inf") if mean is None else sign * mean


_Figures = tuple[dict[tuple[str, int], float], dict[tuple[str, int], list[int]], str]


def _of_two(result: Comparisons) -> _Figures:
    (only,) = result.comparisons
    means: dict[tuple[str, int], float] = {}
    better: dict[tuple[str, int], list[int]] = {}
    for row in only.metrics.iter_rows(named=True):
        metric, delta, p = row["metric"], row["delta"], row["p_value"]
        means |= {(metric, 0): row["baseline"], (metric, 1): row["candidate"]}
        if p is not None and p < 1 - only.level and delta:
            better[metric, int(row["gain"] > 0)] = [int(row["gain"] < 0)]
    return means, better, f"paired {only.test} test, corrected by {only.correction}"


def _of_many(result: Comparisons) -> _Figures:
    many = result.many
    assert many is not None
    place = {name: i for i, name in enumerate(many.systems)}
    means = {
        (row["metric"], place[row["system"]]): row["mean"]
        for row in many.means.iter_rows(named=True)
    }
    better: dict[tuple[str, int], list[int]] = {}
    for row in many.pairs.iter_rows(named=True):
        if row["p_tukey"] is not None and row["p_tukey"] < 1 - many.level and row["delta"]:
            pair = (place[row["first"]], place[row["second"]])
            best, other = pair if row["gain"] > 0 else pair[::-1]
            better.setdefault((row["metric"], best), []).append(other)
    return means, better, "Tukey's HSD, paired, corrected for all pairs of a metric"
