"""Check the alert rules against the history: which alerts fire, persist or are resolved."""

from __future__ import annotations

from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.store.material import projects
from rankgate.store.records import alerts, notifications, records, series
from rankgate.store.rows import now
from rankgate.workspace.records.alerts.kind import WatchedSeries
from rankgate.workspace.records.alerts.kinds import ALERTS
from rankgate.workspace.records.alerts.rules import AlertRules, read_rules

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Outcome, Rule
    from rankgate.store.database import Connection
    from rankgate.store.records.alerts import Alert
    from rankgate.store.records.series import Point
    from rankgate.store.store import Store

ChangeKind = Literal["", "fired", "again", "resolved"]


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
    document_from: ClassVar[str] = "rankgate.workspace.records.alerts.document:alert_check_document"

    project: str
    checked_at: str
    states: tuple[RuleState, ...]

    @property
    def failed(self) -> tuple[RuleState, ...]:
        """The states with an alert."""
        return tuple(state for state in self.states if state.status == "fail")

    def _table(self) -> pl.DataFrame:
        return pl.DataFrame([vars(state) for state in self.states])


def check_alerts(store: Store, project: str, moment: datetime | None = None) -> AlertCheck:
    """Check the rules of a project; store fired and resolved alerts with their messages.

    Messages wait in the store; `rankgate.workspace.records.alerts.deliver` sends them.

    Args:
        store: an open store.
        project: the name.
        moment: by default now.

    Raises:
        UsageError: no such project.
        InputError: its rules cannot be read.
    """
    checked_at = moment or now()
    with store.read() as connection:
        stored_project = projects.get_by_name(connection, project)
        rules = read_rules(str(stored_project.settings.get("alerts", "")), f"alerts of {project}")
        reader = _SeriesReader(store, connection, stored_project.id, checked_at)
        outcomes = [outcome for rule in rules.rules for outcome in reader.at(rule)]
    with store.write() as connection:  # short, as nobody else writes meanwhile
        projects.lock(connection, stored_project.id)
        projects.refuse_archived(connection, stored_project.id)
        notes = _AlertWriter(connection, stored_project.id, rules, checked_at)
        states = tuple(notes.state(outcome) for outcome in outcomes)
        notes.resolve_others({outcome.key for outcome in outcomes})
    return AlertCheck(project, checked_at.isoformat(timespec="seconds"), states)


@dataclass(frozen=True)
class _SeriesOutcome:
    """The outcome of a rule on one series.

    Attributes:
        rule: the rule.
        system: of the series.
        record: its last one; None where it has no points.
        outcome: of the rule.
    """

    rule: Rule
    system: str
    record: int | None
    outcome: Outcome

    @property
    def key(self) -> str:
        """The key by which two alerts are the same."""
        return "|".join((self.rule.id, self.rule["metric"], self.system, self.rule.slice or ""))


@dataclass(frozen=True)
class _SeriesReader:
    """Reads the series of a project in one transaction."""

    store: Store
    connection: Connection
    project: int
    moment: datetime

    def at(self, rule: Rule) -> list[_SeriesOutcome]:
        """The outcomes of a rule on each series that it covers."""
        points = series.list_points(
            self.connection,
            self.project,
            rule["metric"],
            system=rule["system"],
            slice=rule.slice or "",
            branch=rule["branch"],
        )
        points.sort(key=lambda point: point.system)  # stable: the oldest first in each system
        points_by_system = [
            (name, list(rows)) for name, rows in groupby(points, lambda point: point.system)
        ]
        return [
            self._seen(rule, *group) for group in points_by_system or [(rule["system"] or "", [])]
        ]

    def _seen(self, rule: Rule, system: str, points: list[Point]) -> _SeriesOutcome:
        series_view = WatchedSeries(points, self.moment, self._per_query)
        outcome = ALERTS[rule.kind].decide(rule, series_view)
        return _SeriesOutcome(rule, system, points[-1].record if points else None, outcome)

    def _per_query(self, point: Point) -> pl.DataFrame | None:
        record = records.get(self.connection, point.record)
        return records.read_per_query(record, self.store.blobs)


@dataclass(frozen=True)
class _AlertWriter:
    """Stores fired and resolved alerts in a transaction that writes."""

    connection: Connection
    project: int
    rules: AlertRules
    moment: datetime

    def state(self, series_outcome: _SeriesOutcome) -> RuleState:
        """The state of a rule on a series, after the alert is stored."""
        alert = alerts.find_unresolved(self.connection, self.project, series_outcome.key)
        change: ChangeKind = ""
        rule, outcome = series_outcome.rule, series_outcome.outcome
        if outcome.status == "fail":
            alert, change = self._fire(series_outcome, alert)
        elif outcome.status == "pass" and alert is not None:
            alerts.resolve_alert(self.connection, self.project, alert.id)
            self._announce(rule, alert, "resolved")
            change = "resolved"
        return RuleState(
            rule.id,
            rule["metric"],
            series_outcome.system,
            rule.slice or "",
            outcome.status,
            change,
            outcome.reason,
            None if alert is None else alert.id,
        )

    def _fire(
        self, series_outcome: _SeriesOutcome, alert: Alert | None
    ) -> tuple[Alert, ChangeKind]:
        if alert is not None and alert.record == series_outcome.record:  # the same record once more
            return alert, ""
        rule, outcome = series_outcome.rule, series_outcome.outcome
        subject = " of ".join(filter(None, (rule["metric"], series_outcome.system)))
        evidence = {
            "kind": rule.kind,
            "tier": rule.tier,
            "reason": outcome.reason,
            "value": outcome.delta,
            "bound": outcome.margin,
            "rule": {
                name: value
                for name, value in rule.values.items()
                if value is not None and name != "channels"
            },
        }
        firing = alerts.fire_alert(
            self.connection,
            self.project,
            series_outcome.key,
            rule=rule.id,
            message=f"{rule.id}: {subject}: {outcome.reason}",
            record=series_outcome.record,
            metric=rule["metric"],
            system=series_outcome.system,
            slice=rule.slice or "",
            evidence=evidence,
            at=self.moment,
        )
        if firing.new:
            self._announce(rule, firing.alert, "fired")
        return firing.alert, "fired" if firing.new else "again"

    def _announce(self, rule: Rule, alert: Alert, event: str) -> None:
        """Queue messages; those of blocking rules do not wait for the end of quiet hours."""
        quiet = self.rules.quiet if rule.tier != "block" else None
        until = quiet.ends_after(self.moment) if quiet else None
        for name in rule["channels"] or self.rules.channels:
            notifications.add_notification(self.connection, alert.id, event, name, not_before=until)

    def resolve_others(self, keys: set[str]) -> None:
        """Resolve alerts whose rule or series no longer exists; no message is sent."""
        for state in ("open", "acknowledged"):
            for alert in alerts.list_alerts(
                self.connection, self.project, state=state, most=10_000
            ):
                if alert.key not in keys:
                    alerts.resolve_alert(self.connection, self.project, alert.id)
