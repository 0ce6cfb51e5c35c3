"""Run a program to its end, or until its time is over."""

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

from rankgate.core.present.grid import make_printable

_WAIT_SECONDS = 0.1  # seconds between two checks
_MAX_MESSAGE = 200


def run_program(
    command: Sequence[Any], folder: Path, timeout: float, watch: Callable[[], None] = lambda: None
) -> str:
    """Run a program; return the reason of its failure, empty if it succeeded.

    The program and its children have ended when this returns or raises.

    Args:
        command: the program and its arguments.
        folder: the working directory.
        timeout: seconds that it may take.
        watch: called often; an exception of it ends the program.
    """
    arguments = [str(word) for word in command]
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                arguments,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            return f"{arguments[0]} cannot be started: {error.strerror}"
        try:
            status = _wait_for_exit(process, timeout, watch)
        finally:
            _kill(process)
        if status is None:
            return f"{arguments[0]} took more than {timeout:g} seconds"
        if not status:
            return ""
        errors.seek(max(errors.seek(0, os.SEEK_END) - 4096, 0))
        lines = errors.read().decode(errors="replace").strip().splitlines()
    last = make_printable(lines[-1])[:_MAX_MESSAGE] if lines else ""
    return f"{arguments[0]} ended with {status}" + (f": {last}" if last else "")


def _wait_for_exit(
    process: subprocess.Popen[bytes], timeout: float, watch: Callable[[], None]
) -> int | None:
    """The exit status; None if its time is over."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        watch()
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_WAIT_SECONDS)
    return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
