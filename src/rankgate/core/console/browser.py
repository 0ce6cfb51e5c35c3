"""Pages that are shown in the browser of whoever runs a command."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from pathlib import Path

import click

from rankgate.core.console.terminal_output import is_quiet
from rankgate.core.output_files import save_file


def open_page(page: str, path: str | None = None) -> None:
    """Write a page and open it in the browser; the address is printed, for machines without one.

    Args:
        page: HTML that loads nothing.
        path: the file of the page; without it a file that only the user can read, in the folder for
            temporary files.

    Raises:
        UsageError: the file cannot be written.
    """
    if path is None:
        handle, path = tempfile.mkstemp(prefix="rankgate-", suffix=".html")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page)
    else:
        save_file(path, page)
    address = Path(path).resolve().as_uri()
    opened = webbrowser.open(address)
    if not is_quiet() or not opened:
        click.echo(
            f"page: {address}" + ("" if opened else " (no browser was found; open it yourself)"), err=True
        )
