"""Files are replaced in one step, by one process at a time, and nothing is left of others."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
import zstandard

from rankgate.core.errors import InputError, UsageError
from rankgate.core.output_files import FileVersion, new_folder, replace_file
from rankgate.data import read_qrels
from support.waiting import PATIENCE
from support.wording import raises

QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 1\n"
RUN = "1 Q0 a 1 2 {0}\n1 Q0 b 2 1 {0}\n2 Q0 a 1 1 {0}\n"


# what is imported before the fork is not imported by each of the six; all of them wait for a line
SAVES = """
import json, os, sys
from rankgate.interface.cli import main
import rankgate.decisions.gating.commands
ready, go = os.pipe()
children = []
for name in sys.argv[1]:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(write, 1), os.dup2(write, 2), os.close(go), os.read(ready, 1)
        sys.argv = ["rankgate", "baseline", "save", "x", "q", f"{name}.run", *sys.argv[2:]]
        main()
    os.close(write)
    children.append((child, read))
os.close(go)
outcomes = []
for child, read in children:
    with open(read) as lines:
        text = lines.read()
    outcomes.append((os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text))
print(json.dumps(outcomes))
"""


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_of_six_saves_at_once_one_says_that_it_succeeded(tmp_path, monkeypatch, run, force):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q").write_text(QRELS)
    for name in "abcdefg":
        (tmp_path / f"{name}.run").write_text(RUN.format(name))
    if force:
        assert run("baseline", "save", "x", "q", "g.run").code == 0
    command = [sys.executable, "-c", SAVES, "abcdef", *force]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    outcomes = json.loads(process.stdout)
    (file,) = tmp_path.rglob("x.json")
    saved_name = json.loads(file.read_text())["run"]["name"]
    won = [name for name, (status, _) in zip("abcdef", outcomes, strict=True) if status == 0]
    assert saved_name == won[-1] if not force else saved_name in won
    if not force:
        assert won == [saved_name]
        result = [text for status, text in outcomes if status == 2]
        assert len(result) == 5
        assert all("already" in message or "in the meantime" in message for message in result)
    assert not list(file.parent.glob(".*"))


def test_a_version_that_another_process_wrote_stays(tmp_path):
    file = tmp_path / "a"
    version = FileVersion.read_version(file)
    file.write_text("theirs")
    with raises("file-changed", UsageError), replace_file(file, version) as out:
        out.write(b"ours")
    assert (file.read_text(), [*tmp_path.iterdir()]) == ("theirs", [file])
    with replace_file(file, FileVersion.read_version(file)) as out:
        out.write(b"ours")
    assert file.read_text() == "ours"


WRITER = """
import sys, time
from rankgate.core.output_files import replace_file
with replace_file(sys.argv[1]) as out:
    out.write(b"x")
    out.flush()
    print("ready", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    file = tmp_path / "a [1].run"  # a name with signs of a pattern
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE) for _ in range(2)
    ]
    for writer in writers:
        writer.stdout.readline()
    writers[0].kill()
    writers[0].communicate()
    assert len(list(tmp_path.iterdir())) == 2
    with replace_file(file) as out:
        out.write(b"y")
    remaining = {path.name for path in tmp_path.iterdir()}
    assert remaining == {file.name, f".{file.name}.{writers[1].pid}"}, "one that still writes stays"
    writers[1].terminate()
    writers[1].communicate()


