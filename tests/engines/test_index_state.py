"""Facts of an index: its documents, settings and changes, and changes during a snapshot."""

import sqlite3
from contextlib import closing

import pytest

from rankgate.engines.configuration import read_engine
from rankgate.engines.requests import workers
from rankgate.engines.snapshots.snapshot_verb import FunctionEngine, snapshot
from support.wording import raises

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


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((200, {"num": 12, "status": {"name": "green"}}), (12, "green")),
        ((200, {"num": "12"}), (None, "")),
        ((500, "oops"), (None, "")),
    ],
)
def test_an_api_tells_of_its_index(api, server, answer, expected):
    text = api.read_text().replace(
        "depth = 5", 'about = "/stats?q=stats"\ndocuments = "num"\nstate = "status.name"'
    )
    api.write_text(text)
    server.plan = {"stats": [answer]}
    result = snapshot(api, {"q": "shoe"})
    assert (result.facts.documents, result.facts.state) == expected
    assert [path for path, _, _ in server.seen if "stats" in path] == ["/stats?q=stats"] * 2


@pytest.mark.parametrize("keys", ['about = "/x"', 'documents = "n"', 'about = "x"\ndocuments = "n"'])
def test_keys_about_an_index_belong_together(api, keys):
    api.write_text(api.read_text().replace("depth = 5", keys))
    with raises("invalid-engine"):
        read_engine(api)


def test_texts_are_hashed_without_what_depends_on_the_query():
    def search(text, **_):
        return [{"id": f"d{i}", "title": f"t{i}", "snippet": f"…{text}…"} for i in range(3)]

    engine = FunctionEngine(function=search, fields={"title": "title", "snippet": "snippet"})
    first, later = (snapshot(engine, {"a": words, "b": f"{words} 2"}) for words in ("red", "blue"))
    assert len(first.texts) == 3
    assert first.texts == later.texts
    assert first.run.corpus == {"texts": first.texts}
    only_snippets = FunctionEngine(function=search, fields={"snippet": "snippet"})
    assert snapshot(only_snippets, {"a": "red", "b": "blue"}).texts == {}


def test_of_many_texts_the_same_ones_are_kept():
    def search(text, **_):
        return [{"id": f"d{i}", "title": f"t{i}"} for i in range(int(text), int(text) + 3000)]

    engine = FunctionEngine(function=search, fields={"title": "title"}, depth=3000)
    first, later = (snapshot(engine, {"a": begin}).texts for begin in ("0", "1500"))
    assert len(first) == len(later) == 1000
    assert len(first.keys() & later.keys()) > 250
