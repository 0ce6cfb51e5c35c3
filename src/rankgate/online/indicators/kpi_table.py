"""KPIs of a log, in total and by day, variant and more: the result of ``kpi``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.online.faults.finding import UNMAPPED, LogFinding

VALUES = {
    "kpi": pl.String,
    "by": pl.String,
    "slice": pl.String,
    "value": pl.Float64,
    "n": pl.Int64,
}


@dataclass(frozen=True)
class KpiTable(Result):
    """KPIs of a log.

    Attributes:
        values: ``kpi``, ``by`` (what divides the log; ``all`` for the total), ``slice``, ``value``
            (null where undefined, blocked or without events), ``n`` (what it is divided by).
        findings: of the log doctor, which spoil some of the figures.
        blocked: by KPI that is not given the codes of the findings that block it.
        excluded: what was left out of the log, in words.
        first: the time of the first event.
        last: the time of the last event.
        events: how many there are.
        time_zone: of days.
    """

    kind: ClassVar[str] = "kpi_table"
    label: ClassVar[str] = "KPIs"
    document_from: ClassVar[str] = "rankgate.online.indicators.document:document"
    charts: ClassVar[Mapping[str, str]] = {
        "kpi-days": "rankgate.online.indicators.charts:days",
        "kpi-positions": "rankgate.online.indicators.charts:positions",
    }
    order: ClassVar[int] = 62
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"values": VALUES}

    values: pl.DataFrame
    findings: tuple[LogFinding, ...]
    blocked: Mapping[str, tuple[str, ...]]
    excluded: tuple[str, ...]
    first: str
    last: str
    events: int
    time_zone: str = "UTC"

    def __getitem__(self, name: str) -> float | None:
        """The value of a KPI over the whole log; None where it is undefined."""
        matches = self.values.filter(pl.col("kpi") == name, pl.col("by") == "all")["value"]
        if not len(matches):
            raise KeyError(name)
        value: float | None = matches.item()
        return value

    @property
    def status(self) -> int:
        """The exit code: 3 where no KPI has a value, else 0."""
        total = self.values.filter(pl.col("by") == "all")["value"]
        return 0 if total.count() else 3

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Findings that spoil figures, and the figures that are not given because of them."""
        notices = [
            Notice(finding.code, _sentence(finding), finding.code) for finding in self.findings
        ]
        if self.blocked:
            notices.append(
                Notice(
                    "blocked-kpis",
                    f"not given, as a fault of the log spoils them: {', '.join(self.blocked)}; "
                    "--despite gives them",
                )
            )
        return tuple(notices)

    def _table(self) -> pl.DataFrame:
        return self.values


def _sentence(finding: LogFinding) -> str:
    sentence = f"{finding.code}: {finding.count:,} of {finding.total:,} {finding.words}"
    if finding.spoils:
        sentence += f"; it spoils figures of {', '.join(finding.spoils)}"
    if finding.code == UNMAPPED:
        sentence += f" ({finding.share:.2%}); {finding.fix}"
    return sentence
