"""Pages for alerts, scheduled jobs, and the health of the server.

The page of alerts shows fired alerts, acknowledgements and the rules. The page of scheduled jobs
shows their times and the results of the last runs. Health checks report that the server runs and is
ready.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.store.material import project_engines
from rankgate.store.people import users
from rankgate.store.people.audit import Actor
from rankgate.store.records import alerts, scheduled_jobs
from rankgate.store.rows import now
from rankgate.workspace.records.alerts import alert_check, alert_queue
from rankgate.workspace.records.alerts.alert_check import check_alerts
from rankgate.workspace.records.cron_times import next_due
from rankgate.workspace.records.schedule.job_settings import read_jobs, set_jobs
from rankgate.workspace.records.schedule.started_jobs import is_started_by_hand, read_progress
from rankgate.workspace.web import web_request
from rankgate.workspace.web.monitoring import check_health
from rankgate.workspace.web.replies import ActionReply, PageReply, RequestRefused, not_found
from rankgate.workspace.web.shared_fields import ALERTS_PATH
from rankgate.workspace.web.web_request import (
    ANYONE,
    MANAGING_ROLES,
    VIEWING_ROLES,
    Field,
    action,
    list_judgment_names,
    list_run_names,
    page,
)

if TYPE_CHECKING:
    from rankgate.store.database import Connection
    from rankgate.store.records.alerts import Alert
    from rankgate.store.records.scheduled_jobs import Job, JobRun
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


_MAX_ALERTS = 200


_SCHEDULE_PATH = "/projects/{project}/schedule"

_STATES = tuple((state, state) for state in ("open", "acknowledged", "resolved"))


@page("alerts", ALERTS_PATH, VIEWING_ROLES, "Alerts", Field("state", "State", "choice", choices=_STATES))
def alerts_page(request: WebRequest) -> PageReply:
    """The page of alerts: open alerts first, then by time."""
    with request.store.read() as connection:
        project_alerts = alerts.list_alerts(
            connection, request.project.id, state=request.values["state"], most=_MAX_ALERTS
        )
        rows = [alert_row(connection, alert) for alert in project_alerts]
    rows.sort(key=lambda row: row["state"] == "resolved")
    can_manage = request.role in {"admin", "manager"}
    return PageReply(
        "alerts.html",
        {"alerts": rows, "state": request.values["state"]},
        {"may": can_manage, "cut": len(rows) == _MAX_ALERTS},
    )


@action("alert-acknowledge", f"{ALERTS_PATH}/{{alert:int}}/acknowledge", MANAGING_ROLES, "Acknowledge")
def acknowledge_alert(request: WebRequest) -> ActionReply:
    """Acknowledge an alert."""
    with request.store.write() as connection:
        alert = alerts.acknowledge_alert(
            connection, request.project.id, request.path["alert"], request.user.id
        )
        request.record(connection, "alert.acknowledge", alert.message)
        data = alert_row(connection, alert)
    return ActionReply(request.project_path("alerts"), data)


@action(
    "alert-rules-set",
    f"{ALERTS_PATH}/rules",
    MANAGING_ROLES,
    "Save the rules",
    Field("rules", "Rules and channels, as TOML", "long", most=50_000, help="Leave it empty for none."),
)
def set_rules(request: WebRequest) -> ActionReply:
    """Replace the alert rules."""
    text = (request.values["rules"] or "").replace("\r\n", "\n")
    with request.store.write() as connection:
        actor = Actor(request.user.name, request.user.id)
        alert_rules = alert_check.set_rules(connection, request.project.id, text, "rules", actor)
    data = {"rules": len(alert_rules.rules), "channels": sorted(alert_rules.channels)}
    return ActionReply(request.project_path("alerts", "rules"), data)


@action("alerts-check", f"{ALERTS_PATH}/check", MANAGING_ROLES, "Check now")
def check_now(request: WebRequest) -> ActionReply:
    """Check every rule now."""
    result = check_alerts(request.store, request.project.name)
    return ActionReply(request.project_path("alerts"), result.to_dict())


@action(
    "alert-channel-test",
    f"{ALERTS_PATH}/test",
    MANAGING_ROLES,
    "Send a test",
    Field("channel", "Channel", required=True, most=100, options=web_request.list_channel_names),
)
def send_test(request: WebRequest) -> ActionReply:
    """Send a test message through a channel."""
    alert_queue.test_channel(
        request.store, request.project.name, request.values["channel"], allow_http=request.config.allow_http
    )
    with request.store.write() as connection:
        request.record(connection, "alerts.test", request.values["channel"])
    return ActionReply(request.project_path("alerts", "rules"), {"sent": True})


def alert_row(connection: Connection, alert: Alert) -> PageRow:
    """The row of an alert in lists and on its page."""
    user_name = None
    if alert.acknowledged_by is not None:
        user = users.get(connection, alert.acknowledged_by)
        user_name = user.display if user else None
    return {
        "id": alert.id,
        "state": alert.state,
        "message": alert.message,
        "rule": alert.rule,
        "metric": alert.metric,
        "system": alert.system,
        "slice": alert.slice,
        "record": alert.record,
        "first_at": alert.first_at,
        "last_at": alert.last_at,
        "count": alert.count,
        "acknowledged_at": alert.acknowledged_at,
        "acknowledged_by": user_name,
        "resolved_at": alert.resolved_at,
    }


_MAX_RUNS = 50


@page("schedule", _SCHEDULE_PATH, VIEWING_ROLES, "Schedule")
def schedule_page(request: WebRequest) -> PageReply:
    """The page of jobs with their next due time, and the latest runs."""
    can_manage = _can_manage(request)
    with request.store.read() as connection:
        project_jobs = scheduled_jobs.list_jobs(connection, request.project.id)
        latest = scheduled_jobs.runs_of_project(connection, request.project.id, most=_MAX_RUNS)
        names = {job.id: job.name for job in project_jobs}
        last = {job.id: scheduled_jobs.last_run(connection, job.id) for job in project_jobs}
        engines = project_engines.list_engines(connection, request.project.id)
    rows = [
        _job_view(job, last[job.id], may=can_manage) for job in project_jobs if not is_started_by_hand(job)
    ]
    runs = [_run_view(job_run, names[job_run.job], may=can_manage) for job_run in latest]
    extra = {"may": can_manage, "given": {}, "options": {"engine": []}, "runs_cut": len(runs) == _MAX_RUNS}
    if can_manage and engines:
        judgment_names, run_names = list_judgment_names(request), list_run_names(request)
        extra["options"] = {
            "engine": [engine.name for engine in engines],
            "judgments": judgment_names,
            "baseline": run_names,
        }
        extra["given"] = {"engine": engines[-1].name, "judgments": (judgment_names or [""])[-1]}
    return PageReply("schedule.html", {"jobs": rows, "runs": runs}, extra)


@page("schedule-run", f"{_SCHEDULE_PATH}/runs/{{run:int}}", VIEWING_ROLES, "A run")
def run_page(request: WebRequest) -> PageReply:
    """The page of one run, with its log for managers."""
    with request.store.read() as connection:
        names = {job.id: job.name for job in scheduled_jobs.list_jobs(connection, request.project.id)}
        job_run = scheduled_jobs.get_job_run(connection, request.path["run"])
    if job_run.job not in names:
        raise not_found("run")
    can_manage = _can_manage(request)
    progress = read_progress(job_run.log)
    data = _run_view(job_run, names[job_run.job], may=can_manage) | {
        "under_way": job_run.under_way,
        "progress": None if progress is None else list(progress),
    }
    if can_manage:
        data["log"] = job_run.log
    return PageReply("schedule_run.html", data, {"may": can_manage})


@action(
    "jobs-add",
    _SCHEDULE_PATH,
    MANAGING_ROLES,
    "Save the jobs",
    Field(
        "jobs",
        "Jobs, as TOML",
        "long",
        required=True,
        most=50_000,
        help="Jobs of the same names are replaced.",
    ),
)
def add_jobs(request: WebRequest) -> ActionReply:
    """Add jobs, or replace jobs of the same names."""
    text = request.values["jobs"].replace("\r\n", "\n")
    new_jobs = read_jobs(text, "jobs")
    with request.store.write() as connection:
        actor = Actor(request.user.name, request.user.id)
        set_jobs(connection, request.project.id, new_jobs, actor, others=False)
    return ActionReply(request.project_path("schedule"), {"jobs": [job.name for job in new_jobs]})


@action(
    "job-change",
    f"{_SCHEDULE_PATH}/jobs/{{job}}",
    MANAGING_ROLES,
    "Change the job",
    Field("enabled", "It runs", "flag"),
)
def change_job(request: WebRequest) -> ActionReply:
    """Disable or enable a job."""
    with request.store.write() as connection:
        job = scheduled_jobs.get_job(connection, request.project.id, request.path["job"])
        enabled = bool(request.values["enabled"])
        scheduled_jobs.save_job(
            connection,
            request.project.id,
            job.name,
            kind=job.kind,
            schedule=job.schedule,
            timezone=job.timezone,
            settings=job.settings,
            enabled=enabled,
            user=request.user.id,
        )
        request.record(connection, "job.change", job.name, enabled=enabled)
    return ActionReply(request.project_path("schedule"), {"job": job.name, "enabled": enabled})


@action("job-start", f"{_SCHEDULE_PATH}/jobs/{{job}}/start", MANAGING_ROLES, "Run now")
def start_job(request: WebRequest) -> ActionReply:
    """Start a job at the scheduler's next check."""
    with request.store.write() as connection:
        job = scheduled_jobs.get_job(connection, request.project.id, request.path["job"])
        planned_run = scheduled_jobs.plan_run(connection, job.id, now())
        request.record(connection, "job.start", job.name)
    return ActionReply(request.project_path("schedule"), {"run": planned_run.id})


