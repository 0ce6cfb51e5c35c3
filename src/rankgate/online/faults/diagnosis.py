"""Faults of a log: the result of ``doctor``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.online.faults.finding import LogFinding

COUNTS = {"kind": pl.String, "events": pl.Int64}


@dataclass(frozen=True)
class Diagnosis(Result):
    """Faults of a log.

    Attributes:
        findings: what was found, the worst first.
        passed: codes of the checks that found nothing.
        skipped: codes of the checks for which the log has nothing to look at.
        counts: ``kind``, ``events``.
        first: the time of the first event.
        last: the time of the last event.
        privacy: what was left out or hashed when the log was read.
    """

    kind: ClassVar[str] = "diagnosis"
    label: ClassVar[str] = "Faults of the log"
    document_from: ClassVar[str] = "rankgate.online.faults.document:document"
    order: ClassVar[int] = 61
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"counts": COUNTS}

    findings: tuple[LogFinding, ...]
    passed: tuple[str, ...]
    skipped: tuple[str, ...]
    counts: pl.DataFrame
    first: str
    last: str
    privacy: Mapping[str, Any]

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Each finding in a sentence."""
        return tuple(
            Notice(
                finding.code,
                f"{finding.count:,} of {finding.total:,} {finding.words}",
                finding.code,
            )
            for finding in self.findings
        )

    def blocking(self, subjects: tuple[str, ...]) -> tuple[LogFinding, ...]:
        """The findings that block figures made of any of the subjects."""
        return tuple(
            finding
            for finding in self.findings
            if finding.severity == "block" and set(finding.spoils) & set(subjects)
        )

    def _table(self) -> pl.DataFrame:
        rows = [
            {
                **asdict(finding),
                "spoils": ", ".join(finding.spoils),
                "examples": ", ".join(finding.examples),
            }
            for finding in self.findings
        ]
        return pl.DataFrame(rows)
