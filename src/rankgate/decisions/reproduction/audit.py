"""The verb ``audit``: check that the means of a published table are possible."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import UNDEFINED, count_noun
from rankgate.decisions.reproduction.printed_cells import (
    Decimal,
    PrintedNumber,
    UnreadCell,
    decimal_mark,
    find_query_count,
    plain_text,
    read_cell,
    read_count,
)
from rankgate.decisions.reproduction.published_table import (
    CELLS,
    CONSISTENT,
    IMPOSSIBLE,
    PAIRS,
    POSSIBLE,
    UNKNOWN,
    UNREAD,
    UNRESOLVABLE,
    PublishedTable,
    TableAudit,
    metric_of,
    read_table,
)
from rankgate.decisions.reproduction.summary_rows import check_summary, names_change, summary_kind
from rankgate.measurement.metrics.metric_name_parser import parse
from rankgate.measurement.stats.possible_means import (
    discounted_gap,
    ends_possible,
    multiples_possible,
    reciprocal_ranks_possible,
)

if TYPE_CHECKING:
    from rankgate.measurement.metrics.metric_declaration import Metric


QUERY_COUNT_NAMES = re.compile(r"(?i)(?:#|no\.? of|number of|num\.?)?\s*(?:n|q|queries|topics)|\|q\|")
"""Names of the column, or of the row, with the number of queries of a mean."""
_PERCENT = re.compile(r"%|percent|[x×*]\s*100\b")


def audit(
    table: str | Path,
    *,
    queries: Count | None = None,
    columns: Mapping[str, str] | None = None,
    grades: Annotated[int, Range(1)] | None = None,
    relevant: Annotated[int, Range(1)] | None = None,
    sd: Annotated[float, Range(0, exclusive=True)] = 0.1,
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95,
) -> TableAudit:
    """Check that the means of a published table are possible and can separate its systems.

    A mean over n queries of a metric that has few values can only be one of few numbers: P@10 over
    50 queries is a multiple of 1/500. A printed number stands for all means that are rounded to it.
    A metric that is not known, or without a number of queries, is unknown; it is never impossible.
    A row that summarises others (Avg, Median, Std, p, Gain) is checked against them.
    A cell that is not one number, or that can be read in two ways, is unread, with the reason.

    Two systems are unresolvable where even their largest difference before rounding would not be
    significant: by the paired t-test with a standard deviation of `sd`, or, for any values,
    because so few queries can differ.

    Args:
        table: a file with a table: CSV, Markdown or LaTeX. Rows are systems; the heads of columns
            are metrics, and one column or row may be the number of queries (n, queries, topics).
        queries: the number of queries, if the table does not have it.
        columns: the metric of a column that is not named after a metric, by the column's head.
        grades: the highest grade, for nDCG.
        relevant: relevant documents of each query, where all have the same number.
        sd: the assumed standard deviation of per-query differences; usual ones are larger.
        level: the confidence level at which a difference is significant.

    Raises:
        InputError: a file without a table, or without a number.
        UsageError: a column that is not there, or a metric that is not known.
    """
    published = read_table(table)
    metrics = _metrics_by_column(published, columns or {})
    assumptions = _Assumptions(grades, relevant, sd, level)
    numbers = _TableNumbers.read(published, metrics, queries)
    rows = [row for column in metrics for row in _cell_rows(numbers, column, assumptions)]
    if not any(isinstance(cells[column], PrintedNumber) for cells in numbers.cells for column in metrics):
        problem = "no column has numbers; the first one names the systems."
        raise InputError(problem, source=str(table), code="no-numbers")
    cells = pl.DataFrame(rows, schema=CELLS, orient="row")
    pairs = pl.DataFrame(
        [
            _compare_best_two(means, metric, assumptions)
            for column, metric in metrics.items()
            if metric is not None
            and (means := cells.filter(pl.col("low").is_not_null(), column=published.head[column])).height > 1
        ],
        schema=PAIRS,
        orient="row",
    )
    return TableAudit(published.name, _verdict(cells, pairs), cells, pairs, sd, level)


@dataclass(frozen=True)
class _Assumptions:
    grades: int | None
    relevant: int | None
    sd: float
    level: float


@dataclass(frozen=True)
class _TableNumbers:
    """A table with the numbers of its cells.

    Attributes:
        table: the table.
        metrics: the metric of each column; None if unknown.
        cells: the number in each column of each row, or the reason why it is unread; None if the
            cell is empty.
        counts: the number of queries by row and column; None if unknown.
        summaries: the kind of each row that summarises others.
        all_queries: the row of the numbers of queries; None without such a row.
    """

    table: PublishedTable
    metrics: Mapping[int, Metric | None]
    cells: tuple[tuple[PrintedNumber | UnreadCell | None, ...], ...]
    counts: tuple[tuple[int | UnreadCell | None, ...], ...]
    summaries: Mapping[int, str]
    all_queries: int | None

    @classmethod
    def read(cls, table: PublishedTable, metrics: Mapping[int, Metric | None], queries: int | None) -> Self:
        """Read the cells of a table by the decimal mark that the cells show."""
        decimal = decimal_mark(
            (cell for row in table.rows for cell in row[1:]),
            (
                row[column]
                for row in table.rows
                if not QUERY_COUNT_NAMES.fullmatch(plain_text(row[0]))
                for column, metric in metrics.items()
                if metric is not None and metric.high == 1
            ),
        )
        cells = tuple(tuple(read_cell(cell, decimal) for cell in row) for row in table.rows)
        by_row = next(
            (
                row_index
                for row_index, cells_of_row in enumerate(table.rows)
                if QUERY_COUNT_NAMES.fullmatch(plain_text(cells_of_row[0]))
            ),
            None,
        )
        by_column = next(
            (column for column, heading in enumerate(table.head) if column and column not in metrics), None
        )
        counts = tuple(
            tuple(
                _query_count(table, decimal, (row, column), (by_row, by_column), number, queries)
                for column, number in enumerate(numbers)
            )
            for row, numbers in enumerate(cells)
        )
        summaries = {
            row: kind
            for row, numbers in enumerate(cells)
            if row != by_row and (kind := summary_kind(plain_text(table.rows[row][0]), numbers))
        }
        return cls(table, metrics, cells, counts, summaries, by_row)


def _query_count(
    table: PublishedTable,
    decimal: Decimal,
    cell: tuple[int, int],
    counts: tuple[int | None, int | None],
    number: PrintedNumber | UnreadCell | None,
    queries: int | None,
) -> int | UnreadCell | None:
    """The number of queries of a cell: from the cell, its row, its column or the table."""
    row, column = cell
    by_row, by_column = counts
    if isinstance(number, PrintedNumber) and number.n:
        return number.n
    if by_column is not None and (n := read_count(table.rows[row][by_column], decimal)) is not None:
        return n
    if by_row is not None and (n := read_count(table.rows[by_row][column], decimal)) is not None:
        return n
    return find_query_count(table.rows[row][0]) or find_query_count(table.head[column]) or queries


def _metrics_by_column(table: PublishedTable, columns: Mapping[str, str]) -> dict[int, Metric | None]:
    """Find the metric of each column after the first; None if unknown."""
    if missing_columns := sorted(set(columns) - set(table.head)):
        problem = f"unknown column {missing_columns[0]!r}; known: {', '.join(table.head)}."
        raise UsageError(problem, code="unknown-column")
    return {
        column: parse(columns[heading])
        if heading in columns
        else None
        if names_change(heading)
        else metric_of(heading)
        for column, heading in enumerate(table.head)
        if column and (heading in columns or not QUERY_COUNT_NAMES.fullmatch(heading))
    }


def _cell_rows(numbers: _TableNumbers, column: int, assumptions: _Assumptions) -> list[tuple[object, ...]]:
    """The rows of the result for a column."""
    heading, metric = numbers.table.head[column], numbers.metrics[column]
    name = None if metric is None else str(metric)
    scales = _possible_units(numbers, column)
    rows: list[tuple[object, ...]] = []
    for row, cells in enumerate(numbers.cells):
        number, n, line = cells[column], numbers.counts[row][column], numbers.table.lines[row]
        if number is None or row == numbers.all_queries:
            continue
        start = (plain_text(numbers.table.rows[row][0]), heading, name)
        if isinstance(number, UnreadCell):
            if metric is not None and metric_of(number.text) is None:
                rows.append((*start, number.text, line, None, None, None, UNREAD, number.why))
            continue
        if isinstance(n, UnreadCell):
            reason = f"its number of queries {n.text!r} is not read: {n.why}"
            rows.append((*start, number.text, line, None, None, None, UNREAD, reason))
            continue
        low, high, status, reason = _check_cell(number, metric, n, scales, assumptions)
        if metric is not None and row in numbers.summaries:
            status, reason = _check_summary(numbers, (row, column), metric, scales, status)
            rows.append((*start, number.text, line, n, None, None, status, reason))
            continue
        rows.append((*start, number.text, line, n, low, high, status, reason))
    return rows


def _check_summary(
    numbers: _TableNumbers, cell: tuple[int, int], metric: Metric, scales: tuple[float, ...], as_system: str
) -> tuple[str, str]:
    """The status of a number that summarises its column; `as_system` is that as a mean over queries.

    A number is impossible only if it is neither the summary nor the mean of a system of that name.
    """
    row, column = cell
    kind = numbers.summaries[row]
    results = []
    for scale in scales:
        intervals = {
            other_row: _rounding_interval(number, 100.0 if number.percent and metric.high == 1 else scale)
            for other_row, cells in enumerate(numbers.cells)
            if isinstance(number := cells[column], PrintedNumber)
            and other_row not in numbers.summaries
            and other_row != numbers.all_queries
        }
        block_start = max((other_row for other_row in numbers.summaries if other_row < row), default=-1)
        blocks = [
            (
                np.array([intervals[i] for i in block]),
                np.array([n if isinstance(n := numbers.counts[i][column], int) else 1 for i in block]),
            )
            for block in ([*intervals], [i for i in intervals if block_start < i < row])
        ]
        printed = numbers.cells[row][column]
        assert isinstance(printed, PrintedNumber)
        unit = 1.0 if kind in {"p", "change"} and not printed.percent else scale
        if metric.high == 1 and printed.percent:
            unit = 100.0
        width = math.inf if metric.high is None else metric.high - metric.low
        results.append(check_summary(kind, _rounding_interval(printed, unit), blocks, width))
    status, reason = next((result for result in results if result[0] == POSSIBLE), results[0])
    if status == IMPOSSIBLE and kind in {"mean", "median"} and as_system != IMPOSSIBLE:
        return UNKNOWN, reason
    return status, reason


def _possible_units(numbers: _TableNumbers, column: int) -> tuple[float, ...]:
    """The possible units of numbers in a column without a percent sign; the likely unit first.

    A percent sign in the heading decides. Otherwise numbers above 1 are percentages; if other
    numbers are up to 1, or only other columns have numbers above 1, both units are tried.
    """
    metric, heading = numbers.metrics[column], numbers.table.head[column]
    if metric is None or metric.high != 1:
        return (1.0,)
    if _PERCENT.search(heading):
        return (100.0,)
    values = _means_without_percent(numbers, column)
    other_means = [
        value
        for other_column, other_metric in numbers.metrics.items()
        if other_metric is not None and other_metric.high == 1
        for value in _means_without_percent(numbers, other_column)
    ]
    if not any(value > 1 for value in other_means):
        return (1.0,)
    return (100.0,) if all(value > 1 or not value for value in values) else (100.0, 1.0)


def _means_without_percent(numbers: _TableNumbers, column: int) -> list[float]:
    """The means of a column without a percent sign in the cell or in the heading."""
    if _PERCENT.search(numbers.table.head[column]):
        return []
    return [
        number.value
        for row, cells in enumerate(numbers.cells)
        if isinstance(number := cells[column], PrintedNumber)
        and not number.percent
        and row not in numbers.summaries
        and row != numbers.all_queries
    ]


def _check_cell(
    number: PrintedNumber,
    metric: Metric | None,
    n: int | None,
    scales: tuple[float, ...],
    assumptions: _Assumptions,
) -> tuple[float, float, str, str]:
    """The means that round to a printed number, and True if one is possible in any unit."""
    if metric is not None and metric.high == 1 and number.percent:
        scales = (100.0,)
    results = [
        (*interval, *_check_mean(metric, n, *interval, assumptions))
        for scale in scales
        for interval in [_rounding_interval(number, scale)]
    ]
    low, high, status, reason = next((row for row in results if row[2] != IMPOSSIBLE), results[0])
    if status == IMPOSSIBLE and number.spread:
        reason += "; where ± is over several runs, the mean is over more values"
    return low, high, status, reason


def _rounding_interval(number: PrintedNumber, scale: float) -> tuple[float, float]:
    """The range of the means that round to a printed number, by any rule for halves."""
    half = 0.5 * 10.0**-number.places
    return (number.value - half) / scale, (number.value + half) / scale


def _check_mean(
    metric: Metric | None, n: int | None, low: float, high: float, assumptions: _Assumptions
) -> tuple[str, str]:
    if metric is None:
        return UNKNOWN, "not a known metric; name it with --column"
    if not n:
        return UNKNOWN, "the number of queries is not known; add --queries"
    if metric.high == 1 and metric.low == 0 and (low > 1 or high < 0):
        return IMPOSSIBLE, "it is not between 0 and 1"
    bound = dict(metric.given)
    rule = _RULES.get(metric.name)
    if rule is None or metric.aggregate != "mean" or not set(bound) <= {"cutoff", "gain"}:
        return UNKNOWN, f"the values that {metric} can have are not known"
    return rule(bound.get("cutoff"), n, (low, high), assumptions)


def _check_steps(step: Fraction, n: int, interval: tuple[float, float]) -> tuple[str, str]:
    reason = f"means over {count_noun(n, 'query')} are multiples of {float(step) / n:.6g}"
    return (POSSIBLE if multiples_possible(step, n, *interval) else IMPOSSIBLE), reason


def _check_reciprocal_ranks(depth: int | None, n: int, interval: tuple[float, float]) -> tuple[str, str]:
    reason = f"{count_noun(n, 'reciprocal rank has', 'reciprocal ranks have')} no such mean"
    is_possible = reciprocal_ranks_possible(depth, n, *interval)
    return (POSSIBLE, "") if is_possible else (IMPOSSIBLE, reason)


def _check_ndcg(
    depth: int | None, n: int, interval: tuple[float, float], assumptions: _Assumptions
) -> tuple[str, str]:
    if not depth or not (assumptions.grades or assumptions.relevant == 1):
        return UNKNOWN, "the values of nDCG depend on cutoff and grades; add --grades"
    lowest, gap = discounted_gap(assumptions.grades or 1, depth, assumptions.relevant)
    reason = (
        f"{count_noun(n, 'value')} that are 0, 1, or from {lowest:.4g} to {1 - gap:.4g} have no such mean"
    )
    is_possible = ends_possible(lowest, gap, n, *interval)
    return (POSSIBLE, "") if is_possible else (IMPOSSIBLE, reason)


def _check_ap(
    depth: int | None, n: int, interval: tuple[float, float], assumptions: _Assumptions
) -> tuple[str, str]:
    if assumptions.relevant == 1:
        return _check_reciprocal_ranks(depth, n, interval)
    return UNKNOWN, "the values of AP depend on the number of relevant documents; add --relevant"


def _check_recall(
    depth: int | None,  # noqa: ARG001 - as other rules
    n: int,
    interval: tuple[float, float],
    assumptions: _Assumptions,
) -> tuple[str, str]:
    if assumptions.relevant:
        return _check_steps(Fraction(1, assumptions.relevant), n, interval)
    return UNKNOWN, "the values of R depend on the number of relevant documents; add --relevant"


_RULES = {
    "P": lambda k, n, interval, assumptions: (  # noqa: ARG005 - as other rules
        _check_steps(Fraction(1, k), n, interval) if k else (UNKNOWN, "P without a cutoff")
    ),
    "Success": lambda k, n, interval, assumptions: _check_steps(Fraction(1), n, interval),  # noqa: ARG005 - as others
    "RR": lambda k, n, interval, assumptions: _check_reciprocal_ranks(k, n, interval),  # noqa: ARG005 - as others
    "nDCG": _check_ndcg,
    "AP": _check_ap,
    "R": _check_recall,
}
"""Rules by metric that decide if a mean is possible, with the reason."""


def _smallest_step(metric: Metric, assumptions: _Assumptions) -> float:
    """The smallest possible change of a query's value; 0 if unknown."""
    depth = dict(metric.given).get("cutoff")
    if metric.name == "P" and depth:
        return 1.0 / float(depth)
    if metric.name == "Success":
        return 1.0
    if metric.name == "R" and assumptions.relevant:
        return 1 / assumptions.relevant
    if metric.name == "RR" and depth:
        return 1.0 if depth == 1 else float(1 / (depth - 1) - 1 / depth)
    return 0.0


