"""The verb ``audit``: are the means of a published table possible, and do they tell it apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.decisions.comparison.printed_cells import (
    Decimal,
    Printed,
    Unread,
    decimal_mark,
    plain_text,
    queries_in,
    read_cell,
    read_count,
)
from rankgate.decisions.comparison.published_table import PublishedTable, metric_of, read_table
from rankgate.decisions.comparison.table_audit import (
    CELLS,
    CONSISTENT,
    IMPOSSIBLE,
    PAIRS,
    UNKNOWN,
    UNREAD,
    UNRESOLVABLE,
    TableAudit,
)
from rankgate.measurement.metrics.names import parse
from rankgate.measurement.stats.granularity import (
    discounted_gap,
    ends_possible,
    reciprocal_ranks_possible,
    steps_possible,
)

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric

QUERIES = re.compile(r"(?i)(?:#|no\.? of|number of|num\.?)?\s*(?:n|q|queries|topics)|\|q\|")
"""Names of the column, or of the row, that says how many queries a mean is over."""
_PERCENT = re.compile(r"%|percent|[x×*]\s*100\b")
_CHANGES = re.compile(
    r"(?i).*(?:Δ|\b(?:diff(?:erence)?|change|gain|improvement|relative|delta)\b(?!\s*=))"
)


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
    """Check whether the means of a published table are possible, and tell its systems apart.

    A mean over n queries of a metric that has few values can only be one of few numbers: P@10 over
    50 queries is a multiple of 1/500. A printed number stands for all means that are rounded to it.
    A metric that is not known, or without a number of queries, is unknown; it is never impossible.
    A cell that is not one number, or that can be read in two ways, is unread, with the reason.

    Two systems are unresolvable where even their largest difference before rounding would not be
    significant: by the paired t-test with a standard deviation of `sd`, or, whatever the values
    are, because so few queries can differ.

    Args:
        table: a file with a table: CSV, Markdown or LaTeX. Rows are systems; the heads of columns
            are metrics, and one column or row may be the number of queries (n, queries, topics).
        queries: the number of queries, if the table does not have it.
        columns: the metric of a column whose head is not a metric's name, by head.
        grades: the highest grade, for nDCG.
        relevant: relevant documents of each query, where all have the same number.
        sd: the assumed standard deviation of per-query differences; usual ones are larger.
        level: the confidence level at which a difference is significant.

    Raises:
        InputError: a file without a table, or without a number.
        UsageError: a column that is not there, or a metric that is not known.
    """
    read = read_table(table)
    metrics = _metrics(read, columns or {})
    assumptions = _Assumptions(grades, relevant, sd, level)
    numbers = _TableNumbers.read(read, metrics, queries)
    rows = [row for at in metrics for row in _cells(numbers, at, assumptions)]
    if not any(isinstance(cells[at], Printed) for cells in numbers.cells for at in metrics):
        problem = "no column has numbers; the first one names the systems."
        raise InputError(problem, source=str(table), code="no-numbers")
    cells = pl.DataFrame(rows, schema=CELLS, orient="row")
    pairs = pl.DataFrame(
        [_pair(means, metric, assumptions) for at, metric in metrics.items() if metric is not None
         and (means := cells.filter(pl.col("low").is_not_null(), column=read.head[at])).height > 1],
        schema=PAIRS, orient="row",
    )  # fmt: skip
    return TableAudit(read.name, _verdict(cells, pairs), cells, pairs, sd, level)


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
        metrics: by column its metric; None where it is not known.
        cells: by row, the number of each column, why it cannot be read, or None if it is empty.
        counts: by row and column the number of queries; None where it is not known.
        changes: the rows of changes, not of means.
        all_queries: the row of the numbers of queries; None without such a row.
    """

    table: PublishedTable
    metrics: Mapping[int, Metric | None]
    cells: tuple[tuple[Printed | Unread | None, ...], ...]
    counts: tuple[tuple[int | Unread | None, ...], ...]
    changes: frozenset[int]
    all_queries: int | None

    @classmethod
    def read(
        cls, table: PublishedTable, metrics: Mapping[int, Metric | None], queries: int | None
    ) -> Self:
        """Read the cells of a table by the decimal mark that all of them show."""
        decimal = decimal_mark(
            (cell for row in table.rows for cell in row[1:]),
            (row[at] for row in table.rows if not QUERIES.fullmatch(plain_text(row[0]))
             for at, metric in metrics.items() if metric is not None and metric.high == 1),
        )  # fmt: skip
        cells = tuple(tuple(read_cell(cell, decimal) for cell in row) for row in table.rows)
        by_row = next((at for at, row in enumerate(table.rows)
                       if QUERIES.fullmatch(plain_text(row[0]))), None)  # fmt: skip
        by_column = next(
            (at for at, head in enumerate(table.head) if at and at not in metrics), None
        )
        counts = tuple(
            tuple(_queries(table, decimal, (row, column), (by_row, by_column), number, queries)
                  for column, number in enumerate(numbers))
            for row, numbers in enumerate(cells)
        )  # fmt: skip
        changes = frozenset(row for row, numbers in enumerate(cells)
                            if _is_change(plain_text(table.rows[row][0]), numbers))  # fmt: skip
        return cls(table, metrics, cells, counts, changes, by_row)


