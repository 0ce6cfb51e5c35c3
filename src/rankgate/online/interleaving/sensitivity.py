"""Searches that interleaving and A/B tests need: the result of ``sensitivity``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

TESTS = {
    "test": pl.String,
    "design": pl.String,
    "effect": pl.Float64,
    "spread": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "needed": pl.Int64,
    "times_fewer": pl.Float64,
    "better": pl.String,
}


@dataclass(frozen=True)
class Sensitivity(Result):
    """Searches that tests of two systems need, by simulation.

    Attributes:
        systems: the two.
        user: who clicks.
        searches: simulated for each test.
        tests: ``test`` (an interleaving method or a KPI), ``design`` (interleaving or A/B);
            ``effect``: the mean difference of a search, second less first, with ``low`` and
            ``high`` of its 95 % interval; ``spread``: the standard deviation of that difference
            (of both arms together for A/B); ``needed`` searches in all arms for a power of 80 %
            at 5 %, null without an effect; ``times_fewer`` than the best A/B test; ``better``.
        seed: of the simulation.
    """

    kind: ClassVar[str] = "sensitivity"
    label: ClassVar[str] = "Sensitivity of interleaving"
    document_from: ClassVar[str] = "rankgate.online.interleaving.document:sensitivity"
    charts: ClassVar[Mapping[str, str]] = {
        "sensitivity": "rankgate.online.interleaving.charts:sensitivities",
    }
    order: ClassVar[int] = 65
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"tests": TESTS}

    systems: tuple[str, str]
    user: str
    searches: int
    tests: pl.DataFrame
    seed: int

    @property
    def notices(self) -> tuple[Notice, ...]:
        """A warning if tests name different systems."""
        with_better = self.tests.filter(pl.col("better").is_not_null())
        if with_better["better"].n_unique() < 2:
            return ()
        parts = [
            f"{', '.join(rows['test'])} {'find' if len(rows) > 1 else 'finds'} {name} better"
            for (name,), rows in with_better.group_by("better", maintain_order=True)
        ]
        return (Notice("tests-disagree", "; ".join(parts)),)

    def _table(self) -> pl.DataFrame:
        return self.tests
