"""A figure does not change for the worse, by a change-point."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.rule import Outcome
from rankgate.workspace.records.alerts.kind import AlertKind, figure
from rankgate.workspace.records.follow import history_of

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Rule
    from rankgate.workspace.records.alerts.kind import Watched

_MOST = 100  # evaluations that are looked at, as each has a table of values per query


def decide(rule: Rule, seen: Watched) -> Outcome:
    """Fail where the last change-point among comparable evaluations is a loss, and not too old.

    Change-points are those of `rankgate history`, with its rate of false alarms.
    """
    known = [each for each in seen.points if each.value is not None][-_MOST:]
    if not known:
        return Outcome("inconclusive", "there is no value yet")
    found = history_of(known, (), seen.per_query, rate=rule["rate"])
    since = found.breaks["at"][-1] if found.breaks.height else ""
    changes = [each for each in found.changes.iter_rows(named=True) if each["at"] >= since]
    if not changes:
        return Outcome("pass", f"no change in {len(known)} evaluations")
    last = changes[-1]
    words = (f"{figure(last['before'])} to {figure(last['after'])} on {last['at'][:10]}, "
             f"{last['delta']:+.4f} [{last['low']:+.4f}, {last['high']:+.4f}]")  # fmt: skip
    old = seen.moment - datetime.fromisoformat(last["found_at"]) > timedelta(days=rule["days"])
    status = "fail" if last["gain"] < -rule["least"] and not old else "pass"
    return Outcome(status, words, n=last["queries"], delta=last["delta"],  # type: ignore[arg-type]
                   low=last["low"], high=last["high"], margin=rule["least"])  # fmt: skip


KIND = AlertKind(
    "change",
    (
        Parameter("least", "number", "a loss up to this is acceptable, in the metric's unit", 0.0,
                  range=Range(0.0)),
        Parameter("days", "number", "after so many days a change is no news", 30,
                  range=Range(0.0, exclusive=True)),
        Parameter("rate", "number", "false alarms for each evaluation", 0.001,
                  range=Range(1e-6, 0.1)),
    ),
    decide,
    title="a figure does not change for the worse, by a change-point",
)  # fmt: skip