def _queries(
    table: PublishedTable,
    decimal: Decimal,
    cell: tuple[int, int],
    counts: tuple[int | None, int | None],
    number: Printed | Unread | None,
    queries: int | None,
) -> int | Unread | None:
    """The number of queries of a cell: its own, its row's, its column's, or that of all."""
    row, column = cell
    by_row, by_column = counts
    if isinstance(number, Printed) and number.n:
        return number.n
    if by_column is not None and (n := read_count(table.rows[row][by_column], decimal)) is not None:
        return n
    if by_row is not None and (n := read_count(table.rows[by_row][column], decimal)) is not None:
        return n
    return queries_in(table.rows[row][0]) or queries_in(table.head[column]) or queries


def _is_change(system: str, numbers: tuple[Printed | Unread | None, ...]) -> bool:
    """True if a row prints changes: by its name, a plus sign, or several negative numbers."""
    printed = [number for number in numbers[1:] if isinstance(number, Printed)]
    signs = sum(number.value < 0 for number in printed)
    return bool(
        any(number.change for number in printed)
        or (_CHANGES.match(system) and signs)
        or (signs > 1 and all(number.value <= 0 for number in printed))
    )


def _metrics(table: PublishedTable, columns: Mapping[str, str]) -> dict[int, Metric | None]:
    """By column after the first its metric; None where it is not known."""
    if missing := sorted(set(columns) - set(table.head)):
        problem = f"no column is called {missing[0]!r}; there are {', '.join(table.head)}."
        raise UsageError(problem, code="unknown-column")
    return {
        at: parse(columns[head]) if head in columns
        else None if _CHANGES.match(head) else metric_of(head)
        for at, head in enumerate(table.head)
        if at and (head in columns or not QUERIES.fullmatch(head))
    }  # fmt: skip


def _cells(numbers: _TableNumbers, at: int, assumptions: _Assumptions) -> list[tuple[Any, ...]]:
    """The rows of the result for a column."""
    head, metric = numbers.table.head[at], numbers.metrics[at]
    name = None if metric is None else str(metric)
    scales = _scales(numbers, at)
    rows: list[tuple[Any, ...]] = []
    for row, cells in enumerate(numbers.cells):
        number, n, line = cells[at], numbers.counts[row][at], numbers.table.lines[row]
        if number is None or row == numbers.all_queries:
            continue
        start = (plain_text(numbers.table.rows[row][0]), head, name)
        if isinstance(number, Unread):
            if metric is not None and metric_of(number.text) is None:
                rows.append((*start, number.text, line, None, None, None, UNREAD, number.why))
            continue
        if isinstance(n, Unread):
            why = f"its number of queries {n.text!r} is not read: {n.why}"
            rows.append((*start, number.text, line, None, None, None, UNREAD, why))
            continue
        if metric is not None and row in numbers.changes:
            rows.append((*start, number.text, line, n, None, None, UNKNOWN, "a change, not a mean"))
            continue
        low, high, status, why = _status(number, metric, n, scales, assumptions)
        rows.append((*start, number.text, line, n, low, high, status, why))
    return rows


