"""Jobs: due times, commands and failures."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rankgate.store import rows
from rankgate.store.backup import hashes
from rankgate.store.records import alerts, scheduled_jobs
from rankgate.store.rows import now
from rankgate.workspace.records import cron_times
from rankgate.workspace.records.cron_times import last_due, next_due
from rankgate.workspace.records.schedule.job_kinds import JOBS, JobKind
from rankgate.workspace.records.schedule.job_settings import read_jobs, set_jobs
from rankgate.workspace.records.schedule.scheduler import RETRY_DELAYS, Scheduler, run_job_now
from support.waiting import until
from support.wording import raises

JOB = '[[jobs]]\nname = "nightly"\nkind = "alerts"\nschedule = "0 3 * * *"\n'
LOW = '[[rules]]\nid = "low"\nkind = "absolute"\nmetric = "nDCG@10"\nat_least = 0.5\n'


def at(*parts):
    return datetime(*parts, tzinfo=UTC)


def put(history, text):
    with history.store.write() as connection:
        set_jobs(connection, history.project, read_jobs(text))
        return {job.name: job for job in scheduled_jobs.list_jobs(connection, history.project)}


def runs(history, name="nightly"):
    with history.store.read() as connection:
        job = scheduled_jobs.get_job(connection, history.project, name)
        return scheduled_jobs.list_runs(connection, job.id)


@pytest.fixture
def scheduler(history, tmp_path):
    job_scheduler = Scheduler(history.store, tmp_path)
    yield job_scheduler
    job_scheduler.stop()


@pytest.fixture
def commands(monkeypatch):
    """A kind of job with commands chosen by a test."""
    command_list = [["metrics"]]
    kind = JobKind("chosen", (), lambda project, values: command_list, title="of a test")  # noqa: ARG005
    monkeypatch.setitem(vars(JOBS), "_declared_objects", {**JOBS._declared_objects, "chosen": kind})
    return command_list


CHOSEN = JOB.replace("alerts", "chosen")


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "expected"),
    [
        ("0 3 * * *", "UTC", at(2026, 1, 1, 3), at(2026, 1, 2, 3)),
        ("0 3 * * *", "Europe/Warsaw", at(2026, 1, 1), at(2026, 1, 1, 2)),
        ("0 3 * * *", "Europe/Warsaw", at(2026, 7, 1), at(2026, 7, 1, 1)),
        ("0 0 * * 0", "UTC", at(2026, 3, 2), at(2026, 3, 8)),  # cron's Sunday, not Monday
        ("0 0 * * 7", "UTC", at(2026, 3, 2), at(2026, 3, 8)),
        ("0 0 * * 1-5", "UTC", at(2026, 3, 6), at(2026, 3, 9)),
        ("*/15 * * * mon", "UTC", at(2026, 3, 2, 1, 1), at(2026, 3, 2, 1, 15)),
    ],
)
def test_schedules_are_those_of_cron(schedule, zone, after, expected):
    assert next_due(schedule, zone, after) == expected


def test_of_many_moments_the_last_counts():
    assert last_due("0 3 * * *", "UTC", at(2026, 1, 1), at(2026, 3, 1, 2)) == at(2026, 2, 28, 3)
    assert last_due("0 3 * * *", "UTC", at(2026, 1, 1, 3), at(2026, 1, 2, 2)) is None
    assert last_due("0 0 1 1 *", "UTC", at(2025, 6, 1), at(2026, 5, 1)) == at(2026, 1, 1)
    for wrong in ("0 3 * *", "61 * * * *", "0 3 * * * *", "x * * * *"):
        with raises("invalid-schedule"):
            cron_times.parse_schedule(wrong, "UTC")
    with raises("invalid-schedule"):
        cron_times.parse_schedule("0 3 * * *", "Mars")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (JOB.replace("alerts", "shell"), 3),
        (JOB + 'command = "rm"\n', 5),
        (JOB.replace("0 3 * * *", "soon"), 4),
        (JOB + JOB, 6),
        (JOB.replace("nightly", "../x"), 2),
        (JOB + "retries = 99\n", 5),
        (JOB.replace("alerts", "evaluate") + 'judgments = "--output=/etc/x"\nruns = ["a"]\n', 5),
        (JOB.replace("alerts", "evaluate") + 'judgments = "j"\nruns = ["a", "-h"]\n', 6),
        (JOB.replace("alerts", "kpi") + 'events = "/etc/passwd"\n', 5),
        (JOB.replace("alerts", "kpi") + 'events = "../other"\n', 5),
        (JOB.replace("alerts", "kpi") + 'events = "s3://bucket/x"\n', 5),
        (JOB.replace("alerts", "evaluate") + 'judgments = "j"\n', 1),
        (JOB.replace("alerts", "snapshot") + 'engine = "e"\nqueries = "q"\noutput = "e"\n', 7),
    ],
)
def test_jobs_that_cannot_be_name_their_line(text, line):
    with raises("invalid-jobs") as error:
        read_jobs(text, "jobs.toml")
    assert error.value.line == line


def test_every_kind_gives_commands_that_the_program_has():
    from click import Context, Group

    from rankgate.interface.cli import rankgate as program

    two_runs = {"judgments": "gold", "baseline": "a", "candidate": "b"}
    engine = {"engine": "shop", "judgments": "gold", "metrics": ["P@5"], "depth": 5, "rate": 0.5}
    values_by_kind = {
        "evaluate": {"judgments": "gold", "runs": ["a", "b"], "metrics": ["nDCG@10"], "system": None},
        "gate": two_runs | {"policy": "p.toml", "system": None},
        "compare": two_runs | {"metrics": ["P@5"], "system": "shop"},
        "engine-snapshot": engine,
        "engine-gate": engine | {"baseline": "a"},
        "pool": {"runs": ["a", "b"], "batch": "first", "depth": 10, "strategy": "agree", "judgments": None},
        "judgments": {"judgments": "gold", "rule": "median"},
        "snapshot": {
            "engine": "e.toml",
            "queries": "q.tsv",
            "output": "o.run",
            "judgments": "qrels.txt",
            "metrics": ["P@5"],
        },
        "kpi": {"events": "events", "kpis": ["search_ctr"], "mapping": None},
        "sweep": {
            "engine": "shop",
            "judgments": "gold",
            "dials": ["k1=0.9,1.2"],
            "rate": 1.0,
            "search": "race",
            "metrics": ["P@5"],
        },
        "alerts": {},
    }
    assert set(JOBS) == set(values_by_kind)
    for name, kind in JOBS.items():
        assert set(values_by_kind[name]) == set(kind.parameters)
        for arguments in kind.commands("shop", values_by_kind[name]):
            with Context(program, info_name="rankgate") as context:
                command, remaining = program, [word for word in arguments if word != "--record"]
                while isinstance(command, Group):
                    _, command, remaining = command.resolve_command(context, remaining)
                assert command.name in arguments


def test_a_job_runs_once_when_it_is_due(history, scheduler):
    history.rules(LOW)
    history.add(0.1)
    job = put(history, JOB)["nightly"]
    due_time = next_due(job.schedule, job.timezone, job.changed_at)
    assert scheduler.look(due_time - timedelta(seconds=1))
    assert runs(history) == []
    for _ in range(2):
        assert scheduler.look(due_time + timedelta(seconds=1))
        scheduler.wait()
    [run] = runs(history)
    assert (run.state, run.tries, run.due_at, run.error) == ("done", 1, due_time, "")
    assert "$ rankgate alerts check --project=shop" in run.log
    assert "low" in run.log
    with history.store.read() as connection:
        assert [alert.rule for alert in alerts.list_alerts(connection, history.project)] == ["low"]


def test_what_was_missed_is_run_once_or_skipped(history, scheduler, commands):
    assert commands
    text = CHOSEN + JOB.replace("nightly", "skipped") + 'missed = "skip"\n'
    job = put(history, text)["nightly"]
    late = next_due(job.schedule, job.timezone, job.changed_at) + timedelta(days=4, hours=5)
    scheduler.look(late)
    scheduler.wait()
    scheduler.look(late + timedelta(seconds=30))
    [run], [skipped] = runs(history), runs(history, "skipped")
    assert (run.state, skipped.state) == ("done", "missed")
    assert run.due_at == skipped.due_at == (late - timedelta(hours=5))


def test_failures_are_tried_again_and_end(history, scheduler, commands):
    commands[:] = [["metrics", "no-such-metric"], ["metrics"]]
    job = put(history, CHOSEN + "retries = 1\n")["nightly"]
    moment = next_due(job.schedule, job.timezone, job.changed_at) + timedelta(seconds=1)
    scheduler.look(moment)
    scheduler.wait()
    [run] = runs(history)
    assert (run.state, run.tries) == ("waiting", 1)
    assert "no-such-metric" in run.error
    assert run.log.count("$ rankgate") == 1  # the second command does not begin
    assert run.next_try_at > now() + RETRY_DELAYS[0] - timedelta(minutes=1)
    scheduler.look(moment + timedelta(seconds=10))
    assert len(runs(history)) == 1
    scheduler.look(max(moment, run.next_try_at) + timedelta(seconds=1))
    scheduler.wait()
    [run] = runs(history)
    assert (run.state, run.tries) == ("failed", 2)


def test_a_run_whose_server_died_is_taken_over_but_not_for_ever(history, scheduler, commands):
    assert commands
    job = put(history, CHOSEN + "retries = 1\n")["nightly"]
    due_time = next_due(job.schedule, job.timezone, job.changed_at)
    with history.store.write() as connection:
        scheduled_jobs.plan_run(connection, job.id, due_time)
        for hours in range(2):
            later = due_time + timedelta(hours=hours)
            scheduled_jobs.take_run(connection, "gone:1", lease=timedelta(minutes=2), moment=later)
    scheduler.look(due_time + timedelta(hours=3))
    scheduler.wait()
    [run] = runs(history)
    assert (run.state, run.tries) == ("failed", 3)
    assert "ended while it ran" in run.error


def test_a_job_is_stopped_at_its_limit(history, tmp_path, commands, monkeypatch):
    commands[:] = [["serve", "--port", "0", "--store", str(tmp_path / "x.db")]]
    put(history, CHOSEN)
    from rankgate.workspace.records.schedule import scheduler as module

    clock_ = time.monotonic
    begin = clock_()
    monkeypatch.setattr(module.time, "monotonic", lambda: begin + 3000 * (clock_() - begin))
    job_run = run_job_now(history.store, "shop", "nightly", tmp_path)
    assert job_run.state == "failed"
    assert "longer than its limit" in job_run.error


def test_a_server_that_ends_stops_its_job(history, scheduler, commands, tmp_path):
    commands[:] = [["serve", "--port", "0", "--no-schedule", "--store", str(tmp_path / "y.db")]]
    job = put(history, CHOSEN)["nightly"]
    due_time = next_due(job.schedule, job.timezone, job.changed_at)
    scheduler.look(due_time)
    until((tmp_path / "y.db").exists)  # the server has begun
    scheduler.stop()
    [run] = runs(history)
    assert (run.state, run.tries) == ("waiting", 1)
    assert "the server stopped" in run.error
    commands[:] = [["metrics"]]
    second_scheduler = Scheduler(history.store, None, _owner="other:1")
    second_scheduler.look(due_time + timedelta(seconds=5))
    second_scheduler.wait()
    [run] = runs(history)
    assert (run.state, run.tries) == ("done", 2)
    second_scheduler.stop()


def test_files_outside_of_the_folder_are_not_reached_by_links(history, tmp_path):
    (tmp_path / "jobs" / "shop").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "jobs" / "shop" / "events").symlink_to(tmp_path / "secret")
    put(history, JOB.replace("alerts", "kpi") + 'events = "events/log.csv"\n')
    job_run = run_job_now(history.store, "shop", "nightly", tmp_path / "jobs")
    assert job_run.state == "failed"
    assert "folder of the project's jobs" in job_run.error
    job_run = run_job_now(history.store, "shop", "nightly", None)
    assert job_run.state == "failed"


def test_one_process_of_several_has_the_turn(history, tmp_path):
    first = Scheduler(history.store, tmp_path, _owner="a:1")
    second = Scheduler(history.store, tmp_path, _owner="b:2")
    hashes_before = hashes(history.store)
    assert [first.look(), second.look(), first.look(), second.look()] == [True, False, True, False]
    assert hashes(history.store) == hashes_before
    first.stop()
    assert [second.look(), first.look()] == [True, False]
    with history.store.write() as connection:
        assert not rows.acquire(connection, "schedule", "c:3", timedelta(seconds=1))
        rows.release(connection, "schedule", "a:1")
        assert not rows.acquire(connection, "schedule", "c:3", timedelta(seconds=1))
        rows.release(connection, "schedule", "b:2")
        assert rows.acquire(connection, "schedule", "c:3", timedelta(seconds=-1))
        assert rows.acquire(connection, "schedule", "d:4", timedelta(seconds=1))


def test_jobs_that_a_file_no_longer_has_are_disabled(history):
    put(history, JOB + JOB.replace("nightly", "weekly"))
    jobs = put(history, JOB.replace("0 3", "0 4"))
    assert {name: (job.enabled, job.schedule) for name, job in jobs.items()} == {
        "nightly": (True, "0 4 * * *"),
        "weekly": (False, "0 3 * * *"),
    }


def test_the_program_runs_in_a_process_that_knows_its_store(history, tmp_path, commands):
    script = Path(tmp_path / "metric.py")
    script.write_text(
        "import os, pathlib\n"
        "names = ('RANKGATE_PROJECT', 'RANKGATE_LABELS')\n"
        "seen = ','.join(os.environ[each] for each in names)\n"
        "pathlib.Path(__file__).with_name('seen').write_text(seen)\n"
    )
    commands[:] = [["metrics", "--metrics-from", str(script)]]
    put(history, CHOSEN)
    run_job_now(history.store, "shop", "nightly", tmp_path)
    assert (tmp_path / "seen").read_text() == "shop,job=nightly"
