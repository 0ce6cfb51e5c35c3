"""Units of an experiment from a table: CSV, Parquet or a frame, one row a unit or more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.dataframes import is_frame, polars_frame
from rankgate.data.streams.source import source
from rankgate.data.text.utf8 import BOM
from rankgate.online.experiments.design import Design
from rankgate.online.experiments.measure import Measure
from rankgate.online.experiments.units import Units, numbered

if TYPE_CHECKING:
    from rankgate.data.inputs import Frame, Source

UnitsLike: TypeAlias = "Source | Frame"
"""A table of units: CSV, TSV or Parquet, or a frame."""


def from_table(
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
    table, label = _read(data)
    variant, unit, day, segments = design.variant, design.unit, design.day, design.segments
    covariates = design.covariates or {}
    wanted = [variant, *([unit] if unit else []), *([day] if day else []), *segments,
              *(each.value for each in measures), *(each.per for each in measures if each.per),
              *(each for words in covariates.values() for each in _columns(words)),
    ]  # fmt: skip
    for name in wanted:
        if name not in table.columns:
            problem = f"there is no column {name!r}; the columns are {', '.join(table.columns)}."
            raise InputError(problem, source=label, code="missing-column")
    ids = pl.col(unit).cast(pl.String) if unit else pl.int_range(pl.len()).cast(pl.String)
    days = _days(table, day, label) if day else pl.lit(None, pl.Date)
    head = table.select(
        unit=ids, variant=pl.col(variant).cast(pl.String), day=days,
        **{name: pl.col(name).cast(pl.String) for name in segments},
    )  # fmt: skip
    if head["unit"].null_count():
        problem = f"{head['unit'].null_count():,} rows have no {unit}; give every row a unit."
        raise InputError(problem, source=label, code="missing-unit")
    arms, crossed = numbered(head, segments)
    place = head.select("unit", "day")
    rows, nulls = {}, {}
    for each in measures:
        columns = {"value": _numbers(table, each.value, label)}
        if each.per:
            columns["per"] = _numbers(table, each.per, label)
        found = place.with_columns(**columns).filter(pl.col("value").is_not_null())
        nulls[each.name] = len(table) - len(found)
        rows[each.name] = _daily(found) if each.quantile is None else found
    before = {
        name: place.select(
            "unit",
            **{part: _numbers(table, column, label)
               for part, column in zip(("value", "per"), _columns(words), strict=False)},
        ).group_by("unit").agg(pl.all().first())
        for name, words in covariates.items()
    }  # fmt: skip
    logged = _logged(head, {each.name: table[each.value] for each in measures}) if day else None
    return Units(arms, rows, before, crossed, nulls, logged, tuple(segments), label)


def _columns(words: str) -> list[str]:
    """The column of a covariate, or both of a ratio: ``earlier`` or ``spent/visited``."""
    return [name.strip() for name in words.split("/", 1)]


def _logged(head: pl.DataFrame, columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    """How many values each column has, by arm and day."""
    known = head.select("variant", "day").with_columns(**columns)
    grouped = known.drop_nulls(["variant", "day"]).group_by("variant", "day")
    wide = grouped.agg(pl.len().alias("units"), *(pl.col(name).count() for name in columns))
    return wide.unpivot(list(columns), index=["variant", "day", "units"], variable_name="what",
                        value_name="count")  # fmt: skip


def _daily(rows: pl.DataFrame) -> pl.DataFrame:
    names = [name for name in ("value", "per") if name in rows.columns]
    if rows["unit"].is_unique().all():
        return rows
    return rows.group_by("unit", "day").agg(pl.col(name).sum() for name in names)


def _read(data: UnitsLike) -> tuple[pl.DataFrame, str]:
    if is_frame(data):
        return polars_frame(data), "a table"
    place = source(data)  # type: ignore[arg-type]
    name = str(data) if isinstance(data, str | Path) else place.label
    try:
        if name.endswith((".parquet", ".pq")):
            return pl.read_parquet(name), place.label
        text = b"".join(place.chunks()).removeprefix(BOM)
        separator = "\t" if b"\t" in text.split(b"\n", 1)[0] else ","
        return pl.read_csv(text, separator=separator, infer_schema_length=None), place.label
    except pl.exceptions.PolarsError as error:
        problem = f"cannot be read as a table: {str(error).splitlines()[0]}."
        raise InputError(problem, source=place.label, code="invalid-syntax") from None


def _numbers(table: pl.DataFrame, name: str, label: str) -> pl.Series:
    column = table[name]
    if column.dtype == pl.String:
        lowered = column.str.strip_chars().str.to_lowercase()
        column = lowered.replace({"true": "1", "false": "0", "": None})
    try:
        found = column.cast(pl.Float64)
    except pl.exceptions.PolarsError:
        found = None
    if found is None or not found.drop_nulls().is_finite().all():
        problem = f"the column {name!r} holds something that is not a finite number."
        raise InputError(problem, source=label, code="wrong-type")
    return found.alias("value")


def _days(table: pl.DataFrame, name: str, label: str) -> pl.Series:
    column = table[name]
    try:
        if column.dtype == pl.String:
            return column.str.slice(0, 10).str.to_date("%Y-%m-%d")
        return column.cast(pl.Date)
    except pl.exceptions.PolarsError:
        problem = f"the column {name!r} holds something that is not a day, such as 2026-01-31."
        raise InputError(problem, source=label, code="wrong-type") from None
