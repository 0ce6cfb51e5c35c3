"""Leaderboard: all systems by all metrics, with marks of significantly worse systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.marks import system_mark
from rankgate.core.present.numbers import format_decimal

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparisons


def leaderboard(result: Comparisons, *, best_first: bool = False) -> tuple[Grid, str]:
    """A table with a row for each system, and an explanation of the marks.

    Of two systems the comparison's own test marks; of more Tukey's HSD over all pairs, paired.

    Args:
        result: the comparisons.
        best_first: by the first metric; else in the order given.
    """
    first_comparison = result.comparisons[0]
    systems = [
        first_comparison.baseline.name,
        *(comparison.candidate.name for comparison in result.comparisons),
    ]
    level = first_comparison.level
    means, better, test = (
        _many_system_figures(result) if result.many else _two_system_figures(result)
    )
    numbered_systems = list(enumerate(systems))
    if best_first:
        sign = 1 if first_comparison.names[0] in first_comparison.lower else -1
        first_means = [means.get((first_comparison.names[0], i)) for i, _ in numbered_systems]
        numbered_systems.sort(
            key=lambda index_and_name: _sort_key(first_means[index_and_name[0]], sign)
        )
    rows = tuple(
        (
            f"{system_mark(i)} {make_printable(name)}",
            *(
                format_decimal(means.get((metric, i)))
                + "".join(map(system_mark, sorted(better.get((metric, i), ()))))
                for metric in first_comparison.names
            ),
        )
        for i, name in numbered_systems
    )
    caption = f"A mark next to a value names a system that is worse (p < {1 - level:.2g}, {test})."
    return Grid(("system", *first_comparison.names), rows), caption


def _sort_key(mean: float | None, sign: int) -> float:
    return float("inf") if mean is None else sign * mean


_Figures = tuple[dict[tuple[str, int], float], dict[tuple[str, int], list[int]], str]


def _two_system_figures(result: Comparisons) -> _Figures:
    (comparison,) = result.comparisons
    means: dict[tuple[str, int], float] = {}
    better: dict[tuple[str, int], list[int]] = {}
    for row in comparison.metrics.iter_rows(named=True):
        metric, delta, p = row["metric"], row["delta"], row["p_value"]
        means |= {(metric, 0): row["baseline"], (metric, 1): row["candidate"]}
        if p is not None and p < 1 - comparison.level and delta:
            better[metric, int(row["gain"] > 0)] = [int(row["gain"] < 0)]
    return means, better, f"paired {comparison.test} test, corrected by {comparison.correction}"


def _many_system_figures(result: Comparisons) -> _Figures:
    many_systems = result.many
    assert many_systems is not None
    index_of_system = {name: i for i, name in enumerate(many_systems.systems)}
    means = {
        (row["metric"], index_of_system[row["system"]]): row["mean"]
        for row in many_systems.means.iter_rows(named=True)
    }
    better: dict[tuple[str, int], list[int]] = {}
    for row in many_systems.pairs.iter_rows(named=True):
        if row["p_tukey"] is not None and row["p_tukey"] < 1 - many_systems.level and row["delta"]:
            pair = (index_of_system[row["first"]], index_of_system[row["second"]])
            better_system, worse_system = pair if row["gain"] > 0 else pair[::-1]
            better.setdefault((row["metric"], better_system), []).append(worse_system)
    return means, better, "Tukey's HSD, paired, corrected for all pairs of a metric"
