"""Pages that are shown in the browser of whoever runs a command."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from tempfile import NamedTemporaryFile

import click


def open_page(page: str) -> None:
    """Write a page to a temporary file that only the user can read, and open it in the browser.

    The address is printed, also for machines without a browser. Without a terminal nobody is there to
    look, and no browser is opened.

    Args:
        page: HTML that loads nothing.
    """
    with NamedTemporaryFile("w", encoding="utf-8", prefix="rankgate-", suffix=".html", delete=False) as file:
        file.write(page)
    address = Path(file.name).as_uri()
    is_open = sys.stderr.isatty() and webbrowser.open(address)
    click.echo(f"page: {address}" + ("" if is_open else " (not opened; open it in a browser)"), err=True)
