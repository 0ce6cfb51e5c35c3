"""What attackers send: scripts, links, paths, headers, large and slow bodies."""

from __future__ import annotations

import itertools
import re
import socket
import time
from functools import partial
from multiprocessing import get_context
from urllib.parse import quote

import polars as pl
import pytest
import sqlalchemy as sa

from rankgate.core.errors import InputError, UsageError
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import sign_in, users
from rankgate.store.rating import batches
from rankgate.workspace.web.endpoint import _refusal_of
from rankgate.workspace.web.header_timeout import PatientProtocol
from rankgate.workspace.web.pages.document_card import image_address
from rankgate.workspace.web.pages.document_html import render_html, render_markdown
from rankgate.workspace.web.pages.highlighting import read_query_words
from rankgate.workspace.web.rendering import render_guideline
from rankgate.workspace.web.security import RequestBuckets, SharedRequestBuckets
from support.serving import PASSWORD, Visitor, served
from support.waiting import PATIENCE

SCRIPT = '<script>alert(1)</script><img src=x onerror=alert(2)>\u202e" onclick="alert(3)'
LINKS = (
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "//evil.example",
    'https://evil.example/" onload="alert(1)',
    "file:///etc/passwd",
    "https://evil.example;script-src *",
)


@pytest.fixture(scope="module")
def hostile(team):
    """A project with an attack in every text."""
    with team.store.write() as connection:
        project = projects.add(
            connection,
            "hostile",
            title=SCRIPT,
            description=SCRIPT,
            scale=[projects.Grade(0, SCRIPT, "", SCRIPT), projects.Grade(1)],
            settings={"images": [*LINKS, "https://img.example.org"]},
        )
        queries = {
            "query_id": [f"{SCRIPT}{i}" for i in range(len(LINKS))],
            "text": [SCRIPT] * len(LINKS),
            "information_need": [SCRIPT] * len(LINKS),
            SCRIPT: [SCRIPT] * len(LINKS),
        }
        queries_documents.add_queries(connection, project.id, pl.DataFrame(queries))
        docs = {
            "doc_id": [f"{SCRIPT}{i}" for i in range(len(LINKS))],
            "url": LINKS,
            "image": LINKS,
            SCRIPT: [SCRIPT] * len(LINKS),
        }
        queries_documents.add_documents(connection, project.id, pl.DataFrame(docs))
        batch = batches.add_batch(connection, project.id, SCRIPT, strategy="2", blind=False)
        pairs = {"query_id": queries["query_id"], "doc_id": docs["doc_id"], "why": [SCRIPT] * len(LINKS)}
        batches.add_pairs(connection, batch, pl.DataFrame(pairs))
        projects.add_guideline(connection, project.id, SCRIPT, SCRIPT + "[x](javascript:alert(1))")
        for name in ("manager", "rater"):
            users.grant(connection, project.id, users.get_by_name(connection, name).id, name)
    return team


def refused_markup(html):
    """Markup that only an attack could have made."""
    tags = re.findall(r"<[a-z][^>]*>", html)
    return (
        [
            tag
            for tag in tags
            if re.search(r"\son\w+=|javascript:|alert\(", tag)
            and not re.search(r'(value|title)="[^"]*"', tag)
        ]
        + re.findall(r"<script(?! src=\"/assets/)", html)
        + re.findall("\u202e", html)
    )


def test_every_text_stays_text(hostile):
    people = [hostile.visitor("manager"), hostile.visitor("rater")]
    for grade, person in enumerate(people):
        for _ in LINKS:
            page = person.get("/projects/hostile/rate")
            html = page.data.decode()
            assert refused_markup(html) == []
            assert not re.search(r'(href|src)="(javascript|data|file|//)', html)
            number = int(re.search(r'name="task" value="(\d+)"', html)[1])
            person.post("/projects/hostile/ratings", task=number, grade=grade, comment=SCRIPT)
    manager = people[0]
    for path in (
        "",
        "/rate",
        "/history",
        "/agreement",
        "/disputes",
        "/judgments",
        "/material",
        "/setup",
        "/people",
        "/log",
    ):
        answer = manager.get(f"/projects/hostile{path}")
        assert answer.status == 200, path
        assert refused_markup(answer.data.decode()) == [], path


