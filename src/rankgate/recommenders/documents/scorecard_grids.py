"""The tables of a scorecard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.present.figures import signed
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import UNDEFINED

if TYPE_CHECKING:
    from rankgate.recommenders.scorecard import Scorecard

BETTER, WORSE = "▲", "▼"
_LARGE = 10
_Row = dict[str, Any]


def bracketed(low: float | None, high: float | None) -> str:
    """An interval as statisticians write it.

    >>> bracketed(0.12345, 0.2), bracketed(None, None)
    ('[0.123, 0.200]', '–')
    """
    if low is None or high is None:
        return UNDEFINED
    digits = _digits(low, high)
    return f"[{low:z.{digits}f}, {high:z.{digits}f}]"


def ranged(low: float | None, high: float | None) -> str:
    """The same in less room.

    >>> ranged(0.12345, 0.2), ranged(-1.0, -0.5)
    ('0.123–0.200', '-1.000…-0.500')
    """
    if low is None or high is None:
        return UNDEFINED
    digits = _digits(low, high)
    return f"{low:z.{digits}f}{'–' if min(low, high) >= 0 else '…'}{high:z.{digits}f}"


def card(
    result: Scorecard,
    ends: Callable[[float | None, float | None], str] = bracketed,
    *,
    by: str | None = None,
) -> Grid:
    """A row for each metric, and one below it with the intervals; of a slice one for each part."""
    rows: list[tuple[str, ...]] = []
    last = None
    for metric, part, found in _rows(result, by):
        head = _head(metric, higher=found[0]["higher_is_better"])
        if part is not None and metric != last:
            rows.append((head, *[""] * len(found)))
        last = metric
        label = head if part is None else f"· {part} ({found[0]['size']:,})"
        rows.append((label, *(f"{_number(row['value'])} {_mark(row, result)}" for row in found)))
        if any(row["low"] is not None for row in found):
            rows.append(("", *(ends(row["low"], row["high"]) for row in found)))
    return Grid(("metric", *result.systems), tuple(rows))


def sheet(result: Scorecard, *, by: str | None = None) -> Grid:
    """The same with every interval next to its value, so that each row is complete on its own."""
    rows = []
    for metric, part, found in _rows(result, by):
        labels = [_head(metric, higher=found[0]["higher_is_better"])]
        if part is not None:
            labels += [part, f"{found[0]['size']:,}"]
        cells = [
            f"{_number(row['value'])} {_mark(row, result)}".strip()
            + (f" {bracketed(row['low'], row['high'])}" if row["low"] is not None else "")
            for row in found
        ]
        rows.append((*labels, *cells))
    of = result.slices.filter(pl.col("slice") == by)["of"].first() if by else None
    return Grid(
        ("metric", *([str(by), str(of)] if by else []), *result.systems),
        tuple(rows),
        frozenset({0, 1} if by else {0}),
    )


def _rows(result: Scorecard, by: str | None) -> Iterator[tuple[str, str | None, list[_Row]]]:
    """Each metric, of a slice with each part, and the figures of all systems."""
    parts: list[str | None] = [None]
    if by is None:
        figures = result.figures.join(
            result.differences.select("system", "metric", "p_value", "better"),
            on=["system", "metric"],
            how="left",
            maintain_order="left",
        ).with_columns(pl.lit(None, pl.String).alias("part"))
    else:
        figures = result.slices.filter(pl.col("slice") == by)
        parts = figures["part"].unique(maintain_order=True).to_list()
    cells = {
        (row["metric"], row["part"], row["system"]): row for row in figures.iter_rows(named=True)
    }
    for metric, part in product(result.metrics, parts):
        if (metric, part, result.systems[0]) in cells:  # metrics of lists have no parts of pairs
            yield metric, part, [cells[metric, part, system] for system in result.systems]


def gaps(result: Scorecard, by: str, *, flat: bool = False) -> Grid:
    """How far users of each part are from all others, for every metric that has a value each.

    Args:
        result: the card.
        by: the slice.
        flat: whether each row is complete on its own.
    """
    figures = result.gaps.filter(pl.col("slice") == by)
    higher = dict(result.figures.select("metric", "higher_is_better").iter_rows())
    cells = {
        (row["metric"], row["part"], row["system"]): row for row in figures.iter_rows(named=True)
    }
    rows: list[tuple[str, ...]] = []
    for metric in figures["metric"].unique(maintain_order=True):
        head = _head(metric, higher=higher[metric])
        rows += [] if flat else [(head, *[""] * len(result.systems))]
        for part in figures["part"].unique(maintain_order=True):
            found = [cells[metric, part, system] for system in result.systems]
            labels = (head, part) if flat else (f"· {part}",)
            rows.append((*labels, *(f"{signed(row['gap'])} {_mark(row, result)}" for row in found)))
    if flat:
        return Grid(("gap", by, *result.systems), tuple(rows), frozenset({0, 1}))
    return Grid(("gap", *result.systems), tuple(rows))


def part_table(result: Scorecard) -> tuple[list[str], Iterable[tuple[Any, ...]]]:
    """Head and rows of one long table: every figure of all users, then of every part."""
    apart = result.differences.rename({"low": "delta_low", "high": "delta_high"})
    whole = result.figures.join(apart, on=["system", "metric"], how="left", maintain_order="left")
    table = pl.concat([whole, result.slices], how="diagonal_relaxed")
    return table.columns, table.iter_rows()


def _head(metric: str, *, higher: bool) -> str:
    return f"{metric} {'↑' if higher else '↓'}"


def _mark(row: Mapping[str, Any], result: Scorecard) -> str:
    """Whether a difference or a gap is more than chance, and which way; a blank keeps columns."""
    if row["p_value"] is None or row["p_value"] >= 1 - result.level:
        return " "
    return BETTER if row["better"] else WORSE


def _number(value: float | None) -> str:
    """Four digits that count."""
    if value is None:
        return UNDEFINED
    return f"{value:z.4f}" if abs(value) < _LARGE else f"{value:.1f}"


def _digits(low: float, high: float) -> int:
    return 3 if max(abs(low), abs(high)) < _LARGE else 1
