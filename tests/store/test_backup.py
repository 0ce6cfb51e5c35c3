"""A backup taken while others write is whole, and restores in either database."""

import shutil
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
import sqlalchemy as sa
from alembic import op

from rankgate.data import read_qrels, read_run
from rankgate.judging.store.store_checks import drill, upgrade_store
from rankgate.store import store as versions
from rankgate.store.backup import backup, hashes, restore
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import users
from rankgate.store.rating import next_task, ratings, tasks
from rankgate.store.store import Store
from rankgate.store.store_integrity import check
from support.wording import raises

RELEASED = Path(__file__).parent / "released"
RUN = {"q0": {"d0": 2.0, "d1": 1.0}, "q1": {"d2": 1.5}}


@pytest.fixture
def filled(shop):
    with shop.store.write() as connection:
        blobs = shop.store.blobs
        stored_runs.add_run(connection, blobs, shop.project, read_run(RUN, "bm25"), made_by={"depth": 10})
        stored_runs.add_judgments(connection, blobs, shop.project, read_qrels({"q0": {"d0": 1}}), name="one")
        for task in (1, 2):
            rating = {"rating_id": f"r{task}", "grade": 2.0, "comment": "ü \u2028"}
            ratings.rate(connection, task, shop.raters[0], **rating)
    return shop


def state(store):
    """What a store holds."""
    with store.read() as connection:
        table = ratings.read_ratings(connection, 1).table
        run = stored_runs.read_stored_run(connection, store.blobs, 1, "bm25")
        return (table, run.table, run.sha256, users.list_users(connection), tasks.progress(connection, 1))


def test_a_backup_restores_whole_in_both_databases(filled, tmp_path, postgresql_server):
    result = backup(filled.store, tmp_path / "a.zip")
    assert (result.rows["ratings"], result.blobs, result.version) == (2, 2, versions.newest_version())
    assert (tmp_path / "a.zip").stat().st_mode & 0o777 == 0o600
    state_before = state(filled.store)
    restore(tmp_path / "a.zip", f"{tmp_path}/other.db")
    with Store.open(f"{tmp_path}/other.db") as restored_store:
        state_after = state(restored_store)
        assert check(restored_store) == ()
        with restored_store.write() as connection:  # numbers go on where they were
            new_rating = ratings.rate(connection, 3, 1, rating_id="r3", grade=1.0)
            assert new_rating.rating.id > 2
    for first, second in zip(state_before, state_after, strict=True):
        assert first.equals(second) if isinstance(first, pl.DataFrame) else first == second
    with postgresql_server.database("restored") as url:
        restore(tmp_path / "a.zip", url, f"{tmp_path}/more")
        with Store.open(url) as restored_store:
            assert state(restored_store)[0].equals(state_before[0])
            with restored_store.write() as connection:
                ratings.rate(connection, 3, 1, rating_id="r3", grade=1.0)
                users.add(connection, "new")


def test_a_backup_while_others_write(filled, tmp_path):
    store = filled.store

    def work(rater):
        for _ in range(100):
            with store.write() as connection:
                task = next_task.take(connection, filled.project, rater)
                if task is None:
                    return
                ratings.rate(connection, task, rater, rating_id=f"{rater}-{task}", grade=1.0)

    with ThreadPoolExecutor(3) as pool:
        busy = [pool.submit(work, rater) for rater in filled.raters[:2]]
        backups = [pool.submit(backup, store, tmp_path / f"{i}.zip").result() for i in range(2)]
        for outcome in busy:
            outcome.result()
    for i, outcome in enumerate(backups):
        restore(outcome.path, f"{tmp_path}/{i}.db")
        with Store.open(f"{tmp_path}/{i}.db") as restored_store:
            assert check(restored_store) == ()
            with restored_store.read() as connection:
                assert len(ratings.read_ratings(connection, 1).table) == outcome.rows["ratings"]


VERSIONS = sorted(archive.stem for archive in RELEASED.glob("*.zip"))


def test_every_version_has_a_migration_and_a_released_store():
    modules = versions.list_migrations()
    assert list(modules) == VERSIONS
    assert [import_module(module).revision for module in modules.values()] == VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_every_released_version_is_upgraded_with_its_data(url, tmp_path, version):
    restore(RELEASED / f"{version}.zip", url, f"{tmp_path}/blobs")
    with Store.open(url) as store:
        assert check(store) == ()
        with store.read() as connection:
            assert versions.version(connection) == versions.newest_version()
            assert len(ratings.read_ratings(connection, 1).table) == 2
        assert state(store)[1].rows() == [("q0", "d0", 2.0), ("q0", "d1", 1.0), ("q1", "d2", 1.5)]


@pytest.fixture
def second_version(monkeypatch):
    """A program whose second migration adds a column."""
    module = ModuleType("m9999_more")
    module.upgrade = lambda: op.add_column("queries", sa.Column("more", sa.Text(), nullable=True))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    migrations = {**versions.list_migrations(), "9999": module.__name__}
    with monkeypatch.context() as patch:
        patch.setattr(versions, "list_migrations", lambda: migrations)
        yield