def test_a_policy_lets_nothing_run_and_nothing_out(hostile):
    answer = hostile.visitor("rater").get("/projects/hostile/rate")
    policy = dict(
        directive.strip().split(" ", 1) for directive in answer.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["img-src"] == "'self' https://evil.example https://img.example.org"
    html = answer.data.decode()
    assert not re.search(r"<style|\sstyle=|<script>", html)
    for name in ("/sign-in", "/nowhere", "/assets/nothing", "/projects"):
        headers = Visitor(hostile.address).get(name).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"]
    cookie = Visitor(hostile.address).get("/sign-in").headers["set-cookie"]
    assert {"HttpOnly", "SameSite=lax"} <= {attribute.strip() for attribute in cookie.split(";")}


def test_a_guideline_has_no_html_of_its_own():
    html = render_guideline("# A\n<script>alert(1)</script> [x](javascript:alert(1)) ![i](http://e/x)")
    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert "<h2>A</h2>" in html


MARKUP = (
    "<script>alert(1)</script>",
    "<scr<script>ipt>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img src='x' onload =alert(1)//",
    "<svg><script>alert(1)</script></svg>",
    "<svg/onload=alert(1)>",
    "<svg><animate onbegin=alert(1) attributeName=x>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<math><a xlink:href='javascript:alert(1)'>x</a></math>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<template><img src=x onerror=alert(1)></template>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data='javascript:alert(1)'></object><embed src='javascript:alert(1)'>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href='java\tscript:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "<a href='//evil.example'>x</a>",
    "<img src='https://evil.example/pixel.png'>",
    "<img src='//evil.example/pixel.png'>",
    "<img src='/projects/shop/setup'>",
    "<img srcset='https://evil.example/a 1x' src='data:image/svg+xml;base64,PHN2Zz4='>",
    "<picture><source srcset='https://evil.example/a'></picture>",
    "<video src='https://evil.example/a' poster='https://evil.example/b'></video>",
    "<body background='https://evil.example/a' onload=alert(1)>",
    "<link rel=stylesheet href='https://evil.example/a.css'>",
    "<style>@import 'https://evil.example/a.css';</style>",
    "<p style='background:url(https://evil.example/a)'>x</p>",
    "<base href='https://evil.example/'>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<form action='https://evil.example/'><input name=grade><button name=grade>3</button></form>",
    "<button formaction='https://evil.example/'>3</button>",
    "<details open ontoggle=alert(1)>x</details>",
    "<p id=rating class=answer data-key=1 name=csrf>x</p>",
    "<p contenteditable tabindex=1 accesskey=x autofocus onfocus=alert(1)>x</p>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<!-- <img title='--><img src=x onerror=alert(1)>'>",
    "<xmp><img src=x onerror=alert(1)></xmp>",
    "<p title='\">' alt='<img src=x onerror=alert(1)>'>x",
    "</section></form><h1 id=query>x</h1>",
    "<mark><img src=x onerror=alert(1)></mark>",
    "\u202e<b>x</b>\x00",
)
"""Markup of our own making after the ways in which sanitisers were got round."""

HARMLESS = re.compile(
    r"</?(a|b|bdi|blockquote|br|code|div|em|h[1-6]|hr|i|img|li|mark|ol|p|pre|s|small|span|strong|"
    r"sub|sup|table|tbody|td|tfoot|th|thead|tr|u|ul)"
    r'( (alt|class="dim"|dir|href="https?://|lang|loading|referrerpolicy|rel|scope|src="https://ok'
    r"\.example/|start|target)[^<>]*)?>"
)


@pytest.mark.parametrize("render", [render_html, render_markdown])
@pytest.mark.parametrize("markup", MARKUP)
def test_no_markup_of_a_document_runs_or_loads(render, markup):
    settings = {"images": ["https://ok.example"], "card": [{"field": "x", "kind": "html"}]}
    words = read_query_words("img onerror alert script x 1")
    for text in (markup, f"a <b>{markup}</b>", f"<p>{markup}", f"<table><tr><td>{markup}"):
        html = render(text, words, partial(image_address, settings=settings))
        tags = re.findall(r"<[^>]*>?", html)
        assert [tag for tag in tags if not HARMLESS.fullmatch(tag)] == [], html
        assert not re.search(r"<[^>]*(evil|javascript|alert|csrf|grade|query)", html)
        assert "\u202e" not in html


@pytest.mark.parametrize(
    "path",
    [
        "/assets/..%2f..%2fconfig.py",
        "/assets/../../config.py",
        "/assets/%2e%2e/config.py",
        "/assets/rankgate.css%00",
        "/assets//etc/passwd",
        "/projects/..%2f..%2fetc/rate",
    ],
)
def test_no_path_leaves_its_folder(team, path):
    answer = team.visitor("manager").get(path)
    assert answer.status == 404
    assert b"class Config" not in answer.data


def test_names_of_uploads_are_only_names(team):
    manager = team.visitor("manager")
    for name in ("../../../../tmp/evil.csv", "/etc/evil.csv", "a\\..\\b.csv"):
        pool = b"query,document\nq9,d9\n"
        answer = manager.send(
            "/projects/shop/batches", "/projects/shop/material", name=name[-90:], pool=(name, pool)
        )
        assert answer.status == 303, answer.data
    answer = manager.send(
        "/projects/shop/batches", "/projects/shop/material", name="broken", pool=("p.csv", b"query\nq1\n")
    )
    assert answer.status == 400
    assert b"missing-column" in answer.data


@pytest.mark.parametrize(
    "to",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/x\r\nset-cookie: a=b",
        "\\\\evil",
        "javascript:alert(1)",
    ],
)
def test_sign_in_goes_on_to_our_own_pages_only(team, to):
    visitor = Visitor(team.address)
    word = visitor.csrf("/sign-in")
    fields = {"csrf": word, "name": "rater", "password": "correct horse battery", "next": to}
    answer = visitor.ask("POST", "/sign-in", fields=fields, encode_multipart=False)
    assert (answer.status, answer.headers["location"]) == (303, "/projects/shop/rate")


