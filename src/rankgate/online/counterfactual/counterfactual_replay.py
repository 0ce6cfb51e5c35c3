"""A candidate ranking on logged clicks: the result of ``replay``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

MEASURES = {
    "measure": pl.String,
    "logged": pl.Float64,
    "candidate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "delta": pl.Float64,
    "delta_low": pl.Float64,
    "delta_high": pl.Float64,
    "most": pl.Float64,
    "most_high": pl.Float64,
}
CHECKS = {
    "check": pl.String,
    "value": pl.Float64,
    "limit": pl.Float64,
    "outcome": pl.String,
    "words": pl.String,
}
RANKS_OF_LISTS = {"rank": pl.Int64, "examination": pl.Float64, "shown": pl.Float64}
QUERIES = {
    "query_id": pl.String,
    "searches": pl.Int64,
    "shown": pl.Float64,
    "candidate": pl.Float64,
    "logged": pl.Float64,
    "delta": pl.Float64,
}


@dataclass(frozen=True)
class CounterfactualReplay(Result):
    """A candidate ranking on logged clicks.

    Attributes:
        candidate: the run.
        model: the click model by which lists are valued.
        k: how many ranks of its lists count.
        searches: of the log, of queries that the candidate has.
        queries: that both have.
        support: the share of the candidate's top k that was ever shown for its query.
        measures: ``measure`` (clicks of a search, chance of a click at rank ``first``, ``dcg``);
            ``logged``: of the lists that were shown; ``candidate`` with ``low``, ``high``, where
            what was never shown earns nothing; ``delta`` with ``delta_low``, ``delta_high``;
            ``most``: the candidate's if what was never shown is as good as the query's best, and
            ``most_high``, the upper end of its difference. Empty where the log cannot answer.
        checks: ``check``, ``value``, ``limit``, ``outcome`` (ok, warns, blocks), ``words``.
        by_rank: ``rank``, ``examination``, and the share of the candidate's documents there that
            was ever ``shown``.
        by_query: ``query_id``, ``searches``, ``shown``, clicks of a search of the ``candidate`` and
            ``logged``, ``delta``.
        examination_given: whether the examination of ranks was given, not estimated.
        level: of the intervals.
        resamples: of the bootstrap over sessions.
        seed: of the bootstrap.
        faults: codes of what the log doctor found that spoils clicks or ranks.
        models: over which intervals reach: ``model``, and those that may predict clicks on other
            searches as well; empty in results of older versions.
    """

    kind: ClassVar[str] = "counterfactual_replay"
    label: ClassVar[str] = "Replay on logged clicks"
    document_from: ClassVar[str] = "rankgate.online.counterfactual.document:document"
    charts: ClassVar[Mapping[str, str]] = {
        "replay": "rankgate.online.counterfactual.charts:measures",
    }
    order: ClassVar[int] = 12
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "measures": MEASURES,
        "checks": CHECKS,
        "by_rank": RANKS_OF_LISTS,
        "by_query": QUERIES,
    }

    candidate: str
    model: str
    k: int
    searches: int
    queries: int
    support: float
    measures: pl.DataFrame
    checks: pl.DataFrame
    by_rank: pl.DataFrame
    by_query: pl.DataFrame
    examination_given: bool
    level: float
    resamples: int
    seed: int
    faults: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """``inconclusive`` where the log cannot answer; else empty."""
        return "" if len(self.measures) else "inconclusive"

    @property
    def status(self) -> int:
        """The exit code: 3 where the log cannot answer, else 0."""
        return 3 if self.verdict else 0

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Checks that spoil the estimate, and faults of the log."""
        notices = [
            Notice(
                row["check"],
                f"{'refused' if row['outcome'] == 'blocks' else 'warning'}: {row['words']}",
                self.candidate,
            )
            for row in self.checks.filter(pl.col("outcome") != "ok").iter_rows(named=True)
        ]
        if self.faults:
            notices.append(
                Notice(
                    "spoiled-clicks",
                    f"the log doctor found {', '.join(self.faults)}, which makes clicks or ranks "
                    "wrong: see rankgate online doctor",
                )
            )
        return tuple(notices)

    def _table(self) -> pl.DataFrame:
        return self.measures
