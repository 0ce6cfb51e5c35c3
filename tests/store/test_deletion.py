"""Deletion of projects and their contents: all dependent rows are deleted, or none."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import sqlalchemy as sa

from rankgate.store import archive
from rankgate.store import store as versions
from rankgate.store.backup import hashes, restore
from rankgate.store.material import projects, queries_documents
from rankgate.store.models import model_jobs_table
from rankgate.store.people import audit, invitations, sign_in, users
from rankgate.store.rating import batches, next_task, ratings
from rankgate.store.rating import tasks as tasks_of
from rankgate.store.rows import now
from rankgate.store.store import Store
from rankgate.store.store_integrity import check
from rankgate.store.tables.columns import Moment
from rankgate.store.tables.people_tables import audit_log
from rankgate.store.tables.people_tables import projects as project_rows
from rankgate.store.tables.rating_tables import ratings as ratings_table
from rankgate.store.tables.rating_tables import tasks
from support.stores import opened
from support.wording import raises

RELEASED = Path(__file__).parent / "released"
SOURCE = Path(__file__).parents[2] / "src"
FACTS = (
    *("ratings", "preferences", "audit_log", "model_answers", "admissions"),
    *("records", "record_values", "annotations", "comments"),
)
"""Tables of facts that are only added to."""
KILLED = """
import sys
from rankgate.store import archive
from rankgate.store.store import Store
with Store.open(sys.argv[1]) as store, store.write() as connection:
    archive.delete_project(connection, 1)
    print("deleted", flush=True)
    sys.stdin.read()
