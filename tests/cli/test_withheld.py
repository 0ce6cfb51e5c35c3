"""A full disk or a folder without permission is not reported as an internal error."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rankgate.interface.cli import COMMANDS
from support.command import assert_refused
from support.waiting import PATIENCE

FULL = Path("/dev/full")


@pytest.mark.linux
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "arrow", "trec", "quepid-ratings"])
def test_a_full_disk(run, small, form):
    result = run("convert", small[0], FULL, "--to", form)
    assert_refused(result, "cannot-write", FULL)


@pytest.mark.linux
@pytest.mark.parametrize("words", [("eval", "Q", "R"), ("validate", "Q"), ("convert", "Q", "-")])
def test_standard_output_on_a_full_disk(small, words):
    names = {"Q": small[0], "R": small[1]}
    format_option = ["--to", "csv"] * (words[0] == "convert")
    command = [sys.executable, "-m", "rankgate", *(str(names.get(w, w)) for w in words), *format_option]
    with FULL.open("wb") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 2
    assert b"rankgate: cannot write: No space left on device; make room" in result.stderr


@pytest.mark.linux
def test_the_demo_without_room_for_its_index(tmp_path):
    line = f'ulimit -f 100; exec "{sys.executable}" -m rankgate demo'
    result = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, check=False)
    assert result.returncode == 2
    assert b"the demo cannot be written here" in result.stderr
    assert not list((tmp_path / "demo").iterdir())


def test_names_that_are_too_long(run, small, tmp_path):
    name = "a" * 300
    for arguments in ((name, small[1]), (small[0], name)):
        assert_refused(run("eval", *arguments), "ENAMETOOLONG", name)
    path = tmp_path / f"{name}.csv"
    assert_refused(run("convert", small[0], path), "ENAMETOOLONG", path)


def test_a_place_that_may_not_be_entered(run, small, monkeypatch):
    def refused(_):
        raise PermissionError(13, "Permission denied", "/closed/x.csv")

    monkeypatch.setattr(Path, "is_dir", refused)
    result = run("convert", small[0], "x.csv")
    assert_refused(result, "EACCES", "/closed/x.csv")


def test_stopped_in_the_middle_of_an_import(run, monkeypatch):
    """Python makes a RuntimeError of it where a class is being made."""

    def load_name(_):
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    assert "metrics" in COMMANDS
    monkeypatch.setattr("rankgate.interface.cli.load_name", load_name)
    result = run("metrics")
    assert (result.code, result.err) == (130, "rankgate: interrupted.\n")


def test_stopped_twice(start, small, tmp_path):
    """A second Ctrl-C during the handling of the first prints no traceback."""
    target = tmp_path / "a.csv"
    target.write_text("as it was")
    process = start("convert", "-", target, stdin=subprocess.PIPE)
    process.stdin.write(small[0].read_bytes() * 50_000)  # more than a pipe holds: it is reading
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err.strip() == b"rankgate: interrupted."
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".csv"] == ["a.csv"]
    assert target.read_text() == "as it was"
