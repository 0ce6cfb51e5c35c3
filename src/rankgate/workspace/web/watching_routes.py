"""Routes of alerts and of scheduled jobs, as data."""

from __future__ import annotations

from rankgate.workspace.web import options
from rankgate.workspace.web.pages import alerts, schedule
from rankgate.workspace.web.route import MANAGE, VIEW, Field, Route

_AT = "/projects/{project}/alerts"
_PLAN = "/projects/{project}/schedule"
_STATES = tuple((each, each) for each in ("open", "acknowledged", "resolved"))

WATCHING = (
    Route("alerts", "GET", _AT, VIEW, alerts.page, "Alerts",
          (Field("state", "State", "choice", choices=_STATES),)),
    Route("alert", "GET", f"{_AT}/{{alert:int}}", VIEW, alerts.one, "An alert"),
    Route("alert-acknowledge", "POST", f"{_AT}/{{alert:int}}/acknowledge", MANAGE,
          alerts.acknowledge, "Acknowledge", scope="manage"),
    Route("alert-rules", "GET", f"{_AT}/rules", MANAGE, alerts.rules, "Rules of alerts",
          scope="manage"),
    Route("alert-rules-set", "POST", f"{_AT}/rules", MANAGE, alerts.set_rules, "Save the rules",
          (Field("rules", "Rules and channels, as TOML", "long", most=50_000,
                 help="Empty is none."),), scope="manage"),
    Route("alerts-check", "POST", f"{_AT}/check", MANAGE, alerts.check, "Check now",
          scope="manage"),
    Route("alert-channel-test", "POST", f"{_AT}/test", MANAGE, alerts.test, "Send a test",
          (Field("channel", "Channel", required=True, most=100, options=options.channel_names),),
          scope="manage"),
    Route("schedule", "GET", _PLAN, VIEW, schedule.page, "Schedule"),
    Route("schedule-run", "GET", f"{_PLAN}/runs/{{run:int}}", VIEW, schedule.run, "A run"),
    Route("jobs-add", "POST", _PLAN, MANAGE, schedule.add, "Save the jobs",
          (Field("jobs", "Jobs, as TOML", "long", required=True, most=50_000,
                 help="Jobs of the same names are replaced."),), scope="manage"),
    Route("job-change", "POST", f"{_PLAN}/jobs/{{job}}", MANAGE, schedule.change,
          "Change the job", (Field("enabled", "It runs", "flag"),), scope="manage"),
    Route("job-start", "POST", f"{_PLAN}/jobs/{{job}}/start", MANAGE, schedule.start, "Run now",
          scope="manage"),
)  # fmt: skip
