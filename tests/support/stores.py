"""Fresh stores of tests: copies of an empty store, because a new store runs every migration."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from rankgate.store.store import Store
from rankgate.store.tables.people_tables import settings

EMPTY = "empty_store"
KINDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)]
SEPARATE_KINDS = ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgresql, pytest.mark.separate])]


def address_of(store):
    """The URL of a store, with its password."""
    return store.url.render_as_string(hide_password=False)


def opened(url, blobs):
    """A copy of a store, with its own place of blobs."""
    with Store.open(url) as store, store.write() as connection:
        connection.execute(sa.update(settings).where(settings.c.name == "blobs").values(value=blobs))
    return Store.open(url)


@pytest.fixture(scope="session")
def new_file(tmp_path_factory):
    """Opens a new store in a file."""
    empty = tmp_path_factory.mktemp("store") / "empty.db"
    Store.create(str(empty)).close()

    def copied(path, blobs=""):
        assert not Path(path).exists()
        shutil.copyfile(empty, path)
        return opened(str(path), blobs)

    return copied


@pytest.fixture(scope="session")
def new_database(postgresql_server):
    """Opens a new store in PostgreSQL, which is dropped at the end of the block."""
    with postgresql_server.database(EMPTY) as url:
        Store.create(url, blobs="nowhere").close()

        @contextmanager
        def copied(name, blobs):
            with postgresql_server.database(name, template=EMPTY) as copy, opened(copy, blobs) as store:
                yield store

        yield copied


@pytest.fixture(params=KINDS)
def url(request, tmp_path):
    """The address of an empty database, in both kinds."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/judging.db"
        return
    server = request.getfixturevalue("postgresql_server")
    with server.database("judging") as address:
        yield address


@contextmanager
def fresh_store(request, folder, database="judging"):
    """A new store of the kind that a fixture has as its parameter."""
    if request.param == "sqlite":
        new_file = request.getfixturevalue("new_file")
        with new_file(folder / "judging.db", f"{folder}/blobs") as store:
            yield store
        return
    new_database = request.getfixturevalue("new_database")
    with new_database(database, f"{folder}/blobs") as store:
        yield store


@pytest.fixture(params=KINDS)
def new_store(request, tmp_path):
    """A new store, in both kinds."""
    with fresh_store(request, tmp_path) as store:
        yield store


@pytest.fixture(name="new_store", params=SEPARATE_KINDS)
def mostly_sqlite(request, tmp_path):
    """`new_store` for modules where PostgreSQL can hardly differ: they run with it in ``make separate``."""
    with fresh_store(request, tmp_path) as store:
        yield store
