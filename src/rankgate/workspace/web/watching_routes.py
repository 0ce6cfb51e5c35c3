"""Routes of alerts and of scheduled jobs, as data."""

from __future__ import annotations

from rankgate.workspace.web import options
from rankgate.workspace.web.pages import alerts, schedule
from rankgate.workspace.web.route import MANAGING_ROLES, VIEWING_ROLES, Field, Route

_ALERTS_PATH = "/projects/{project}/alerts"
_SCHEDULE_PATH = "/projects/{project}/schedule"
_STATES = tuple((state, state) for state in ("open", "acknowledged", "resolved"))

WATCHING_ROUTES = (
    Route(
        "alerts",
        "GET",
        _ALERTS_PATH,
        VIEWING_ROLES,
        alerts.alerts_page,
        "Alerts",
        (Field("state", "State", "choice", choices=_STATES),),
    ),
    Route(
        "alert",
        "GET",
        f"{_ALERTS_PATH}/{{alert:int}}",
        VIEWING_ROLES,
        alerts.alert_page,
        "An alert",
    ),
    Route(
        "alert-acknowledge",
        "POST",
        f"{_ALERTS_PATH}/{{alert:int}}/acknowledge",
        MANAGING_ROLES,
        alerts.acknowledge_alert,
        "Acknowledge",
        scope="manage",
    ),
    Route(
        "alert-rules",
        "GET",
        f"{_ALERTS_PATH}/rules",
        MANAGING_ROLES,
        alerts.rules_page,
        "Rules of alerts",
        scope="manage",
    ),
    Route(
        "alert-rules-set",
        "POST",
        f"{_ALERTS_PATH}/rules",
        MANAGING_ROLES,
        alerts.set_rules,
        "Save the rules",
        (
            Field(
                "rules", "Rules and channels, as TOML", "long", most=50_000, help="Empty is none."
            ),
        ),
        scope="manage",
    ),
    Route(
        "alerts-check",
        "POST",
        f"{_ALERTS_PATH}/check",
        MANAGING_ROLES,
        alerts.check_now,
        "Check now",
        scope="manage",
    ),
    Route(
        "alert-channel-test",
        "POST",
        f"{_ALERTS_PATH}/test",
        MANAGING_ROLES,
        alerts.send_test,
        "Send a test",
        (Field("channel", "Channel", required=True, most=100, options=options.list_channel_names),),
        scope="manage",
    ),
    Route("schedule", "GET", _SCHEDULE_PATH, VIEWING_ROLES, schedule.schedule_page, "Schedule"),
    Route(
        "schedule-run",
        "GET",
        f"{_SCHEDULE_PATH}/runs/{{run:int}}",
        VIEWING_ROLES,
        schedule.run_page,
        "A run",
    ),
    Route(
        "jobs-add",
        "POST",
        _SCHEDULE_PATH,
        MANAGING_ROLES,
        schedule.add_jobs,
        "Save the jobs",
        (
            Field(
                "jobs",
                "Jobs, as TOML",
                "long",
                required=True,
                most=50_000,
                help="Jobs of the same names are replaced.",
            ),
        ),
        scope="manage",
    ),
    Route(
        "job-change",
        "POST",
        f"{_SCHEDULE_PATH}/jobs/{{job}}",
        MANAGING_ROLES,
        schedule.change_job,
        "Change the job",
        (Field("enabled", "It runs", "flag"),),
        scope="manage",
    ),
    Route(
        "job-start",
        "POST",
        f"{_SCHEDULE_PATH}/jobs/{{job}}/start",
        MANAGING_ROLES,
        schedule.start_job,
        "Run now",
        scope="manage",
    ),
)