def test_nothing_that_is_sent_becomes_a_header(team):
    root = team.visitor("root")
    answer = root.send("/projects", "/projects", name="a\r\nset-cookie: x=y", title="t")
    assert answer.status == 400
    manager = team.visitor("manager")
    response = manager.get("/projects/shop/ratings/file?format=csv%0d%0ax-evil:1")
    assert "x-evil" not in response.headers
    assert response.status in {400, 404}


def test_large_requests_are_refused_before_they_are_read(team):
    rater = team.visitor("rater")
    word = {"x-csrf-token": rater.csrf("/account"), "content-type": "application/json"}
    path = "/projects/shop/ratings"
    answer = rater.ask("POST", path, body=b'{"comment": "' + b"x" * 2_000_000 + b'"}', headers=word)
    assert answer.status == 413
    answer = rater.ask("POST", path, json={"task": 1, "grade": 1, "comment": "x" * 6_000}, headers=word)
    assert (answer.status, answer.json()["error"]["code"]) in {(400, "invalid-value"), (413, "too-large")}


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"1",
        b'{"task": "x"}',
        b'{"task": 1e400}',
        b'{"task": true}',
        b'{"task": 1.5}',
        b'{"task": 1, "other": 1}',
        b'{"task": 1, "grade": NaN}',
        b'{"task": 1, "comment": 5}',
        b'{"task": 1, "comment": "\\u0000"}',
        b'{"task": 99999999999999999999}',
        b"[" * 100_000,
        b'{"task": 1, "reason": "withdrawn"}',
        b'{"task": 1, "at": "0001-01-01T00:00+14:00"}',
        b"\xff",
        b'{"task": 1, "comment": "\\ud800"}',
    ],
)
def test_malformed_bodies_are_refused(team, body):
    rater = team.visitor("rater")
    task = rater.get("/projects/shop/rate.json").json()["task"]["id"]
    body = body.replace(b'"task": 1,', b'"task": %d,' % task)
    headers = {"x-csrf-token": rater.csrf("/account"), "content-type": "application/json"}
    answer = rater.ask("POST", "/projects/shop/ratings", body=body, headers=headers)
    assert answer.status in {400, 404}, answer.data
    assert "code" in answer.json()["error"]


def test_slow_clients_hold_nobody_up(team):
    visitor = team.visitor("rater")
    with served(team.store, patience=0.5) as address:
        visitor.base = address
        host, port = address.removeprefix("http://").split(":")
        slow = [socket.create_connection((host, int(port))) for _ in range(100)]
        for conn in slow[:50]:
            conn.sendall(b"GET /sign-in HTTP/1.1\r\nhost: x\r\nx-slow: ")
        cookie = f"rankgate_session={visitor.cookies['rankgate_session']}"
        for conn in slow[50:]:
            conn.sendall(
                f"POST /projects/shop/ratings HTTP/1.1\r\nhost: {host}:{port}\r\ncookie: "
                f"{cookie}\r\ncontent-length: 100\r\n\r\n{{".encode()
            )
        assert visitor.get("/projects").status == 200
        assert slow[-1].recv(20).startswith(b"HTTP/1.1 408")
        for conn in slow:
            conn.close()


