"""Chromium without a window, spoken to through a pipe: no driver, no port, no network."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from rankgate.workspace.reports.report import BROWSERS
from support.waiting import PATIENCE

PICTURES = os.environ.get("RANKGATE_PICTURES")
"""A folder, to look at every screen."""
VIEWS = (
    ("desktop", 1280, False),
    ("phone-dark", 390, True),
    ("desktop-dark", 1280, True),
    ("phone", 390, False),
)
"""The name, the width and the scheme (dark or not) of each form of a page."""


def program():
    """The browser that is there, or None."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


class Chromium:
    """One browser; `see` opens a page and returns its requests and messages."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="rankgate-")
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()
        command = [
            program(),
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--hide-scrollbars",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--remote-debugging-pipe",
            f"--user-data-dir={self.folder.name}",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            "about:blank",
        ]
        # Chromium reads commands from 3 and writes answers to 4
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "chromium", *command],
            pass_fds=(to_read, to_write),
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self.count, self.rest, self.events = 0, b"", []
        targets = self._send("Target.getTargets")["targetInfos"]
        # parts of the browser's own window are targets too
        target = next(target_info["targetId"] for target_info in targets if target_info["type"] == "page")
        attached = self._send("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def close(self):
        """End it."""
        self._send("Browser.close")
        self.process.wait(PATIENCE)
        os.close(self.read)
        os.close(self.write)
        self.folder.cleanup()

    def send(self, method, **words):
        """One command to the page, and its answer."""
        return self._send(method, session=self.session, **words)

    def _send(self, method, session=None, **words):
        self.count += 1
        result = {"id": self.count, "method": method, "params": words}
        if session:
            result["sessionId"] = session
        os.write(self.write, json.dumps(result).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.count:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _next(self):
        while b"\0" not in self.rest:
            piece = os.read(self.read, 1 << 16)
            assert piece, "the browser ended"
            self.rest += piece
        first, self.rest = self.rest.split(b"\0", 1)
        return json.loads(first)

    def open(self, path, *, width=1280, dark=False, fragment=""):
        """Open a file or an address; its requests and error messages are in `asked`, `said`."""
        self.events.clear()
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Page.navigate", url="about:blank")
        is_local = str(path).startswith("http://127.0.0.1:")
        url = str(path) if is_local else Path(path).resolve().as_uri()
        self.send("Page.navigate", url=url + fragment)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events[-3:]):
            self.events.append(self._next())
        if is_local:  # the event may have been that of the empty page
            self.until("location.href !== 'about:blank'")
        self.ask("document.fonts.ready.then(() => 1)")

    def press(self, key):
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def advance(self, milliseconds):
        """Move the page's clock forward, without waiting."""
        self.ask(
            "{ const now = performance.now.bind(performance);"
            f" performance.now = () => now() + {milliseconds}; 1 }}"
        )

    def run_timers(self, milliseconds):
        """Wait until the timers that the page set so far, up to this delay, have run."""
        self.ask(f"new Promise((done) => setTimeout(done, {milliseconds} + 1))")

    def until(self, script, seconds=PATIENCE):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with suppress(AssertionError):  # the page may be on its way to another
                if self.ask(f"document.readyState === 'complete' && Boolean({script})"):
                    return
            time.sleep(0.02)
        raise AssertionError(script, self.ask("document.body.innerText"))

    def ask(self, script):
        """The value of an expression; promises are waited for."""
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    @property
    def asked(self):
        """Every address the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    @property
    def said(self):
        """What the page complained of."""
        return [
            event["params"]
            for event in self.events
            if event.get("method") in {"Runtime.exceptionThrown", "Log.entryAdded"}
        ]

    def picture(self, path):
        """The whole page as PNG."""
        result = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(result["data"]))

    def faults(self, axe):
        """What axe finds: rule, and where."""
        self.ask(f"{axe}\n;1")
        result = self.ask("axe.run(document, {resultTypes: ['violations']})")
        return [
            (violation["id"], [(node["target"], node["failureSummary"]) for node in violation["nodes"][:5]])
            for violation in result["violations"]
        ]