def test_an_older_store_is_backed_up_before_it_is_upgraded(url, tmp_path, request):
    version = VERSIONS[-1]
    restore(RELEASED / f"{version}.zip", url, f"{tmp_path}/blobs")
    request.getfixturevalue("second_version")
    with raises("older-store"):
        Store.open(url)
    with Store.open(url, older=True) as store:
        result = backup(store, tmp_path / "before.zip")
    assert (result.version, result.rows["ratings"]) == (version, 2)
    assert upgrade_store(url)[1] == ("9999",)
    with Store.open(url) as store, store.read() as connection:
        assert "more" in {column["name"] for column in sa.inspect(connection).get_columns("queries")}
        assert len(ratings.read_ratings(connection, 1).table) == 2


def test_what_is_no_backup_is_refused_and_leaves_nothing(filled, tmp_path):
    archive, target = tmp_path / "a.zip", tmp_path / "new.db"
    backup(filled.store, archive)
    with raises("cannot-read"):
        restore(tmp_path / "nowhere.zip", str(target))
    (tmp_path / "text.zip").write_text("text")
    with raises("not-a-backup"):
        restore(tmp_path / "text.zip", str(target))
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(tmp_path / "cut.zip", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content[:-20] if name == "tables/ratings.jsonl" else content)
    with raises("not-a-backup"):
        restore(tmp_path / "cut.zip", str(target))
    assert not target.exists()
    with raises("store-exists"):
        restore(archive, str(filled.store.url.render_as_string(hide_password=False)), "b")


def test_a_check_finds_what_is_wrong(filled, tmp_path):
    store = filled.store
    assert check(store) == ()
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE assignments SET grade = 0 WHERE task = 1")
    first, *other_paths = sorted(store.blobs.folder.glob("??/*"))
    first.write_bytes(b"damaged")
    shutil.rmtree(other_paths[0].parent)
    assert sorted(problem.code for problem in check(store)) == ["damaged-blob", "missing-blob", "stale-task"]
    with raises("damaged-blob" if first.name < other_paths[0].name else "missing-blob"):
        backup(store, tmp_path / "a.zip")
    assert not (tmp_path / "a.zip").exists()


def test_blobs_in_object_storage(tmp_path):
    with Store.create(f"{tmp_path}/r.db", blobs=f"file://{tmp_path}/objects") as store:
        with store.write() as connection:
            projects.add(connection, "p")
            stored_run = stored_runs.add_run(connection, store.blobs, 1, read_run(RUN, "bm25"))
        with store.read() as connection:
            assert stored_runs.read_stored_run(connection, store.blobs, 1, "bm25").sha256 == stored_run.sha256
        assert list(store.blobs.names()) == [stored_run.blob]
        assert (tmp_path / "objects" / stored_run.blob).is_file()


def test_a_document_that_was_changed_outside_is_found(filled):
    with filled.store.write() as connection:
        changed = sa.update(queries_documents.documents).where(queries_documents.documents.c.doc_id == "d0")
        connection.execute(changed.values(fields={"title": "Blue"}))
    assert [problem.code for problem in check(filled.store)] == ["changed-document"]


def test_a_restored_backup_equals_the_original_by_the_hash_of_every_table(
    filled, tmp_path, postgresql_server
):
    store = filled.store
    original = hashes(store)
    result = backup(store, tmp_path / "a.zip")
    assert result.hashes == original
    assert original["ratings"].rows == 2
    with postgresql_server.database("restored") as url:
        for location in (f"{tmp_path}/restored.db", url):
            restore(tmp_path / "a.zip", location, f"{tmp_path}/{len(location)}")
            with Store.open(location) as restored:
                assert hashes(restored) == original
                with restored.write() as connection:
                    connection.exec_driver_sql("UPDATE users SET display = 'x' WHERE id = 1")
                changed = {
                    name for name, table_hash in hashes(restored).items() if table_hash != original[name]
                }
                assert changed == {"users"}


def test_a_backup_whose_rows_were_changed_is_not_restored(filled, tmp_path):
    backup(filled.store, tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as old, zipfile.ZipFile(tmp_path / "b.zip", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(b'"ann"', b'"eve"'))
    with raises("restore-differs"):
        restore(tmp_path / "b.zip", str(tmp_path / "new.db"))
    assert not (tmp_path / "new.db").exists()


def test_a_drill_restores_and_compares(filled, tmp_path):
    url = filled.store.url.render_as_string(hide_password=False)
    drill_result = drill(url)
    assert {table.table: table.sha256 for table in drill_result.tables} == {
        name: table_hash.sha256 for name, table_hash in hashes(filled.store).items()
    }
    assert drill_result.problems == ()
    backup(filled.store, tmp_path / "a.zip")
    assert drill(None, tmp_path / "a.zip").tables == drill_result.tables
