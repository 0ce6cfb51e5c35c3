"""Document of a gold check: shares, wrong labels, and their effect on systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.figures import format_interval, format_number, format_signed
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.numbers import format_decimal
from rankgate.judging.gold.gold_check import AMBIGUOUS, OPEN, WRONG

if TYPE_CHECKING:
    from rankgate.judging.gold.gold_check import GoldCheck

_MAX_ROWS = 30


def document(result: GoldCheck) -> Document:
    """The number of wrong labels, then every table."""
    wrong_labels = result.labels.filter(status=WRONG)
    decided = result.labels.filter(pl.col("status") != OPEN).height
    open_labels = result.labels.height - decided
    open_sentence = (
        f" {open_labels} pairs have fewer than {result.fewest} ratings." if open_labels else ""
    )
    return made(
        f"{make_printable(result.gold[0])}: {wrong_labels.height} of {decided} labels are wrong",
        Warnings(result.cautions),
        *(Table(heading, grid) for heading, grid in _tables(result) if grid.rows),
        _chance_sentence(result) + open_sentence,
        rows=PlainRows(tuple(result.labels.columns), list(result.labels.iter_rows())),
    )


def _tables(result: GoldCheck) -> list[tuple[str, Grid]]:
    wrong_labels, ambiguous_labels = (
        result.labels.filter(status=status) for status in (WRONG, AMBIGUOUS)
    )
    return [
        ("labels", _shares_grid(result)),
        (_heading("wrong labels", wrong_labels), _labels_grid(wrong_labels)),
        (_heading("ambiguous labels", ambiguous_labels), _labels_grid(ambiguous_labels)),
        ("by gold grade", _grades_grid(result)),
        ("systems with the wrong labels replaced", _systems_grid(result)),
    ]


def _heading(heading: str, labels: pl.DataFrame) -> str:
    return (
        heading
        if len(labels) <= _MAX_ROWS
        else f"{heading}, the first {_MAX_ROWS} of {len(labels)}"
    )


def _shares_grid(result: GoldCheck) -> Grid:
    rows = tuple(
        (
            row["status"],
            str(row["pairs"]),
            format_number(row["share"], 3),
            format_interval(row["low"], row["high"], 3),
        )
        for row in result.shares.iter_rows(named=True)
    )
    return Grid(("label", "pairs", "share", "95% interval"), rows)


def _labels_grid(labels: pl.DataFrame) -> Grid:
    rows = tuple(
        (
            make_printable(row["query_id"]),
            make_printable(row["doc_id"]),
            f"{row['gold']:g}",
            f"{row['grade']:g}",
            f"{row['agree']} of {row['ratings']}",
        )
        for row in labels.head(_MAX_ROWS).iter_rows(named=True)
    )
    return Grid(("query", "document", "gold", "raters", "agree"), rows, frozenset({0, 1}))


def _grades_grid(result: GoldCheck) -> Grid:
    rows = tuple(
        (
            f"{row['gold']:g}",
            str(row["pairs"]),
            str(row["wrong"]),
            str(row["ambiguous"]),
            format_number(row["mean"], 2),
        )
        for row in result.grades.iter_rows(named=True)
    )
    return Grid(("gold", "pairs", "wrong", "ambiguous", "raters' mean"), rows)


def _systems_grid(result: GoldCheck) -> Grid:
    rows = tuple(
        (
            row["metric"],
            make_printable(row["system"]),
            format_decimal(row["gold"]),
            format_decimal(row["corrected"]),
            format_signed(row["delta"]),
        )
        for row in result.systems.iter_rows(named=True)
    )
    return Grid(("metric", "system", "gold", "corrected", "delta"), rows, frozenset({0, 1}), keys=2)


def _chance_sentence(result: GoldCheck) -> str:
    message = (
        f"Wrong: {result.majority:.0%} of a pair's raters or more agree on another grade; "
        "ambiguous: they do not agree."
    )
    if result.error is None or result.by_chance is None:
        return message
    return (
        f"{message} By how often two raters agree, one errs in {result.error:.1%} of the pairs; "
        f"{result.by_chance:.1f} right labels would look wrong by that alone."
    )
