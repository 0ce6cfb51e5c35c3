"""The verb ``audit``: are the means of a published table possible, and do they tell it apart."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from rankgate.comparison.published_table import Printed, PublishedTable, printed, read_table
from rankgate.comparison.table_audit import (
    CELLS,
    CONSISTENT,
    IMPOSSIBLE,
    PAIRS,
    UNKNOWN,
    UNRESOLVABLE,
    TableAudit,
)
from rankgate.declare import Count, Range
from rankgate.errors import InputError, UsageError
from rankgate.frozen import dataclass
from rankgate.metrics.names import parse
from rankgate.stats.granularity import (
    discounted_gap,
    ends_possible,
    reciprocal_ranks_possible,
    steps_possible,
)

if TYPE_CHECKING:
    from rankgate.metrics.declare import Metric

QUERIES = ("n", "queries", "topics", "#queries", "#topics", "# queries", "# topics")
"""Heads of the column that says how many queries a mean is over."""


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

    Two systems are unresolvable where even their largest difference before rounding would not be
    significant: by the paired t-test with a standard deviation of `sd`, or, whatever the values
    are, because so few queries can differ.

    Args:
        table: a file with a table: CSV, Markdown or LaTeX. Rows are systems; the heads of columns
            are metrics, and one may be the number of queries (n, queries, topics).
        queries: the number of queries, if no column has it.
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
    known = _metrics(read, columns or {})
    given = _Given(grades, relevant, sd, level)
    rows = [row for name, metric in known.items()
            for row in _cells(read, name, metric, queries, given)]  # fmt: skip
    if not rows:
        problem = "no column has numbers; the first one names the systems."
        raise InputError(problem, source=str(table), code="no-numbers")
    cells = pl.DataFrame(rows, schema=CELLS, orient="row")
    pairs = pl.DataFrame(
        [_pair(cells.filter(column=name), metric, given) for name, metric in known.items()
         if metric is not None and cells.filter(column=name).height > 1],
        schema=PAIRS, orient="row",
    )  # fmt: skip
    return TableAudit(read.name, _verdict(cells, pairs), cells, pairs, sd, level)


@dataclass(frozen=True)
class _Given:
    grades: int | None
    relevant: int | None
    sd: float
    level: float


def _metrics(table: PublishedTable, columns: Mapping[str, str]) -> dict[str, Metric | None]:
    """By head the metric of each column after the first; None where it is not known."""
    if missing := sorted(set(columns) - set(table.head)):
        problem = f"no column is called {missing[0]!r}; there are {', '.join(table.head)}."
        raise UsageError(problem, code="unknown-column")
    found: dict[str, Metric | None] = {}
    for name in table.head[1:]:
        if name in columns:
            found[name] = parse(columns[name])
        elif name.lower() not in QUERIES:
            try:
                found[name] = parse(name.partition("(")[0].strip())
            except UsageError:
                found[name] = None
    return found


def _cells(
    table: PublishedTable, name: str, metric: Metric | None, queries: int | None, given: _Given
) -> list[tuple[Any, ...]]:
    place = table.head.index(name)
    many = next((at for at, head in enumerate(table.head) if head.lower() in QUERIES), None)
    numbers = [(row, line, found) for row, line in zip(table.rows, table.lines, strict=True)
               if (found := printed(row[place]))]  # fmt: skip
    percent = metric is not None and metric.high == 1 and any(x.value > 1 for *_, x in numbers)
    rows = []
    for row, line, number in numbers:
        stated = printed(row[many]) if many is not None else None
        n = int(stated.value) if stated else queries
        low, high = _rounded(number, percent=percent)
        status, why = _possible(metric, n, low, high, given)
        rows.append((row[0], name, None if metric is None else str(metric), number.text, line, n,
                     low, high, status, why))  # fmt: skip
    return rows


def _rounded(number: Printed, *, percent: bool) -> tuple[float, float]:
    """The means that are printed so, by any rule for halves."""
    half, scale = 0.5 * 10.0**-number.places, 100 if percent else 1
    return (number.value - half) / scale, (number.value + half) / scale


def _possible(
    metric: Metric | None, n: int | None, low: float, high: float, given: _Given
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


def _ndcg(depth: int | None, n: int, ends: tuple[float, float], given: _Given) -> tuple[str, str]:
    if not depth or not (given.grades or given.relevant == 1):
        return UNKNOWN, "the values of nDCG depend on cutoff and grades; add --grades"
    least, gap = discounted_gap(given.grades or 1, depth, given.relevant)
    words = f"{n:,} values that are 0, 1, or from {least:.4g} to {1 - gap:.4g} have no such mean"
    found = ends_possible(least, gap, n, *ends)
    return ("possible", "") if found else (IMPOSSIBLE, words)


def _ap(depth: int | None, n: int, ends: tuple[float, float], given: _Given) -> tuple[str, str]:
    if given.relevant == 1:
        return _ranks(depth, n, ends)
    return UNKNOWN, "the values of AP depend on the number of relevant documents; add --relevant"


def _recall(depth: int | None, n: int, ends: tuple[float, float], given: _Given) -> tuple[str, str]:  # noqa: ARG001 - as other rules
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


def _smallest_step(metric: Metric, given: _Given) -> float:
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


def _pair(cells: pl.DataFrame, metric: Metric, given: _Given) -> tuple[Any, ...]:
    """The best system of a column against the second."""
    from rankgate.stats.interval import student_quantile

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
