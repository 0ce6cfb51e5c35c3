"""An experiment's design and the tests of its arms: options of ``ab`` and ``plan``.

The module also reads units from a table (CSV, Parquet or a frame) with one or more rows per unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import polars as pl

from rankgate.core.declare import Count, Range, Share, check_fields, fields_of
from rankgate.core.declare.flag_words import FLAG_WORDS
from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.formats.table import parse_numbers
from rankgate.data.logs.item_tables import read_frame
from rankgate.data.table_rows import in_row_order
from rankgate.measurement.stats.multiple_comparisons import Correction
from rankgate.online.experiments.effects import Relative
from rankgate.online.experiments.units import UNIT_COLUMNS, Measure, Units, assign_arms, first_few

if TYPE_CHECKING:
    from rankgate.data.input_types import Frame, Source
    from rankgate.data.table_rows import RowLocation


TUNED_TO = 10_000
"""Units at which intervals that hold at every look are narrowest, unless a test sets another
number."""

DesignLike: TypeAlias = "Design | str | Path"
"""A design, or a TOML file with the table ``[design]``."""


@dataclass(frozen=True)
class Design(ByContent):
    """An experiment: the assignment of units to arms, its dates, and covariates from before.

    Attributes:
        variant: The column of arms of a table with a row for each unit; without it the experiment
            is in the events of a log.
        unit: The unit that was assigned to arms: user, session or query, user by default; of a
            table the column of units, without it each row is one.
        control: The arm that others are compared with; by default the first by name.
        split: The planned share of each arm, as in old=0.9; equal shares by default.
        phases: Planned shares from a day on, as in 2026-03-08=old:0.5,new:0.5, where they are
            raised in steps; arms are then compared within days.
        day: The column of days of a table.
        start: The first day of the experiment, as in 2026-03-01; by default the first with an arm.
        end: The last day of the experiment.
        cuped: Adjust for each unit's own value from before ``start``.
        covariates: Of a table the column that adjusts a metric, as in spend=history, or both of a
            ratio, as in spend/visits=spent/visited; they must be known before the experiment.
        segments: Columns of a table that divide units; of events: application.
        crossed: The share of units in several arms that is tolerated; they are left out.

    Raises:
        UsageError: A unit that no event has, an invalid day, shares that are not above 0, a
            control without a share, CUPED of a table.

    >>> Design(control="old", split={"old": 0.9, "new": 0.1}).first_day
    """

    variant: str = ""
    unit: str = ""
    control: str = ""
    split: Mapping[str, float] | None = None
    phases: Mapping[str, str] | None = None
    day: str = ""
    start: str = ""
    end: str = ""
    cuped: bool = False
    covariates: Mapping[str, str] | None = None
    segments: Sequence[str] = ()
    crossed: Annotated[float, Range(0.0, 1.0)] = 0.0

    def __post_init__(self) -> None:
        check_fields(self, "crossed")
        if not self.variant:
            _ = self.unit_of_events
        elif self.cuped:
            raise UsageError(
                "CUPED of a table needs its column; give --covariate METRIC=COLUMN.",
                code="conflicting-options",
            )
        if self.first_day and self.last_day and self.first_day > self.last_day:
            problem = f"the experiment ends on {self.end}, before it starts on {self.start}."
            raise UsageError(problem, code="invalid-day")
        _ = self.shares_by_day
        if self.split and any(not share > 0 for share in self.split.values()):
            raise UsageError("planned shares are above 0.", code="invalid-share")
        if self.split and self.control and self.control not in self.split:
            problem = f"there is no arm {self.control!r}; there are {', '.join(self.split)}."
            raise UsageError(problem, code="unknown-arm")

    @classmethod
    def of(cls, design: DesignLike | None) -> Design:
        """Return a design as it is, that of a file, or one with defaults only."""
        if isinstance(design, str | Path):
            return cls.read(design)
        return design or cls()

    @classmethod
    def read(cls, path: str | Path) -> Design:
        """Read a design from the table ``[design]`` of a TOML file; its keys are the attributes.

        Raises:
            InputError: A key that there is not, a value that does not fit; with its line.
            UsageError: As of the class.
        """
        toml = TomlFile.read(path, code="invalid-design")
        toml.check_keys(toml.values, ("design",))
        declared = [
            replace(declaration, kind=_KINDS_IN_FILES.get(field, declaration.kind))
            for field, declaration in fields_of(cls).items()
        ]
        return cls(**toml.read_values(toml.values.get("design", {}), declared, "design"))

    @property
    def shares_by_day(self) -> dict[date, dict[str, float]]:
        """The planned shares of phases by their first day, in order.

        Raises:
            UsageError: a day or shares that cannot be read.
        """
        phases = {}
        for day, text in sorted((self.phases or {}).items()):
            pairs = [pair.rpartition(":") for pair in text.split(",")]
            try:
                shares = {name.strip(): float(share) for name, _, share in pairs}
            except ValueError:
                shares = {}
            if not all(name and share > 0 for name, share in shares.items()) or len(shares) < 2:
                problem = f"the shares {text!r} of the phase {day} are not as in old:0.9,new:0.1."
                raise UsageError(problem, code="invalid-share")
            phases[cast("date", _parse_day(day, "phase"))] = shares
        return phases

    @property
    def unit_of_events(self) -> str:
        """The unit that was assigned to arms, in a log.

        Raises:
            UsageError: no event has such a unit.
        """
        unit = self.unit or "user"
        if unit not in UNIT_COLUMNS:
            problem = f"no event has a unit {unit!r}; there are {', '.join(UNIT_COLUMNS)}."
            raise UsageError(problem, code="unknown-unit")
        return unit

    @property
    def first_day(self) -> date | None:
        """The first day; None to use the first day of the data."""
        return _parse_day(self.start, "start")

    @property
    def last_day(self) -> date | None:
        """The last day; None to use the last day of the data."""
        return _parse_day(self.end, "end")


_KINDS_IN_FILES: Mapping[str, Any] = {
    "split": "table",
    "covariates": "table",
    "phases": "table",
    "segments": "texts",
}


def _parse_day(text: str, name: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        problem = f"--{name} {text!r} is not a day, such as 2026-03-01."
        raise UsageError(problem, code="invalid-day") from None


@dataclass(frozen=True)
class ExperimentTest:
    """The test of the arms of an experiment.

    The kind of a metric decides the test: means of units by Welch's t, ratios by the delta method,
    quantiles by order statistics.

    Attributes:
        winsorise: The quantile at which large values of units are cut off, as in 0.999.
        sequential: Give intervals and p-values that hold at every look.
        tuned_to: The units at which these intervals are narrowest.
        bootstrap: Resamples of units for standard errors by the bootstrap; 0: no bootstrap.
        relative: The method for intervals of relative differences: fieller, by the test of p; log,
            as tea-tasting does; delta, as GrowthBook does. Guardrails take fieller.
        level: Of intervals.
        power: Of detectable differences.
        correction: Of p-values of all metrics that are not guardrails.
        prior: The standard deviation of relative effects before the data, for the Bayesian view.
        halves: The number of comparisons of random halves of the control.
        seed: Of random halves and resamples.

    Raises:
        UsageError: A value that a field cannot have.

    >>> ExperimentTest(sequential=True, level=0.9).looks
    10000
    """

    winsorise: Annotated[float | None, Range(0.5, 1.0, exclusive=True)] = None
    sequential: bool = False
    tuned_to: Count = TUNED_TO
    bootstrap: Annotated[int, Range(0)] = 0
    relative: Relative = "fieller"
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95
    power: Share = 0.8
    correction: Correction = "holm"
    prior: Annotated[float, Range(0.0, exclusive=True)] = 0.1
    halves: Annotated[int, Range(0)] = 0
    seed: Annotated[int, Range(0)] = 0

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def looks(self) -> int | None:
        """The units at which intervals that hold at every look are narrowest; None at one look."""
        return self.tuned_to if self.sequential else None


UnitsLike: TypeAlias = "Source | Frame"
"""A table of units: CSV, TSV or Parquet, or a frame."""


def read_units_from_table(data: UnitsLike, measures: Sequence[Measure], design: Design) -> Units:
    """Read units from a table.

    Args:
        data: the table.
        measures: the measures to compare; their columns are numbers, or true and false.
        design: the design, which names the columns of arms, units, days, covariates and segments.

    Raises:
        InputError: a table that cannot be read, a column that it does not have, or that holds no
            numbers; a unit without an id.
    """
    table, location = read_frame(data, "a table")
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
            raise InputError(problem, source=location.label, code="missing-column")
    ids = pl.col(unit).cast(pl.String) if unit else pl.int_range(pl.len()).cast(pl.String)
    days = _day_column(table, day, location.label) if day else pl.lit(None, pl.Date)
    unit_rows = table.select(
        unit=ids,
        variant=pl.col(variant).cast(pl.String),
        day=days,
        **{name: pl.col(name).cast(pl.String) for name in segments},
    )
    if unit_rows["unit"].null_count():
        subject = count_noun(unit_rows["unit"].null_count(), "row has", "rows have")
        problem = f"{subject} no {unit}; give every row a unit."
        raise InputError(problem, source=location.label, code="missing-unit")
    arms, crossed = assign_arms(unit_rows, segments)
    unit_days = unit_rows.select("unit", "day")
    rows = {}
    for measure in measures:
        columns = {"value": _number_column(table, measure.value, location)}
        if measure.per:
            columns["per"] = _number_column(table, measure.per, location)
        values = unit_days.with_columns(**columns).filter(pl.col("value").is_not_null())
        rows[measure.name] = _sum_by_day(values) if measure.quantile is None else values
    before = {
        name: unit_days.select(
            "unit",
            **{
                role: _number_column(table, column, location)
                for role, column in zip(("value", "per"), _covariate_columns(covariate), strict=False)
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
    return Units(
        arms, rows, before, len(crossed), logged, tuple(segments), location.label, first_few(crossed)
    )


def _covariate_columns(covariate: str) -> list[str]:
    """The column of a covariate, or both columns of a ratio: ``earlier`` or ``spent/visited``."""
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
    return rows.group_by("unit", "day", maintain_order=True).agg(in_row_order(pl.col(names)).sum())


def _number_column(table: pl.DataFrame, name: str, location: RowLocation) -> pl.Series:
    column = table[name]
    if column.dtype == pl.String:
        lowered = column.str.strip_chars().str.to_lowercase()
        flags = {word: str(int(flag)) for word, flag in FLAG_WORDS.items()}
        return parse_numbers(lowered.replace(flags), location).alias("value")
    try:
        numbers = column.cast(pl.Float64)
    except pl.exceptions.PolarsError:
        numbers = None
    if numbers is None or not numbers.drop_nulls().is_finite().all():
        problem = f"the column {name!r} holds something that is not a finite number."
        raise InputError(problem, source=location.label, code="not-a-number")
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
