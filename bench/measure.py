"""Wall time, processor time and anonymous memory of a command and its children."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TICK = 0.02  # seconds between two looks at the memory


@dataclass(frozen=True)
class Measured:
    """One execution of a command.

    Attributes:
        wall: seconds from start to end; None where it did not end in time.
        cpu: seconds of all threads and children, user and system.
        memory: the most anonymous bytes seen at one time. File pages are not in it: they
            belong to the page cache, and a tool that maps its input would look large.
        result: what it printed, read as JSON; None where it did not end in time.
        resident: the most bytes in memory at one time, pages of files among them, as the system
            tells; 0 where it did not end in time.
    """

    wall: float | None
    cpu: float
    memory: int
    result: Any = None
    resident: int = 0


@dataclass(frozen=True)
class Repeated:
    """Several executions of one command, without the first."""

    runs: tuple[Measured, ...]

    @property
    def finished(self) -> bool:
        """Whether every execution ended in time."""
        return None not in (run.wall for run in self.runs)

    @property
    def best(self) -> float:
        """The shortest wall time in seconds."""
        return min(self._walls())

    @property
    def median(self) -> float:
        """The median wall time in seconds."""
        return median(self._walls())

    @property
    def longest(self) -> float:
        """The longest wall time in seconds."""
        return max(self._walls())

    @property
    def cpu(self) -> float:
        """The median processor time in seconds."""
        return median(run.cpu for run in self.runs)

    @property
    def memory(self) -> int:
        """The most anonymous memory of any execution, in bytes."""
        return max(run.memory for run in self.runs)

    @property
    def result(self) -> Any:  # noqa: ANN401 - JSON
        """What the last execution printed."""
        return self.runs[-1].result

    def _walls(self) -> list[float]:
        return [run.wall for run in self.runs if run.wall is not None]


def alternating(
    commands: Mapping[str, Sequence[str]], times: int, limit: float, patience: float
) -> dict[str, Repeated]:
    """Execute commands in turn, so that a slow minute of the machine meets all of them.

    Args:
        commands: by contestant.
        times: executions of each after one that warms up and is not counted. A command that
            does not end in time is not executed again.
        limit: seconds until a command is ended.
        patience: seconds of counted executions after which a command is not executed again.

    Raises:
        RuntimeError: a command failed; with what it said.
    """
    runs: dict[str, list[Measured]] = {}
    for name, command in commands.items():
        warm = once(command, limit)
        runs[name] = [warm] if warm.wall is None else []
    for _ in range(times):
        for name, command in commands.items():
            walls = [run.wall for run in runs[name]]
            if None not in walls and sum(wall for wall in walls if wall) < patience:
                runs[name].append(once(command, limit))
    return {name: Repeated(tuple(executions)) for name, executions in runs.items()}


def once(command: Sequence[str], limit: float) -> Measured:
    """Execute a command in a process group of its own and watch its memory.

    Raises:
        RuntimeError: it failed; with what it said.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=out, stderr=err, env=installed_environment(), start_new_session=True
        )
        memory, finished = 0, False
        while not finished and time.perf_counter() - begin < limit:
            memory = max(memory, _anonymous(process.pid))
            finished = _ended(process.pid, _TICK)
        wall = time.perf_counter() - begin
        if not finished:
            os.killpg(process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
        if not finished:
            return Measured(None, cpu, memory)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            result = err.read().decode(errors="replace")[-2000:]
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {result}")
        result = json.loads(out.read() or b"null")
        return Measured(wall, cpu, memory, result, usage.ru_maxrss * 1024)


def installed_environment() -> dict[str, str]:
    """The surroundings without Python's own settings: bytecode is kept, as for a package."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def _ended(process: int, seconds: float) -> bool:
    """Whether a child ends within some seconds; it stays a zombie, to be asked for its usage."""
    descriptor = os.pidfd_open(process)
    try:
        readable = select.select([descriptor], [], [], seconds)[0]
    finally:
        os.close(descriptor)
    return bool(readable)


def _anonymous(process: int) -> int:
    """Anonymous bytes of a process and its children; 0 for one that is gone."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        children = " ".join((task / "children").read_text() for task in tasks).split()
    except OSError:
        return 0
    kilobytes = next((int(li.split()[1]) for li in status.splitlines() if li.startswith("RssAnon")), 0)
    return kilobytes * 1024 + sum(_anonymous(int(child)) for child in children)
