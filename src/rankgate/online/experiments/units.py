"""The units of an experiment with their arm and their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import date

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.online.experiments.measure import Measure


@dataclass(frozen=True)
class Units:
    """The units of an experiment: their arms, and what each of them did.

    Attributes:
        arms: ``unit`` (from 0), ``variant``, ``day`` (of the first event; null without times), a
            column for each segment; units in one arm only.
        rows: by the name of a measure ``unit``, ``day``, ``value`` and, of ratios, ``per``: sums of
            a unit on a day; of quantiles single values. Nulls are left out.
        before: by the name of a measure ``unit``, ``value`` and, of ratios, ``per``, from before
            the experiment.
        crossed: units that were in several arms; they are not in `arms`.
        logged: ``variant``, ``day``, ``what``, ``count``, ``units``: how often each kind of event
            was logged for an arm on a day.
        nulls: by the name of a measure how many units have no value.
        segments: names of the segments.
        source: where they come from.
    """

    arms: pl.DataFrame
    rows: Mapping[str, pl.DataFrame]
    before: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    crossed: int = 0
    nulls: Mapping[str, int] = field(default_factory=dict)
    logged: pl.DataFrame | None = None
    segments: tuple[str, ...] = ()
    source: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """Units of each arm."""
        grouped = self.arms.group_by("variant").len().sort("variant")
        return dict(grouped.iter_rows())

    @property
    def days(self) -> list[date]:
        """The days on which units came first, in order."""
        days = self.arms["day"].drop_nulls().unique().sort()
        return days.to_list()

    @property
    def days_of_values(self) -> list[date]:
        """The days that have values, in order."""
        tables = [rows["day"] for rows in self.rows.values() if "day" in rows.columns]
        return sorted({day for column in tables for day in column.unique() if day is not None})

    def until(self, day: date) -> Units:
        """The units and values that were known at the end of a day."""
        rows = {name: table.filter(pl.col("day") <= day) for name, table in self.rows.items()}
        return replace(self, arms=self.arms.filter(pl.col("day") <= day), rows=rows)

    def among(self, condition: pl.Expr) -> Units:
        """The units of a condition on `arms`."""
        return replace(self, arms=self.arms.filter(condition))

    def of(self, measure: Measure, cap: float | None = None) -> pl.DataFrame:
        """``unit``, ``variant``, ``value`` and more: one row a unit, or a value of a quantile.

        Args:
            measure: what is wanted.
            cap: the quantile of values of units at which they are cut off (winsorised).
        """
        rows = self.rows[measure.name]
        if measure.quantile is None:
            sums = [pl.col(name).sum() for name in ("value", "per") if name in rows.columns]
            rows = rows.group_by("unit").agg(sums)
            if cap is not None and len(rows):
                limit = rows["value"].quantile(cap, interpolation="linear")
                rows = rows.with_columns(pl.col("value").clip(upper_bound=limit))
            if measure.name in self.before:
                rows = _add_covariates(rows, self.before[measure.name])
        return self.arms.select("unit", "variant").join(rows, "unit")


def _add_covariates(rows: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Sums from before the experiment; who was not there then has 0."""
    renamed = before.select(
        "unit", before="value", **({"before_per": pl.col("per")} if "per" in before.columns else {})
    )
    names = [pl.col(name).fill_null(0.0) for name in renamed.columns if name != "unit"]
    return rows.join(renamed, "unit", how="left").with_columns(names)


def assign_arms(frame: pl.DataFrame, segments: Sequence[str] = ()) -> tuple[pl.DataFrame, int]:
    """The arms of units from rows of ``unit``, ``variant``, ``day``; and how many were in several.

    Segments are those of a unit's first row.
    """
    assigned = frame.filter(pl.col("unit").is_not_null(), pl.col("variant").is_not_null())
    grouped = assigned.group_by("unit").agg(
        pl.col("variant").min(),
        pl.col("variant").n_unique().alias("several"),
        pl.col("day").min(),
        *(pl.col(name).first() for name in segments),
    )
    single = grouped.filter(pl.col("several") == 1).drop("several")
    return single, len(grouped) - len(single)