def _can_manage(request: WebRequest) -> bool:
    return request.role in {"admin", "manager"}


def _job_view(job: Job, last: JobRun | None, *, may: bool) -> PageRow:
    due_at = next_due(job.schedule, job.timezone, now()) if job.enabled else None
    fields: PageRow = {
        "name": job.name,
        "kind": job.kind,
        "schedule": job.schedule,
        "timezone": job.timezone,
        "enabled": job.enabled,
        "next": due_at,
        "last": None if last is None else last.due_at,
        "state": "" if last is None else last.state,
    }
    return fields | ({"settings": dict(job.settings)} if may else {})


def _run_view(run: JobRun, name: str, *, may: bool) -> PageRow:
    fields: PageRow = {
        "id": run.id,
        "job": name,
        "due_at": run.due_at,
        "state": run.state,
        "tries": run.tries,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "record": run.record,
    }
    return fields | ({"error": run.error} if may else {})


_CODES = {"database": "store-unreachable", "migrations": "older-store", "disk": "disk-full"}


@page("health-live", "/health/live", ANYONE, "Health", scope="read")
def live_page(request: WebRequest) -> PageReply:  # noqa: ARG001 - as every handler
    """Check that the process answers."""
    return PageReply("plain.html", {"state": "ok"})


@page("health", "/health", ANYONE, "Health", scope="read")
def ready_page(request: WebRequest) -> PageReply:
    """Check that the database responds, its schema is current, and the disks have free space.

    Raises:
        Refused: a check failed (503); the error has the code of the first failure.
    """
    checks = check_health(request.store)
    failed_checks = {name: result for name, result in checks.items() if result != "ok"}
    if failed_checks:
        sentence = "; ".join(f"{name}: {problem}" for name, problem in failed_checks.items())
        raise RequestRefused(503, _CODES[next(iter(failed_checks))], f"Not ready: {sentence}.")
    return PageReply("plain.html", {"state": "ok", "checks": checks})
