"""Run every example in the help of every command, each command's in a copy of the example files.

    python release/help_examples.py WORLD EXAMPLES.json OUT.json

WORLD is a folder that `example_files.py` made, EXAMPLES.json has the examples by command;
OUT.json becomes the commands that ask for each extra. An example may end with 0, or with the
verdict of a gate (1, 3); with 2 where its message names the extra that it needs; or as `ENDINGS`
says, with the reason. Anything else is a fault: it is printed, and the exit code is 1.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

import click

from example_files import prepare, remove
from rankgate.core.errors import MissingExtraError
from rankgate.interface.cli import main as rankgate_main
from rankgate.interface.cli import rankgate
from rankgate.workspace.reports.report import BROWSERS

SECONDS = 900
"""After which the examples of a command are ended."""

VERDICTS = frozenset({0, 1, 3})
MODEL = 2, "no language model is there"
SERVER = 2, "no server is there"
SERVES = -signal.SIGALRM, "it serves until it is stopped"
ENDINGS = {
    "rankgate serve --store judging.db": SERVES,
    "rankgate serve --store postgresql://rankgate@db/judging --host 0.0.0.0 --behind-proxy": SERVER,
    "rankgate record gate.json --store https://search.example.org --project shop": SERVER,
    "rankgate history search_ctr --store https://search.example.org --project shop --since "
    "2026-01-01": SERVER,
    "rankgate rate pool.csv --queries queries.csv --documents docs.csv -o llm.jsonl --llm MODEL --key-from "
    "API_KEY --prices 0.5 1.5 --ceiling 20": MODEL,
    "rankgate rate first --project shop --store sqlite:///judging.db --llm MODEL --key-from API_KEY": MODEL,
}
"""Examples that end with another exit code, and why."""

FEWER = {
    "agree ratings.csv old.run new.run": "agree ratings.csv old.run new.run --draws 20",
    "--snapshots 10": "--snapshots 3",
    "interleave sensitivity": "interleave sensitivity --searches 500",
    "online replay": "online replay --resamples 10",
    "online plan events": "online plan events --horizon 14",
}
"""Where an example repeats one path many times, what it runs with, so that it takes a second."""

ENVIRONMENT = {"RANKGATE_STORE": "judging.db", "RANKGATE_HASH_KEY": "a key of the examples", "NO_COLOR": "1"}

_MISSING = re.compile(r"pip install 'rankgate\[(\w+)\]'")


@dataclass(frozen=True)
class Ending:
    """How an example ended.

    Attributes:
        command: whose help has it.
        line: the example.
        code: its exit code; a negative number is a signal.
        message: what it wrote to standard error.
    """

    command: str
    line: str
    code: int
    message: str

    @property
    def extra(self) -> str:
        """The extra that it asked for; empty if it ran."""
        match = _MISSING.search(self.message)
        return match[1] if self.code == 2 and match else ""

    @property
    def right(self) -> bool:
        """True if it may end so."""
        if self.extra:
            return True
        if self.line in ENDINGS:
            return self.code == ENDINGS[self.line][0]
        return self.code in VERDICTS


def main() -> int:
    """Run all examples, or those of some commands; print the faults."""
    world, lines_path, out = map(Path, sys.argv[1:])
    lines = json.loads(lines_path.read_text())
    for command in lines:
        with suppress(MissingExtraError):
            rankgate.get_command(click.Context(rankgate), command.split()[0])
    endings = list(run(lines, world.resolve(), os.cpu_count() or 1))
    faults = [ending for ending in endings if not ending.right]
    for fault in faults:
        print(f"{fault.line}\n  exit code {fault.code}: {fault.message.strip()[-500:]}")
    asking: dict[str, set[str]] = {}
    for ending in endings:
        if ending.extra:
            asking.setdefault(ending.extra, set()).add(ending.command)
    out.write_text(json.dumps({extra: sorted(names) for extra, names in asking.items()}))
    needs = ", ".join(f"{extra} ({len(names)} commands)" for extra, names in asking.items())
    print(f"{len(endings)} examples, {len(faults)} faults; ask for extras: {needs or 'none'}")
    return int(bool(faults))


def examples(*names: str) -> dict[str, list[str]]:
    """The examples of each command, such as ``online kpi``; below some commands, or of all.

    What the help of a group repeats of its commands is theirs.
    """
    context = click.Context(rankgate, info_name="rankgate")
    lines: dict[str, str] = {}
    for name in names or rankgate.list_commands(context):
        for path, command in _commands(name, rankgate, context):
            for line in _preformatted(command.help or ""):
                if line.startswith("rankgate ") and _possible(line):
                    lines.pop(line, None)
                    lines[line] = path
    commands: dict[str, list[str]] = {}
    for example, path in lines.items():
        commands.setdefault(path, []).append(example)
    return commands


def _possible(line: str) -> bool:
    """False for a PDF where no browser is there to print it."""
    return "--format pdf" not in line or any(map(shutil.which, BROWSERS))


def _preformatted(text: str) -> Iterator[str]:
    """The lines of paragraphs that click leaves as they are, continued ones joined."""
    for paragraph in text.replace("\\\n", "").split("\n\n"):
        if paragraph.lstrip(" ").startswith("\b"):
            yield from (" ".join(line.split()) for line in paragraph.splitlines())


def _commands(name: str, group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """A command and those below it, with their names."""
    command = group.get_command(context, name)
    assert command is not None
    yield name, command
    if isinstance(command, click.Group):
        group_context = click.Context(command, info_name=name, parent=context)
        for inner in command.list_commands(group_context):
            for path, subcommand in _commands(inner, command, group_context):
                yield f"{name} {path}", subcommand


def run(lines: Mapping[str, list[str]], world: Path, processes: int) -> Iterator[Ending]:
    """Run the examples of each command one after another, several commands at once.

    A process of its own, which has imported all commands, runs those of a command.
    """
    with tempfile.TemporaryDirectory() as name:
        running: dict[int, Path] = {}
        for number, (command, line) in enumerate(_together(lines)):
            if len(running) == processes:
                yield from _ended(running)
            folder = Path(name) / str(number)
            folder.mkdir()
            process = os.fork()
            if not process:
                _run_here(command, line, world, folder)
            running[process] = folder
        while running:
            yield from _ended(running)


def _together(lines: Mapping[str, list[str]]) -> Iterator[tuple[str, list[str]]]:
    """Examples that one process runs: those of a command, but each that serves by itself."""
    for command, command_lines in lines.items():
        yield command, [line for line in command_lines if ENDINGS.get(line) != SERVES]
        yield from ((command, [line]) for line in command_lines if ENDINGS.get(line) == SERVES)


def _ended(running: dict[int, Path]) -> Iterator[Ending]:
    process, status = os.wait()
    folder, code = running.pop(process), os.waitstatus_to_exitcode(status)
    for record in (folder / "endings").read_text().splitlines():
        yield Ending(**json.loads(record))
    if code:
        record = {"command": "", "line": (folder / "line").read_text()}
        yield Ending(**record, code=code, message=(folder / "stderr").read_text())
    shutil.rmtree(folder)


def _run_here(command: str, lines: list[str], world: Path, place: Path) -> NoReturn:
    """Run examples in this process, and end it."""
    folder = place / "world"
    (place / "endings").touch()
    (place / "line").write_text(f"(the files of {command})")
    signal.alarm(5 if any(ENDINGS.get(line) == SERVES for line in lines) else SECONDS)
    try:
        prepare(world, folder, command)
        os.environ.update(ENVIRONMENT, HOME=str(folder))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for line in lines:
            (place / "line").write_text(line)
            begin(line, folder)
            for stream, name in ((1, "stdout"), (2, "stderr")):
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
                os.dup2(os.open(place / name, flags), stream)
            ending = Ending(command, line, _code(line), (place / "stderr").read_text(errors="replace"))
            with (place / "endings").open("a") as file:
                file.write(json.dumps(asdict(ending)) + "\n")
            if ending.extra:  # the examples after it may read what it did not write
                break
    except BaseException as error:  # noqa: BLE001 - it is the parent that reports
        (place / "stderr").write_text(f"{type(error).__name__}: {error}")
        os._exit(70)
    os._exit(0)


def _code(line: str) -> int:
    """The exit code of an example that runs in this process."""
    sys.argv = words(line)
    try:
        rankgate_main()
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def begin(line: str, folder: Path) -> None:
    """Go to the folder of an example, and remove the output that it makes."""
    os.chdir(folder)
    for name in re.findall(r" (?:-o|--baseline-output) ([\w./-]+)", line):
        remove(folder / name)


def words(line: str) -> list[str]:
    """The words of an example as a shell makes them, without what it sends elsewhere."""
    for repeated, fewer in FEWER.items():
        line = line.replace(repeated, fewer)
    arguments = shlex.split(re.split(r" >>? ", line)[0])
    patterns = {
        word: sorted(map(str, Path().glob(word))) for word in arguments if "*" in word and "=" not in word
    }
    return [name for word in arguments for name in patterns.get(word, [word])]


if __name__ == "__main__":
    sys.exit(main())
