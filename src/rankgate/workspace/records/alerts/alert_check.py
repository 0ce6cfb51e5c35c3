"""Check alert rules against the history, and manage rules and alerts.

The check fires, keeps or resolves alerts. Other functions set the rules of a project, and list and
acknowledge its alerts; every change is recorded in the audit log.
"""

from __future__ import annotations

from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.document_model import PlainRows
from rankgate.core.present.layout import View
from rankgate.judging.store.store_people import StoreListing
from rankgate.store.material import projects
from rankgate.store.people.audit import COMMAND_LINE
from rankgate.store.records import alerts, records, series
from rankgate.store.rows import now
from rankgate.workspace.records.alerts.alert_kinds import ALERTS, WatchedSeries
from rankgate.workspace.records.alerts.alert_rules import ALERTS_CODE, AlertRules, read_rules

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.value_types import JsonObject
    from rankgate.decisions.gating.rule import Outcome, Rule
    from rankgate.store.database import Connection
    from rankgate.store.people.audit import Actor
    from rankgate.store.records.alerts import Alert
    from rankgate.store.records.series import Point
    from rankgate.store.store import Store


_STATES = {"fail": "alert", "pass": "ok", "inconclusive": "unknown"}
ChangeKind = Literal["", "fired", "again", "resolved"]


@dataclass(frozen=True)
class RuleState:
    """One rule on one series.

    Attributes:
        rule: its name.
        metric, system, slice: the series.
        status: ``fail`` while there is an alert, ``pass``, or ``inconclusive``.
        change: ``fired`` now, fired ``again`` with other figures, ``resolved`` now;
            empty if there is no change.
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
        states: the states of the rules, in their order.
    """

    kind = "alert_check"
    main_table = "states"
    headline_text = "{project}: {failed:n alert}, {states:n rule} on series"
    layout = (
        View(
            "states",
            cells=("rule", "metric", "system", "slice", "status", "change", "reason"),
            headers={"status": "state"},
            formats={"status": _STATES.__getitem__},
            optional=("metric", "system", "slice", "change"),
        ),
    )

    project: str
    checked_at: str
    states: tuple[RuleState, ...]

    @property
    def failed(self) -> tuple[RuleState, ...]:
        """The states with an alert."""
        return tuple(state for state in self.states if state.status == "fail")

    @property
    def outcome(self) -> str:
        """Fail if there is an alert."""
        return "fail" if self.failed else "pass"

    def csv_rows(self) -> PlainRows:
        """The state of every rule."""
        rows = [
            (s.rule, s.metric, s.system, s.slice, _STATES[s.status], s.change, s.reason) for s in self.states
        ]
        return PlainRows(("rule", "metric", "system", "slice", "state", "change", "reason"), rows)


def check_alerts(store: Store, project: str, moment: datetime | None = None) -> AlertCheck:
    """Check the rules of a project, and store fired and resolved alerts with their messages.

    Messages wait in the store; `rankgate.workspace.records.alerts.alert_queue` sends them.

    Args:
        store: an open store.
        project: the name of the project.
        moment: the time of the check; by default now.

    Raises:
        UsageError: the project does not exist.
        InputError: the rules cannot be read.
    """
    checked_at = moment or now()
    with store.read() as connection:
        stored_project = projects.get_by_name(connection, project)
        rules = read_rules(stored_project.settings.get("alerts", ""), f"alerts of {project}")
        reader = _SeriesReader(store, connection, stored_project.id, checked_at)
        outcomes = [outcome for rule in rules.rules for outcome in reader.outcomes_of_rule(rule)]
    with store.write() as connection:  # a short transaction, because it blocks other writers
        projects.lock(connection, stored_project.id)
        projects.refuse_archived(connection, stored_project.id)
        notes = _AlertWriter(connection, stored_project.id, rules, checked_at)
        states = tuple(notes.state(outcome) for outcome in outcomes)
        notes.resolve_others({outcome.key for outcome in outcomes})
    return AlertCheck(project, checked_at.isoformat(timespec="seconds"), states)


@dataclass(frozen=True)
class _SeriesOutcome:
    """The outcome of a rule for one series.

    Attributes:
        rule: the rule.
        system: the system of the series.
        record: the last record of the series; None if there are no points.
        outcome: the outcome of the rule.
        lasting_evidence: the evidence that an alert keeps from its opening on.
    """

    rule: Rule
    system: str
    record: int | None
    outcome: Outcome
    lasting_evidence: JsonObject

    @property
    def key(self) -> str:
        """The key of the alert."""
        return _alert_key(self.rule, self.system)


def _alert_key(rule: Rule, system: str) -> str:
    """The key of an alert; equal keys mean the same alert."""
    return "|".join((rule.id, rule["metric"], system, rule.slice or ""))


