"""Pages of scheduled jobs, and the scheduler of a server."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rankgate.store.records import scheduled_jobs
from rankgate.store.rows import now
from rankgate.workspace.records.schedule.scheduler import Scheduler
from support.waiting import until

JOBS = '[[jobs]]\nname = "nightly"\nkind = "alerts"\nschedule = "0 3 * * *"\n'


@pytest.fixture(scope="module")
def planned(team):
    project = team.project("planned")
    manager = team.visitor("manager")
    answer = manager.send("/projects/planned/schedule", "/projects/planned/schedule", jobs=JOBS)
    assert answer.status == 303, answer.data
    return project


def test_a_manager_sees_logs_and_a_viewer_does_not(team, planned):
    manager, viewer = team.visitor("manager"), team.visitor("viewer")
    started = manager.post("/projects/planned/schedule/jobs/nightly/start").json()["run"]
    scheduler = Scheduler(team.store, None)
    assert scheduler.look()
    scheduler.wait()
    scheduler.stop()
    path = f"/projects/planned/schedule/runs/{started}"
    manager_view = manager.get(f"{path}.json").json()
    assert (manager_view["state"], manager_view["job"], manager_view["error"]) == ("done", "nightly", "")
    assert "rankgate alerts check" in manager_view["log"]
    assert "rankgate alerts check" in manager.get(path).data.decode()
    viewer_view = viewer.get(f"{path}.json").json()
    assert viewer_view["state"] == "done"
    assert "log" not in viewer_view
    assert "error" not in viewer_view
    [job] = viewer.get("/projects/planned/schedule.json").json()["jobs"]
    assert "settings" not in job
    assert "rankgate alerts check" not in viewer.get(path).data.decode()
    assert viewer.post("/projects/planned/schedule", jobs=JOBS).status == 403
    assert planned.name == "planned"


def test_jobs_are_checked_disabled_and_of_one_project(team, planned):
    manager = team.visitor("manager")
    for text in ('[[jobs]]\nname = "x"\nkind = "shell"\nschedule = "0 3 * * *"\n', "[[jobs]]\n"):
        answer = manager.post("/projects/planned/schedule", jobs=text)
        assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid-jobs")
    path = "/projects/planned/schedule/jobs/nightly"
    assert manager.post(path, enabled=False).json()["enabled"] is False
    [job] = manager.get("/projects/planned/schedule.json").json()["jobs"]
    assert (job["enabled"], job["next"]) == (False, None)
    assert manager.send(path, "/projects/planned/schedule", enabled="1").status == 303
    team.project("unplanned")
    with team.store.write() as connection:
        nightly_job = scheduled_jobs.get_job(connection, planned.id, "nightly")
        run = scheduled_jobs.plan_run(connection, nightly_job.id, now() - timedelta(days=1), state="missed")
    for route in ("schedule/jobs/nightly", "schedule/jobs/nightly/start"):
        assert manager.post(f"/projects/unplanned/{route}").status == 404
    assert manager.get(f"/projects/unplanned/schedule/runs/{run.id}.json").status == 404
    assert manager.get("/projects/unplanned/schedule.json").json() == {"jobs": [], "runs": []}


def test_the_scheduler_of_a_server_runs_what_is_due(team, planned):
    with team.store.write() as connection:
        nightly_job = scheduled_jobs.get_job(connection, planned.id, "nightly")
        run = scheduled_jobs.plan_run(connection, nightly_job.id, now())
    scheduler = Scheduler(team.store, None, seconds=0.1)
    scheduler.start()
    try:
        until(lambda: state(team.store, run.id) == "done")
    finally:
        scheduler.stop()


def state(store, number):
    with store.read() as connection:
        return scheduled_jobs.get_job_run(connection, number).state