"""


def fill(url, blobs):
    """Make a store with a project that has rows in most tables, and with another project."""
    restore(RELEASED / f"{versions.newest_version()}.zip", url, str(blobs))
    with Store.open(url) as store, store.write() as connection:
        user = users.add(connection, "zoe").id
        users.grant(connection, 1, user, "rater")
        sign_in.issue_token(connection, user, "t", project=1)
        invitations.invite(connection, project=1, role="rater")
        audit.COMMAND_LINE.record(connection, "batch.add", "first", project=1)
        other_project = projects.add(connection, "other")
        batch = batches.add_batch(connection, other_project.id, "first")
        pairs = pl.DataFrame({"query_id": ["q0", "q0"], "doc_id": ["d0", "d1"]})
        batches.add_pairs(connection, batch, pairs)
        task = next_task.take(connection, other_project.id, 1)
        ratings.rate(connection, task, 1, rating_id="other", grade=1.0)
        end_jobs = sa.text("UPDATE model_jobs SET state = 'done'")
        connection.execute(end_jobs)


@pytest.fixture(scope="module")
def filled_file(tmp_path_factory):
    """A filled store in a file, with its blobs next to it."""
    folder = tmp_path_factory.mktemp("filled")
    fill(f"sqlite:///{folder}/filled.db", folder / "blobs")
    return folder


@pytest.fixture(scope="module")
def filled_database(postgresql_server, tmp_path_factory):
    """The folder of the blobs of a filled store, the database ``filled``."""
    folder = tmp_path_factory.mktemp("filled")
    with postgresql_server.database("filled") as url:
        fill(url, folder / "blobs")
        yield folder


@pytest.fixture
def filled(request, url, tmp_path):
    """A copy of the filled store, with blobs of its own."""
    if url.startswith("sqlite"):
        folder = request.getfixturevalue("filled_file")
        shutil.copyfile(folder / "filled.db", tmp_path / "judging.db")
    else:
        folder = request.getfixturevalue("filled_database")
        request.getfixturevalue("postgresql_server").replace("judging", "filled")
    shutil.copytree(folder / "blobs", tmp_path / "blobs")
    with opened(url, f"{tmp_path}/blobs") as store:
        yield store


def archived(store):
    with store.write() as connection:
        projects.change(connection, 1, archived_at=now())


def rows_of(store, project):
    """All rows that depend on a project, by table."""
    rows = archive.dependent_rows(project_rows, project_rows.c.id == project)
    with store.read() as connection:
        return {
            table.name: connection.execute(sa.select(table).where(condition)).all()
            for table, condition in rows.items()
        }


def guards(store):
    """The triggers that hold facts, and are switched on."""
    trigger_queries = {
        "sqlite": "SELECT tbl_name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name",
        "postgresql": "SELECT relname, pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c"
        " ON c.oid = tgrelid WHERE NOT tgisinternal AND tgenabled = 'O' ORDER BY relname, tgname",
    }
    with store.read() as connection:
        return connection.execute(sa.text(trigger_queries[store.engine.dialect.name])).all()


def assert_guarded(store, before):
    """The triggers are as before, and refuse a deletion."""
    assert guards(store) == before
    assert {table for table, _ in before} == set(FACTS)
    with raises("store-refused"), store.write() as connection:
        connection.execute(sa.delete(ratings_table))


def test_a_project_goes_with_all_that_it_has(filled):
    archived(filled)
    triggers = guards(filled)
    rows_before, other_rows = rows_of(filled, 1), rows_of(filled, 2)
    assert len([name for name, rows in rows_before.items() if rows]) >= 20
    with filled.write() as connection:
        row_counts = archive.project_dependents(connection, 1)
        assert archive.delete_project(connection, 1) == row_counts
    assert row_counts["ratings"] == 2
    assert (row_counts["tasks"], row_counts["records"], row_counts["scheduled jobs"]) == (20, 1, 1)
    assert not any(rows_of(filled, 1).values())
    assert rows_of(filled, 2) == other_rows
    assert_guarded(filled, triggers)
    assert check(filled) == ()
    with filled.write() as connection:
        statement = sa.select(audit_log.c.action).where(audit_log.c.project == 1)
        assert connection.scalars(statement).all() == ["batch.add"]
        assert [project.name for project in projects.list_projects(connection)] == ["other"]
        assert projects.list_projects(connection, archived=True) == []
        assert projects.add(connection, "shop").id == 3  # the name is free, the number is not
        for name in ("/1", ""):
            with raises("unknown-project"):
                projects.get_by_name(connection, name)


def test_only_an_archived_project_without_work_of_models_is_deleted(filled):
    hashes_before, triggers = hashes(filled), guards(filled)
    with raises("in-use"), filled.write() as connection:
        archive.delete_project(connection, 1)
    assert hashes(filled) == hashes_before
    archived(filled)
    with filled.write() as connection:
        connection.execute(sa.text("UPDATE model_jobs SET state = 'running'"))
    hashes_before, triggers = hashes(filled), guards(filled)
    with raises("in-use"), filled.write() as connection:
        archive.delete_project(connection, 1)
    assert hashes(filled) == hashes_before
    assert_guarded(filled, triggers)


def test_a_deletion_that_fails_leaves_everything(filled, monkeypatch):
    archived(filled)
    hashes_before, triggers = hashes(filled), guards(filled)

    with monkeypatch.context() as patch:
        patch.delattr(projects, "clear_name")  # the last step
        with pytest.raises(AttributeError), filled.write() as connection:
            archive.delete_project(connection, 1)
    assert hashes(filled) == hashes_before
    assert_guarded(filled, triggers)


def test_a_deletion_that_is_killed_leaves_everything(filled, url):
    archived(filled)
    hashes_before, triggers = hashes(filled), guards(filled)
    command = [sys.executable, "-c", KILLED, url]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout.readline() == b"deleted\n"
        process.send_signal(signal.SIGKILL)
    assert hashes(filled) == hashes_before
    assert_guarded(filled, triggers)
    with filled.write() as connection:
        assert archive.delete_project(connection, 1)["ratings"] == 2


@pytest.mark.parametrize("kind", list(archive.KINDS))
def test_an_item_goes_with_the_facts_that_depend_on_it(filled, kind):
    other_rows, triggers = rows_of(filled, 2), guards(filled)
    with filled.write() as connection:
        item = next(item for item in archive.list_archivables(connection, 1) if item.kind == kind)
        row_counts = archive.dependents(connection, item)
        assert archive.delete(connection, item) == row_counts
    expected = {"tasks": 20, "ratings": 2, "model answers": 1} if kind == "batch" else {}
    assert {name: row_counts.get(name, 0) for name in expected} == expected
    remaining_rows = rows_of(filled, 1)
    assert not any(remaining_rows[name.replace(" ", "_")] for name in expected)
    assert rows_of(filled, 2) == other_rows
    assert_guarded(filled, triggers)
    assert check(filled) == ()


def test_a_row_that_is_deleted_is_looked_up_by_indexes(url, tmp_path):
    """Without one the database reads the whole table for each row that goes."""
    with Store.create(url, blobs=f"{tmp_path}/blobs") as store:
        inspector = sa.inspect(store.engine)
        missing = []
        deleted = {project_rows, *archive.dependent_rows(project_rows, project_rows.c.id == 1)}
        for table in deleted:
            indexes = [index["column_names"] for index in inspector.get_indexes(table.name)]
            indexes += [unique["column_names"] for unique in inspector.get_unique_constraints(table.name)]
            indexes.append(inspector.get_pk_constraint(table.name)["constrained_columns"])
            first = {columns[0] for columns in indexes}
            missing += [
                f"{table.name}.{key.parent.name}"
                for key in table.foreign_keys
                if key.column.table in deleted - {project_rows} and key.parent.name not in first
            ]
    assert missing == []


@pytest.mark.parametrize("state", model_jobs_table.UNDER_WAY)
def test_what_a_model_rates_is_not_deleted(filled, state):
    with filled.write() as connection:
        statement = "UPDATE model_jobs SET state = :state, owner = 'elsewhere:1', until = :until"
        lease_end = sa.bindparam("until", now() + model_jobs_table.LEASE, type_=Moment)
        connection.execute(sa.text(statement).bindparams(lease_end), {"state": state})
        numbers = model_jobs_table.tasks_of(connection, 1)
        query_number = connection.scalars(sa.select(tasks.c.query).where(tasks.c.id.in_(numbers))).first()
        items = [archive.get(connection, 1, "batch", 1), archive.get(connection, 1, "query", query_number)]
    hashes_before = hashes(filled)
    for item in items:
        with raises("in-use"), filled.write() as connection:
            archive.delete(connection, item)
    assert hashes(filled) == hashes_before
    with filled.write() as connection:
        model_jobs_table.end(connection, 1, "cancelled")
        assert archive.delete(connection, items[0])["tasks"] == 20


def test_archived_queries_are_not_asked_and_are_deleted_together(filled):
    with filled.write() as connection:
        rater = users.ensure(connection, "new rater").id
        progress_before = tasks_of.progress(connection, 1)
        all_left = tasks_of.count_remaining(connection, 1, rater)
        assert archive.archive_queries(connection, 1, ["q0", "q1"], archived=True) == 2
        query_ids = set()
        while (task := next_task.take(connection, 1, rater)) is not None:
            query_ids.add(tasks_of.get_task(connection, task).query.query_id)
            ratings.rate(connection, task, rater, rating_id=f"new-{task}", grade=1.0)
        assert query_ids == {"q2"}  # q3 is archived in the backup
        assert tasks_of.progress(connection, 1).total < progress_before.total
        assert all_left == 5 + tasks_of.count_remaining(connection, 1, rater) + 8  # q2, q0 and q1
        assert [query.query_id for query in queries_documents.list_queries(connection, 1)] == ["q2"]
        assert queries_documents.count_queries(connection, 1) == 1
        assert queries_documents.queries_table(connection, 1)["query_id"].to_list() == ["q2"]
        assert archive.count_archived_queries(connection, 1) == 3
        with raises("unknown-query"):
            archive.archive_queries(connection, 1, ["q2", "nothing"], archived=True)
    with filled.write() as connection:
        assert queries_documents.count_queries(connection, 1) == 1
        row_counts = archive.dependents_of_archived_queries(connection, 1)
        assert archive.delete_archived_queries(connection, 1) == row_counts
        assert row_counts["ratings"] == 2
        assert row_counts["tasks"] == 15
        assert tasks_of.progress(connection, 1).total == 5
    assert check(filled) == ()


def test_the_command_line_does_not_write_into_an_archived_project(filled, tmp_path, url, run, monkeypatch):
    archived(filled)
    hashes_before = hashes(filled)
    run_file, qrels_file = tmp_path / "a.run", tmp_path / "a.qrels"
    run_file.write_text("q0 Q0 d0 1 2 a\n")
    qrels_file.write_text("q0 0 d0 1\n")
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rules]]\nid = "low"\nkind = "absolute"\nmetric = "nDCG@10"\nat_least = 0.5\n')
    plan = tmp_path / "jobs.toml"
    plan.write_text('[[jobs]]\nname = "nightly"\nkind = "alerts"\nschedule = "0 3 * * *"\n')
    result = tmp_path / "result.json"
    result.write_text(run("eval", str(qrels_file), str(run_file), "--format", "json").out)
    monkeypatch.setenv("RANKGATE_STORE", url)  # it holds a password
    project_option = ("--project", "shop")
    for arguments in (
        ("store", "import", str(run_file), *project_option),
        ("store", "import", str(qrels_file), *project_option),
        ("store", "user", "role", "zoe", "viewer", *project_option),
        ("store", "model", "withdraw", "m 01234567", *project_option),
        ("rate", "first", "--rater", "ann", *project_option),
        ("resolve", "all", "--save-as", "new", *project_option),
        ("record", str(result), *project_option),
        ("alerts", "rules", str(rules), *project_option),
        ("alerts", "check", *project_option),
        ("alerts", "acknowledge", "1", *project_option),
        ("jobs", "set", str(plan), *project_option),
        ("jobs", "run", "nightly", *project_option),
    ):
        command_result = run(*arguments)
        assert command_result.code == 2, (arguments, command_result.out, command_result.err)
        assert command_result.err == (
            "rankgate: the project shop is archived and cannot be changed; an admin can show it again "
            "first.\n"
        ), arguments
    assert hashes(filled) == hashes_before
