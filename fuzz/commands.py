"""Damaged inputs through every command: the examples of all help, one thing of each changed.

    python fuzz/commands.py --inputs 10000 --seed 0

Each input is an example with one of its files damaged, or with one number or text of its options
replaced. A command may end with 0, 1 (a gate), 2, 3 or 130; exit code 70, an exception, a run of more
than `SECONDS` and a process that dies are faults. The same seed and number make the same input.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "release"))

from mutate import mutated

SECONDS = 60
MEMORY = 6 << 30
"""Bytes that a process may fill."""
PER_PROCESS = 300
"""Inputs of one process. Each process works in a new copy of the folder, because commands write into it."""
STATED = {0, 1, 2, 3, 130}
DROP_INS = ("trec_eval", "gdeval", "ndeval", "cwl_eval")
"""Commands with the exit codes of the tools that they stand for."""
NUMBERS = (
    "0",
    "-1",
    "1",
    "9223372036854775807",
    "1" + "0" * 30,
    "9" * 400,
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "",
    "=1+1",
    "é",
    "\x1b[31m",
    "a,b",
    "1..2",
)
NEVER = ("serve", "mcp", "rate", "watch", "schedule", "doctor", "help", "demo", "check-engine", "engines")
"""Commands that wait for somebody, or read nothing."""


def main() -> int:
    """Run, tell, and end with 1 where there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="examples that contain this")
    parser.add_argument("--world", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    options = parser.parse_args()
    if options.world:
        return _work(options.world, options.seed, range(options.first, options.inputs), options.only)
    tally: Counter[str] = Counter()
    faults: set[str] = set()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "world"
        subprocess.run([sys.executable, "release/example_files.py", str(world)], check=True)
        number = options.first
        while number < options.inputs:
            stop = min(number + PER_PROCESS, options.inputs)
            lines = list(_process(world, options.seed, number, stop, options.only))
            for ending in lines:
                tally[ending["key"]] += 1
                if not ending["key"].startswith("exit ") and ending["key"] not in faults:
                    faults.add(ending["key"])
                    print(
                        f"{ending['key']}\n    {ending['number']}: {ending['line']} ({ending['change']})",
                        flush=True,
                    )
            number = lines[-1]["number"] + 1 if lines and len(lines) < stop - number else stop
    for key, count in tally.most_common():
        print(f"{count:>7} {key}")
    print(f"{tally.total()} inputs, seed {options.seed}, in {time.monotonic() - began:.0f} s")
    return int(bool(faults))


def _process(world: Path, seed: int, first: int, stop: int, only: str) -> Iterator[dict]:
    """The endings of some inputs, in a process of their own; the last one is that of a crash."""
    command = [sys.executable, __file__, "--world", str(world), "--seed", str(seed), "--first", str(first)]
    command += ["--inputs", str(stop), "--only", only]
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False
    )
    endings = [json.loads(line) for line in result.stdout.splitlines()]
    started = [ending for ending in endings if ending["key"] == "started"]
    ended = {ending["number"]: ending for ending in endings if ending["key"] != "started"}
    yield from ended.values()
    if started and started[-1]["number"] not in ended:
        yield {**started[-1], "key": f"the process died: {result.returncode}"}


def _work(world: Path, seed: int, numbers: range, only: str) -> int:
    """Run inputs one after the other in a copy of the world."""
    from help_examples import ENVIRONMENT, FEWER, examples

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    os.environ |= ENVIRONMENT
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    lines = [
        line
        for command, command_lines in examples().items()
        if command.split()[0] not in NEVER
        for line in command_lines
        if only in line
    ]
    with tempfile.TemporaryDirectory() as folder:
        copied_world = Path(folder) / "world"
        shutil.copytree(world, copied_world)
        os.chdir(copied_world)
        for number in numbers:
            chance = random.Random(f"{seed} {number}")
            line = chance.choice(lines)
            for text, shorter in FEWER.items():
                line = line.replace(text, shorter)
            arguments = shlex.split(line.partition(" > ")[0].partition(" | ")[0])[1:]
            with _changed(chance, arguments) as change:
                fields = {"number": number, "line": shlex.join(arguments), "change": change}
                print(json.dumps({**fields, "key": "started"}), file=out)
                print(json.dumps({**fields, "key": _ending(arguments)}), file=out)
    return 0


@contextmanager
def _changed(chance: random.Random, arguments: list[str]) -> Iterator[str]:
    """Change one file or one text of the arguments for a while; the sentence says what."""
    paths = [Path(word.rpartition("=")[2]) for word in arguments]
    files = [path for path in paths if path.is_file()]
    files += [
        inner
        for path in paths
        if path.is_dir() and path != Path()
        for inner in path.rglob("*")
        if inner.is_file()
    ]
    texts = [
        index
        for index, word in enumerate(arguments)
        if index and not word.startswith("-") and not paths[index].exists()
    ]
    if texts and (not files or chance.random() < 1 / 4):
        index = chance.choice(texts)
        word, arguments[index] = arguments[index], chance.choice(NUMBERS)
        yield f"{word!r} replaced by {arguments[index][:40]!r}"
        return
    if not files:
        yield "nothing"
        return
    path = chance.choice(files)
    content = path.read_bytes()
    spliced = chance.choice(files).read_bytes()
    try:
        path.write_bytes(mutated(chance, content, spliced))
        yield f"{path} damaged"
    finally:
        path.write_bytes(content)


def _ending(arguments: list[str]) -> str:
    """How a command ended: its exit code, or where it failed."""
    from rankgate.interface.cli import main as rankgate_main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    code: object = 0
    sys.argv = ["rankgate", *arguments]
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(SECONDS)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            rankgate_main()
    except SystemExit as ending:
        code = ending.code or 0
    except TimeoutError:
        return f"more than {SECONDS} s: {arguments[0]}"
    except BaseException as error:  # noqa: BLE001 - a panic of Polars is no Exception
        return f"{type(error).__name__}: {str(error)[:80]}: {arguments[0]}"
    finally:
        signal.alarm(0)
    err.seek(0)
    text = err.read()
    last = text.strip().splitlines()
    message = last[-1][:120] if last else ""
    if "Traceback" in text or "Warning:" in text:
        return f"printed: {message}"
    is_stated = code in STATED or (arguments[0] in DROP_INS and code != 70)
    return f"exit {code}" if is_stated else f"code {code}: {message}"


def _too_long(*_: object) -> None:
    raise TimeoutError


if __name__ == "__main__":
    sys.exit(main())
