"""Set-up by HTTP requests: requests, undoing, and no saved secrets."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import rankgate
from rankgate.data.streams.journal import Journal
from rankgate.decisions.sweeps.dials import Step

SECRET = "tok3n-of-the-server"  # noqa: S105 - of a server that only the tests see


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def _any(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        token = self.headers["Authorization"]
        self.server.seen.append((self.command, self.path, body, token))
        status = self.server.answers.get((self.command, self.path), 200)
        self.send_response(status)
        data = f"not for {token}".encode()
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_PUT = do_DELETE = do_GET = _any  # noqa: N815 - names of the library


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("TOKEN", SECRET)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as http_server:
        http_server.seen, http_server.answers = [], {}
        http_server.url = f"http://127.0.0.1:{http_server.server_port}"
        thread = threading.Thread(target=http_server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield http_server
        http_server.shutdown()
        thread.join()


@pytest.fixture
def file(plan, server):
    return plan(f"""[dials]
title = [1, 2]
[[setup]]
request = "PUT {server.url}/boost/{{{{title}}}}?now=1"
body = {{boost = "{{{{title}}}}"}}
headers = {{Authorization = "Bearer ${{TOKEN}}"}}
[[undo]]
request = "DELETE {server.url}/boost/{{{{title}}}}"
headers = {{Authorization = "Bearer ${{TOKEN}}"}}
""")


def test_requests_are_sent_and_undone_point_by_point(file, server, shop):
    server.answers["DELETE", "/boost/2"] = 404  # what is gone already needs no undoing
    assert rankgate.sweep(file).finished
    token = f"Bearer {SECRET}"
    assert server.seen == [
        ("PUT", "/boost/1.0?now=1", {"boost": 1.0}, token),
        ("DELETE", "/boost/1.0", None, token),
        ("PUT", "/boost/2?now=1", {"boost": 2}, token),
        ("DELETE", "/boost/2", None, token),
    ]
    for path in (shop / "sweep.points").iterdir():
        assert SECRET.encode() not in path.read_bytes()


def test_a_token_as_plain_text_is_sent_and_undone_but_not_kept(plan, server, shop):
    rows = "[dials]\ntitle = [1, 2]\n"
    for table, method in (("setup", "PUT"), ("undo", "DELETE")):
        rows += f'[[{table}]]\nrequest = "{method} {server.url}/boost/{{{{title}}}}"\n'
        rows += f'headers = {{Authorization = "Bearer {SECRET}"}}\n'
    file = plan(rows)
    result = rankgate.sweep(file)
    assert result.finished
    assert {token for *_, token in server.seen} == {f"Bearer {SECRET}"}
    assert "secret-in-settings" in {notice.code for notice in result.notices}
    folder = shop / "sweep.points"
    journal = (folder / "undo.jsonl").read_text().splitlines()
    (folder / "undo.jsonl").write_text("".join(f"{line}\n" for line in journal[:-1]))  # as if it was killed
    server.seen.clear()
    rankgate.sweep(file)
    assert server.seen == [("DELETE", "/boost/2", None, f"Bearer {SECRET}")]
    for path in folder.iterdir():
        assert SECRET.encode() not in path.read_bytes()


def test_a_request_that_fails_is_named_without_the_secret(file, server, shop):
    server.answers["PUT", "/boost/2?now=1"] = 500
    result = rankgate.sweep(file)
    assert [point.state for point in result.points] == ["ok", "failed"]
    assert "HTTP 500" in result.points[1].problem
    assert SECRET not in str(result.to_dict())
    assert server.seen[-1][:2] == ("DELETE", "/boost/2")
    assert SECRET not in (shop / "sweep.points" / "undo.jsonl").read_text()


def test_what_a_program_left_is_undone_before_anything_else(file, server, shop):
    (shop / "sweep.points").mkdir()
    undo_step = Step(request=f"DELETE {server.url}/boost/9")
    with Journal.open(shop / "sweep.points" / "undo.jsonl") as journal:
        journal.add({"undo": [vars(undo_step)]})
    server.answers["DELETE", "/boost/9"] = 503
    with pytest.raises(rankgate.UsageError) as caught:  # its words hold the port
        rankgate.sweep(file)
    assert caught.value.code == "undo-failed"
    assert len(server.seen) == 1
    server.answers.clear()
    assert rankgate.sweep(file).finished
    assert server.seen[1][:2] == ("DELETE", "/boost/9")
