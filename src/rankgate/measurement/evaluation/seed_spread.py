"""The table of the spread between the seeds of systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, SYSTEM

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats

SEED_SPREAD = Columns(
    "One row per metric and system with several seeds; no rows without seeds.",
    METRIC,
    SYSTEM,
    Column("seeds", pl.Int64, "the number of seeds"),
    Column("mean", pl.Float64, "the mean over seeds"),
    Column("sd", pl.Float64, "the standard deviation of the values of seeds", header="sd between\nseeds"),
    Column("lowest", pl.Float64, "the lowest value of a seed"),
    Column("highest", pl.Float64, "the highest value of a seed"),
)


def spread_row(metric: str, system: str, values: Floats) -> tuple[str | float, ...]:
    """A row of `SEED_SPREAD` from ``(R,)`` values of seeds."""
    figures = (values.mean(), values.std(ddof=1), values.min(), values.max())
    return (metric, system, len(values), *map(float, figures))


def one_run_caution(system: str) -> str:
    """A sentence on a system with one run, where others have several seeds."""
    return (
        f"{system} has one run: no spread between its seeds is counted, which is right only if it draws "
        "nothing at random; else give the runs of several seeds."
    )