@dataclass(frozen=True)
class _SeriesReader:
    """A reader of the series of a project, in one transaction."""

    store: Store
    connection: Connection
    project: int
    moment: datetime

    def outcomes_of_rule(self, rule: Rule) -> list[_SeriesOutcome]:
        """The outcomes of a rule on each series that it covers."""
        points = series.list_points(
            self.connection,
            self.project,
            rule["metric"],
            system=rule["system"],
            slice=rule.slice or "",
            branch=rule["branch"],
        )
        points.sort(key=lambda point: point.system)  # stable sort: the oldest first in each system
        points_by_system = [(name, list(rows)) for name, rows in groupby(points, lambda point: point.system)]
        return [self._seen_series(rule, *group) for group in points_by_system or [(rule["system"] or "", [])]]

    def _seen_series(self, rule: Rule, system: str, points: list[Point]) -> _SeriesOutcome:
        alert = alerts.find_unresolved(self.connection, self.project, _alert_key(rule, system))
        series_view = WatchedSeries(points, self.moment, self._per_query, alert.evidence if alert else {})
        kind = ALERTS[rule.kind]
        record = points[-1].record if points else None
        return _SeriesOutcome(
            rule, system, record, kind.decide(rule, series_view), kind.keep(rule, series_view)
        )

    def _per_query(self, point: Point) -> pl.DataFrame | None:
        record = records.get(self.connection, point.record)
        return records.read_per_query(record, self.store.blobs)


@dataclass(frozen=True)
class _AlertWriter:
    """A writer of fired and resolved alerts, in one transaction."""

    connection: Connection
    project: int
    rules: AlertRules
    moment: datetime

    def state(self, series_outcome: _SeriesOutcome) -> RuleState:
        """The state of a rule for a series, after the alert is stored."""
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

    def _fire(self, series_outcome: _SeriesOutcome, alert: Alert | None) -> tuple[Alert, ChangeKind]:
        if alert is not None and alert.record == series_outcome.record:  # the same record as before
            return alert, ""
        rule, outcome = series_outcome.rule, series_outcome.outcome
        subject = " of ".join(filter(None, (rule["metric"], series_outcome.system)))
        evidence = {
            "kind": rule.kind,
            "tier": rule.tier,
            "reason": outcome.reason,
            "value": outcome.delta,
            "bound": outcome.margin,
            "lasting": series_outcome.lasting_evidence,
            "rule": {
                name: value for name, value in rule.values.items() if value is not None and name != "channels"
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
        """Queue messages; quiet hours do not delay messages of blocking rules."""
        quiet = self.rules.quiet if rule.tier != "block" else None
        until = quiet.ends_after(self.moment) if quiet else None
        for name in rule["channels"] or self.rules.channels:
            alerts.add_notification(self.connection, alert.id, event, name, not_before=until)

    def resolve_others(self, keys: set[str]) -> None:
        """Resolve alerts of deleted rules or series, without a message."""
        for state in ("open", "acknowledged"):
            for alert in alerts.list_alerts(self.connection, self.project, state=state, most=10_000):
                if alert.key not in keys:
                    alerts.resolve_alert(self.connection, self.project, alert.id)


def read_rules_text(store: Store, project: str) -> str:
    """The text of a project's rules; empty if there are no rules.

    Raises:
        UsageError: the project does not exist.
    """
    with store.read() as connection:
        return projects.get_by_name(connection, project).settings.get("alerts", "")


def set_rules_from_file(store: Store, project: str, file: Path) -> AlertRules:
    """Replace the rules of a project by the rules of a file.

    Raises:
        UsageError: the project does not exist.
        InputError: the file cannot be read; the error has the line.
    """
    TomlFile.read(file, code=ALERTS_CODE)  # errors name the file
    text = file.read_text(encoding="utf-8-sig")
    with store.write() as connection:
        project_id = projects.get_by_name(connection, project).id
        projects.refuse_archived(connection, project_id)
        return set_rules(connection, project_id, text, str(file))


def set_rules(
    connection: Connection, project: int, text: str, source: str = "alerts", actor: Actor = COMMAND_LINE
) -> AlertRules:
    """Replace the rules of a project.

    Raises:
        InputError: the rules cannot be read; the error has the line.
    """
    rules = read_rules(text, source)
    projects.change_settings(connection, project, {"alerts": text})
    actor.record(
        connection, "alerts.rules", project=project, rules=len(rules.rules), channels=len(rules.channels)
    )
    return rules


def acknowledge(store: Store, project: str, number: int) -> str:
    """Acknowledge an alert, and return its state and message.

    Raises:
        UsageError: the project or alert does not exist.
    """
    with store.write() as connection:
        project_id = projects.get_by_name(connection, project).id
        projects.refuse_archived(connection, project_id)
        alert = alerts.acknowledge_alert(connection, project_id, number)
        COMMAND_LINE.record(connection, "alert.acknowledge", alert.message, project=project_id)
    return f"{alert.state}: {alert.message}"


def list_alerts(store: Store, project: str, state: str | None = None) -> StoreListing:
    """The latest alerts of a project, newest first.

    Raises:
        UsageError: the project does not exist.
    """
    with store.read() as connection:
        project_id = projects.get_by_name(connection, project).id
        project_alerts = alerts.list_alerts(connection, project_id, state=state)
    rows = tuple(
        {
            "alert": alert.id,
            "state": alert.state,
            "since": f"{alert.first_at:%Y-%m-%d %H:%M}",
            "last": f"{alert.last_at:%Y-%m-%d %H:%M}",
            "times": alert.count,
            "message": alert.message,
        }
        for alert in project_alerts
    )
    return StoreListing(store.name, "alerts", rows)
