"""Save an output to a file."""

from __future__ import annotations

from pathlib import Path

from rankgate.core.target import replacing


def save(path: str | Path, made: str | bytes) -> None:
    """Write words or bytes into a file that is replaced in one step; a device is written to.

    Raises:
        UsageError: a folder, or a place where nothing can be written.
    """
    with replacing(path) as stream:
        stream.write(made.encode("utf-8") if isinstance(made, str) else made)
