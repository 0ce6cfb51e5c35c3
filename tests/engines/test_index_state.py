"""Facts of an index: its documents, settings and changes, and changes during a snapshot."""

import sqlite3
from contextlib import closing

import pytest

from rankgate.engines.configuration import read_engine
from rankgate.engines.requests import workers
from rankgate.engines.snapshots.snapshot_verb import snapshot

from .conftest import QUERIES


def begun(engine, output, monkeypatch):
    """Interrupt a snapshot after its first answers."""
    with monkeypatch.context() as patch:

        def waits(_):
            patch.undo()
            raise KeyboardInterrupt

        patch.setattr(workers, "_wait_for", waits)
        with pytest.raises(KeyboardInterrupt):
            snapshot(engine, QUERIES, output, rate=1)


def changed(result):
    """What changed, and the codes of notices."""
    return (
        {change.partition(":")[0] for change in result.changed},
        {notice.code for notice in result.notices},
    )


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_an_index_of_sqlite_that_changes_is_named(engine, tmp_path, monkeypatch, mode):
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as shop:
        shop.execute(f"PRAGMA journal_mode = {mode}")
        output = tmp_path / "new.run"
        begun(engine, output, monkeypatch)
        with shop:
            shop.execute("INSERT INTO docs VALUES ('new', 'red shoe')")
            shop.execute("DELETE FROM docs WHERE doc_id = 'd1'")  # as many as before
        result = snapshot(engine, QUERIES, output)
    changes, codes = changed(result)
    assert (changes, result.facts.documents) == ({"changes"}, 60)
    assert "index-changed" in codes
    assert not snapshot(engine, QUERIES).changed
    facts = _facts(engine)
    assert facts == _facts(engine)
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as shop, shop:
        shop.execute("CREATE TABLE other (a)")
    assert _facts(engine).settings != facts.settings


def _facts(engine):
    connection = read_engine(engine).engine.connect()
    try:
        return connection.facts()
    finally:
        connection.close()
