"""Measures of an experiment: a KPI of the catalogue, or columns of a table of units."""

from __future__ import annotations

import re
from typing import Literal

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.online.indicators.catalogue import KPIS
from rankgate.online.indicators.kpi import Kpi

Kind = Literal["mean", "ratio", "proportion", "quantile"]
"""The comparison of arms; whether a mean is a proportion is seen from its values."""

_QUANTILE = re.compile(r"p(\d+(?:\.\d+)?)\((.+)\)")


@dataclass(frozen=True)
class Measure:
    """One figure that is compared.

    Attributes:
        name: as it was asked for.
        value: the column that is averaged or summed.
        per: the column of the denominator; empty for a mean over units.
        quantile: which quantile of the values, instead of the mean.
        better: ``up`` or ``down``; empty where neither is.
        unit: what the value is in.
        kpi: the KPI of the catalogue; None for columns of a table.
    """

    name: str
    value: str
    per: str = ""
    quantile: float | None = None
    better: str = "up"
    unit: str = ""
    kpi: Kpi | None = None


def measure_from_column(expression: str, down: tuple[str, ...] = ()) -> Measure:
    """The measure of an expression: ``spend``, ``spend/visit`` (a ratio of sums) or ``p95(ms)``.

    >>> measure_from_column("spend/visit").per, measure_from_column("p95(ms)").quantile
    ('visit', 0.95)

    Raises:
        UsageError: a quantile that is not between 0 and 100.
    """
    better = "down" if expression in down else "up"
    if match := _QUANTILE.fullmatch(expression):
        share = float(match[1]) / 100
        if not 0 < share < 1:
            raise UsageError(
                f"{expression}: say a quantile between p1 and p99.", code="invalid-syntax"
            )
        return Measure(expression, match[2], quantile=share, better=better)
    value, slash, denominator = expression.partition("/")
    return Measure(expression, value.strip(), denominator.strip() if slash else "", better=better)


def measure_from_kpi(name: str) -> Measure:
    """The measure of a KPI of the catalogue.

    Raises:
        UsageError: no such KPI.
    """
    kpi = KPIS.named(name)
    return Measure(
        name, name, "rows", quantile=kpi.quantile, better=kpi.better, unit=kpi.unit, kpi=kpi
    )
