"""The command as a fixture: called in this process, or started as a process."""

import errno
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from rankgate.core.errors import RankgateError
from rankgate.interface.cli import main
from support.wording import assert_wording

SOURCE = Path(__file__).parents[2] / "src"

# Three judged queries: a tie and an unjudged document in the first, one relevant document
# missed in the second, nothing relevant in the third; the run lacks a fourth, knows a ninth.
QRELS = "1 0 a 3\n1 0 b 0\n1 0 c 1\n2 0 a 1\n2 0 x 2\n3 0 z 0\n4 0 z 1\n"
RUN = (
    "1 Q0 a 1 9 bm25\n1 Q0 b 2 8 bm25\n1 Q0 u 3 8 bm25\n1 Q0 c 4 7 bm25\n"
    "2 Q0 x 1 3 bm25\n2 Q0 y 2 2 bm25\n3 Q0 z 1 2 bm25\n9 Q0 z 1 2 bm25\n"
)


@dataclass
class Ended:
    """The result of a command: exit code, both output streams, and the error."""

    code: int
    out: str
    err: str
    error: BaseException | None


def assert_refused(ended, code, source=None, line=None):
    """A command ended with one error: exit code 2, one line and lines to copy, no output.

    Args:
        ended: the result of the command.
        code: the code of an error of rankgate; for errors of click what is wrong, such as
            ``no-such-option``; for errors of the system their name, such as ``ENOSPC``.
        source: the file or option that the error names, where that is part of the test.
        line: the line, where that is part of the test.
    """
    error = ended.error
    assert (ended.code, ended.out) == (2, ""), ended.err
    assert ended.err.startswith("rankgate: ")
    assert ended.err.count("\n") == 1 + len(getattr(error, "suggestions", ()))
    assert code_of(error) == code, f"{code_of(error)}: {ended.err}"
    if not isinstance(error, RankgateError):  # the words of click and of the system vary
        assert source is None or source_of(error) == str(source), ended.err
        return
    prefix = f"{source or error.source}:{line}: " if line else f"{source}: " if source else ""
    assert str(error).startswith(prefix), ended.err
    assert_wording(ended.err)


def code_of(error):
    """What is wrong, for programs."""
    if isinstance(error, RankgateError):
        return error.code
    if isinstance(error, click.ClickException):
        return re.sub("(?<=[a-z])(?=[A-Z])", "-", type(error).__name__).lower()
    return errno.errorcode.get(getattr(error, "errno", None), type(error).__name__)


def source_of(error):
    """The option, argument or file of an error that is not of rankgate."""
    if isinstance(error, click.NoSuchOption):
        return error.option_name
    if isinstance(error, click.BadParameter) and error.param is not None:
        return error.param.opts[-1]
    return str(getattr(error, "filename", None))


@pytest.fixture
def run(monkeypatch, capsys):
    """``rankgate`` with some words, in this process."""

    def call(*words, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["rankgate", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            main()
        printed = capsys.readouterr()
        return Ended(exit_info.value.code, printed.out, printed.err, exit_info.value.__context__)

    return call


@pytest.fixture
def start():
    """``python -m rankgate`` with some words, as a process that can be piped and stopped."""

    def call(*words, **options):
        return subprocess.Popen(
            [sys.executable, "-m", "rankgate", *map(str, words)],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    return call


@pytest.fixture
def small(tmp_path):
    """Paths of small judgments and of a small run over them."""
    qrels, path = tmp_path / "small.qrels", tmp_path / "bm25.run"
    qrels.write_text(QRELS)
    path.write_text(RUN)
    return qrels, path
