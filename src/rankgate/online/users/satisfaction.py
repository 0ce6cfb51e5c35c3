"""Satisfaction over weeks: the result of ``weeks``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

WEEKS = {
    "week": pl.String,
    "kpi": pl.String,
    "users": pl.Int64,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
COHORTS = {
    "cohort": pl.String,
    "age": pl.Int64,
    "users": pl.Int64,
    "active": pl.Int64,
    "retention": pl.Float64,
}
AGES = {
    "variant": pl.String,
    "kpi": pl.String,
    "age": pl.Int64,
    "users": pl.Int64,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
TRENDS = {
    "variant": pl.String,
    "kpi": pl.String,
    "weeks": pl.Int64,
    "slope": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p_value": pl.Float64,
}
CORRELATIONS = {
    "per": pl.String,
    "metric": pl.String,
    "kpi": pl.String,
    "n": pl.Int64,
    "spearman": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p_value": pl.Float64,
}
DIFFERENCE_SIGN = " - "
"""The text between the names of two variants in rows of ages and trends of a difference."""


@dataclass(frozen=True)
class Satisfaction(Result):
    """KPIs of users over weeks.

    Attributes:
        weeks: ``week`` (its Monday, in the log's time zone), ``kpi``, ``users``, ``value`` with
            its 95 % interval ``low`` and ``high`` (users are units, delta method).
        cohorts: ``cohort`` (the week of a user's first event), ``age`` in weeks, ``users`` of the
            cohort, ``active``, ``retention`` = active / users; weeks after the end of the log, and
            its last one, are left out.
        ages: ``variant`` (empty is all; ``b - a`` is the difference of two), ``kpi``, ``age``:
            weeks since the user's first event, in the variant; ``users``, ``value``, ``low``,
            ``high``: novelty wears off where values fall with age.
        trends: ``variant``, ``kpi``, ``weeks``, ``slope`` a week, ``low``, ``high``, ``p_value``:
            the weighted line through ``ages``.
        correlations: ``per`` (query or day), ``metric``, ``kpi``, ``n``, ``spearman`` with its
            interval and p-value: ranking metrics of the lists that were shown and KPIs.
        faults: codes of what the log doctor found that spoils users or times.
    """

    kind: ClassVar[str] = "satisfaction"
    label: ClassVar[str] = "Satisfaction over weeks"
    document_from: ClassVar[str] = "rankgate.online.users.documents:weeks"
    charts: ClassVar[Mapping[str, str]] = {
        "weeks": "rankgate.online.users.charts:weeks",
        "novelty": "rankgate.online.users.charts:novelty",
        "retention": "rankgate.online.users.charts:retention",
    }
    order: ClassVar[int] = 67
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "weeks": WEEKS,
        "cohorts": COHORTS,
        "ages": AGES,
        "trends": TRENDS,
        "correlations": CORRELATIONS,
    }

    weeks: pl.DataFrame
    cohorts: pl.DataFrame
    ages: pl.DataFrame
    trends: pl.DataFrame
    correlations: pl.DataFrame
    faults: tuple[str, ...] = ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """A warning if a fault of the log spoils users or times."""
        if not self.faults:
            return ()
        return (
            Notice(
                "spoiled-users",
                f"the log doctor found {', '.join(self.faults)}, which makes users or times wrong: "
                "see rankgate online doctor",
            ),
        )

    def _table(self) -> pl.DataFrame:
        return self.weeks
