"""The tables of a scorecard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.present.figures import format_signed
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import UNDEFINED

if TYPE_CHECKING:
    from rankgate.recommenders.scorecard import Scorecard

BETTER, WORSE = "▲", "▼"
_LARGE_VALUE = 10
_Row = dict[str, Any]


def bracketed_interval(low: float | None, high: float | None) -> str:
    """An interval as statisticians write it.

    >>> bracketed_interval(0.12345, 0.2), bracketed_interval(None, None)
    ('[0.123, 0.200]', '–')
    """
    if low is None or high is None:
        return UNDEFINED
    digits = _digits(low, high)
    return f"[{low:z.{digits}f}, {high:z.{digits}f}]"


def range_text(low: float | None, high: float | None) -> str:
    """The same in less space.

    >>> range_text(0.12345, 0.2), range_text(-1.0, -0.5)
    ('0.123–0.200', '-1.000…-0.500')
    """
    if low is None or high is None:
        return UNDEFINED
    digits = _digits(low, high)
    return f"{low:z.{digits}f}{'–' if min(low, high) >= 0 else '…'}{high:z.{digits}f}"


def card_grid(
    result: Scorecard,
    ends: Callable[[float | None, float | None], str] = bracketed_interval,
    *,
    by: str | None = None,
) -> Grid:
    """A row for each metric, and one below it with the intervals; of a slice one for each part."""
    rows: list[tuple[str, ...]] = []
    last = None
    for metric, part_value, system_rows in _rows(result, by):
        metric_label = _metric_label(metric, higher=system_rows[0]["higher_is_better"])
        if part_value is not None and metric != last:
            rows.append((metric_label, *[""] * len(system_rows)))
        last = metric
        label = (
            metric_label if part_value is None else f"· {part_value} ({system_rows[0]['size']:,})"
        )
        rows.append(
            (
                label,
                *(
                    f"{_number(row['value'])} {_significance_mark(row, result)}"
                    for row in system_rows
                ),
            )
        )
        if any(row["low"] is not None for row in system_rows):
            rows.append(("", *(ends(row["low"], row["high"]) for row in system_rows)))
    return Grid(("metric", *result.systems), tuple(rows))


def flat_grid(result: Scorecard, *, by: str | None = None) -> Grid:
    """The same with every interval next to its value, so that each row is complete on its own."""
    rows = []
    for metric, part_value, system_rows in _rows(result, by):
        labels = [_metric_label(metric, higher=system_rows[0]["higher_is_better"])]
        if part_value is not None:
            labels += [part_value, f"{system_rows[0]['size']:,}"]
        cells = [
            f"{_number(row['value'])} {_significance_mark(row, result)}".strip()
            + (f" {bracketed_interval(row['low'], row['high'])}" if row["low"] is not None else "")
            for row in system_rows
        ]
        rows.append((*labels, *cells))
    kind_of_slice = result.slices.filter(pl.col("slice") == by)["of"].first() if by else None
    return Grid(
        ("metric", *([str(by), str(kind_of_slice)] if by else []), *result.systems),
        tuple(rows),
        frozenset({0, 1} if by else {0}),
    )


def _rows(
    result: Scorecard, slice_name: str | None
) -> Iterator[tuple[str, str | None, list[_Row]]]:
    """Each metric, of a slice with each part, and the figures of all systems."""
    parts: list[str | None] = [None]
    if slice_name is None:
        figures = result.figures.join(
            result.differences.select("system", "metric", "p_value", "better"),
            on=["system", "metric"],
            how="left",
            maintain_order="left",
        ).with_columns(pl.lit(None, pl.String).alias("part"))
    else:
        figures = result.slices.filter(pl.col("slice") == slice_name)
        parts = figures["part"].unique(maintain_order=True).to_list()
    cells = {
        (row["metric"], row["part"], row["system"]): row for row in figures.iter_rows(named=True)
    }
    for metric, part_value in product(result.metrics, parts):
        if (
            metric,
            part_value,
            result.systems[0],
        ) in cells:  # metrics of lists have no parts of pairs
            yield (
                metric,
                part_value,
                [cells[metric, part_value, system] for system in result.systems],
            )


def gap_grid(result: Scorecard, by: str, *, flat: bool = False) -> Grid:
    """The gaps of each part's users from all others, for every metric with a value for each user.

    Args:
        result: the card.
        by: the slice.
        flat: True if each row is complete on its own.
    """
    figures = result.gaps.filter(pl.col("slice") == by)
    higher = dict(result.figures.select("metric", "higher_is_better").iter_rows())
    cells = {
        (row["metric"], row["part"], row["system"]): row for row in figures.iter_rows(named=True)
    }
    rows: list[tuple[str, ...]] = []
    for metric in figures["metric"].unique(maintain_order=True):
        metric_label = _metric_label(metric, higher=higher[metric])
        rows += [] if flat else [(metric_label, *[""] * len(result.systems))]
        for part_value in figures["part"].unique(maintain_order=True):
            system_rows = [cells[metric, part_value, system] for system in result.systems]
            labels = (metric_label, part_value) if flat else (f"· {part_value}",)
            rows.append(
                (
                    *labels,
                    *(
                        f"{format_signed(row['gap'])} {_significance_mark(row, result)}"
                        for row in system_rows
                    ),
                )
            )
    if flat:
        return Grid(("gap", by, *result.systems), tuple(rows), frozenset({0, 1}))
    return Grid(("gap", *result.systems), tuple(rows))


def part_table(result: Scorecard) -> tuple[list[str], Iterable[tuple[Any, ...]]]:
    """The columns and rows of one long table: every figure of all users, then of every part."""
    differences = result.differences.rename({"low": "delta_low", "high": "delta_high"})
    joined = result.figures.join(
        differences, on=["system", "metric"], how="left", maintain_order="left"
    )
    table = pl.concat([joined, result.slices], how="diagonal_relaxed")
    return table.columns, table.iter_rows()


def _metric_label(metric: str, *, higher: bool) -> str:
    return f"{metric} {'↑' if higher else '↓'}"


def _significance_mark(row: Mapping[str, Any], result: Scorecard) -> str:
    """The sign of a significant difference or gap; a blank for others keeps the columns."""
    if row["p_value"] is None or row["p_value"] >= 1 - result.level:
        return " "
    return BETTER if row["better"] else WORSE


def _number(value: float | None) -> str:
    """A number with four decimals, or one if it is large."""
    if value is None:
        return UNDEFINED
    return f"{value:z.4f}" if abs(value) < _LARGE_VALUE else f"{value:.1f}"


def _digits(low: float, high: float) -> int:
    return 3 if max(abs(low), abs(high)) < _LARGE_VALUE else 1
