"""A refused form is shown again with the typed values, and errors next to their fields."""

from __future__ import annotations

import re

import pytest

from rankgate.data import read_run
from rankgate.store.blobs import stored_runs
from rankgate.workspace.web.routes import ROUTES

TEXTS = {"text", "long", "number", "whole", "moment"}
FORMS = [
    route
    for route in ROUTES
    if route.method == "POST"
    and route.scope is not None
    and any(field.label and field.kind in TEXTS for field in route.fields)
]
LEFT_OUT = {"rate", "rate-many"}  # of a page with its own script


def path_of(route):
    path = re.sub(r"\{\w+:int\}", "987654", route.path)
    return path.replace("{project}", "shop").replace("{job}", "nightly").replace("{engine}", "none")


@pytest.mark.parametrize("route", FORMS, ids=lambda route: route.name)
def test_what_was_typed_is_kept(team, route):
    if route.name in LEFT_OUT:
        return
    visitor = team.visitor("manager" if "{project}" in route.path else "root")
    typed = {
        field.name: f"!typed <{field.name}> \u20ac"
        for field in route.fields
        if field.label and field.kind in TEXTS
    }
    path = path_of(route)
    answer = visitor.send(path, "/account", **typed)
    html = answer.data.decode()
    if answer.status in {303, 200, 403, 500}:
        assert answer.status != 500, html
        return
    assert answer.status in {400, 404, 409}, (answer.status, html)
    assert f"<h1>{route.title}</h1>" in html
    assert 'role="alert"' in html
    for field, text in typed.items():
        escaped = text.replace("<", "&lt;").replace(">", "&gt;")
        assert escaped in html, field
    assert f'action="{path}"' in html


@pytest.mark.parametrize(
    ("name", "field"),
    [("a.json", "name"), ("..", "name"), ("", "name"), ("shop", "name"), ("x" * 200, "name")],
)
def test_what_is_wrong_stands_beside_the_field(team, name, field):
    visitor = team.visitor("root")
    answer = visitor.send("/projects", "/account", name=name, title="A shop", scale="0..3")
    html = answer.data.decode()
    assert answer.status in {400, 409, 413}
    assert f'id="project-add-{field}-problem"' in html
    assert f'aria-describedby="project-add-{field}-problem' in html
    assert html.count('aria-invalid="true"') == 1
    assert 'value="A shop"' in html
    second_answer = visitor.send("/projects", "/account", name="new-shop", title="A shop", scale="0..3")
    assert second_answer.status in {303, 409}


def test_a_wrong_password_keeps_the_name_and_not_the_password(team):
    from support.serving import Visitor

    visitor = Visitor(team.address)
    answer = visitor.send("/sign-in", "/sign-in", name="ann <b>", password="wrong horse")  # noqa: S106
    html = answer.data.decode()
    assert "ann &lt;b&gt;" in html
    assert "wrong horse" not in html


def test_a_file_is_chosen_again(team):
    visitor = team.visitor("manager")
    answer = visitor.send(
        "/projects/shop/material",
        "/account",
        file=("x.csv", b"nothing,of,ours\n1,2,3\n"),
        columns="query=a, doc=b",
    )
    html = answer.data.decode()
    assert answer.status == 400
    assert 'value="query=a, doc=b"' in html
    assert "Choose the files again" in html
    assert 'name="preview"' not in html


@pytest.mark.parametrize(
    ("path", "sent", "field", "words"),
    [
        (
            "preferences",
            {"kind": "lists", "name": "x", "first": "old", "second": "gone"},
            "preferences-add-second",
            ["old", "new", "gone"],
        ),
        ("archive/queries", {"batch": "gone"}, "archive-queries-batch", ["first", "gone"]),
        ("material", {"format": "gone"}, "material-add-format", ["trec", "csv", "gone"]),
    ],
)
def test_a_list_of_words_stays_a_list(team, path, sent, field, words):
    project = team.project(f"lists-{field}", pairs=1)
    with team.store.write() as connection:
        for name in ("old", "new"):
            run = read_run({"q0": {"d0": 1.0}}, name)
            stored_runs.add_run(connection, team.store.blobs, project.id, run, name=name)
    visitor = team.visitor("manager")
    files = {"file": ("x.bin", b"?")} if path == "material" else {}
    answer = visitor.send(f"/projects/{project.name}/{path}", "/account", **sent, **files)
    assert answer.status in {400, 404}
    html = answer.data.decode()
    select = re.search(rf'<select id="{field}".*?</select>', html, re.DOTALL)
    assert select, html
    for word in words:
        assert f">{word}</option>" in select[0]
    assert "<option selected>gone</option>" in select[0]


def paste(visitor, text, *, multipart):
    fields = {"text": text, "csrf": visitor.csrf("/account")}
    return visitor.ask("POST", "/projects/shop/queries", fields=fields, encode_multipart=multipart)


@pytest.mark.parametrize("multipart", [True, False])
def test_a_long_paste_is_taken_or_refused_with_its_limit(team, multipart):
    visitor = team.visitor("manager")
    long_text = "\n".join(f"query number {number}" for number in range(60_000))  # more than 1 MiB
    answer = paste(visitor, long_text, multipart=multipart)
    html = answer.data.decode()
    assert answer.status == 413
    assert f"{len(long_text):,} characters, and at most 1,000,000 are taken; send a file, or parts" in html
    assert "query number 59999</textarea>" in html
    short = paste(visitor, long_text[:900_000], multipart=multipart)
    assert short.status == 303, short.data[:2_000]
    huge = paste(visitor, "x" * 21_000_000, multipart=multipart)
    assert huge.status == 413
    assert b"20,000,000 bytes. Send a long text as a file" in huge.data
