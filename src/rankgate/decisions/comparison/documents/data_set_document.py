"""Render comparisons over data sets: the one table of a paper, and the tests behind its marks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document_model import Document, Grid, PlainRows, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun, format_number, format_p_value, system_mark
from rankgate.decisions.comparison.data_sets import PAIRS, TESTS

if TYPE_CHECKING:
    from rankgate.decisions.comparison.data_sets import DataSetComparison


_HEADERS = {
    "statistic": "χ²",
    "p_value": "p of χ²",
    "f": "F",
    "f_p_value": "p of F",
    "critical": "critical\ndifference",
}


def data_set_document(result: DataSetComparison) -> Document:
    """Render the table of systems and data sets, a sentence for each metric, and the tests."""
    alpha = f"p < {1 - result.level:.2g}"
    return made(
        f"{count_noun(len(result.systems), 'system')} on {count_noun(len(result.data_sets), 'data set')}",
        *(_sentence(result, metric) for metric in result.metrics),
        _table(result),
        f"A mark next to a value names a system that is worse. In a data set: {alpha}; {result.test}. At a "
        f"mean rank, over data sets: {alpha} by Nemenyi's test, and by Friedman's test by permutation. A "
        "mean counts each data set the same.",
        Warnings.from_notices(result.notices),
        f"The data sets are the sample of Friedman's, Nemenyi's and Holm's tests: they say what to expect of "
        f"another data set like these. The p of χ², F, Nemenyi and Holm are approximations, good with more "
        "than 10 data sets and 5 systems (Demšar 2006); the p by permutation holds for any number. The "
        f"smallest p of a pair with {count_noun(len(result.data_sets), 'data set')} is "
        f"{format_p_value(result.tests['lowest_p'][0])}.",
        Table("tests over data sets", TESTS.grid(result.tests, headers=_HEADERS), find=True),
        Table("pairs of systems over data sets", PAIRS.grid(result.pairs, keys=3), find=True),
        rows=PlainRows(
            ("metric", "data_set", "system", "value", "worse"),
            [(*row[:-1], " ".join(row[-1])) for row in result.values.iter_rows()],
        ),
    )


def _sentence(result: DataSetComparison, metric: str) -> str:
    """The outcome of the tests over data sets for one metric."""
    test = result.tests.row(by_predicate=pl.col("metric") == metric, named=True)
    ranks = result.ranks.filter(metric=metric)
    best = ranks.sort("mean_rank", maintain_order=True).row(0, named=True)
    p = f"Friedman's test, p {format_p_value(test['p_permuted'])} by permutation"
    if test["p_permuted"] >= 1 - result.level:
        return f"{metric}: chance could explain the differences of mean ranks ({p})."
    worse = ", ".join(map(make_printable, best["worse"])) or "no other system"
    return (
        f"{metric}: mean ranks differ by more than chance explains ({p}). The best one, "
        f"{make_printable(best['system'])}, is better than {worse} (Nemenyi; critical difference "
        f"{format_number(test['critical'], 2)})."
    )


def _table(result: DataSetComparison) -> Table:
    """A row for each metric and system: its mean on each data set, their mean, and its mean rank."""
    marks = {name: system_mark(i) for i, name in enumerate(result.systems)}
    names = [f"{marks[name]} {make_printable(name)}" for name in result.systems]
    keys = 1 if len(result.metrics) == 1 else 2  # the metric is a column only if there are several
    rows: list[tuple[str, ...]] = []
    bold: set[tuple[int, int]] = set()
    for metric in result.metrics:
        ranks = result.ranks.filter(metric=metric)
        sign = 1 if metric in result.lower else -1
        columns = [
            (column["value"], column["worse"], sign, 4)
            for column in result.values.filter(metric=metric).partition_by("data_set", maintain_order=True)
        ]
        columns += [(ranks["macro_mean"], pl.Series([[]] * len(names)), sign, 4)]
        columns += [(ranks["mean_rank"], ranks["worse"], 1, 2)]
        for j, (numbers, _, direction, _) in enumerate(columns, keys):
            is_best = numbers * direction == (numbers * direction).min()
            bold |= {(len(rows) + i, j) for i in is_best.arg_true()}
        cells = [
            [
                format_number(number, digits) + "".join(marks[name] for name in worse)
                for number, worse in zip(numbers, worse_systems, strict=True)
            ]
            for numbers, worse_systems, _, digits in columns
        ]
        rows += zip(*[[metric] * len(names), names][2 - keys :], *cells, strict=True)
    head = ("metric", "system", *map(make_printable, result.data_sets), "mean", "mean rank")[2 - keys :]
    grid = Grid(head, tuple(rows), frozenset(range(keys)), keys)
    if keys == 1:
        return Table(result.metrics[0], grid, bold=frozenset(bold))
    is_first = [i % len(names) == 0 for i in range(len(rows))]
    sparse_rows = tuple(
        (row[0] if first else "", *row[1:]) for row, first in zip(rows, is_first, strict=True)
    )
    return Table("", grid, bold=frozenset(bold), plain=(replace(grid, rows=sparse_rows),))
