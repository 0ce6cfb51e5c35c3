"""Every page opens: of the demo, of an empty project, after each button and import, and with empty
fields."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing, contextmanager

import pytest

from rankgate.data.formats import registry
from rankgate.interface.demo.demo_story import STORE
from rankgate.store.people import sign_in, users
from rankgate.store.rating import kept_counts
from rankgate.store.store import Store
from rankgate.store.tables import METADATA
from rankgate.workspace.web.routes import ROUTES
from support.crawling import crawl
from support.model_server import model_server
from support.serving import ACCOUNT, PASSWORD, Visitor, served
from support.whole_project import PATH, Buttons, endpoints

UNLINKED = {
    "asset",
    "sign-in-page",
    "oidc",
    "oidc-callback",
    "invitation",
    "sign-in-code-page",
    "lost-password-page",
    "new-password-page",
    "record-svg",
    "record-png",
    "recorded-file",
    "recorded-input",
    "sandbox",
    "sweep",
}
"""Pages that other tests open: before anybody is signed in, or by a name that no page shows."""

ELSEWHERE = {
    "sign-in",
    "sign-out",
    "accept",
    "password",
    "sign-in-code",
    "lost-password",
    "new-password",
    "second-factor-begin",
    "second-factor-confirm",
    "second-factor-remove",
    "second-factor-remove-of-user",
    "recovery-codes",
    "session-end",
    "model-cancel",
    "model-resume",
    "model-rule-end",
    "alert-channel-test",
    "live-rate",
}
"""Buttons that other tests press: they end the session, need a code, or a server that fails."""

STEPS = {
    route.name
    for route in ROUTES
    if route.method == "POST"
    and route.handler.__module__.rpartition(".")[2]
    in {"engine_pages", "query_entry_pages", "sandbox_pages", "step_pages"}
} | {
    route.name
    for route in ROUTES
    if route.method == "POST"
    and route.handler.__module__.rpartition(".")[2]
    in {"alert_forms", "click_pages", "policy_pages", "sweep_pages"}
}
"""Buttons by which a project starts, and its forms instead of TOML: test_start.py and test_forms_for_toml.py
press them, and run their jobs."""

ADDRESSES = {"evaluate", "compare", "gate", "explain-value"}
"""Addresses for programs, which no page has a button for."""


EVERY = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 2
"""After so many steps of a project all pages are opened; after each in ``make explore``."""


def add_users(store):
    """An admin and a rater."""
    hashed = sign_in.password_hash(PASSWORD)
    with store.write() as connection:
        for name in ("root", "rater", "leaver"):
            users.add(connection, name, hashed, admin=name == "root")


def visitor(address, name="root"):
    """Somebody who is signed in."""
    client = Visitor(address)
    assert client.sign_in(name).status == 303
    return client


def failures(statuses):
    """The addresses that did not open."""
    return {address: status for address, status in statuses.items() if status not in {200, 303}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, new_file, quick_passwords):  # noqa: ARG001 - before the server
    """The store of a project after every button was pressed; pages are opened after each."""
    path = tmp_path_factory.mktemp("whole") / "judging.db"
    problems, visited = {}, set()
    with new_file(path) as store, model_server() as models:
        add_users(store)
        with served(store, per_minute=1_000_000, models=endpoints(models)) as address:
            root = visitor(address)
            buttons = Buttons(store, root, visitor(address, "rater"))
            for number, step in enumerate(steps := buttons.steps(), 1):
                step()
                last = number == len(steps)
                if number % EVERY and not last:
                    continue
                statuses, names = crawl(root, *more_pages(root), most=1, files=last)
                visited |= names
                problems |= {(step.__name__, page): s for page, s in failures(statuses).items()}
    return path, buttons, problems, visited


def more_pages(root, path=PATH):
    """The pages of the project that only programs use."""
    pages = ["/", "/health", "/health/live", "/openapi.json"]
    pages += [
        f"{path}/{name}" for name in ("contents.json", "recorded/points.json", "recorded/annotations.json")
    ]
    contents = root.get(f"{path}/contents.json").json()
    for kind, rows in (("judgments", contents["judgments"]), ("run", contents["runs"])):
        pages += [f"{path}/tables/{kind}/file?name={row['name']}" for row in rows]
    records = root.get(f"{path}/records.json").json()["records"]
    return pages + [f"{path}/recorded/{record['id']}.json" for record in records]


def test_every_page_opens_after_every_button(whole):
    _, buttons, problems, visited = whole
    assert not problems, "\n".join(f"{status} {location}" for location, status in problems.items())
    posts = {route.name for route in ROUTES if route.method == "POST"}
    assert buttons.pressed | ELSEWHERE | STEPS | ADDRESSES == posts
    assert visited | UNLINKED >= {page_route.name for page_route in ROUTES if page_route.method == "GET"}


@contextmanager
def copied(place, tmp_path):
    """A server of a copy of a store, and a connection to change it first."""
    target = tmp_path / "judging.db"
    shutil.copyfile(place, target)
    shutil.copytree(f"{place}.blobs", f"{target}.blobs")
    with closing(sqlite3.connect(target, isolation_level=None)) as connection:
        names = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (name,) in connection.execute(names).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
    with Store.open(str(target)) as store, store.write() as changed:
        kept_counts.rebuild(changed)


def opened(path, *starts, most=1, files=True):
    """The addresses of a store that do not open."""
    with Store.open(str(path)) as store, served(store, per_minute=1_000_000) as address:
        return failures(crawl(visitor(address), *starts, most=most, files=files)[0])


def empty(column):
    """The value of a field without other information; None if it is required."""
    if column.foreign_keys or column.primary_key:
        return None
    if column.nullable:
        return "NULL"
    default = None if column.server_default is None else str(column.server_default.arg)
    return f"'{default}'" if default in {"", "{}", "[]"} else None


OPTIONAL = {
    table.name: [
        column.name
        for column in table.columns
        if empty(column) is not None
        and (table.name, column.name) != ("raters", "identity")  # a model is known by it
    ]
    for table in METADATA.sorted_tables
    if table.name not in {"settings", "sessions", "users"}
}
HALVES = [
    (table, names[start::2]) for table, names in OPTIONAL.items() for start in (0, 1) if names[start::2]
]
"""Every other field of a table: those that belong together, such as both ends of an interval,
stand next to each other, and one of them is kept."""


GROUPS = 4
"""In so many stores the fields of several tables are empty, never both halves of one table."""


@pytest.mark.slow
@pytest.mark.explore
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_page_opens_where_optional_fields_are_empty(whole, tmp_path, group, thorough):
    """Several tables at once; each by itself in ``make explore``."""
    halves = HALVES[group::GROUPS]
    for number, half_set in enumerate([[half] for half in halves] if thorough else [halves]):
        (folder := tmp_path / str(number)).mkdir()
        with copied(whole[0], folder) as connection:
            for table, names in half_set:
                for name in names:
                    value = empty(METADATA.tables[table].c[name])
                    connection.execute(f'UPDATE "{table}" SET "{name}" = {value}')  # noqa: S608 - of the schema
        assert opened(folder / "judging.db", files=False) == {}, half_set


@pytest.mark.slow
@pytest.mark.parametrize("table", ["runs", "judgments", "batches", "queries"])
def test_every_page_opens_where_a_table_is_empty(whole, tmp_path, table):
    with copied(whole[0], tmp_path) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        for dependent in _dependents(table):
            connection.execute(f'DELETE FROM "{dependent}"')  # noqa: S608 - of the schema
    assert opened(tmp_path / "judging.db", files=False) == {}


def _dependents(name):
    """A table, and all tables with rows that depend on its rows."""
    names, added = {name}, True
    while added:
        dependents = {
            table.name
            for table in METADATA.sorted_tables
            for column in table.columns
            for key in column.foreign_keys
            if key.column.table.name in names
        }
        added = not dependents <= names
        names |= dependents
    return names


@pytest.mark.slow
def test_every_page_of_the_demo_opens(demo_history, tmp_path):
    path = shutil.copytree(demo_history, tmp_path / "demo") / STORE
    with Store.open(str(path)) as store:
        add_users(store)
    assert opened(path, most=2) == {}


def test_every_page_of_an_empty_project_opens(new_file, tmp_path):
    with new_file(tmp_path / "judging.db") as store:
        add_users(store)
        with served(store, per_minute=1_000_000) as address:
            root = visitor(address)
            assert failures(crawl(root)[0]) == {}
            root.send("/projects", "/projects", name="whole")
            assert failures(crawl(root, *more_pages(root), most=9)[0]) == {}


SHOWING = {
    "ratings": ("agreement", "disputes", "next"),
    "judgments/made": ("judgments", "coverage", "export"),
    "run/old": ("coverage", "material", "export"),
    "queries": ("queries", "pairs", "rate"),
    "documents": ("pairs", "material", "models"),
}
"""The pages that show each part of a project."""


@pytest.mark.slow
def test_every_page_opens_after_every_import(whole, tmp_path, new_file):
    """Every part of a project, in every writable format, imported into another project."""
    problems, count, shown = {}, 0, set()
    with (
        Store.open(str(whole[0])) as store,
        served(store) as source,
        new_file(tmp_path / "judging.db") as target,
    ):
        add_users(target)
        with served(target, per_minute=1_000_000) as address:
            reader, root = visitor(source), visitor(address)
            for form in (file_format for file_format in registry.FORMATS if file_format.write):
                for section, page_names in SHOWING.items():
                    path = f"{PATH}/export/file?format={form.name}&what={section}"
                    answer = reader.get(path)
                    if answer.status != 200:
                        continue
                    name = f"{form.name}-{section.partition('/')[0]}"
                    root.send("/projects", ACCOUNT, name=name, scale="")
                    suffix = next(iter(form.suffixes), ".txt")
                    upload = (f"{section.partition('/')[0]}{suffix}", answer.data)
                    material = f"/projects/{name}/material"
                    added = root.send(material, ACCOUNT, file=upload, format=form.name)
                    if added.status != 303:
                        continue
                    count += 1
                    start = f"/projects/{name}"
                    pages = [f"{start}/{page}" for page in page_names]
                    if section in shown:  # a page of the same values, in another format before
                        pages = pages[:1]
                    shown.add(section)
                    statuses = {page: root.get(page).status for page in pages}
                    problems |= failures(statuses)
            problems |= failures({"/projects": root.get("/projects").status})
    assert count > 20
    assert not problems, "\n".join(f"{status} {location}" for location, status in problems.items())
