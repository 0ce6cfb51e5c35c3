"""A loop of our own: seeded damage in a worker process, which its parent watches.

It knows nothing of the code that it runs; ``guided.py`` does.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mutate import mutated
from seeds import seeds
from target import tried

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_WAYS = (0, 0, 1, 2, 3)  # all of it most often; see `tried`
_POLL = 0.1
_FOREIGN = 0.1  # of the inputs are spliced with a file of another format
_MEMORY = 3  # the worker's exit code where it held too much
_NUMBER, _CONTENTS, _ERRORS, _PEAK, _READY = range(5)  # what the worker keeps in shared memory


@dataclass
class Tally:
    """What came out.

    Attributes:
        kinds: how many inputs ended how: contents, error, traceback, hang, memory, crash.
        faults: for each fault how many inputs have it.
        examples: for each fault an input's format, its number and its message.
        peak: the most memory that a worker ever held, in MB.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[str, int, str]] = field(default_factory=dict)
    peak: int = 0

    def add(self, kind: str, key: str, example: tuple[str, int, str]) -> None:
        """Note a fault."""
        self.kinds[kind] += 1
        self.faults[key] += 1
        self.examples.setdefault(key, example)


def made(number: int, seed: int, names: Sequence[str], held: dict[str, list[bytes]]) -> bytes:
    """The input of a number."""
    chance = random.Random(f"{seed}/{number}")
    name_seeds = held[names[number % len(names)]]
    foreign = chance.random() < _FOREIGN
    second_seed = chance.choice(held[chance.choice(names)] if foreign else name_seeds)
    return mutated(chance, chance.choice(name_seeds), second_seed)


def loop(inputs: int, seed: int, names: Sequence[str], seconds: float, memory: int) -> Tally:
    """Run inputs, each under a limit of time and memory (in MB); a worker that dies is replaced."""
    tally, number = Tally(), 0
    context = multiprocessing.get_context("spawn")
    while number < inputs:
        shared, faults = context.Array("q", [number, 0, 0, 0, 0]), context.SimpleQueue()
        arguments = (shared, faults, inputs, seed, (tuple(names), memory))
        worker = context.Process(target=_work, args=arguments)
        worker.start()
        kind = _watched(worker, shared, faults, tally, seconds)
        tally.kinds["contents"] += shared[_CONTENTS]
        tally.kinds["error"] += shared[_ERRORS]
        tally.peak = max(tally.peak, shared[_PEAK])
        if kind is None:
            return tally
        number = shared[_NUMBER]
        name = names[number % len(names)]
        tally.add(kind, f"{kind} in {name}", (name, number, f"{kind}, exit {worker.exitcode}"))
        number += 1
    return tally


def _watched(worker: Any, shared: Any, faults: Any, tally: Tally, seconds: float) -> str | None:  # noqa: ANN401 - of multiprocessing, which has no public types for them
    """Note faults until the worker ends; how it failed, None if it is done."""
    last_number, last_change, hangs = -1, time.monotonic(), False
    while worker.is_alive() and not hangs:
        while not faults.empty():
            key, *example = faults.get()
            tally.add("traceback", key, tuple(example))
        if shared[_NUMBER] != last_number or not shared[_READY]:  # imports are not an input's time
            last_number, last_change = shared[_NUMBER], time.monotonic()
        hangs = time.monotonic() - last_change > seconds
        time.sleep(_POLL)
    if hangs:
        worker.kill()
    worker.join()
    while not faults.empty():
        key, *example = faults.get()
        tally.add("traceback", key, tuple(example))
    if hangs:
        return "hang"
    return {0: None, _MEMORY: "memory"}.get(worker.exitcode, "crash")


def _work(
    shared: Any,  # noqa: ANN401 - as above
    faults: Any,  # noqa: ANN401 - as above
    inputs: int,
    seed: int,
    limits: tuple[Sequence[str], int],
) -> None:
    names, memory = limits
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where Polars tells of its panics
    seed_files = seeds(names)
    shared[_READY] = 1
    for number in range(shared[_NUMBER], inputs):
        shared[_NUMBER] = number
        name = names[number % len(names)]
        data = made(number, seed, names, seed_files)
        outcome = tried(name, data, _WAYS[number // len(names) % len(_WAYS)])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        shared[_PEAK] = peak
        if peak > memory:
            sys.exit(_MEMORY)
        if outcome.kind == "traceback":
            faults.put((outcome.key, name, number, outcome.result))
        else:
            shared[_CONTENTS if outcome.kind == "contents" else _ERRORS] += 1


def save(tally: Tally, folder: Path, seed: int, names: Sequence[str]) -> None:
    """Keep the first input of each fault, to be looked at."""
    folder.mkdir(parents=True, exist_ok=True)
    seed_files = seeds(names) if tally.examples else {}
    for key, (name, number, result) in tally.examples.items():
        stem = "".join(letter if letter.isalnum() else "-" for letter in f"{name} {key}")
        (folder / stem).write_bytes(made(number, seed, names, seed_files))
        (folder / f"{stem}.txt").write_text(result)
