"""The result of ``blindspots``: which changes each metric notices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

PROFILE: dict[str, Any] = {
    "change": pl.String,
    "about": pl.String,
    "metric": pl.String,
    "altered": pl.Int64,
    "unmoved": pl.Float64,
    "delta": pl.Float64,
}

SEEN: dict[str, Any] = {
    "metric": pl.String,
    "moved": pl.Int64,
    "blind": pl.Float64,
    "delta": pl.Float64,
    "examples": pl.List(pl.String),
}


@dataclass(frozen=True)
class BlindSpots(Result):
    """What metrics see, and what they do not.

    Attributes:
        baseline: the run that was changed.
        candidate: the actual change; None where only the profile was asked for.
        convention: name, axes and hash.
        depth: how far lists were compared.
        k: the cutoff that the changes use.
        queries: of the baseline, with judgments.
        changed: queries whose first documents differ between baseline and candidate.
        seen: ``metric``, ``moved`` (of the changed queries), ``blind`` (the share that it did
            not move for), ``delta`` (mean over all queries), ``examples``.
        profile: ``change``, ``about``, ``metric``, ``altered`` (lists in which it alters the
            grades at the ranks; what changes no grade no judgments can see),
            ``unmoved`` (the share of these for which the metric does not move), ``delta`` (mean
            over these).
        suggested: the smallest set of metrics that sees what can be seen.
        unseen: changes that no metric tried sees.
        notices: what the reader should know of the judgments and the runs.
    """

    kind: ClassVar[str] = "blindspots"
    document_from: ClassVar[str] = "rankgate.decisions.blind_spots.document:document"
    order: ClassVar[int] = 35
    charts: ClassVar[Mapping[str, str]] = {
        "blindspots": "rankgate.decisions.blind_spots.charts:draw"
    }
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"seen": SEEN, "profile": PROFILE}

    baseline: str
    candidate: str | None
    convention: Mapping[str, Any]
    depth: int
    k: int
    queries: int
    changed: int
    seen: pl.DataFrame
    profile: pl.DataFrame
    suggested: tuple[str, ...]
    unseen: tuple[str, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def heading(self) -> str:
        """The heading of its part of a report."""
        return "What the metrics do not see"

    def _table(self) -> pl.DataFrame:
        return self.profile
