"""Run the examples of pages, so that each page shows the real output of its commands and Python.

Commands run in an empty folder, or in a copy of a folder of the repository that a comment names:
``<!-- runs in examples/engine-migration -->``. A page whose text asks for the files of another page
names that page: ``<!-- begins with docs/start/trec.md -->``. A fence below ``<!-- file: NAME -->`` is
saved as that file. In fences of ``console``, a line that begins with ``$`` is a command, and the lines
below it are its output.
"""

from __future__ import annotations

import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from rankgate.interface.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

_WHERE = re.compile(r"<!-- runs in (\S+) -->")
_BEFORE = re.compile(r"<!-- begins with (\S+) -->")
_BLOCK = re.compile(
    r"<!-- file: (?P<name>\S+) -->\n+```\w*\n(?P<text>.*?)```"
    r"|```console\n(?P<session>.*?)```",
    re.DOTALL,
)


@contextmanager
def workplace(page: Path) -> Iterator[Path]:
    """Change to a temporary folder with the files that a page starts with."""
    folder_match = _WHERE.search(page.read_text())
    is_example = page.is_relative_to(ROOT / "examples")
    source = ROOT / folder_match[1] if folder_match else page.parent if is_example else None
    previous_folder = Path.cwd()
    with tempfile.TemporaryDirectory() as temporary_folder:
        folder = Path(temporary_folder) / "here"
        if source:
            shutil.copytree(source, folder)
        else:
            folder.mkdir()
        for earlier in _BEFORE.findall(page.read_text()):
            for name, text in files(ROOT / earlier):
                (folder / name).write_text(text)
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(previous_folder)


def files(page: Path) -> list[tuple[str, str]]:
    """Names and contents of the files that a page asks its reader to save."""
    matches = _BLOCK.finditer(page.read_text())
    return [(block["name"], block["text"]) for block in matches if block["name"]]


def played(page: Path) -> str:
    """Run a page: save its files, and return its text with the output of each command."""
    return _BLOCK.sub(_block, page.read_text())


def computed(text: str, name: str) -> str:
    """The text of a page with what its Python examples print; run in the folder of the page.

    Examples that pass as they are keep their text, such as one with an ellipsis.
    """
    runner = _FreshResults()
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    runner.run(test)
    lines = text.splitlines(keepends=True)
    for example, result in reversed(runner.fresh):
        begin = example.lineno + example.source.count("\n")
        output_lines = [
            line if line.strip() else "<BLANKLINE>\n" for line in result.splitlines(keepends=True)
        ]
        lines[begin : begin + example.want.count("\n")] = [" " * example.indent + x for x in output_lines]
    return "".join(lines)


class _FreshResults(doctest.DocTestRunner):
    """Keeps what failed examples print; an example that raises another error stops all."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.fresh: list[tuple[doctest.Example, str]] = []

    def report_failure(
        self, _out: object, _test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        self.fresh.append((example, got))

    def report_unexpected_exception(
        self, _out: object, test: doctest.DocTest, example: doctest.Example, exc_info: object
    ) -> None:
        raise RuntimeError(f"{test.name}, line {example.lineno + 1}: {exc_info[1]}")


def _block(found: re.Match[str]) -> str:
    if found["name"]:
        Path(found["name"]).parent.mkdir(parents=True, exist_ok=True)
        Path(found["name"]).write_text(found["text"])
        return found[0]
    commands = re.findall(r"^\$ ((?:.*\\\n)*.*)$", found["session"], re.MULTILINE)
    result = []
    status = 0
    for command in commands:
        status, output = _run(command.replace("\\\n", " "), status)
        result.append(f"$ {command}\n{output}")
    return f"```console\n{''.join(result)}```"


def _run(command: str, before: int) -> tuple[int, str]:
    """The exit code of a command and what it says on both streams."""
    if command == "echo $?":
        return 0, f"{before}\n"
    arguments = shlex.split(command, comments=True)
    if arguments[0] == "rankgate" and not {"|", ">", "<", "&&"} & set(arguments):
        return _ours([argument for word in arguments for argument in _named(word)])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(  # noqa: S602 - our own pages
        command, shell=True, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
    )
    return process.returncode, process.stdout + process.stderr


def _named(word: str) -> list[str]:
    """The files that match a word with a star; the word itself without a match or a star."""
    return (sorted(map(str, Path().glob(word))) or [word]) if "*" in word else [word]


def _ours(words: list[str]) -> tuple[int, str]:
    """A command of ours, in this process."""
    result = io.StringIO()
    with patch.object(sys, "argv", words), redirect_stdout(result), redirect_stderr(result):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0), result.getvalue()
    return 0, result.getvalue()


def pages() -> list[Path]:
    """Every page of the manual that people write; README's numbers move with Python's own texts."""
    generated = ("_", "reference", "mirrored")
    docs = ROOT / "docs"
    written = [
        page for page in docs.rglob("*.md") if not page.relative_to(docs).parts[0].startswith(generated)
    ]
    return sorted([*written, *ROOT.glob("examples/*/README.md")])
