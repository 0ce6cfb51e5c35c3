"""A page as PDF, printed by a browser that is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from rankgate.core.errors import UsageError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
    "brave-browser",
    "chrome-headless-shell",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
"""Browsers that print without a window, in the order in which they are looked for."""

_SECONDS = 120


def printed(page: str, browser: str | None = None) -> bytes:
    """Print a page.

    The browser gets its own folder, which is removed, and no way to a network: the page
    asks for nothing, and no name is resolved.

    Args:
        page: HTML.
        browser: the program; without it the first of `BROWSERS` that is there.

    Raises:
        UsageError: no browser is there, or it printed nothing; how to get one.
    """
    program = _found(browser)
    with tempfile.TemporaryDirectory(prefix="rankgate-") as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        words = [
            program,
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--no-pdf-header-footer",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={Path(folder, 'user')}",
            f"--print-to-pdf={target}",
            *(["--no-sandbox"] if _root() else []),
            source.as_uri(),
        ]
        try:
            ended = subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False)
        except OSError as error:
            raise UsageError(
                f"{program}: cannot be started: {error.strerror}.", code="browser-failed"
            ) from None
        except subprocess.TimeoutExpired:
            raise UsageError(
                f"{program} printed nothing in {_SECONDS} s; {_OTHERWISE}", code="browser-failed"
            ) from None
        if not target.exists():
            said = ended.stderr.decode(errors="replace").strip().splitlines()[-1:]
            why = f" ({said[0]})" if said else ""
            raise UsageError(f"{program} printed nothing{why}; {_OTHERWISE}", code="browser-failed")
        return target.read_bytes()


_OTHERWISE = "write the page with --format html, open it in any browser, and print it there."


def _found(browser: str | None) -> str:
    for name in [browser] if browser else BROWSERS:
        place = shutil.which(name)
        if place:
            return place
    if browser:
        raise UsageError(
            f"{browser}: no such program; --browser takes Chromium or Chrome.", code="no-browser"
        )
    raise UsageError(
        "PDF needs Chromium or Chrome, and none is on the PATH; install one (Debian: apt install "
        f"chromium), name it with --browser, or {_OTHERWISE}",
        code="no-browser",
    )


def _root() -> bool:
    """Chromium's sandbox does not start for the superuser."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
