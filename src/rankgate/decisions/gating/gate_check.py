"""A gate's decisions about a system and itself: the result of the verb ``self_check``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Status

VERDICTS = {
    "baseline": pl.String,
    "candidate": pl.String,
    "verdict": pl.String,
    "reason": pl.String,
}
RATES = {
    "event": pl.String,
    "pairs": pl.Int64,
    "share": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
METRICS = {
    "metric": pl.String,
    "lowest": pl.Float64,
    "highest": pl.Float64,
    "noise": pl.Float64,
    "margin": pl.Float64,
}
_FEW_SNAPSHOTS = 6  # with fewer snapshots the intervals are too wide to use


@dataclass(frozen=True)
class GateCheck(Result):
    """Verdicts about pairs of snapshots of the same system.

    Attributes:
        runs: the names of the snapshots.
        policy: its file, or another source.
        verdicts: ``baseline``, ``candidate``, ``verdict`` and the ``reason`` of each ordered pair.
        rates: by ``event`` the ``pairs`` with it, their ``share``, and ``low`` and ``high`` of its
            interval: ``flip`` (another verdict than most pairs have), ``false fail``, ``false
            improvement`` (a rule sees an improvement), ``inconclusive``.
        metrics: by ``metric`` its ``lowest`` and ``highest`` mean, the difference as ``noise``, and
            the smallest ``margin`` of the policy's rules.
        queries: in the snapshots.
        changed: queries whose lists are not the same in all snapshots.
        level: of the intervals.
    """

    kind: ClassVar[str] = "gate_check"
    label: ClassVar[str] = "Self-check of a gate"
    document_from: ClassVar[str] = "rankgate.decisions.gating.documents.gate_check:document"
    order: ClassVar[int] = 1
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "verdicts": VERDICTS,
        "rates": RATES,
        "metrics": METRICS,
    }

    runs: tuple[str, ...]
    policy: str
    verdicts: pl.DataFrame
    rates: pl.DataFrame
    metrics: pl.DataFrame
    queries: int
    changed: int
    level: float

    @property
    def verdict(self) -> Status:
        """Fail if verdicts flip or one is false, inconclusive if all are, else pass."""
        rates = dict(self.rates.select("event", "pairs").iter_rows())
        if rates["flip"] or rates["false fail"] or rates["false improvement"]:
            return "fail"
        return "inconclusive" if rates["inconclusive"] else "pass"

    @property
    def passed(self) -> bool:
        """True if every pair passes."""
        return self.verdict == "pass"

    @property
    def status(self) -> int:
        """The exit code: 0 pass, 1 fail, 3 inconclusive."""
        return {"pass": 0, "fail": 1, "inconclusive": 3}[self.verdict]

    @property
    def independent(self) -> int:
        """Pairs that have no snapshot in common, which intervals count."""
        return len(self.runs) // 2

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices about a system that is not deterministic, and about margins below its noise."""
        notices = []
        if self.changed:
            notices.append(
                Notice(
                    "not-deterministic",
                    f"the system is not deterministic: {self.changed:,} of {self.queries:,} "
                    "queries do not have the same list in all snapshots; give the gate several of "
                    "them (--noise), and look for the cause: replicas, ties, an index that changes",
                )
            )
        else:
            notices.append(
                Notice(
                    "deterministic",
                    "all snapshots have the same lists: no verdict can flip by the system itself",
                )
            )
        notices += [
            Notice(
                "margin-below-noise",
                f"{row['metric']}: the margin {row['margin']:g} is below the noise "
                f"{row['noise']:.4f} of the same system; raise the margin",
                row["metric"],
            )
            for row in self.metrics.drop_nulls("margin").iter_rows(named=True)
            if row["margin"] < row["noise"]
        ]
        if self.changed and len(self.runs) < _FEW_SNAPSHOTS:
            notices.append(
                Notice(
                    "few-snapshots",
                    f"{len(self.runs)} snapshots have only {self.independent} independent "
                    f"pair{'s' * (self.independent > 1)}; {_FEW_SNAPSHOTS} or more narrow the "
                    "intervals",
                )
            )
        return tuple(notices)

    def _table(self) -> pl.DataFrame:
        return self.verdicts
