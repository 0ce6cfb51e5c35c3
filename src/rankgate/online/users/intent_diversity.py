"""Diversity of intents: the result of ``intents``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

QUERIES = {
    "query": pl.String,
    "users": pl.Int64,
    "clicks": pl.Int64,
    "documents": pl.Int64,
    "entropy": pl.Float64,
    "corrected": pl.Float64,
    "distance": pl.Float64,
}


@dataclass(frozen=True)
class IntentDiversity(Result):
    """Diversity of the intents of queries, from clicks of different users.

    Attributes:
        queries: ``query``, ``users`` that clicked, ``clicks`` (a document counts once a user),
            ``documents`` that were clicked; ``entropy``: -sum p log2 p, where p is the mean over
            users of the share of their clicks on a document; ``corrected``: the same plus
            (documents - 1) / (2 users ln 2), as few users see too little of it (Miller and Madow
            1955); ``distance``: the probability that a click of one user and a click of another are
            on different documents. The most diverse come first.
        min_users: how many users must have clicked.
        seen: queries with clicks of a known user.
        entropy, distance: means over queries, each with the same weight; None without queries.
        low, high: of ``distance``, the 95 % interval over queries (Student's t).
        faults: codes of what the log doctor found that spoils clicks.
    """

    kind: ClassVar[str] = "intent_diversity"
    label: ClassVar[str] = "Diversity of intents"
    document_from: ClassVar[str] = "rankgate.online.users.documents:intents"
    charts: ClassVar[Mapping[str, str]] = {"intents": "rankgate.online.users.charts:intents"}
    order: ClassVar[int] = 65
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"queries": QUERIES}

    queries: pl.DataFrame
    min_users: int
    seen: int
    entropy: float | None
    distance: float | None
    low: float | None
    high: float | None
    faults: tuple[str, ...] = ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about the figures."""
        notices = []
        if self.faults:
            notices.append(
                Notice(
                    "spoiled-clicks",
                    f"the log doctor found {', '.join(self.faults)}, which "
                    "makes clicks or users wrong: see rankgate online doctor",
                )
            )
        if excluded_queries := self.seen - len(self.queries):
            notices.append(
                Notice(
                    "few-users",
                    f"{excluded_queries:,} of {self.seen:,} queries have clicks of fewer than "
                    f"{self.min_users} users and are left out",
                )
            )
        return tuple(notices)

    def _table(self) -> pl.DataFrame:
        return self.queries
