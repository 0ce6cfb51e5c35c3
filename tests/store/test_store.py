"""A store is made, opened, refused; facts in it cannot be changed."""

from contextlib import suppress

import pytest
import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.store import store as versions
from rankgate.store.database import address, make_engine
from rankgate.store.people import audit
from rankgate.store.rating import ratings
from rankgate.store.store import Store
from rankgate.store.tables import METADATA
from support.stores import address_of
from support.wording import raises


def test_a_store_is_made_once(url, tmp_path):
    with Store.create(url, blobs=f"{tmp_path}/b") as store, store.read() as connection:
        assert versions.version(connection) == versions.newest_version()
        if store.writing is not None:
            pragmas = [
                connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("journal_mode", "synchronous", "foreign_keys")
            ]
            assert pragmas == ["wal", 2, 1]
    with raises("store-exists"):
        Store.create(url, blobs=f"{tmp_path}/b")
    with Store.open(url) as store:
        assert store.blobs.where == f"{tmp_path}/b"
        assert "s3cret" not in store.name


def test_migrations_make_the_tables_that_the_code_knows(store):
    reflected = sa.MetaData()
    reflected.reflect(store.engine)
    reflected.remove(reflected.tables["alembic_version"])
    assert reflected.tables.keys() == METADATA.tables.keys()
    for name, table in METADATA.tables.items():
        database_table = reflected.tables[name]
        assert database_table.columns.keys() == table.columns.keys(), name
        assert [c.nullable for c in database_table.columns] == [c.nullable for c in table.columns], name
        assert {fk.target_fullname for fk in database_table.foreign_keys} == {
            fk.target_fullname for fk in table.foreign_keys
        }
        index_names = {index.name for index in table.indexes}
        database_indexes = {db_index["name"] for db_index in sa.inspect(store.engine).get_indexes(name)}
        assert index_names <= database_indexes, name


@pytest.mark.parametrize("change", ["UPDATE {} SET id = id", "DELETE FROM {}"])
@pytest.mark.parametrize("table", ["ratings", "audit_log"])
def test_facts_stay(shop, table, change):
    with shop.store.write() as connection:
        ratings.rate(connection, 1, shop.raters[0], rating_id="a", grade=1.0)
        audit.COMMAND_LINE.record(connection, "test", a=1)
    with pytest.raises(UsageError) as caught, shop.store.write() as connection:
        connection.exec_driver_sql(change.format(table))
    assert caught.value.code == "store-refused"


def test_other_versions_are_refused(store):
    url = address_of(store)
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with raises("newer-store"):
        Store.open(url)
    with raises("newer-store"):
        versions.upgrade(store.engine)
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0009'")
    with raises("older-store"):
        Store.open(url, older=True)
    with raises("older-store"):
        versions.upgrade(store.engine)
    with store.write() as connection:
        connection.exec_driver_sql("DELETE FROM alembic_version")
    with raises("no-store"):
        Store.open(url)


def test_addresses(tmp_path, monkeypatch):
    monkeypatch.delenv("RANKGATE_STORE", raising=False)
    for store_url, code in (
        (None, "no-store"),
        (f"sqlite:///{tmp_path}/nowhere.db", "no-store"),
        ("sqlite://", "unknown-store"),
        ("mysql://a/b", "unknown-store"),
        ("postgresql://user:pass word@", "cannot-connect"),
    ):
        with pytest.raises(UsageError) as caught:
            Store.open(store_url)
        assert caught.value.code == code, store_url
        assert "pass" not in str(caught.value)
    with raises("cannot-write"):
        Store.create(f"{tmp_path}/nowhere/x.db")
    with raises("missing-input"):
        Store.create("postgresql://nobody@/x")
    (tmp_path / "text").write_text("no database at all" * 100)
    with raises("not-a-store"):
        Store.open(f"{tmp_path}/text")
    monkeypatch.setenv("RANKGATE_STORE", f"{tmp_path}/y.db")
    Store.create().close()
    assert Store.open().name == f"sqlite:///{tmp_path}/y.db"


def test_an_error_undoes_the_transaction(shop):
    with suppress(KeyError), shop.store.write() as connection:
        ratings.rate(connection, 1, shop.raters[0], rating_id="a", grade=1.0)
        raise KeyError
    with shop.store.read() as connection:
        assert ratings.find(connection, "a") is None


def test_each_migration_is_a_transaction(url):
    engine = make_engine(address(url))
    with pytest.raises(ZeroDivisionError):
        versions.upgrade(engine, first=lambda _: 1 / 0)
    with engine.connect() as connection:
        assert sa.inspect(connection).get_table_names() == []
    engine.dispose()