@pytest.mark.posix
def test_a_process_that_a_lock_shows_alive_keeps_its_file(tmp_path):
    import fcntl

    leftover = tmp_path / ".a.999999999"  # no process here has that number
    with leftover.open("wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with replace_file(tmp_path / "a"):
            pass
        assert leftover.exists()
    with replace_file(tmp_path / "a"):
        pass
    assert not leftover.exists()


def packed(kind, data):
    return gzip.compress(data) if kind == "gz" else zstandard.compress(data)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_small_file_does_not_become_a_huge_one(tmp_path, monkeypatch, kind):
    line = b"1 0 " + b"d" * 100 + b"%d 1\n"
    first_rows = b"".join(line % i for i in range(9))
    file = tmp_path / f"q.{kind}"
    file.write_bytes(packed(kind, first_rows + b"\n" * (3 << 20)))
    monkeypatch.setattr("rankgate.data.streams.source._SMALL", 1 << 20)
    with raises("too-large", InputError):
        read_qrels(file)
    monkeypatch.setenv("RANKGATE_MAX_EXPANSION", "0")
    assert len(read_qrels(file).table) == 9
    monkeypatch.setenv("RANKGATE_MAX_EXPANSION", "much")
    with raises("not-a-number", UsageError):
        read_qrels(file)


@pytest.mark.parametrize(
    "words",
    [
        "eval bomb.gz run",
        "eval qrels bomb.gz",
        "trec_eval qrels bomb.gz",
        "describe bomb.gz",
        "convert bomb.gz out.csv",
        "validate bomb.gz",
        "pool bomb.gz -o out.csv",
        "split bomb.gz -o parts",
        "scorecard qrels run --train bomb.gz",
        "fuse run bomb.gz -o out.run",
        "scorecard qrels run --items bomb.gz",
        "compare qrels run other --tags bomb.gz",
    ],
)
def test_every_command_refuses_a_small_file_that_becomes_huge(run, tmp_path, monkeypatch, words):
    monkeypatch.setattr("rankgate.data.streams.source._SMALL", 1 << 20)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 2.0 x\n")
    (tmp_path / "other").write_text("1 Q0 b 1 2.0 x\n")
    first_rows = b"1 Q0 a 1 2.0 x\n" if " qrels bomb" in words or "run bomb" in words else b"user,item\nu,i\n"
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(first_rows + b"\n" * (3 << 20)))
    result = run(*words.split())
    assert result.code == 2
    assert "RANKGATE_MAX_EXPANSION" in result.out + result.err
    assert "bomb.gz" in result.out + result.err
    assert not {path.name for path in tmp_path.iterdir()} & {"out.run", "out.csv"}


@pytest.mark.parametrize("kind", ["gz", "zst", "plain"])
def test_judgments_have_a_limit_that_can_be_set(tmp_path, monkeypatch, kind):
    data = b"".join(b"%d 0 d%d 1\n" % (i, i) for i in range(100_000))
    file = tmp_path / f"q.{kind}"
    file.write_bytes(data if kind == "plain" else packed(kind, data))
    monkeypatch.setenv("RANKGATE_MAX_JUDGMENTS_MB", "1")
    with raises("too-large", InputError, source=str(file)):
        read_qrels(file)
    for limit in ("2", "0", ""):
        monkeypatch.setenv("RANKGATE_MAX_JUDGMENTS_MB", limit)
        assert len(read_qrels(file).table) == 100_000
    monkeypatch.setenv("RANKGATE_MAX_JUDGMENTS_MB", "much")
    with raises("not-a-number", UsageError):
        read_qrels(file)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_usual_file_is_read(tmp_path, kind):
    file = tmp_path / f"q.{kind}"
    file.write_bytes(packed(kind, b"".join(b"%d 0 d%d 1\n" % (i, i) for i in range(50_000))))
    assert len(read_qrels(file).table) == 50_000


INTERRUPTED_CLASS = """
import sys

class Interrupted:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt

class Finder:
    def find_spec(name, path, target):
        if name == "rankgate.interface.cli":
            type("Made", (), {"attribute": Interrupted()})

sys.meta_path.insert(0, Finder)
"""
START = "from rankgate.__main__ import main; main()"  # as the installed program does


def test_an_interrupt_while_a_class_is_made_has_no_traceback():
    """Python 3.11 raises a RuntimeError then."""
    command = [sys.executable, "-c", f"{INTERRUPTED_CLASS}\n{START}", "eval", "-", "-"]
    result = subprocess.run(command, check=False, capture_output=True, text=True, input="")
    assert (result.returncode, result.stderr) == (130, "rankgate: interrupted.\n")


def test_an_interrupt_while_starting_has_no_traceback(tmp_path):
    """At many moments of the start, while modules are imported."""
    for wait in (1, 3, 6, 12):
        process = subprocess.Popen(
            [sys.executable, "-X", "importtime", "-c", START, "eval", "-", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
        )
        for line in process.stderr:
            if line.rstrip().endswith(b"rankgate.__main__"):
                break
        time.sleep(wait * 0.01)
        os.kill(process.pid, signal.SIGINT)
        _, result = process.communicate(timeout=PATIENCE)
        messages = [text for text in result.decode().splitlines() if not text.startswith("import time")]
        assert "Traceback" not in result.decode(), messages
        assert process.returncode in {130, 2, -signal.SIGINT}, messages


@pytest.mark.parametrize("is_used_by_others", [True, False])
def test_an_error_removes_no_file_of_another_process(tmp_path, is_used_by_others):
    with suppress(ZeroDivisionError), new_folder(tmp_path / "a" / "b", shared=True) as folder:
        if is_used_by_others:
            (folder / "other.json").write_text("{}")
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.rglob("*.json")] == ["other.json"] * is_used_by_others
    assert (tmp_path / "a").exists() == is_used_by_others
