"""Declare a kind of alert: its parameters, and how it looks at a series."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Declared
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.declare import Parameter
    from rankgate.decisions.gating.rule import Outcome, Rule
    from rankgate.store.records.series import Point


@dataclass(frozen=True)
class WatchedSeries:
    """A series as a rule looks at it.

    Attributes:
        points: of one metric, system and slice, the oldest first.
        moment: of the check.
        per_query: gives the values per query of a point's record; None where it has none.
    """

    points: Sequence[Point]
    moment: datetime
    per_query: Callable[[Point], pl.DataFrame | None]


@dataclass(frozen=True)
class AlertKind(Declared):
    """A kind of alert: all that the check knows about it is declared here.

    Attributes:
        name: how rules call it.
        title: what it demands, in a sentence.
        takes: its own parameters, in addition to those that every rule has.
        decide: a rule and a series to its outcome: an alert is there while it fails, and over when
            it passes.
        one_of: parameters of which exactly one must be given.
        any_of: parameters of which one or more must be given.
    """

    takes: tuple[Parameter, ...]
    decide: Callable[[Rule, WatchedSeries], Outcome]
    one_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its own parameters by name."""
        return {parameter.name: parameter for parameter in self.takes}

    def problem(self, values: Mapping[str, Any]) -> str | None:
        """The problem with values that are valid one by one; None if there is none."""
        given_names = {name for name, value in values.items() if value is not None}
        if self.one_of and len(given_names.intersection(self.one_of)) != 1:
            return f"give {' or '.join(self.one_of)}, one of them."
        if self.any_of and given_names.isdisjoint(self.any_of):
            return f"give {' or '.join(self.any_of)}."
        return None


def format_figure(value: float) -> str:
    """A figure of a series, in sentences."""
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}"
