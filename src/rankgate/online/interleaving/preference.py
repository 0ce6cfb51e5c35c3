"""Preference between systems: the result of scoring interleaved lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

PAIRS = {
    "one": pl.String,
    "other": pl.String,
    "wins_one": pl.Int64,
    "wins_other": pl.Int64,
    "ties": pl.Int64,
    "preference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p_sign": pl.Float64,
    "credit": pl.Float64,
    "credit_low": pl.Float64,
    "credit_high": pl.Float64,
    "p_t": pl.Float64,
    "p_value": pl.Float64,
    "needed": pl.Int64,
    "preferred": pl.String,
}
SLOTS = {
    "slot": pl.Int64,
    "system": pl.String,
    "shown": pl.Int64,
    "clicks": pl.Int64,
}


@dataclass(frozen=True)
class Preference(Result):
    """Which system users prefer.

    Attributes:
        method: how lists were mixed.
        systems: their names.
        unit: whose clicks are one observation: request, session, user or query.
        requests: how many lists were shown.
        units: how many observations there are.
        clicked: how many of them have a click; the others say nothing.
        clicks: on slots.
        competitive: the share of shown slots whose document the systems rank differently.
        pairs: ``one``, ``other``; ``wins_one``, ``wins_other``, ``ties`` of units with a click;
            ``preference``, what the method's test is of, with ``low``, ``high``: of the sign test
            (wins of other + ties / 2) / all - 1/2 (Clopper and Pearson), of the t-test the mean
            difference of credits; ``p_sign`` of wins; ``credit``: mean difference of credits,
            other less one, with ``credit_low``, ``credit_high`` (Student's t) and ``p_t``;
            ``p_value``: p of the method's test, by Holm's correction where there are several pairs;
            ``needed``: units for a power of 80 % at this effect, with a winner for the sign
            test; ``preferred``, null where none is.
        slots: ``slot``, ``system``, ``shown`` for it, ``clicks``; for methods with teams.
        p_teams: of the test that the systems have had equal shares of each slot; None without
            teams.
        level: of the intervals and tests.
        seed: of the bootstrap of earlier versions; 0.
        test: sign or t, the one that keeps its level for the method.
        bias: what the method is known to get wrong.
    """

    kind: ClassVar[str] = "preference"
    label: ClassVar[str] = "Interleaving"
    document_from: ClassVar[str] = "rankgate.online.interleaving.document:document"
    charts: ClassVar[Mapping[str, str]] = {
        "preference": "rankgate.online.interleaving.charts:preferences",
    }
    order: ClassVar[int] = 66
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"pairs": PAIRS, "slots": SLOTS}

    method: str
    systems: tuple[str, ...]
    unit: str
    requests: int
    units: int
    clicked: int
    clicks: int
    competitive: float
    pairs: pl.DataFrame
    slots: pl.DataFrame
    p_teams: float | None
    level: float
    seed: int = 0
    test: str = "sign"
    bias: str = ""

    UNBALANCED: ClassVar[float] = 0.001
    FEW: ClassVar[int] = 20

    @property
    def verdict(self) -> str:
        """``inconclusive`` where the log contradicts the draw of teams; else empty."""
        unbalanced = self.p_teams is not None and self.p_teams < self.UNBALANCED
        return "inconclusive" if unbalanced else ""

    @property
    def status(self) -> int:
        """The exit code: 3 where nothing may be concluded, else 0."""
        return 3 if self.verdict else 0

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about the preference."""
        notices = []
        if self.verdict:
            notices.append(
                Notice(
                    "unbalanced-teams",
                    f"systems have had unequal shares of slots (p = {self.p_teams:.2g}): lists "
                    "were not shown as drawn, or requests are lost for one system; no preference "
                    "is given",
                )
            )
        min_decisive = min(
            (row["wins_one"] + row["wins_other"] for row in self.pairs.to_dicts()), default=0
        )
        if min_decisive < self.FEW:
            notices.append(
                Notice(
                    "few-decisive-units",
                    f"a pair has only {min_decisive} {self.unit}s with a winner; collect more",
                )
            )
        for row in self.pairs.iter_rows(named=True) if self.test == "sign" else ():
            p_values = (row["p_sign"], row["p_t"])
            if None not in p_values and (p_values[0] < 1 - self.level) != (
                p_values[1] < 1 - self.level
            ):
                notices.append(
                    Notice(
                        "tests-disagree",
                        f"{row['one']} against {row['other']}: the sign test (p = "
                        f"{p_values[0]:.3g}) "
                        f"and the t-test of credits (p = {p_values[1]:.3g}) disagree; a few "
                        f"{self.unit}s may have most of the clicks",
                        row["other"],
                    )
                )
        return tuple(notices)

    def _table(self) -> pl.DataFrame:
        return self.pairs
