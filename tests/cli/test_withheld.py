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
    line = f'export PYTHONDONTWRITEBYTECODE=1; ulimit -f 100; exec "{sys.executable}" -m rankgate demo'
    result = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, check=False)
    assert result.returncode == 2
    assert b"the demo cannot be written here" in result.stderr
    assert not list(tmp_path.iterdir())


POOL = "query_id,doc_id\nq1,a\nq1,b\n"
SHEET = "query,document,grade,rater,scale\nq1,a,2,ann,graded\nq1,b,0,ann,graded\n"
LOG = "user,item,time\n" + "".join(f"u{i % 5},i{i % 7},{1_700_000_000 + i}\n" for i in range(40))
FILES = {"pool.csv": POOL, "ann.csv": SHEET, "log.csv": LOG}


@pytest.mark.linux
@pytest.mark.parametrize(
    "words",
    [
        "init new",
        "init --kind online new/inner",
        "sheet pool.csv --raters ann,bob -o new",
        "sheet pool.csv --raters ann,bob --format xlsx -o new",
        "sheet pool.csv --raters ann -o new.csv",
        "collect ann.csv -o new.jsonl",
        "split log.csv --way leave-last --into new",
        "record means.json --to new/history",
        "baseline save main Q R",
    ],
)
def test_a_command_without_room_leaves_nothing(run, small, tmp_path, monkeypatch, words):
    import resource

    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    assert run("eval", *small, "-o", "means.json").code == 0
    files_before = sorted(tmp_path.rglob("*"))
    names = {"Q": small[0], "R": small[1]}
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python would leave modules cut off at 20 bytes
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
    try:
        result = run(*(names.get(word, word) for word in words.split()))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.code == 2, result.err
    assert "cannot be written" in result.err or "cannot write: " in result.err
    assert result.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == files_before


@pytest.mark.linux
def test_ratings_go_to_a_device_without_reading_it(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ann.csv").write_text(SHEET)
    assert_refused(run("collect", "ann.csv", "-o", FULL), "cannot-write", FULL)
    assert run("collect", "ann.csv", "-o", "/dev/zero").code == 0
    log_without_rows = Path("bad.csv")
    log_without_rows.write_text("user,item,time\nu1,,5\n")
    assert run("split", log_without_rows, "--into", "new").code == 2
    assert not Path("new").exists()


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
