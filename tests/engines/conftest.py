"""Small engines: an FTS5 table, and a real HTTP server that misbehaves on request."""

import json
import sqlite3
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

DOCS = {f"d{i}": f"{'red ' * (i % 5)}shoe {'blue ' * (i % 3)}number{i}" for i in range(60)}
QUERIES = {f"q{i}": f"{'red' if i % 2 else 'blue'} shoe number{i}" for i in range(40)}


@pytest.fixture
def engine(tmp_path):
    """The file of an engine over an FTS5 table."""
    with sqlite3.connect(tmp_path / "shop.sqlite") as shop:
        shop.execute("CREATE VIRTUAL TABLE docs USING fts5(doc_id UNINDEXED, body)")
        shop.executemany("INSERT INTO docs VALUES (?, ?)", DOCS.items())
    shop.close()
    file = tmp_path / "shop.toml"
    file.write_text(
        '[engine]\nkind = "sqlite"\ndatabase = "shop.sqlite"\ntable = "docs"\nid = "doc_id"\n'
        'weights = [0, "{{weight}}"]\ndepth = 10\n'
        "[engine.parameters]\nweight = 1.0\n"
        '[engine.fields]\ntext = "body"\n'
        "[snapshot]\nbackoff = 0.01\nconcurrency = 3\n"
    )
    return file


class Server(ThreadingHTTPServer):
    """Answers ``/search?q=&n=`` with documents, or does what ``plan`` holds for a query."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.plan = {}
        self.seen = []  # (path, headers, body)
        self.asked = Counter()
        self.active = self.peak = 0
        self.delay = 0.0
        self.lock = threading.Lock()

    def handle_error(self, request, client_address):
        """A client that disconnects is not an error of rankgate."""


def listed(text):
    """The documents of a query: the same ones for the same text."""
    start = sum(text.encode()) % 50
    return [{"id": f"d{start + i}", "score": 10.0 - i, "name": f"n{start + i}"} for i in range(5)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # the body would wait for an acknowledgement of the headers

    def log_message(self, *args):
        pass

    def do_GET(self):
        self._handle(None)

    def do_POST(self):
        self._handle(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _handle(self, body):
        server = self.server
        parameters = parse_qs(urlsplit(self.path).query)
        text = parameters.get("q", [""])[0] if body is None else body.get("q", "")
        with server.lock:
            step = server.asked[text]
            server.asked[text] += 1
            server.seen.append((self.path, dict(self.headers), body))
            server.active += 1
            server.peak = max(server.peak, server.active)
        try:
            time.sleep(server.delay)
            steps = server.plan.get(text) or server.plan.get("*") or [()]
            act = steps[min(step, len(steps) - 1)]
            if isinstance(act, float):  # it hangs for so long, then answers
                time.sleep(act)
                act = ()
            self._send(*act) if act else self._send(200, {"found": {"docs": listed(text), "n": 50}})
        finally:
            with server.lock:
                server.active -= 1

    def _send(self, status, value="", headers=(), length=None):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        for name, header_value in headers:
            self.send_header(name, header_value)
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = length is not None


@pytest.fixture
def server():
    with Server() as fake_server:
        thread = threading.Thread(target=fake_server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield fake_server
        fake_server.shutdown()
        thread.join()


@pytest.fixture
def api(server, tmp_path):
    """The file of an engine that asks the server."""
    file = tmp_path / "api.toml"
    file.write_text(
        f'[engine]\nkind = "http"\nurl = "{server.url}/search"\nhits = "found.docs"\nid = "id"\n'
        'score = "score"\ntotal = "found.n"\ndepth = 5\ntimeout = 60\n'
        '[engine.params]\nq = "{{query}}"\nn = "{{depth}}"\n'
        '[engine.fields]\ntitle = "name"\n'
        "[snapshot]\nbackoff = 0.01\n"
    )
    return file
