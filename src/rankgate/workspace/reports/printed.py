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

_TIMEOUT = 120


def print_pdf(page: str, browser: str | None = None) -> bytes:
    """Print a page.

    The browser gets its own folder, which is removed, and no network: the page requests nothing,
    and no name is resolved.

    Args:
        page: HTML.
        browser: the program; without it the first of `BROWSERS` that is there.

    Raises:
        UsageError: no browser is there, or it printed nothing; how to get one.
    """
    program = _find_browser(browser)
    with tempfile.TemporaryDirectory(prefix="rankgate-") as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        command = [
            program,
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--no-pdf-header-footer",
            "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={Path(folder, 'user')}",
            f"--print-to-pdf={target}",
            *(["--no-sandbox"] if _is_superuser() else []),
            source.as_uri(),
        ]
        try:
            process = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
        except OSError as error:
            raise UsageError(
                f"{program}: cannot be started: {error.strerror}.", code="browser-failed"
            ) from None
        except subprocess.TimeoutExpired:
            raise UsageError(
                f"{program} printed nothing in {_TIMEOUT} s; {_PRINT_ADVICE}", code="browser-failed"
            ) from None
        if not target.exists():
            last_lines = process.stderr.decode(errors="replace").strip().splitlines()[-1:]
            reason = f" ({last_lines[0]})" if last_lines else ""
            raise UsageError(
                f"{program} printed nothing{reason}; {_PRINT_ADVICE}", code="browser-failed"
            )
        return target.read_bytes()


_PRINT_ADVICE = "write the page with --format html, open it in any browser, and print it there."


def _find_browser(browser: str | None) -> str:
    for name in [browser] if browser else BROWSERS:
        path = shutil.which(name)
        if path:
            return path
    if browser:
        raise UsageError(
            f"{browser}: no such program; --browser takes Chromium or Chrome.", code="no-browser"
        )
    raise UsageError(
        "PDF needs Chromium or Chrome, and none is on the PATH; install one (Debian: apt install "
        f"chromium), name it with --browser, or {_PRINT_ADVICE}",
        code="no-browser",
    )


def _is_superuser() -> bool:
    """True for the superuser, for whom Chromium's sandbox does not start."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