def test_headers_that_come_byte_by_byte_are_not_waited_for(team):
    class Hasty(PatientProtocol):
        patience = 0.3

    def is_ended(sent, piece):
        """Whether the server ends the connection while pieces come at short intervals."""
        sent.settimeout(0.1)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                sent.sendall(piece)
                if not sent.recv(100):
                    return True
            except TimeoutError:
                continue
            except OSError:
                return True
        return False

    with served(team.store, http=Hasty) as address:
        host, port = address.removeprefix("http://").split(":")

        def connected():
            return socket.create_connection((host, int(port)), timeout=PATIENCE)

        with connected() as client:
            assert client.recv(100) == b""
        with connected() as client:
            client.sendall(b"GET /sign-in HTTP/1.1\r\n")
            assert is_ended(client, b"x: y\r\n")
        request = f"GET /health.json HTTP/1.1\r\nhost: {host}\r\n\r\n".encode()
        Hasty.patience = PATIENCE
        with connected() as client:
            client.sendall(request)
            assert client.recv(100).startswith(b"HTTP/1.1 200")
            Hasty.patience = 0.3
            client.sendall(request[:20])
            assert is_ended(client, b"x")


def test_errors_in_uploads_name_no_folder_of_the_server(team):
    answer = team.visitor("manager").send(
        "/projects/shop/material", "/projects/shop/material", file=("a.csv", b"a\0b\n")
    )
    assert answer.status == 400
    assert b"a.csv" in answer.data
    assert b"/tmp" not in answer.data
    assert b"rankgate-" not in answer.data


INJECTIONS = (
    "' OR '1'='1",
    "'; DROP TABLE ratings; --",
    '" UNION SELECT secret_hash FROM tokens',
    "1 OR 1=1",
    "%",
    "_",
    "\\'",
    ":name",
    "{{ 31337 * 31337 }}",
    "$(id)",
)


@pytest.mark.parametrize("words", INJECTIONS)
def test_words_are_no_statements(team, words):
    with team.store.read() as connection:
        accounts = [(user.name, user.id) for user in users.list_users(connection)]
    stranger, manager = Visitor(team.address), team.visitor("manager")
    assert stranger.sign_in(words, words).status == 403
    stranger.cookies = {"rankgate_session": words}
    assert stranger.get("/projects.json").status == 401
    assert Visitor(team.address, words).get("/projects.json").status == 401
    assert manager.get(f"/projects/{quote(words, safe='')}.json").status == 404
    assert manager.get(f"/projects/shop/rate.json?task={quote(words)}").status == 400
    assert manager.get(f"/projects/shop/judgments/{quote(words, safe='')}/file").status == 404
    answer = manager.post("/projects/shop/people", name=words, role="rater")
    assert answer.status == 404
    response = manager.post("/projects/shop/guidelines", version=words, text=words)
    assert response.status == 200
    assert str(31337 * 31337).encode() not in manager.get("/projects/shop/setup.json").data
    with team.store.read() as connection:
        assert [(user.name, user.id) for user in users.list_users(connection)] == accounts


def test_a_database_that_is_away_lets_clients_send_again():
    for code in ("cannot-connect", "cannot-write", "store-locked", "store-refused"):
        assert _refusal_of(UsageError("away", code=code)).status == 503


@pytest.mark.parametrize(
    "code",
    [
        "cannot-connect",
        "cannot-write",
        "store-locked",
        "not-a-store",
        "store-refused",
        "damaged-blob",
        "missing-blob",
    ],
)
def test_the_place_of_the_store_is_in_the_log_only(code, caplog):
    refused = _refusal_of(InputError("shop at 10.0.0.5:5432", source="/srv/judging.db", code=code))
    assert refused.code == code
    assert not re.search("shop|10.0.0.5|srv", str(refused))
    assert "/srv/judging.db" in caplog.text
    assert "10.0.0.5:5432" in caplog.text


