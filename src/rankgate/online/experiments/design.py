"""An experiment's design and the tests of its arms: options of ``ab`` and ``plan``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from rankgate.core.declare import Count, Range, Share, check_fields, fields_of
from rankgate.core.declare.toml import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.measurement.stats.corrections import Correction
from rankgate.online.experiments.effect import Relative
from rankgate.online.experiments.unit_events import UNIT_COLUMNS

TUNED_TO = 10_000
"""Units at which intervals that hold at every look are narrowest, unless a test says another
number."""

DesignLike: TypeAlias = "Design | str | Path"
"""A design, or a TOML file with the table ``[design]``."""


@dataclass(frozen=True)
class Design(ByContent):
    """An experiment: what was assigned to which arms, when, and what was known before.

    Attributes:
        variant: The column of arms of a table with a row for each unit; without it the experiment
            is in the events of a log.
        unit: What was assigned to arms: user, session or query, user by default; of a table the
            column of units, without it each row is one.
        control: The arm that others are compared with; by default the first by name.
        split: The planned share of each arm, as in old=0.9; equal shares by default.
        day: The column of days of a table.
        start: The first day of the experiment, as in 2026-03-01; by default the first with an arm.
        end: The last day of the experiment.
        cuped: Adjust for each unit's own value from before ``start``.
        covariates: Of a table the column that adjusts a metric, as in spend=history, or both of a
            ratio, as in spend/visits=spent/visited; they must be known before the experiment.
        segments: Columns of a table that divide units; of events: application.
        crossed: The share of units in several arms that is tolerated; they are left out.

    Raises:
        UsageError: A unit that no event has, a day that is none, shares that are not above 0, a
            control without a share, CUPED of a table.

    >>> Design(control="old", split={"old": 0.9, "new": 0.1}).first_day
    """

    variant: str = ""
    unit: str = ""
    control: str = ""
    split: Mapping[str, float] | None = None
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
                "CUPED of a table needs its column; say --covariate METRIC=COLUMN.",
                code="conflicting-options",
            )
        if self.first_day and self.last_day and self.first_day > self.last_day:
            problem = f"the experiment ends on {self.end}, before it starts on {self.start}."
            raise UsageError(problem, code="invalid-day")
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
        """The first day; None for that of the data."""
        return _parse_day(self.start, "start")

    @property
    def last_day(self) -> date | None:
        """The last day; None for that of the data."""
        return _parse_day(self.end, "end")


_KINDS_IN_FILES: Mapping[str, Any] = {"split": "table", "covariates": "table", "segments": "texts"}


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
    """How the arms of an experiment are tested.

    What a metric is decides the test: means of units by Welch's t, ratios by the delta method,
    quantiles by order statistics.

    Attributes:
        winsorise: The quantile at which large values of units are cut off, as in 0.999.
        sequential: Give intervals and p-values that hold at every look.
        tuned_to: The units at which these intervals are narrowest.
        bootstrap: Resamples of units for standard errors by the bootstrap; 0: no bootstrap.
        relative: How intervals of relative differences are made: fieller, by the test of p; log,
            as tea-tasting does; delta, as GrowthBook does. Guardrails take fieller.
        level: Of intervals.
        power: Of detectable differences.
        correction: Of p-values of all metrics that are no guardrails.
        prior: The standard deviation of relative effects before the data, for the Bayesian view.
        halves: How often random halves of the control are compared with each other.
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
