"""Every format of the table: junk, cut off and damaged files are read, or refused in one line."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import RankgateError
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.registry import TABLE, find_format
from rankgate.data.streams.source import InputFile
from support.programs import importable
from support.strategies import fewer_examples

FUZZ = Path(__file__).parents[2] / "fuzz"
NAMES = [name for name, _, begins in TABLE if begins != "named"]


@pytest.fixture(scope="module")
def fuzz():
    """The seeds and the damage of ``make fuzz``."""
    with importable(FUZZ):
        import mutate
        import seeds

        return seeds.seeds(), mutate.mutated


def endured(name, data):
    """The contents, or None after a deliberate error in one line."""
    try:
        contents = find_format(name).read(InputFile(None, data))
        for run in contents.runs:
            _ = run.table
    except RankgateError as error:
        assert str(error).strip()  # noqa: PT017 - the error is one of two good ends
        lines = len(getattr(error, "suggestions", ()))
        assert str(error).count("\n") == lines  # noqa: PT017 - as above
        return None
    assert isinstance(contents, FileContents)
    return contents


def test_every_format_has_seeds(fuzz):
    seeds, _ = fuzz
    assert sorted(seeds) == sorted(NAMES)
    assert all(seeds.values())


@pytest.mark.parametrize("name", NAMES)
def test_seeds_are_valid(fuzz, name):
    """Undamaged files are detected and read, so that tests of damaged files mean something."""
    for data in fuzz[0][name]:
        contents = endured(name, data)
        assert contents is not None
        assert contents.parts


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@fewer_examples(8)
@given(data=st.data())
def test_cut_off_anywhere(fuzz, name, data):
    seed = data.draw(st.sampled_from(fuzz[0][name]))
    endured(name, seed[: data.draw(st.integers(0, len(seed)))])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@fewer_examples(8)
@given(data=st.data(), chance=st.integers(0, 2**32))
def test_damaged_anyhow(fuzz, name, data, chance):
    seeds, mutated = fuzz
    seed = data.draw(st.sampled_from(seeds[name]))
    other_seed = data.draw(st.sampled_from(seeds[data.draw(st.sampled_from(NAMES))]))
    endured(name, mutated(random.Random(chance), seed, other_seed))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@fewer_examples(8)
@given(before=st.binary(max_size=40), data=st.data())
def test_bytes_before_and_behind(fuzz, name, before, data):
    endured(name, before)
    seed = data.draw(st.sampled_from(fuzz[0][name]))
    endured(name, before + seed)
    endured(name, seed + before)


@pytest.mark.parametrize("name", ["trec", "csv", "ranx", "svmlight", "ntcir", "prels", "beir"])
def test_the_format_does_not_matter_for_what_is_in_it(fuzz, name):
    """Line ends, a mark and blank lines at the end change nothing that is read."""
    for data in fuzz[0][name]:
        if data.startswith(b"\xef\xbb\xbf") or b"\r" in data or b'"b\nc"' in data:
            continue
        plain = endured(name, data)
        for variant in (b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\r\n"), data + b"\n\n"):
            contents = endured(name, variant)
            assert contents.parts == plain.parts
            for attribute in ("qrels", "queries", "documents"):
                plain_part, variant_part = getattr(plain, attribute), getattr(contents, attribute)
                if plain_part is not None:
                    assert getattr(plain_part, "table", plain_part).equals(
                        getattr(variant_part, "table", variant_part)
                    )


BOMBS = """
import resource
import sys
from pathlib import Path
LIMIT = 512 << 20
HARD_LIMIT = resource.getrlimit(resource.RLIMIT_DATA)[1]
def limit_memory():
    status = Path("/proc/self/status").read_text()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, ((int(kilobytes) << 10) + LIMIT, HARD_LIMIT))
from rankgate.data.formats.registry import TABLE, find_format
from rankgate.data.streams.source import InputFile
from rankgate.core.errors import RankgateError
from zstandard import compress
blank, many, long = b"\\n" * (1 << 20), b'"",' * (1 << 18), b"a " * (1 << 19)
bombs = [(b"2 qid:1 1:1 # a\\n", blank, 150), (b"[", many, 100), (b"", long, 150)]
packed = [compress(head) + compress(body) * n for head, body, n in bombs]
# one frame with a window of 128 kB, of 32,768 blocks that each repeat a line break 131,072 times
packed.append(b"\\x28\\xb5\\x2f\\xfd\\0\\x38" + b"\\x02\\0\\x10\\n" * (1 << 15))
for index, (name, _, _) in enumerate(TABLE):
    for bomb in packed if "all" in sys.argv else [packed[index % len(packed)]]:
        limit_memory()
        try:
            for run in find_format(name).read(InputFile(None, bomb)).runs:
                run.table
        except RankgateError:
            pass
"""


@pytest.mark.slow
@pytest.mark.explore
@pytest.mark.linux
def test_no_bomb_takes_half_a_gigabyte(thorough):
    """Blank lines, values of JSON and one line: kilobytes that unpack to 100 MB, 150 MB or 4 GB.

    One of the four for each format, all in ``make explore``; zstd unpacks them faster than gzip.
    Each may take 512 MB more than the process has: memory that allocators keep from earlier tests
    grows with the load of the machine.
    """
    # each thread has memory too, and a machine may have a hundred cores
    environment = {**os.environ, "POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.run(
        [sys.executable, "-c", BOMBS, *(["all"] if thorough else [])],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.slow
def test_the_loop_of_our_own_runs():
    inputs = str(2 * len(NAMES))
    command = [sys.executable, str(FUZZ / "run.py"), "--engine", "own"]
    process = subprocess.run(
        [*command, "--inputs", inputs, "--seconds", "60"], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert f"{inputs} inputs in" in process.stdout


BROKEN = """
import os
import time
from dataclasses import replace
from pathlib import Path
from rankgate.data.formats.trec import trec_files as trec
COUNT = Path(__file__).with_name("count")
def broken(source):
    number = len(COUNT.read_bytes()) if COUNT.exists() else 0
    COUNT.write_bytes(b"x" * (number + 1))
    if number == 0:
        raise KeyError("x")
    if number == 1:
        held = bytearray(1 << 28)
        held[::4096] = b"1" * (1 << 16)
    if number == 2:
        os.abort()
    if number == 3:
        time.sleep(60)
    return good(source)
good = trec.FORMAT.read
trec.FORMAT = replace(trec.FORMAT, read=broken)
"""


@pytest.mark.slow
def test_the_loop_sees_a_traceback_a_hang_and_a_crash(tmp_path):
    """A reader that is broken on purpose, four ways one after the other."""
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    command = [sys.executable, str(FUZZ / "run.py"), "--engine", "own", "--format", "trec"]
    process = subprocess.run(
        [*command, "--inputs", "20", "--seconds", "10", "--memory", "200"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tmp_path)},
    )
    assert process.returncode == 1
    words = process.stdout.split()
    counts = {kind: words[words.index(kind) + 1] for kind in ("traceback", "hang", "memory", "crash")}
    assert counts == dict.fromkeys(counts, "1"), process.stdout + process.stderr
    faults = ("KeyError at", "memory in trec", "crash in trec", "hang in trec")
    assert all(f"1 × {fault}" in process.stdout for fault in faults), process.stdout
    assert "20 inputs in" in process.stdout
