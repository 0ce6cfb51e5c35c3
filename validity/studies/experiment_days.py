"""Experiments whose arms do not have the same days: how often equal arms differ, and what is found.

Users come on a first day and come again; what they do changes with the days: clicks fall in the
second week, on weekends, after a holiday. Two arms are equal, or the new one has an effect. The new
arm begins later, the old one ends earlier, or shares change. Each experiment is compared as if time
did not matter, and as ``ab`` compares it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.online.experiments.common_days import compare_on_common_days
from rankgate.online.experiments.estimate_effects import ComparisonMethod, estimate_effect
from rankgate.online.experiments.units import Measure, Units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RUNS, USERS, DAYS = 300, 4000, 14
START = date(2026, 3, 2)  # a Monday
LEVEL = 0.05
SHARES = {"old": 0.5, "new": 0.5}


@dataclass(frozen=True)
class Pattern:
    """An experiment: the share of the new arm on each day, and the rate of clicks.

    Attributes:
        share: of the new arm among users who begin on a day; 0 before it begins.
        rate: of clicks on a day, relative to a usual one.
        old_until: the last day with events of the old arm.
        effect: of the new arm on the rate, relative.
        closed: days without events.
        logged_from: the first day with events of the new arm, whose users were there before.
    """

    share: Callable[[int], float] = lambda day: 0.5  # noqa: ARG005 - constant
    rate: Callable[[int], float] = lambda day: 1.0  # noqa: ARG005 - constant
    old_until: int = DAYS
    effect: float = 0.0
    closed: tuple[int, ...] = ()
    logged_from: int = 0


def _falls(day: int) -> float:
    return 1.0 if day < DAYS // 2 else 0.75


def _weekend(day: int) -> float:
    return 0.7 if day % 7 > 4 else 1.0


PATTERNS: dict[str, Pattern] = {
    "the same days": Pattern(rate=_falls),
    "the new arm begins on day 4": Pattern(lambda day: 0.5 * (day >= 3), _falls),
    "the new arm begins on day 7": Pattern(lambda day: 0.5 * (day >= 6), _falls),
    "the new arm is logged from day 7 on": Pattern(rate=_falls, logged_from=6),
    "the old arm ends on day 10": Pattern(rate=_falls, old_until=9),
    "begins on a Thursday, weekends are weaker": Pattern(lambda day: 0.5 * (day >= 3), _weekend),
    "10 %, from day 8 on 50 %": Pattern(lambda day: 0.1 if day < 7 else 0.5, _falls),
    "5, 10, 20 and 50 % in steps": Pattern(lambda day: (0.05, 0.1, 0.2, 0.5)[min(day // 3, 3)], _weekend),
    "no day from Friday to Monday": Pattern(rate=_falls, closed=(4, 5, 6, 7)),
    "the same days, +8 %": Pattern(rate=_falls, effect=0.08),
    "10 %, from day 8 on 50 %, +15 %": Pattern(lambda day: 0.1 if day < 7 else 0.5, _falls, effect=0.15),
}


@dataclass(frozen=True)
class Cell:
    """How often arms differ significantly.

    Attributes:
        pattern: the days of the arms.
        measure: a ratio of sums, or a mean of users.
        runs: experiments.
        effect: whether the new arm has one.
        before: share of significant differences if time did not matter.
        after: the same as ab compares.
        named: share of the experiments with a finding about days or shares.
    """

    pattern: str
    measure: str
    runs: int
    effect: bool
    before: float
    after: float
    named: float

    @property
    def holds(self) -> bool:
        """Whether equal arms differ at the level, and effects are found in nine tenths as often."""
        error = 2 * np.sqrt(LEVEL * (1 - LEVEL) / self.runs)
        if self.effect:
            return self.pattern != "the same days, +8 %" or self.after >= 0.9 * self.before
        return bool(self.after <= LEVEL + error)


def run(runs: int = RUNS, seed: int = 0) -> list[Cell]:
    """Every pattern, with a ratio and a mean."""
    cells = []
    for place, (name, pattern) in enumerate(PATTERNS.items()):
        random = np.random.default_rng([seed, place])
        rows = np.array([_outcome(units(pattern, random)) for _ in range(runs)])
        cells += [
            Cell(name, label, runs, pattern.effect > 0, *map(float, rows[:, j].mean(axis=0)))
            for j, label in enumerate(("click rate", "clicks of a user"))
        ]
    return cells


def units(pattern: Pattern, random: np.random.Generator) -> Units:
    """Draw users with their arm, first day, searches and clicks on days."""
    first = random.integers(0, DAYS, USERS)
    share = np.array([pattern.share(day) for day in range(DAYS)])
    new = random.random(USERS) < share[first]
    taste = random.gamma(8, 1 / 8, USERS)
    rows: list[pl.DataFrame] = []
    for day in range(DAYS):
        comes = (first == day) | ((first < day) & (random.random(USERS) < 0.3))
        comes &= np.where(new, day >= pattern.logged_from, day <= pattern.old_until)
        if day in pattern.closed:
            continue
        user = np.flatnonzero(comes)
        searches = 1 + random.poisson(1.0, len(user))
        rate = 0.3 * pattern.rate(day) * taste[user] * (1 + pattern.effect * new[user])
        clicks = random.binomial(searches, np.minimum(rate, 1))
        day_ = pl.Series([START + timedelta(days=day)] * len(user), dtype=pl.Date)
        rows.append(pl.DataFrame({"unit": user, "day": day_, "value": clicks * 1.0, "per": searches * 1.0}))
    table = pl.concat(rows)
    arms = table.group_by("unit", maintain_order=True).agg(pl.col("day").min())
    arms = arms.with_columns(variant=pl.Series(np.where(new, "new", "old")).gather(arms["unit"]))
    logged = table.join(arms.select("unit", "variant"), "unit").group_by("variant", "day")
    counts = logged.agg(units=pl.len(), count=pl.len()).with_columns(what=pl.lit("events"))
    tables = {"click rate": table, "clicks": table.drop("per")}
    return Units(arms.select("unit", "variant", "day"), tables, logged=counts)


_MEASURES = (Measure("click rate", "value", "per"), Measure("clicks", "value"))


def _outcome(drawn: Units) -> list[tuple[float, float, float]]:
    """For each measure: significant before, significant after, a finding."""
    compared, findings = compare_on_common_days(drawn, SHARES)
    method = ComparisonMethod(1 - LEVEL)
    return [
        (
            estimate_effect(drawn, measure, "old", "new", method).p_value < LEVEL,
            estimate_effect(compared, measure, "old", "new", method).p_value < LEVEL,
            bool(findings),
        )
        for measure in _MEASURES
    ]


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import marked, percent, table

    rows = [
        (c.pattern, c.measure, percent(c.before), marked(c.after, c.holds), percent(c.named)) for c in cells
    ]
    missed = sorted({f"{c.pattern} ({c.measure})" for c in cells if not c.holds})
    return (
        "## Arms that do not have the same days\n\nExperiments of two weeks with 4,000 users, who come on a "
        "first day and again; clicks fall by a quarter in the second week, or by 30 % on weekends. Shown is "
        "the share of the experiments with a significant difference, as if time did not matter (before), and "
        "as `ab` and `watch` compare: on the whole days that both arms have, and within first days where the "
        "shares changed. Named is the share with a finding about days or shares. What does not hold: "
        f"{'; '.join(missed) or 'nothing'}.\n\n"
        + table(("days", "measure", "before", "after", "named"), rows)
    )
