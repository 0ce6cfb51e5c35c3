"""Units of an experiment from a table: CSV, Parquet or a frame, one row a unit or more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.dataframes import is_frame, polars_frame
from rankgate.data.streams.source import open_source
from rankgate.data.text.utf8 import BOM
from rankgate.online.experiments.design import Design
from rankgate.online.experiments.measure import Measure
from rankgate.online.experiments.units import Units, assign_arms

if TYPE_CHECKING:
    from rankgate.data.inputs import Frame, Source

UnitsLike: TypeAlias = "Source | Frame"
"""A table of units: CSV, TSV or Parquet, or a frame."""


def read_units_from_table(
    data: UnitsLike,
    measures: Sequence[Measure],
    design: Design,
) -> Units:
    """Read units from a table.

    Args:
        data: the table.
        measures: what is compared; their columns are numbers, or true and false.
        design: has the columns of arms, units, days, covariates and segments.

    Raises:
        InputError: a table that cannot be read, a column that it does not have, or that holds no
            numbers; a unit without an id.
    """
    table, label = _read_table(data)
    variant, unit, day, segments = design.variant, design.unit, design.day, design.segments
    covariates = design.covariates or {}
    needed_columns = [
        variant,
        *([unit] if unit else []),
        *([day] if day else []),
        *segments,
        *(measure.value for measure in measures),
        *(measure.per for measure in measures if measure.per),
        *(column for covariate in covariates.values() for column in _covariate_columns(covariate)),
    ]
    for name in needed_columns:
        if name not in table.columns:
            problem = f"there is no column {name!r}; the columns are {', '.join(table.columns)}."
            raise InputError(problem, source=label, code="missing-column")
    ids = pl.col(unit).cast(pl.String) if unit else pl.int_range(pl.len()).cast(pl.String)
    days = _day_column(table, day, label) if day else pl.lit(None, pl.Date)
    unit_rows = table.select(
        unit=ids,
        variant=pl.col(variant).cast(pl.String),
        day=days,
        **{name: pl.col(name).cast(pl.String) for name in segments},
    )
    if unit_rows["unit"].null_count():
        problem = f"{unit_rows['unit'].null_count():,} rows have no {unit}; give every row a unit."
        raise InputError(problem, source=label, code="missing-unit")
    arms, crossed = assign_arms(unit_rows, segments)
    unit_days = unit_rows.select("unit", "day")
    rows, nulls = {}, {}
    for measure in measures:
        columns = {"value": _number_column(table, measure.value, label)}
        if measure.per:
            columns["per"] = _number_column(table, measure.per, label)
        values = unit_days.with_columns(**columns).filter(pl.col("value").is_not_null())
        nulls[measure.name] = len(table) - len(values)
        rows[measure.name] = _sum_by_day(values) if measure.quantile is None else values
    before = {
        name: unit_days.select(
            "unit",
            **{
                role: _number_column(table, column, label)
                for role, column in zip(
                    ("value", "per"), _covariate_columns(covariate), strict=False
                )
            },
        )
        .group_by("unit")
        .agg(pl.all().first())
        for name, covariate in covariates.items()
    }
    logged = (
        _logged_counts(unit_rows, {measure.name: table[measure.value] for measure in measures})
        if day
        else None
    )
    return Units(arms, rows, before, crossed, nulls, logged, tuple(segments), label)


def _covariate_columns(covariate: str) -> list[str]:
    """The column of a covariate, or both of a ratio: ``earlier`` or ``spent/visited``."""
    return [name.strip() for name in covariate.split("/", 1)]


def _logged_counts(unit_rows: pl.DataFrame, columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Count the values of each column, by arm and day."""
    with_values = unit_rows.select("variant", "day").with_columns(**columns)
    grouped = with_values.drop_nulls(["variant", "day"]).group_by("variant", "day")
    counts = grouped.agg(pl.len().alias("units"), *(pl.col(name).count() for name in columns))
    return counts.unpivot(
        list(columns), index=["variant", "day", "units"], variable_name="what", value_name="count"
    )


def _sum_by_day(rows: pl.DataFrame) -> pl.DataFrame:
    names = [name for name in ("value", "per") if name in rows.columns]
    if rows["unit"].is_unique().all():
        return rows
    return rows.group_by("unit", "day").agg(pl.col(name).sum() for name in names)


def _read_table(data: UnitsLike) -> tuple[pl.DataFrame, str]:
    if is_frame(data):
        return polars_frame(data), "a table"
    input_file = open_source(data)  # type: ignore[arg-type]
    name = str(data) if isinstance(data, str | Path) else input_file.label
    try:
        if name.endswith((".parquet", ".pq")):
            return pl.read_parquet(name), input_file.label
        text = b"".join(input_file.chunks()).removeprefix(BOM)
        separator = "\t" if b"\t" in text.split(b"\n", 1)[0] else ","
        return pl.read_csv(text, separator=separator, infer_schema_length=None), input_file.label
    except pl.exceptions.PolarsError as error:
        problem = f"cannot be read as a table: {str(error).splitlines()[0]}."
        raise InputError(problem, source=input_file.label, code="invalid-syntax") from None


def _number_column(table: pl.DataFrame, name: str, label: str) -> pl.Series:
    column = table[name]
    if column.dtype == pl.String:
        lowered = column.str.strip_chars().str.to_lowercase()
        column = lowered.replace({"true": "1", "false": "0", "": None})
    try:
        numbers = column.cast(pl.Float64)
    except pl.exceptions.PolarsError:
        numbers = None
    if numbers is None or not numbers.drop_nulls().is_finite().all():
        problem = f"the column {name!r} holds something that is not a finite number."
        raise InputError(problem, source=label, code="wrong-type")
    return numbers.alias("value")


def _day_column(table: pl.DataFrame, name: str, label: str) -> pl.Series:
    column = table[name]
    try:
        if column.dtype == pl.String:
            return column.str.slice(0, 10).str.to_date("%Y-%m-%d")
        return column.cast(pl.Date)
    except pl.exceptions.PolarsError:
        problem = f"the column {name!r} holds something that is not a day, such as 2026-01-31."
        raise InputError(problem, source=label, code="wrong-type") from None