def _scales(numbers: _TableNumbers, at: int) -> tuple[float, ...]:
    """The units in which numbers of a column without a percent sign can be; the likely one first.

    A head with a percent sign decides. Without one, numbers above 1 are percentages; where other
    numbers are up to 1, or only other columns have numbers above 1, both are tried.
    """
    metric, head = numbers.metrics[at], numbers.table.head[at]
    if metric is None or metric.high != 1:
        return (1.0,)
    if _PERCENT.search(head):
        return (100.0,)
    values = _without_sign(numbers, at)
    others = [
        value
        for other, known in numbers.metrics.items()
        if known is not None and known.high == 1
        for value in _without_sign(numbers, other)
    ]
    if not any(value > 1 for value in others):
        return (1.0,)
    return (100.0,) if all(value > 1 or not value for value in values) else (100.0, 1.0)


def _without_sign(numbers: _TableNumbers, at: int) -> list[float]:
    """The means of a column that have no percent sign, in its head neither."""
    if _PERCENT.search(numbers.table.head[at]):
        return []
    return [
        number.value
        for row, cells in enumerate(numbers.cells)
        if isinstance(number := cells[at], Printed)
        and not number.percent
        and row not in numbers.changes
        and row != numbers.all_queries
    ]


def _status(
    number: Printed,
    metric: Metric | None,
    n: int | None,
    scales: tuple[float, ...],
    assumptions: _Assumptions,
) -> tuple[float, float, str, str]:
    """The means that are printed so, and whether one of them is possible in any unit."""
    if metric is not None and metric.high == 1 and number.percent:
        scales = (100.0,)
    results = [(*ends, *_possible(metric, n, *ends, assumptions))
               for scale in scales for ends in [_rounded(number, scale)]]  # fmt: skip
    low, high, status, why = next((row for row in results if row[2] != IMPOSSIBLE), results[0])
    if status == IMPOSSIBLE and number.spread:
        why += "; where ± is over several runs, the mean is over more values"
    return low, high, status, why


def _rounded(number: Printed, scale: float) -> tuple[float, float]:
    """The means that are printed so, by any rule for halves."""
    half = 0.5 * 10.0**-number.places
    return (number.value - half) / scale, (number.value + half) / scale


