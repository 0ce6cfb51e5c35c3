"""Save an output to a file."""

from __future__ import annotations

from pathlib import Path

from rankgate.core.target import replace_file


def save_file(path: str | Path, content: str | bytes) -> None:
    """Write text or bytes to a file that is replaced in one step, or directly to a device.

    Raises:
        UsageError: a folder, or a place where nothing can be written.
    """
    with replace_file(path) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)