def _compare_best_two(cells: pl.DataFrame, metric: Metric, assumptions: _Assumptions) -> tuple[object, ...]:
    """Compare the best system of a column with the second best."""
    from rankgate.measurement.stats.mean_intervals import student_quantile

    best_row, second_row = (
        cells.sort("low", descending=metric.higher_is_better, maintain_order=True)
        .head(2)
        .iter_rows(named=True)
    )
    largest = max(abs(best_row["high"] - second_row["low"]), abs(best_row["low"] - second_row["high"]))
    row_start = (best_row["column"], best_row["system"], second_row["system"], largest)
    tied_systems = cells.filter(low=best_row["low"], high=best_row["high"])["system"]
    if len(tied_systems) > 1:
        return (
            best_row["column"],
            UNDEFINED,
            UNDEFINED,
            largest,
            None,
            UNRESOLVABLE,
            _tie_text(tied_systems),
        )
    n = min((row["n"] for row in (best_row, second_row) if row["n"]), default=None)
    if n is None or n < 2:
        return (*row_start, None, UNKNOWN, "the number of queries is not known; add --queries")
    scale = 1.0 if metric.high is None else metric.high - metric.low
    needed_difference = student_quantile(n - 1, (1 + assumptions.level) / 2) * assumptions.sd * scale / n**0.5
    step = _smallest_step(metric, assumptions)
    max_differing = min(n, int(n * largest / step + 1e-9)) if step else n
    if 2.0 ** (1 - min(max_differing, 1000)) > 1 - assumptions.level:
        return (
            *row_start,
            needed_difference,
            UNRESOLVABLE,
            f"at most {count_noun(max_differing, 'query')} can differ in one direction",
        )
    if largest < needed_difference:
        return (*row_start, needed_difference, UNRESOLVABLE, f"smaller than {needed_difference:.4f}")
    return (*row_start, needed_difference, "resolvable", "")


def _tie_text(systems: pl.Series) -> str:
    return f"no best: {', '.join(systems)} are equal"


def _verdict(cells: pl.DataFrame, pairs: pl.DataFrame) -> str:
    if (cells["status"] == IMPOSSIBLE).any():
        return IMPOSSIBLE
    if (cells["status"] == UNKNOWN).sum() > (cells["status"] == POSSIBLE).sum():
        return UNKNOWN
    decided_pairs = pairs.filter(pl.col("status") != UNKNOWN)
    if decided_pairs.height and (decided_pairs["status"] == UNRESOLVABLE).all():
        return UNRESOLVABLE
    if decided_pairs.height or (cells["status"] == POSSIBLE).any():
        return CONSISTENT
    return UNKNOWN
