"""Check the rules of alerts over the history: what fires, what is over, what goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from rankgate.present.result import Result
from rankgate.records.alerts.kind import Watched
from rankgate.records.alerts.kinds import ALERTS
from rankgate.records.alerts.rules import AlertRules, read_rules
from rankgate.store.material import projects
from rankgate.store.records import alerts, notifications, records, series
from rankgate.store.rows import now

if TYPE_CHECKING:
    from rankgate.gating.rule import Outcome, Rule
    from rankgate.store.database import Connection
    from rankgate.store.records.alerts import Alert
    from rankgate.store.records.series import Point
    from rankgate.store.store import Store

Change = Literal["", "fired", "again", "resolved"]


@dataclass(frozen=True)
class RuleState:
    """One rule on one series.

    Attributes:
        rule: its name.
        metric, system, slice: which series.
        status: ``fail`` while there is an alert, ``pass``, or ``inconclusive``.
        change: ``fired`` now, fired ``again`` with other figures, ``resolved`` now; empty is none.
        reason: why, with the figures.
        alert: the number of the alert; None without one.
    """

    rule: str
    metric: str
    system: str
    slice: str
    status: str
    change: str
    reason: str
    alert: int | None


@dataclass(frozen=True)
class AlertCheck(Result):
    """Every rule of a project on every series that it looks at.

    Attributes:
        project: the name.
        checked_at: when, in ISO 8601.
        states: of the rules, in their order.
    """

    kind: ClassVar[str] = "alert_check"
    document_from: ClassVar[str] = "rankgate.records.alerts.document:checked"

    project: str
    checked_at: str
    states: tuple[RuleState, ...]

    @property
    def failed(self) -> tuple[RuleState, ...]:
        """Those with an alert."""
        return tuple(each for each in self.states if each.status == "fail")

    def _table(self) -> pl.DataFrame:
        return pl.DataFrame([vars(each) for each in self.states])


def check_alerts(store: Store, project: str, moment: datetime | None = None) -> AlertCheck:
    """Check the rules of a project, and note what fires and what is over, with its messages.

    Messages wait in the store; `rankgate.records.alerts.deliver` sends them.

    Args:
        store: an open store.
        project: the name.
        moment: by default now.

    Raises:
        UsageError: no such project.
        InputError: its rules cannot be read.
    """
    at = moment or now()
    with store.write() as connection:
        found = projects.named(connection, project)
        projects.lock(connection, found.id)
        rules = read_rules(str(found.settings.get("alerts", "")), f"alerts of {project}")
        watch = _Watch(store, connection, found.id, rules, at)
        states = [state for rule in rules.rules for state in watch.states(rule)]
        watch.resolve_others()
    return AlertCheck(project, at.isoformat(timespec="seconds"), tuple(states))


class _Watch:
    """One check of a project, in a transaction."""

    def __init__(
        self,
        store: Store,
        connection: Connection,
        project: int,
        rules: AlertRules,
        moment: datetime,
    ) -> None:
        self._store, self._connection, self._project = store, connection, project
        self._rules, self._moment = rules, moment
        self._seen: set[str] = set()

    def states(self, rule: Rule) -> list[RuleState]:
        """A rule on each series that it looks at."""
        points = series.points(
            self._connection, self._project, rule["metric"], system=rule["system"],
            slice=rule.slice or "", branch=rule["branch"],
        )  # fmt: skip
        points.sort(key=lambda each: each.system)  # stable: the oldest first in each
        grouped = [(name, list(each)) for name, each in groupby(points, lambda each: each.system)]
        return [self._state(rule, *each) for each in grouped or [(rule["system"] or "", [])]]

    def _state(self, rule: Rule, system: str, points: list[Point]) -> RuleState:
        key = "|".join((rule.id, rule["metric"], system, rule.slice or ""))
        self._seen.add(key)
        seen = Watched(points, self._moment, self._per_query)
        outcome = ALERTS[rule.kind].decide(rule, seen)
        known = alerts.unresolved(self._connection, self._project, key)
        change: Change = ""
        if outcome.status == "fail":
            known, change = self._fire(rule, key, system, points, outcome, known)
        elif outcome.status == "pass" and known is not None:
            self._resolve(rule, known)
            change = "resolved"
        return RuleState(rule.id, rule["metric"], system, rule.slice or "", outcome.status, change,
                         outcome.reason, None if known is None else known.id)  # fmt: skip

    def _per_query(self, point: Point) -> pl.DataFrame | None:
        record = records.get(self._connection, point.record)
        return records.per_query(record, self._store.blobs)

    def _fire(
        self,
        rule: Rule,
        key: str,
        system: str,
        points: Sequence[Point],
        outcome: Outcome,
        known: Alert | None,
    ) -> tuple[Alert, Change]:
        record = points[-1].record if points else None
        if known is not None and known.record == record:  # the same figures, looked at again
            return known, ""
        of_what = " of ".join(filter(None, (rule["metric"], system)))
        evidence = {"kind": rule.kind, "tier": rule.tier, "reason": outcome.reason,
                    "value": outcome.delta, "bound": outcome.margin,
                    "rule": {name: each for name, each in rule.values.items()
                             if each is not None and name != "channels"}}  # fmt: skip
        fired = alerts.fire(
            self._connection, self._project, key, rule=rule.id,
            message=f"{rule.id}: {of_what}: {outcome.reason}", record=record,
            metric=rule["metric"], system=system, slice=rule.slice or "", evidence=evidence,
            at=self._moment,
        )  # fmt: skip
        if fired.new:
            self._announce(rule, fired.alert, "fired")
        return fired.alert, "fired" if fired.new else "again"

    def _resolve(self, rule: Rule, alert: Alert) -> None:
        alerts.resolve(self._connection, self._project, alert.id)
        self._announce(rule, alert, "resolved")

    def _announce(self, rule: Rule, alert: Alert, event: str) -> None:
        """Let messages wait: rules that block do not wait for the end of quiet hours."""
        quiet = self._rules.quiet if rule.tier != "block" else None
        until = quiet.ends_after(self._moment) if quiet else None
        for name in rule["channels"] or self._rules.channels:
            notifications.add(self._connection, alert.id, event, name, not_before=until)

    def resolve_others(self) -> None:
        """End alerts whose rule or series is gone; nobody gets a message."""
        for state in ("open", "acknowledged"):
            for each in alerts.listed(self._connection, self._project, state=state, most=10_000):
                if each.key not in self._seen:
                    alerts.resolve(self._connection, self._project, each.id)
