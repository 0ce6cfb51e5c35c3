"""A server of a store in a thread, or as the command, and visitors with cookies."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from support.waiting import PATIENCE

FORM = re.compile(r'name="csrf" value="([^"]+)"')
PASSWORD = "correct horse battery"  # noqa: S105 - of tests
ACCOUNT = "/account"


@pytest.fixture(scope="session", autouse=True)
def quick_passwords():
    """Passwords with cheap hashes, which protect nothing; for the folders that import it."""
    from argon2 import PasswordHasher

    from rankgate.store.people import sign_in

    with pytest.MonkeyPatch.context() as patch:
        cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
        patch.setattr(sign_in, "_hasher", lambda: cheap)
        yield


class Visitor:
    """Somebody with a browser's cookies, or a token."""

    def __init__(self, base, token=None):
        self.base, self.token, self.cookies = base, token, {}
        self._word_of_cookies = (None, "")
        self.http = urllib3.PoolManager(retries=False, timeout=PATIENCE)

    def ask(self, method, path, *, headers=None, **how):
        """One request; redirects are not followed."""
        request_headers = dict(headers or {})
        if self.token:
            request_headers["authorization"] = f"Bearer {self.token}"
        elif self.cookies:
            request_headers["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = self.http.request(method, self.base + path, headers=request_headers, redirect=False, **how)
        for cookie in answer.headers.getlist("set-cookie"):
            name, value = cookie.split(";")[0].split("=", 1)
            self.cookies[name] = value
            if "Max-Age=0" in cookie:
                del self.cookies[name]
        return answer

    def get(self, path, **how):
        """Read."""
        return self.ask("GET", path, **how)

    def csrf(self, page):
        """The word of the forms on a page; a session has one word, read once from the account."""
        cookies, word = self._word_of_cookies
        if page == ACCOUNT and cookies == self.cookies:
            return word
        word = FORM.search(self.get(page).data.decode())[1]
        if page == ACCOUNT:
            self._word_of_cookies = dict(self.cookies), word
        return word

    def send(self, path, page, **fields):
        """Send a form that is on a page."""
        files = any(isinstance(value, tuple) for value in fields.values())
        fields["csrf"] = self.csrf(page)
        return self.ask("POST", path, fields=fields, encode_multipart=files)

    def post(self, path, **values):
        """Send JSON, as a script or a program does."""
        headers = {} if self.token else {"x-csrf-token": self.csrf(ACCOUNT)}
        return self.ask("POST", path, json=values, headers=headers)

    def accept(self, link, name):
        """Become a user by an invitation."""
        return self.send(link, link, name=name, password=PASSWORD)

    def sign_in(self, name, password=PASSWORD):
        """Sign in."""
        return self.send("/sign-in", "/sign-in", name=name, password=password)


@contextmanager
def running(app, listener, **settings):
    """Uvicorn in a thread, until the end of the block."""
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets=None):
            await super().shutdown(sockets)
            # a request that still runs would leave its socket open, which a later test would see
            for connection in list(self.server_state.connections):
                connection.transport.abort()
            for _ in range(3):  # TLS tells the layer below it, and that one the connection
                await asyncio.sleep(0)

    server = Server(uvicorn.Config(app, log_level="error", lifespan="off", **settings))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.should_exit = server.force_exit = True
        thread.join(PATIENCE)
        listener.close()


@contextmanager
def served(store, *, http="h11", **settings):
    """A server of a store in a thread; its address."""
    from rankgate.workspace.web.app import create_application
    from rankgate.workspace.web.server import open_listener
    from rankgate.workspace.web.server_config import ServerConfig

    listener = open_listener("127.0.0.1", 0)
    app = create_application(ServerConfig(store, **settings))
    with running(app, listener, http=http):
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            if settings.get("models"):
                app.state.models.stop()


@contextmanager
def started(store, *words, first=True, port=0):
    """The command; its process, its address, and at the first start the admin's link.

    The output goes to a file, which ``process.stderr`` reads: a server with a full pipe would wait.
    A killed server leaves its temporary files, so that they are in a folder that is removed.
    """
    command = [sys.executable, "-m", "rankgate", "serve", "--store", str(store), "--port"]
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.NamedTemporaryFile("r", encoding="utf-8") as log,
        Path(log.name).open("ab") as log_output,
    ):
        environment = {**os.environ, "TMPDIR": folder}
        process = subprocess.Popen([*command, str(port), *words], stderr=log_output, env=environment)
        process.stderr = log
        try:
            address = re.search(r"at (\S+)", _line(process))[1]
            line = _line(process) if first else ""
            link = line.rpartition(" ")[2].strip().removeprefix(address)
            yield process, address, link
        finally:
            process.kill()
            process.wait(PATIENCE)


def _line(process):
    """The next line that it writes."""
    line = ""
    while not line.endswith("\n"):
        finished = process.poll() is not None
        line += process.stderr.readline()
        assert line.endswith("\n") or not finished, "the server ended"
        time.sleep(0.01)
    return line
