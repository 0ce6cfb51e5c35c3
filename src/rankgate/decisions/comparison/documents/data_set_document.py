"""Render comparisons over data sets: the one table of a paper, and the tests behind its marks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document_model import Document, Grid, PlainRows, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun, format_number, format_p_value, system_mark
from rankgate.decisions.comparison.data_sets import PAIRS

if TYPE_CHECKING:
    from rankgate.decisions.comparison.data_sets import DataSetComparison


def data_set_document(result: DataSetComparison) -> Document:
    """Render the table of systems and data sets, a sentence for each metric, and the pairs."""
    data_sets = count_noun(len(result.data_sets), "data set")
    return made(
        f"{count_noun(len(result.systems), 'system')} on {data_sets}",
        *(
            f"{metric}: Friedman's χ² {format_number(statistic, 2)}, p {format_p_value(p)} by permutation "
            f"within data sets; Nemenyi's critical difference of mean ranks {format_number(critical, 2)}."
            for metric, statistic, p, critical in result.tests.iter_rows()
        ),
        _table(result),
        f"A mark next to a value names a system that is worse (p < {1 - result.level:.2g}): in a data set by "
        f"its own comparison ({result.test}), at a mean rank by Nemenyi's test where Friedman's finds "
        "differences. A mean counts each data set the same."
        + " ± is the standard deviation between seeds."
        * (result.values["sd"].count() > 0),
        Warnings.from_notices(result.notices),
        "The data sets are the sample of Friedman's, Nemenyi's and Holm's tests, which say what to expect of "
        "another data set like these. Nemenyi's and Holm's p are approximations, good with more than 10 data "
        f"sets and 5 systems (Demšar 2006). With {data_sets}, the smallest p of a pair is "
        f"{format_p_value(result.lowest_p)}.",
        Table("pairs of systems over data sets", PAIRS.grid(result.pairs, keys=3), find=True),
        rows=PlainRows(
            tuple(result.values.columns), [(*row[:-1], " ".join(row[-1])) for row in result.values.rows()]
        ),
    )


def _table(result: DataSetComparison) -> Table:
    """A row for each metric and system: its mean on each data set, their mean, and its mean rank."""
    marks = {name: system_mark(i) for i, name in enumerate(result.systems)}
    names = [f"{mark} {make_printable(name)}" for name, mark in marks.items()]
    rows: list[tuple[str, ...]] = []
    bold: set[tuple[int, int]] = set()
    for metric, values in result.values.group_by("metric", maintain_order=True):
        ranks = result.ranks.filter(metric=metric[0])
        sign = 1 if metric[0] in result.lower else -1
        columns = [
            (column["value"], column["worse"], sign, 4, column["sd"])
            for column in values.partition_by("data_set", maintain_order=True)
        ]
        no_sd = pl.repeat(None, len(names), eager=True)
        columns += [(ranks["macro_mean"], pl.Series([[]] * len(names)), sign, 4, no_sd)]
        columns += [(ranks["mean_rank"], ranks["worse"], 1, 2, no_sd)]
        cells = []
        for j, (numbers, worse, direction, digits, deviations) in enumerate(columns, 2):
            best_number = (numbers * direction).min()
            bold |= {(len(rows) + i, j) for i in (numbers * direction == best_number).arg_true()}
            texts = (
                format_number(number, digits) + ("" if sd is None else f"±{sd:.4f}")
                for number, sd in zip(numbers, deviations, strict=True)
            )
            cells.append(
                [
                    text + "".join(marks[name] for name in marks if name in w)
                    for text, w in zip(texts, worse, strict=True)
                ]
            )
        rows += zip([str(metric[0])] * len(names), names, *cells, strict=True)
    header = ("metric", "system", *map(make_printable, result.data_sets), "mean", "mean rank")
    grid = Grid(header, tuple(rows), frozenset({0, 1}), 2)
    plain_rows = tuple(("" if i % len(names) else row[0], *row[1:]) for i, row in enumerate(rows))
    return Table("", grid, bold=frozenset(bold), plain=(replace(grid, rows=plain_rows),))
