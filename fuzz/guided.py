"""The same by atheris: damage that reaches new lines of rankgate is damaged further.

The first byte of an input chooses the format, the second the way it is read. The readers run
in a process of their own, ``guided_child.py``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from own import Tally
from seeds import seeds

if TYPE_CHECKING:
    from collections.abc import Sequence

CHILD = Path(__file__).with_name("guided_child.py")

_LONGEST = 1 << 14


def loop(inputs: int, seed: int, names: Sequence[str], seconds: float, memory: int) -> Tally:
    """Run inputs; one that hangs or holds too much ends libFuzzer, which is begun anew."""
    tally, begun = Tally(), 0
    with tempfile.TemporaryDirectory() as folder:
        corpus, notes = Path(folder) / "corpus", Path(folder) / "notes.json"
        corpus.mkdir()
        for index, name in enumerate(names):
            for number, data in enumerate(seeds()[name]):
                (corpus / f"{name}-{number}").write_bytes(bytes([index, 0]) + data)
        while (finished_inputs := sum(tally.kinds.values())) < inputs:
            limits = [f"-timeout={max(1, round(seconds))}", f"-rss_limit_mb={memory}"]
            options = [
                f"-runs={inputs - finished_inputs}",
                f"-seed={seed + begun + 1}",
                f"-max_len={_LONGEST}",
            ]
            command = [sys.executable, str(CHILD), str(notes), ",".join(names), str(corpus)]
            artifact_prefix = f"-artifact_prefix={folder}/"
            process = subprocess.run(
                [*command, *limits, *options, artifact_prefix], capture_output=True, check=False, text=True
            )
            begun += 1
            number = _counted(tally, notes)
            if process.returncode:
                kind = next(
                    (fault_kind for fault_kind in _SIGNS if _SIGNS[fault_kind] in process.stderr), "crash"
                )
                last = names[number or 0]  # the last that was written down, or near it
                tally.add(kind, f"{kind} near {last}", (last, -1, process.stderr[-2000:]))
            if number is None:  # it ends before it begins; the next round would too
                break
    return tally


_SIGNS = {"hang": "ERROR: libFuzzer: timeout", "memory": "ERROR: libFuzzer: out-of-memory"}


def _counted(tally: Tally, notes: Path) -> int | None:
    """Add what a round wrote down; the place of its last format."""
    if not notes.exists():
        return None
    report = json.loads(notes.read_text())
    notes.unlink()
    tally.kinds.update(report["kinds"])
    for key, (count, name, result) in report["faults"].items():
        tally.kinds["traceback"] += count
        tally.faults[key] += count
        tally.examples.setdefault(key, (name, -1, result))
    tally.peak = max(tally.peak, report["peak"])
    last: int = report["last"]
    return last


def save(tally: Tally, folder: Path, seed: int, names: Sequence[str]) -> None:  # noqa: ARG001 - as of the other engine
    """The message of each fault; its input is in the message."""
    folder.mkdir(parents=True, exist_ok=True)
    for key, (name, _, result) in tally.examples.items():
        stem = "".join(letter if letter.isalnum() else "-" for letter in f"{name} {key}")
        (folder / f"{stem}.txt").write_text(result)
