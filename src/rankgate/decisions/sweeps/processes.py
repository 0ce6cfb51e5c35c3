"""Run a program to its end, or to the end of its time."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rankgate.core.present.grid import printable

_GLANCE = 0.1  # seconds between two looks
_SHOWN = 200


def run_program(
    command: Sequence[Any], folder: Path, timeout: float, watch: Callable[[], None] = lambda: None
) -> str:
    """Run a program; return why it failed, empty if it did not.

    When this returns or raises, the program and what it started have ended.

    Args:
        command: the program and its arguments.
        folder: where it is started.
        timeout: seconds that it may take.
        watch: called often; what it raises ends the program.
    """
    words = [str(word) for word in command]
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            return f"{words[0]} cannot be started: {error.strerror}"
        try:
            status = _ended(process, timeout, watch)
        finally:
            _end(process)
        if status is None:
            return f"{words[0]} took more than {timeout:g} seconds"
        if not status:
            return ""
        errors.seek(max(errors.seek(0, os.SEEK_END) - 4096, 0))
        lines = errors.read().decode(errors="replace").strip().splitlines()
    last = printable(lines[-1])[:_SHOWN] if lines else ""
    return f"{words[0]} ended with {status}" + (f": {last}" if last else "")


def _ended(
    process: subprocess.Popen[bytes], timeout: float, watch: Callable[[], None]
) -> int | None:
    """Its exit status; None where its time is over."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        watch()
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_GLANCE)
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
