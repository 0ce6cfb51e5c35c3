"""A check of gold labels: shares, wrong labels, and what they do to systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import interval, number, signed
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import decimal
from rankgate.judging.gold.gold_check import AMBIGUOUS, OPEN, WRONG

if TYPE_CHECKING:
    from rankgate.judging.gold.gold_check import GoldCheck

_SHOWN = 30


def document(result: GoldCheck) -> Document:
    """The number of wrong labels, then every table."""
    wrong = result.labels.filter(status=WRONG)
    decided = result.labels.filter(pl.col("status") != OPEN).height
    left = result.labels.height - decided
    ends = f" {left} pairs have fewer than {result.fewest} ratings." if left else ""
    return made(
        f"{printable(result.gold[0])}: {wrong.height} of {decided} labels are wrong",
        Warnings(result.cautions),
        *(Table(heading, grid) for heading, grid in _tables(result) if grid.rows),
        _chance(result) + ends,
        rows=PlainRows(tuple(result.labels.columns), list(result.labels.iter_rows())),
    )


def _tables(result: GoldCheck) -> list[tuple[str, Grid]]:
    wrong, hard = (result.labels.filter(status=each) for each in (WRONG, AMBIGUOUS))
    return [
        ("labels", _shares(result)),
        (_heading("wrong labels", wrong), _labels(wrong)),
        (_heading("ambiguous labels", hard), _labels(hard)),
        ("by gold grade", _grades(result)),
        ("systems with the wrong labels replaced", _systems(result)),
    ]


def _heading(words: str, labels: pl.DataFrame) -> str:
    return words if len(labels) <= _SHOWN else f"{words}, the first {_SHOWN} of {len(labels)}"


def _shares(result: GoldCheck) -> Grid:
    rows = tuple(
        (row["status"], str(row["pairs"]), number(row["share"], 3),
         interval(row["low"], row["high"], 3))
        for row in result.shares.iter_rows(named=True)
    )  # fmt: skip
    return Grid(("label", "pairs", "share", "95% interval"), rows)


def _labels(labels: pl.DataFrame) -> Grid:
    rows = tuple(
        (printable(row["query_id"]), printable(row["doc_id"]), f"{row['gold']:g}",
         f"{row['grade']:g}", f"{row['agree']} of {row['ratings']}")
        for row in labels.head(_SHOWN).iter_rows(named=True)
    )  # fmt: skip
    return Grid(("query", "document", "gold", "raters", "agree"), rows, frozenset({0, 1}))


def _grades(result: GoldCheck) -> Grid:
    rows = tuple(
        (f"{row['gold']:g}", str(row["pairs"]), str(row["wrong"]), str(row["ambiguous"]),
         number(row["mean"], 2))
        for row in result.grades.iter_rows(named=True)
    )  # fmt: skip
    return Grid(("gold", "pairs", "wrong", "ambiguous", "raters' mean"), rows)


def _systems(result: GoldCheck) -> Grid:
    rows = tuple(
        (row["metric"], printable(row["system"]), decimal(row["gold"]), decimal(row["corrected"]),
         signed(row["delta"]))
        for row in result.systems.iter_rows(named=True)
    )  # fmt: skip
    return Grid(("metric", "system", "gold", "corrected", "delta"), rows, frozenset({0, 1}), keys=2)


def _chance(result: GoldCheck) -> str:
    words = (
        f"Wrong: {result.majority:.0%} of a pair's raters or more agree on another grade; "
        "ambiguous: they do not agree."
    )
    if result.error is None or result.by_chance is None:
        return words
    return (
        f"{words} By how often two raters agree, one errs in {result.error:.1%} of the pairs; "
        f"{result.by_chance:.1f} right labels would look wrong by that alone."
    )