def _possible(
    metric: Metric | None, n: int | None, low: float, high: float, given: _Assumptions
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
    return rule(bound.get("cutoff"), n, (low, high), given)


def _steps(step: Fraction, n: int, ends: tuple[float, float]) -> tuple[str, str]:
    words = f"means over {n:,} queries are multiples of {float(step) / n:.6g}"
    return ("possible" if steps_possible(step, n, *ends) else IMPOSSIBLE), words


def _ranks(depth: int | None, n: int, ends: tuple[float, float]) -> tuple[str, str]:
    words = f"{n:,} reciprocal ranks have no such mean"
    found = reciprocal_ranks_possible(depth, n, *ends)
    return ("possible", "") if found else (IMPOSSIBLE, words)


def _ndcg(
    depth: int | None, n: int, ends: tuple[float, float], given: _Assumptions
) -> tuple[str, str]:
    if not depth or not (given.grades or given.relevant == 1):
        return UNKNOWN, "the values of nDCG depend on cutoff and grades; add --grades"
    least, gap = discounted_gap(given.grades or 1, depth, given.relevant)
    words = f"{n:,} values that are 0, 1, or from {least:.4g} to {1 - gap:.4g} have no such mean"
    found = ends_possible(least, gap, n, *ends)
    return ("possible", "") if found else (IMPOSSIBLE, words)


def _ap(
    depth: int | None, n: int, ends: tuple[float, float], given: _Assumptions
) -> tuple[str, str]:
    if given.relevant == 1:
        return _ranks(depth, n, ends)
    return UNKNOWN, "the values of AP depend on the number of relevant documents; add --relevant"


def _recall(
    depth: int | None,  # noqa: ARG001 - as other rules
    n: int,
    ends: tuple[float, float],
    given: _Assumptions,
) -> tuple[str, str]:
    if given.relevant:
        return _steps(Fraction(1, given.relevant), n, ends)
    return UNKNOWN, "the values of R depend on the number of relevant documents; add --relevant"


_RULES = {
    "P": lambda k, n, ends, given: (  # noqa: ARG005 - as other rules
        _steps(Fraction(1, k), n, ends) if k else (UNKNOWN, "P without a cutoff")
    ),
    "Success": lambda k, n, ends, given: _steps(Fraction(1), n, ends),  # noqa: ARG005 - as others
    "RR": lambda k, n, ends, given: _ranks(k, n, ends),  # noqa: ARG005 - as others
    "nDCG": _ndcg,
    "AP": _ap,
    "R": _recall,
}
"""By metric whether a mean is possible, with the reason."""


def _smallest_step(metric: Metric, given: _Assumptions) -> float:
    """The least by which a query's value can change; 0 where nothing is known."""
    depth = dict(metric.given).get("cutoff")
    if metric.name == "P" and depth:
        return 1.0 / float(depth)
    if metric.name == "Success":
        return 1.0
    if metric.name == "R" and given.relevant:
        return 1 / given.relevant
    if metric.name == "RR" and depth:
        return 1.0 if depth == 1 else float(1 / (depth - 1) - 1 / depth)
    return 0.0


def _pair(cells: pl.DataFrame, metric: Metric, given: _Assumptions) -> tuple[Any, ...]:
    """The best system of a column against the second."""
    from rankgate.measurement.stats.interval import student_quantile

    first, second = cells.sort(
        "low", descending=metric.higher_is_better, maintain_order=True
    ).head(2).iter_rows(named=True)  # fmt: skip
    most = max(abs(first["high"] - second["low"]), abs(first["low"] - second["high"]))
    head = (first["column"], first["system"], second["system"], most)
    n = min((each["n"] for each in (first, second) if each["n"]), default=None)
    if n is None or n < 2:
        return (*head, None, UNKNOWN, "the number of queries is not known; add --queries")
    scale = 1.0 if metric.high is None else metric.high - metric.low
    needed = student_quantile(n - 1, (1 + given.level) / 2) * given.sd * scale / n**0.5
    step = _smallest_step(metric, given)
    differ = min(n, int(n * most / step + 1e-9)) if step else n
    if 2.0 ** (1 - min(differ, 1000)) > 1 - given.level:
        return (
            *head,
            needed,
            UNRESOLVABLE,
            f"at most {differ} {'query' if differ == 1 else 'queries'} can differ in one direction",
        )
    if most < needed:
        return (*head, needed, UNRESOLVABLE, f"smaller than {needed:.4f}")
    return (*head, needed, "resolvable", "")


def _verdict(cells: pl.DataFrame, pairs: pl.DataFrame) -> str:
    if (cells["status"] == IMPOSSIBLE).any():
        return IMPOSSIBLE
    decided = pairs.filter(pl.col("status") != UNKNOWN)
    if decided.height and (decided["status"] == UNRESOLVABLE).all():
        return UNRESOLVABLE
    if decided.height or (cells["status"] == "possible").any():
        return CONSISTENT
    return UNKNOWN
