"""Engines of projects: the hosts that the server allows, and snapshots."""

from __future__ import annotations

import sqlite3

import polars as pl
import pytest

from rankgate.core.errors import InputError, RankgateError, UsageError
from rankgate.engines.configuration import ENGINES
from rankgate.engines.engine import Query
from rankgate.engines.kinds.database_engines import Sqlite
from rankgate.engines.project_engines import ACCESS_VARIABLE, EngineAccess, read_project_engine
from rankgate.engines.snapshots.project_snapshot import snapshot_project
from rankgate.store.blobs import stored_runs
from rankgate.store.material import project_engines, projects, queries_documents
from rankgate.store.material.project_engines import ProjectEngine
from rankgate.store.stored_project import StoredProject
from support.searching import PRODUCTS, QUERIES, make_shop
from support.stores import mostly_sqlite  # noqa: F401 - new_store
from support.wording import raises

OPENSEARCH = {"url": "https://search.example.org", "index": "shop", "search": ["title"]}
HTTP = {"url": "http://localhost:8983/q", "params": {"q": "{{query}}"}, "hits": "docs", "id": "id"}
POSTGRESQL = {
    "dsn": "host=db user=reader password=${DB_KEY} dbname=shop",
    "sql": "SELECT id, 1 FROM products WHERE title = %(query)s",
}
FTS = {"database": "products.db", "table": "products", "id": "id", "fields": {"title": "title"}}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shop").mkdir()
    make_shop(tmp_path / "shop" / "products.db")
    return tmp_path


@pytest.fixture
def secrets(monkeypatch):
    for name in ("SHOP_KEY", "DB_KEY"):
        monkeypatch.setenv(name, f"value-of-{name.lower()}")


def read(kind, settings, **access):
    allowed = EngineAccess(
        **{name: value if name == "folder" else frozenset(value) for name, value in access.items()}
    )
    return read_project_engine(ProjectEngine("one", kind, settings), "shop", allowed)


@pytest.mark.parametrize(
    ("kind", "settings", "hosts"),
    [
        ("opensearch", OPENSEARCH, {"search.example.org"}),
        ("opensearch", OPENSEARCH, {"search.example.org:443"}),
        ("http", HTTP, {"localhost:8983"}),
        ("postgresql", POSTGRESQL, {"db"}),
        ("postgresql", POSTGRESQL, {"db:5432"}),
    ],
)
def test_an_engine_reaches_the_hosts_that_are_allowed(secrets, kind, settings, hosts):  # noqa: ARG001
    assert read(kind, settings, hosts=hosts, secrets={"DB_KEY"}).engine.engine_kind == kind
    for others in (set(), {"example.org"}, {"search.example.org:80", "localhost:80", "db:1"}):
        with raises("host-not-allowed", UsageError):
            read(kind, settings, hosts=others, secrets={"DB_KEY"})


@pytest.mark.parametrize(
    "url",
    [
        "http://good.example@evil.example/",
        "http://good.example\\@evil.example/",
        "http://evil.example#good.example",
        "http://evil.example?good.example",
        "file:///etc/passwd",
        "http://{{query}}/",
        "http://good.example{{query}}/",
        "http://good.example:{{query}}/",
        "http://169.254.169.254/latest",
        "http://[::ffff:127.0.0.1]/",
        "http://GOOD.example.evil.example/",
    ],
)
def test_no_url_leads_elsewhere(url):
    settings = {**HTTP, "url": url}
    with pytest.raises(RankgateError) as caught:
        read("http", settings, hosts={"good.example"})
    assert caught.value.code in {"host-not-allowed", "invalid-url"}


