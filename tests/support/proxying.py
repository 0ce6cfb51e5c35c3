"""A proxy that does TLS in front of a server, with the headers that Caddy sets by itself."""

from __future__ import annotations

import re
import subprocess
from contextlib import contextmanager

import urllib3
from anyio import to_thread
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rankgate.workspace.web.server import open_listener
from support.serving import running
from support.waiting import PATIENCE, until

HOP_HEADERS = {"connection", "transfer-encoding", "content-length", "date", "server"}


def read_caddyfile(text):
    """The settings of a Caddyfile that a test looks at."""
    return {
        "site": re.search(r"(?m)^(\S+) \{$", text)[1],
        "upstream": re.search(r"reverse_proxy (\S+)", text)[1],
        "hidden": re.findall(r"respond (\S+) 404", text),
        "largest": int(re.search(r"max_size (\d+)MB", text)[1]) * 1_000_000,
    }


def make_certificate(folder, name):
    """A self-signed certificate and its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes"]
    names = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    files = ["-keyout", key, "-out", certificate]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    return certificate, key


@contextmanager
def proxied(upstream, hidden, certificate, key):
    """The port of a proxy by TLS.

    Args:
        upstream: the address of the server, as http://127.0.0.1:8765.
        hidden: paths that it does not pass on.
        certificate, key: files.
    """
    pool = urllib3.PoolManager(retries=False, timeout=PATIENCE)

    def send(method, path, headers, body):
        return pool.request(method, upstream + path, headers=headers, body=body, redirect=False)

    async def forward(request):
        if request.url.path in hidden:
            return PlainTextResponse("", 404)
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        headers = {name: value for name, value in request.headers.items() if name not in HOP_HEADERS}
        # what a client says of itself is not believed
        headers |= {
            "x-forwarded-for": request.client.host,
            "x-forwarded-proto": "https",
            "x-forwarded-host": request.headers["host"],
        }
        body = await request.body()
        answer = await to_thread.run_sync(send, request.method, path, headers, body)
        response = Response(answer.data, answer.status)
        for name, value in answer.headers.iteritems():
            if name.lower() not in HOP_HEADERS:
                response.headers.append(name, value)
        return response

    app = Starlette(routes=[Route("/{path:path}", forward, methods=["GET", "POST"])])
    listener = open_listener("127.0.0.1", 0)
    tls = {"ssl_certfile": certificate, "ssl_keyfile": key}
    with running(app, listener, proxy_headers=False, **tls) as server:
        until(lambda: server.started)
        yield listener.getsockname()[1]