def test_a_full_disk_does_not_show_its_path(tmp_path, new_file, caplog):
    with new_file(tmp_path / "secret-place.db") as store:
        with store.write() as connection:
            users.add(connection, "root", sign_in.password_hash(PASSWORD), admin=True)

        def fill(connection, _):
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}")

        with served(store) as address:
            visitor = Visitor(address)
            visitor.sign_in("root")
            word = visitor.csrf("/account")
            sa.event.listen(store.engine, "connect", fill)
            store.engine.dispose()
            headers = {"x-csrf-token": word}
            answer = visitor.ask(
                "POST", "/projects", headers=headers, json={"name": "big", "description": "x" * 5_000}
            )
    assert (answer.status, answer.json()["error"]["code"]) == (503, "cannot-write")
    assert b"secret" not in answer.data
    assert "secret-place.db" in caplog.text


def test_a_database_that_is_away_does_not_show_its_address(new_database, postgresql_server, tmp_path):
    with (
        new_database("away", str(tmp_path)) as store,
        served(store) as address,
        postgresql_server.connect(autocommit=True) as connection,
    ):
        connection.execute("ALTER DATABASE away ALLOW_CONNECTIONS false")
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'away'")
        visitor = Visitor(address)
        visitor.cookies = {"rankgate_session": "anything"}
        for path in ("/sign-in", "/projects.json", "/projects/shop/rate.json"):
            answer = visitor.get(path)
            assert answer.status == 503
            assert not re.search(b"away|shop@|5432|/tmp|postgres", answer.data)
        connection.execute("ALTER DATABASE away ALLOW_CONNECTIONS true")


def test_tokens_are_for_projects_of_ones_own(team):
    team.project("secret-plans")
    with team.store.write() as connection:
        hashed = sign_in.password_hash(PASSWORD)
        users.add(connection, "outsider", hashed)
    outsider = team.visitor("outsider")
    answers = [
        outsider.post("/account/tokens", name="ci", project=name) for name in ("secret-plans", "nowhere")
    ]
    assert [answer.status for answer in answers] == [404, 404]
    assert answers[0].data == answers[1].data
    assert b"shop" not in answers[0].data
    assert team.visitor("viewer").post("/account/tokens", name="ci", project="shop").status == 200


def test_only_own_names_are_answered(team):
    with served(team.store, hosts=frozenset({"127.0.0.1"})) as address:
        assert Visitor(address).get("/sign-in").status == 200
        assert Visitor(address).get("/sign-in", headers={"host": "evil.example"}).status == 421


def test_requests_are_counted_by_client():
    moment = [0.0]
    buckets = RequestBuckets(60, lambda: moment[0])
    assert [buckets.wait("ann") for _ in range(61)] == [0] * 60 + [1]
    assert buckets.wait("bob") == 0
    moment[0] = 2.0
    assert [buckets.wait("ann") for _ in range(3)] == [0, 0, 1]


def test_processes_count_requests_together():
    shared = SharedRequestBuckets(60, clock=float)  # the time is always 0
    assert [shared.wait("ann") for _ in range(40)] == [0] * 40
    process = get_context("spawn").Process(target=shared.wait, args=("ann",))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert [shared.wait("ann") for _ in range(20)] == [0] * 19 + [1]  # one was counted over there
    assert shared.wait("bob") == 0


def test_shared_buckets_fill_as_time_goes_on():
    moment = [0.0]
    shared = SharedRequestBuckets(60, clock=lambda: moment[0])
    assert [shared.wait("ann") for _ in range(61)] == [0] * 60 + [1]
    moment[0] = 2.0
    assert [shared.wait("ann") for _ in range(3)] == [0, 0, 1]


def test_shared_counts_forget_who_asked_least_lately():
    moments = itertools.count(0, 0.001)
    shared = SharedRequestBuckets(60, slots=8, clock=lambda: next(moments))
    for number in range(100):
        assert shared.wait(f"client {number}") == 0
    assert [shared.wait("ann") for _ in range(61)][-1] == 1


def test_many_requests_are_refused(team):
    with served(team.store, per_minute=2) as address:  # the next is free after half a minute
        visitor = Visitor(address)
        statuses = [visitor.get("/sign-in").status for _ in range(4)]
        assert statuses == [200, 200, 429, 429]
        visitor.cookies = {"rankgate_session": "made-up"}  # is no other client
        assert visitor.get("/sign-in").status == 429
        assert Visitor(address, "rgt_made-up").get("/projects.json").status == 429
