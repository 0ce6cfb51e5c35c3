"""Files of a SQLite store: who may read them, a full disk, and damage."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from rankgate.data.read import read_qrels
from rankgate.store import rows
from rankgate.store.backup import backup
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects
from rankgate.store.store import Store
from support.wording import raises


@pytest.fixture
def made(tmp_path):
    with Store.create(str(tmp_path / "store.db")) as store:
        with store.write() as connection:
            projects.add(connection, "shop")
        yield store


@pytest.fixture
def qrels(tmp_path):
    path = tmp_path / "gold.qrels"
    path.write_text("q1 0 d1 1\n")
    return read_qrels(path)


def mode(path):
    return path.stat().st_mode & 0o777


def test_only_the_owner_reads_the_files_of_a_store(made, qrels, tmp_path):
    with made.write() as connection:
        stored_runs.add_judgments(connection, made.blobs, 1, qrels)
        for name in ("store.db", "store.db-wal", "store.db-shm"):
            assert mode(tmp_path / name) == 0o600, name
    files = [path for path in (tmp_path / "store.db.blobs").rglob("*") if path.is_file()]
    assert files
    assert {mode(path) for path in files} == {0o600}
    assert mode(tmp_path / "store.db.blobs") == 0o700
    backup(made, tmp_path / "copy.zip")
    assert mode(tmp_path / "copy.zip") == 0o600


def test_what_an_older_version_made_becomes_private_for_its_owner(made, qrels, tmp_path):
    with made.write() as connection:
        stored_runs.add_judgments(connection, made.blobs, 1, qrels)
    file, folder = tmp_path / "store.db", tmp_path / "store.db.blobs"
    file.chmod(0o644)
    folder.chmod(0o755)
    with Store.open(str(file)):
        assert (mode(file), mode(folder)) == (0o600, 0o700)


@pytest.mark.usefixtures("made")
@pytest.mark.root
def test_a_store_of_somebody_else_is_left_as_it_is(tmp_path):
    file = tmp_path / "store.db"
    file.chmod(0o664)
    os.chown(file, 4_321, -1)
    with Store.open(str(file)):
        assert mode(file) == 0o664


FULL = """
import os, resource, sys
from rankgate.core.errors import UsageError
from rankgate.store.store import Store

sys.dont_write_bytecode = True  # modules would be cut off, and no later process could import them
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
for size in map(int, sys.argv[1:]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
    try:
        Store.create("store.db")
    except UsageError as error:
        print(size, error.code, os.listdir())
"""


def test_a_store_that_cannot_be_made_leaves_nothing(tmp_path):
    sizes = ["0", "4096", "50000", "200000"]
    command = [sys.executable, "-c", FULL, *sizes]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [f"{size} cannot-write []" for size in sizes]
    assert (process.stderr, process.stdout.splitlines()) == ("", lines)


def test_a_store_that_is_there_is_not_removed(made, tmp_path):
    with raises("store-exists"):
        Store.create(str(tmp_path / "store.db"))
    (tmp_path / "notes.txt").write_text("no database, but something that somebody needs\n" * 50)
    with raises("not-a-store"):
        Store.create(str(tmp_path / "notes.txt"))
    assert (tmp_path / "notes.txt").stat().st_size > 1_000
    with made.read() as connection:
        assert projects.get_by_name(connection, "shop")


def test_a_damaged_file_is_called_damaged(made, tmp_path):
    made.close()
    file = tmp_path / "store.db"
    content = bytearray(file.read_bytes())
    for begin in range(4_096, len(content), 4_096):
        content[begin : begin + 2_000] = b"\xff" * 2_000
    file.write_bytes(content)
    with raises("damaged-store"), Store.open(str(file)) as store, store.read() as connection:
        projects.get_by_name(connection, "shop")


@pytest.mark.parametrize("name", ["a/b", "..", ".", "a.json", "a.CSV", "a\nb", "/", "a\\b"])
def test_names_that_no_address_can_hold_are_refused(made, qrels, name):
    with made.write() as connection:
        with raises("invalid-name"):
            stored_runs.add_judgments(connection, made.blobs, 1, qrels, name=name)
        with raises("invalid-name"):
            projects.add(connection, name)


def test_a_name_for_an_address_is_refused_without_a_store():
    rows.refuse_unaddressable("a project", "gold v2")
    with raises("invalid-name"):
        rows.refuse_unaddressable("a project", "a/b")


def test_names_of_files_and_data_sets_become_names_of_addresses(made, qrels):
    import dataclasses

    with made.write() as connection:
        added = stored_runs.add_judgments(
            connection, made.blobs, 1, dataclasses.replace(qrels, name="beir/scifact/test")
        )
        assert added.name == "beir-scifact-test"