@pytest.mark.parametrize(
    ("dsn", "code"),
    [
        ("host=db user=a dbname=b", "invalid-engine"),
        ("user=a password=${DB_KEY} dbname=b", "invalid-engine"),
        ("host=db hostaddr=10.0.0.1 user=a password=${DB_KEY}", "invalid-engine"),
        ("service=admin host=db user=a password=${DB_KEY}", "invalid-engine"),
        ("host=db,evil user=a password=${DB_KEY}", "host-not-allowed"),
        ("host=db user=a password=${DB_KEY} passfile=/etc/x", "invalid-engine"),
        ("host=db user=a password=known", "secret-in-settings"),
        ("postgresql://a:known@db/shop", "secret-in-settings"),
        ("nonsense", "invalid-engine"),
    ],
)
def test_a_connection_string_reaches_nothing_else(secrets, dsn, code):  # noqa: ARG001
    with raises(code, UsageError):
        read("postgresql", {**POSTGRESQL, "dsn": dsn}, hosts={"db"}, secrets={"DB_KEY"})


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"user": "a", "password": "${SHOP_KEY}"}, "secret-not-allowed"),
        ({"headers": {"x-team": "${HOME}"}}, "secret-not-allowed"),
        ({"user": "a", "password": "known"}, "secret-in-settings"),
        ({"api_key": "known"}, "secret-in-settings"),
        ({"headers": {"Authorization": "Bearer known"}}, "secret-in-settings"),
    ],
)
def test_secrets_are_names_that_are_allowed(secrets, settings, code):  # noqa: ARG001
    hosts = {"search.example.org"}
    with raises(code, UsageError) as caught:
        read("opensearch", {**OPENSEARCH, **settings}, hosts=hosts, secrets={"DB_KEY"})
    assert "value-of" not in str(caught.value)


def test_code_runs_only_where_the_operator_says_so(folder):
    for kind, settings in (("command", {"command": ["true"]}), ("python", {"function": "os:getcwd"})):
        engine = ProjectEngine("one", kind, settings)
        with raises("programs-not-allowed", UsageError):
            read_project_engine(engine, "shop", EngineAccess(folder=folder))
        allowed = EngineAccess(folder=folder, programs=True)
        assert read_project_engine(engine, "shop", allowed).engine.engine_kind == kind


@pytest.mark.parametrize("database", ["../other/products.db", "/etc/passwd", "link/products.db"])
def test_files_are_in_the_folder_of_the_project(folder, database):
    (folder / "other").mkdir()
    make_shop(folder / "other" / "products.db")
    (folder / "shop" / "link").symlink_to(folder / "other")
    engine = ProjectEngine("one", "sqlite", {**FTS, "database": database})
    with raises("outside-folder", UsageError):
        read_project_engine(engine, "shop", EngineAccess(folder=folder))
    with raises("missing-input", UsageError):
        read_project_engine(engine, "shop", EngineAccess())


@pytest.mark.parametrize("statement", ["ATTACH '{other}' AS other", "VACUUM INTO '{other}'"])
def test_a_statement_of_sqlite_touches_no_other_file(folder, statement):
    other = folder / "other.db"
    sql = statement.format(other=other)
    connection = Sqlite(database=str(folder / "shop" / "products.db"), sql=sql).connect()
    assert connection.ask(Query("q1", "hat")).kind == "refused"
    connection.close()
    assert not other.exists()


def test_every_kind_says_what_it_reaches(folder, secrets):  # noqa: ARG001
    settings = {
        "command": {"command": ["true"]},
        "http": HTTP,
        "opensearch": OPENSEARCH,
        "postgresql": POSTGRESQL,
        "python": {"function": "os:getcwd"},
        "sqlite": FTS,
        "tantivy": {"index": "products.db", "id": "id", "search": ["title"]},
    }
    access = EngineAccess(
        frozenset({"search.example.org", "localhost", "db"}),
        frozenset({"DB_KEY"}),
        programs=True,
        folder=folder,
    )
    for kind in ENGINES.all_objects:
        if kind.name in settings:  # an installed plug-in may have others
            engine = ProjectEngine("one", kind.name, settings.pop(kind.name))
            assert read_project_engine(engine, "shop", access).engine.engine_kind == kind.name
    assert settings == {}


def test_wrong_settings_name_the_key(folder):
    access = EngineAccess(folder=folder)
    for settings in ({"databse": "x"}, {**FTS, "depth": "ten"}, {"table": "products"}):
        with raises("invalid-engine", InputError):
            read_project_engine(ProjectEngine("one", "sqlite", settings), "shop", access)


def test_a_job_has_the_access_that_the_server_gave(monkeypatch, folder):
    monkeypatch.delenv(ACCESS_VARIABLE, raising=False)
    assert EngineAccess.from_environment() is None
    access = EngineAccess(frozenset({"a:1"}), frozenset({"KEY"}), programs=True, folder=folder)
    for name, value in access.to_environment().items():
        monkeypatch.setenv(name, value)
    assert EngineAccess.from_environment() == access


