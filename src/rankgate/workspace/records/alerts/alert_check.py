"""Check the rules of alerts over the history: what fires, what is over, what goes on."""

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
from rankgate.workspace.records.alerts.kind import Watched
from rankgate.workspace.records.alerts.kinds import ALERTS
from rankgate.workspace.records.alerts.rules import AlertRules, read_rules

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Outcome, Rule
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
    document_from: ClassVar[str] = "rankgate.workspace.records.alerts.document:checked"

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

    Messages wait in the store; `rankgate.workspace.records.alerts.deliver` sends them.

    Args:
        store: an open store.
        project: the name.
        moment: by default now.

    Raises:
        UsageError: no such project.
        InputError: its rules cannot be read.
    """
    at = moment or now()
    with store.read() as connection:
        found = projects.named(connection, project)
        rules = read_rules(str(found.settings.get("alerts", "")), f"alerts of {project}")
        look = _Look(store, connection, found.id, at)
        seen = [each for rule in rules.rules for each in look.at(rule)]
    with store.write() as connection:  # short, as nobody else writes meanwhile
        projects.lock(connection, found.id)
        projects.refuse_archived(connection, found.id)
        notes = _Notes(connection, found.id, rules, at)
        states = tuple(notes.state(each) for each in seen)
        notes.resolve_others({each.key for each in seen})
    return AlertCheck(project, at.isoformat(timespec="seconds"), states)


@dataclass(frozen=True)
class _Seen:
    """The outcome of a rule on one series.

    Attributes:
        rule: which.
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
        """What makes two alerts the same."""
        return "|".join((self.rule.id, self.rule["metric"], self.system, self.rule.slice or ""))


@dataclass(frozen=True)
class _Look:
    """Looks at the series of a project, in a transaction that reads."""

    store: Store
    connection: Connection
    project: int
    moment: datetime

    def at(self, rule: Rule) -> list[_Seen]:
        """A rule on each series that it looks at."""
        points = series.points(
            self.connection, self.project, rule["metric"], system=rule["system"],
            slice=rule.slice or "", branch=rule["branch"],
        )  # fmt: skip
        points.sort(key=lambda each: each.system)  # stable: the oldest first in each
        grouped = [(name, list(each)) for name, each in groupby(points, lambda each: each.system)]
        return [self._seen(rule, *each) for each in grouped or [(rule["system"] or "", [])]]

    def _seen(self, rule: Rule, system: str, points: list[Point]) -> _Seen:
        watched = Watched(points, self.moment, self._per_query)
        outcome = ALERTS[rule.kind].decide(rule, watched)
        return _Seen(rule, system, points[-1].record if points else None, outcome)

    def _per_query(self, point: Point) -> pl.DataFrame | None:
        record = records.get(self.connection, point.record)
        return records.per_query(record, self.store.blobs)


@dataclass(frozen=True)
class _Notes:
    """Notes what fired and what is over, in a transaction that writes."""

    connection: Connection
    project: int
    rules: AlertRules
    moment: datetime

    def state(self, seen: _Seen) -> RuleState:
        """The state of a rule on a series, after it was noted."""
        known = alerts.unresolved(self.connection, self.project, seen.key)
        change: Change = ""
        rule, outcome = seen.rule, seen.outcome
        if outcome.status == "fail":
            known, change = self._fire(seen, known)
        elif outcome.status == "pass" and known is not None:
            alerts.resolve(self.connection, self.project, known.id)
            self._announce(rule, known, "resolved")
            change = "resolved"
        return RuleState(rule.id, rule["metric"], seen.system, rule.slice or "", outcome.status,
                         change, outcome.reason, None if known is None else known.id)  # fmt: skip

    def _fire(self, seen: _Seen, known: Alert | None) -> tuple[Alert, Change]:
        if known is not None and known.record == seen.record:  # the same figures, seen again
            return known, ""
        rule, outcome = seen.rule, seen.outcome
        of_what = " of ".join(filter(None, (rule["metric"], seen.system)))
        evidence = {"kind": rule.kind, "tier": rule.tier, "reason": outcome.reason,
                    "value": outcome.delta, "bound": outcome.margin,
                    "rule": {name: each for name, each in rule.values.items()
                             if each is not None and name != "channels"}}  # fmt: skip
        fired = alerts.fire(
            self.connection, self.project, seen.key, rule=rule.id,
            message=f"{rule.id}: {of_what}: {outcome.reason}", record=seen.record,
            metric=rule["metric"], system=seen.system, slice=rule.slice or "", evidence=evidence,
            at=self.moment,
        )  # fmt: skip
        if fired.new:
            self._announce(rule, fired.alert, "fired")
        return fired.alert, "fired" if fired.new else "again"

    def _announce(self, rule: Rule, alert: Alert, event: str) -> None:
        """Let messages wait: rules that block do not wait for the end of quiet hours."""
        quiet = self.rules.quiet if rule.tier != "block" else None
        until = quiet.ends_after(self.moment) if quiet else None
        for name in rule["channels"] or self.rules.channels:
            notifications.add(self.connection, alert.id, event, name, not_before=until)

    def resolve_others(self, keys: set[str]) -> None:
        """End alerts whose rule or series is gone; nobody gets a message."""
        for state in ("open", "acknowledged"):
            for each in alerts.listed(self.connection, self.project, state=state, most=10_000):
                if each.key not in keys:
                    alerts.resolve(self.connection, self.project, each.id)
