"""Checks of what a log allows before an off-policy figure is given: columns, a row, a grid."""

from __future__ import annotations

from typing import Any

import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Grid

CHECKS = Columns(
    "One row per check of the log.",
    Column("check", pl.String, "the check"),
    Column("value", pl.Float64, "its value"),
    Column("limit", pl.Float64, "the value from which it warns or blocks"),
    Column("outcome", pl.String, "ok, warns or blocks"),
    Column("words", pl.String, "the outcome in words"),
)


def check_row(check: str, value: float, limit: float, outcome: str, message: str) -> dict[str, Any]:
    """A row of `CHECKS`."""
    return {
        "check": check,
        "value": float(value),
        "limit": float(limit),
        "outcome": outcome,
        "words": message,
    }


def checks_grid(checks: pl.DataFrame) -> Grid:
    """Each check with its value, its limit and its outcome."""
    rows = tuple(
        (row["check"], f"{row['value']:,.4g}", f"{row['limit']:,.4g}", row["outcome"])
        for row in checks.iter_rows(named=True)
    )
    return Grid(("check", "value", "limit", "outcome"), rows, frozenset({0, 3}))