@pytest.fixture
def project(new_store):
    with new_store.write() as connection:
        number = projects.add(connection, "shop").id
        table = pl.DataFrame({"query_id": [f"q{n}" for n, _ in enumerate(QUERIES, 1)], "text": list(QUERIES)})
        queries_documents.add_queries(connection, number, table)
        project_engines.save_engine(connection, number, ProjectEngine("fts", "sqlite", FTS))
    return StoredProject(new_store, "shop", number)


def test_a_snapshot_keeps_its_run_and_new_documents(project, folder):
    access = EngineAccess(folder=folder)
    with project.store.write() as connection:
        seen = pl.DataFrame({"doc_id": ["p1"], "title": ["as raters saw it"]})
        queries_documents.add_documents(connection, project.number, seen)
    result = snapshot_project(project, "fts", "monday", access=access)
    assert result.states["ok"] == len(QUERIES)
    with project.store.read() as connection:
        stored_run = stored_runs.find_run(connection, project.number, "monday")
        documents = queries_documents.documents_table(connection, project.number)
    assert (stored_run.queries, stored_run.made_by["engine"]) == (len(QUERIES), "fts")
    assert stored_run.made_by["corpus"].keys() == {"changes", "documents", "settings", "texts"}
    titles = dict(documents.select("doc_id", "title").iter_rows())
    assert titles.pop("p1") == "as raters saw it"
    assert titles.items() <= PRODUCTS.items()
    assert titles


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("sqlite", FTS | {"database": "none.db"}),
        ("tantivy", {"index": "none", "id": "id", "search": ["title"]}),
        ("opensearch", OPENSEARCH | {"ca": "none.pem"}),
    ],
)
def test_errors_do_not_show_the_folder_of_the_server(folder, kind, settings):
    engine = read(kind, settings, hosts={"search.example.org"}, folder=folder).engine
    with raises("cannot-read", UsageError) as caught:
        engine.connect()
    assert "none" in caught.value.problem
    assert str(folder) not in caught.value.problem


def test_a_snapshot_of_an_engine_that_fails_keeps_nothing(project, folder):
    with sqlite3.connect(folder / "shop" / "products.db") as database:
        database.execute("DROP TABLE products")
    result = snapshot_project(project, "fts", "monday", access=EngineAccess(folder=folder))
    assert (result.finished, result.states["not_run"]) == (False, len(QUERIES))
    with project.store.read() as connection:
        assert stored_runs.list_runs(connection, project.number) == []


def test_a_project_without_queries_or_engine_is_refused(project, folder):
    with raises("unknown-engine", UsageError):
        snapshot_project(project, "other", "monday")
    with project.store.write() as connection:
        number = projects.add(connection, "empty").id
        project_engines.save_engine(connection, number, ProjectEngine("fts", "sqlite", FTS))
    (folder / "empty").mkdir()
    make_shop(folder / "empty" / "products.db")
    empty = StoredProject(project.store, "empty", number)
    with raises("no-queries", InputError):
        snapshot_project(empty, "fts", "monday", access=EngineAccess(folder=folder))


def test_engines_are_saved_changed_and_deleted_by_name(project):
    with project.store.write() as connection:
        engine = ProjectEngine("other", "http", HTTP)
        project_engines.save_engine(connection, project.number, engine)
        assert [stored.name for stored in project_engines.list_engines(connection, project.number)] == [
            "fts",
            "other",
        ]
        assert project_engines.get_engine(connection, project.number, "other") == engine
        project_engines.delete_engine(connection, project.number, "other")
        with raises("unknown-engine", UsageError):
            project_engines.delete_engine(connection, project.number, "other")
        for name in ("", "a/b", "Shop", "x.json"):
            with raises("invalid-name", UsageError):
                project_engines.save_engine(connection, project.number, ProjectEngine(name, "http", {}))
        projects.change_settings(connection, project.number, {"metric": "P@5"})
        assert len(project_engines.list_engines(connection, project.number)) == 1


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "host ",
        "HOST",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Proxy-Authorization",
        "proxy-x",
    ],
)
def test_headers_of_the_connection_are_refused(name):
    """Behind a proxy of several hosts a Host header would lead past --engine-host."""
    settings = {**HTTP, "headers": {name: "${SHOP_KEY}"}}
    with raises("header-not-allowed", UsageError):
        read("http", settings, hosts={"localhost"}, secrets={"SHOP_KEY"})
    other = {**HTTP, "headers": {"X-Tenant": "shop"}}
    assert read("http", other, hosts={"localhost"}).engine.engine_kind == "http"
