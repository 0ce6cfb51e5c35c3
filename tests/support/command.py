"""The command as a fixture: called in this process, or started as a process."""

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rankgate.cli import main

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
    """How a command ended, what it gave and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch, capsys):
    """``rankgate`` with some words, in this process."""

    def call(*words, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["rankgate", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        result = capsys.readouterr()
        return Ended(ended.value.code, result.out, result.err)

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
