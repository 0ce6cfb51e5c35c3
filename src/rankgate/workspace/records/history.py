"""The result of ``history``: a metric over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.measurement.stats.change_points import MAX_SPAN, correlation_in_time

HIGH_CORRELATION = 0.5
"""From this correlation of neighbouring evaluations on, a notice says that few changes are
found; independent values of `MAX_SPAN` evaluations hardly ever reach it."""

SERIES_SCHEMA = {
    "system": pl.String,
    "at": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "record": pl.Int64,
    "sha256": pl.String,
    "kind": pl.String,
    "revision": pl.String,
    "branch": pl.String,
    "verdict": pl.String,
    "segment": pl.Int64,
}
BREAKS_SCHEMA = {
    "system": pl.String,
    "at": pl.String,
    "record": pl.Int64,
    "reasons": pl.String,
    "before": pl.Float64,
    "after": pl.Float64,
    "delta": pl.Float64,
    "judgments": pl.Float64,
    "queries": pl.Float64,
    "rest": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "why": pl.String,
}
CHANGES_SCHEMA = {
    "system": pl.String,
    "at": pl.String,
    "found_at": pl.String,
    "record": pl.Int64,
    "found_record": pl.Int64,
    "revision": pl.String,
    "before": pl.Float64,
    "after": pl.Float64,
    "delta": pl.Float64,
    "gain": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p_value": pl.Float64,
    "queries": pl.Int64,
}
ANNOTATIONS_SCHEMA = {
    "at": pl.String,
    "kind": pl.String,
    "text": pl.String,
    "revision": pl.String,
    "actor": pl.String,
}


@dataclass(frozen=True)
class History(Result):
    """A metric over time.

    Attributes:
        metric: which.
        slice: of which queries; empty is all.
        place: where the records are.
        higher_is_better: the direction.
        series: a row for each evaluation: ``system``, ``at``, ``value``, ``low``, ``high``, ``n``,
            ``record`` (its number), ``sha256``, ``kind``, ``revision``, ``branch``, ``verdict``,
            ``segment`` (values of one segment are comparable).
        breaks: where values before and after are not comparable: ``reasons`` (judgments,
            convention, queries), ``before``, ``after``, ``delta``, and where the run before is
            kept its parts: ``judgments`` (the same run by the new judgments and convention less by
            the old), ``queries`` (other queries), ``rest`` (what the system did, with ``low`` and
            ``high``); ``why`` there are no parts.
        changes: change-points between comparable evaluations: ``at`` (the first evaluation after
            it), ``found_at``, ``before``, ``after``, ``delta``, ``gain`` (positive is better),
            ``low``, ``high``, ``p_value``, ``queries``.
        annotations: ``at``, ``kind``, ``text``, ``revision``, ``actor``.
        rate: false alarms for each evaluation of a series, where days are independent.
    """

    kind: ClassVar[str] = "history"
    document_from: ClassVar[str] = "rankgate.workspace.records.documents.history:history_document"
    charts: ClassVar[Mapping[str, str]] = {
        "history": "rankgate.workspace.records.charts.history:draw_history"
    }
    order: ClassVar[int] = 3
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "series": SERIES_SCHEMA,
        "breaks": BREAKS_SCHEMA,
        "changes": CHANGES_SCHEMA,
        "annotations": ANNOTATIONS_SCHEMA,
    }

    metric: str
    slice: str
    place: str
    higher_is_better: bool
    series: pl.DataFrame
    breaks: pl.DataFrame
    changes: pl.DataFrame
    annotations: pl.DataFrame
    rate: float

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, in the order of their first evaluation."""
        return tuple(self.series["system"].unique(maintain_order=True).to_list())

    @property
    def heading(self) -> str:
        """The metric."""
        return f"{self.metric} over time"

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Breaks whose parts are not known, and systems in whose values few changes are found."""
        breaks = tuple(
            Notice("no-bridge", f"{row['system']}, {row['at'][:10]}: {row['why']}", row["system"])
            for row in self.breaks.iter_rows(named=True)
            if row["why"]
        )
        return breaks + tuple(filter(None, map(self._correlated, self.systems)))

    def _correlated(self, system: str) -> Notice | None:
        """A notice if evaluations resemble the one before, in the last segment of a system."""
        system_rows = self.series.filter(pl.col("system") == system)
        system_rows = system_rows.filter(pl.col("segment") == system_rows["segment"][-1])
        if len(system_rows) < MAX_SPAN:
            return None
        change_records = self.changes.filter(pl.col("system") == system)["record"].implode()
        change_rows = (
            system_rows.select(pl.col("record").is_in(change_records).arg_true())
            .to_series()
            .to_list()
        )
        correlation = correlation_in_time(system_rows["value"].to_numpy(), change_rows)
        if correlation < HIGH_CORRELATION:
            return None
        text = (
            f"{system}: evaluations resemble the one before (correlation {correlation:.2f}), or "
            "have a season. Of changes of two standard deviations few are found in such a series "
            "(one in six at a correlation of 0.7, hardly any at 0.9), and a season, or a slow "
            "wandering under other noise, gives more false alarms than the rate says."
        )
        return Notice("correlated-evaluations", text, system)

    def _table(self) -> pl.DataFrame:
        return self.series
