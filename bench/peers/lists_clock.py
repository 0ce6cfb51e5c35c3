"""The clock of those who evaluate recommendations: wall and processor time, memory, values."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def timed(**steps: Callable[[], Mapping[str, float]]) -> None:
    """Compute some metrics by the clock, one step after the other, and print what it took.

    Memory is the most that the process ever held, and what it held before: its data.
    """
    start_memory = _memory("VmRSS")
    values: dict[str, float] = {}
    wall, cpu = {}, {}
    for name, step in steps.items():
        begin, processor = time.perf_counter(), time.process_time()
        values |= step()
        wall[name] = time.perf_counter() - begin
        cpu[name] = time.process_time() - processor
    result = {
        "values": {name: float(value) for name, value in values.items()},
        "wall": wall,
        "cpu": cpu,
        "data": start_memory,
        "memory": _memory("VmHWM"),
    }
    print(json.dumps(result))


def _memory(field: str) -> float:
    """A line of the process's status, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) * 1024 / 1e6
