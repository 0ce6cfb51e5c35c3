"""One KPI: an expression over a table, its unit, direction and definition."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from rankgate.core.declare import Declared
from rankgate.core.frozen import dataclass
from rankgate.online.events.log_checks import Subject
from rankgate.online.log_database import exact_sum

Unit = Literal["share", "count", "rank", "seconds", "ms", "money", "score", "pages", "days", "MB"]


@dataclass(frozen=True, kw_only=True)
class Kpi(Declared):
    """A figure of what users did.

    A mean is the sum of ``of`` over the rows where it is not null, divided by how many these are; a
    ratio is the sum of ``of`` divided by that of ``per``; a quantile is of the rows where ``of``
    is not null. Without any such row the value is null, which is not 0.

    Attributes:
        table: the table that has its rows: searches, clicks, sessions, users (sessions of known
            users), people (users) or events.
        of: from the table the expression that is averaged or summed, null where a row does not
            count.
        per: from the table the denominator of a ratio; None for a mean.
        quantile: the quantile of ``of``, instead of the mean.
        cap: the quantile of what is above 0 at which ``of`` is cut off (winsorised).
        unit: the unit of the value.
        better: ``up`` or ``down``; empty if neither is better.
        formula: the definition, in words and signs.
        needs: kinds of events; the log must have one of them for the figure to be known: a log
            without purchases has no conversion rate, which is not 0.
        of_goal: True if it counts sessions that reached their goal; a log that names the actions of
            the goal itself needs no other events.
        made_of: the parts that it depends on; a finding of the log doctor that spoils one of these
            blocks it or comes with it.
        own_columns: the columns that the table gets for this KPI: aggregates over the events of
            each of its rows.
        window: the seconds from the first event of a row whose events count; None for all.
    """

    table: Literal["searches", "clicks", "sessions", "users", "people", "events"]
    of: Callable[[Any], Any]
    per: Callable[[Any], Any] | None = None
    quantile: float | None = None
    cap: float | None = None
    unit: Unit
    better: Literal["up", "down", ""]
    formula: str
    needs: tuple[str, ...] = ()
    of_goal: bool = False
    made_of: tuple[Subject, ...]
    own_columns: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    window: float | None = None

    def has_events(self, kinds: Container[str], success: Sequence[str] = ()) -> bool:
        """True if a log has the events that the KPI needs.

        Args:
            kinds: the kinds of events in the log.
            success: the actions of the goal that the log names.
        """
        if not self.needs or (self.of_goal and success):
            return True
        return any(kind in kinds for kind in self.needs)

    def columns(self, table: Any, limit: float | None = None) -> dict[str, Any]:  # noqa: ANN401 - Ibis
        """The columns of the KPI's aggregation: ``value`` and ``n``, prefixed with the KPI's name.

        Args:
            table: the table of Ibis.
            limit: the upper limit of ``of``.
        """
        column = self.of(table)
        if column.type().is_boolean():
            column = column.cast("int64")
        if limit is not None:
            column = column.clip(upper=limit)
        total = column.count() if self.per is None else exact_sum(self.per(table))
        value = (
            column.quantile(self.quantile)
            if self.quantile is not None
            else exact_sum(column) / total.nullif(0)
        )
        return {f"{self.name}.value": value.cast("float64"), f"{self.name}.n": total.cast("int64")}
