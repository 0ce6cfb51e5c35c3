"""Under a limit of memory, a command ends with one clear error or with its normal result."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.linux

START = "from rankgate.__main__ import main; main()"
EVAL = ["eval", "q", "r", "-m", "AP"]
# each thread addresses memory too, and a machine may have a hundred cores
FEW = {**os.environ, "POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}


def separately(*limits):
    """Limits that end the command at other moments in the same ways."""
    return [pytest.param(limit, marks=pytest.mark.separate) for limit in limits]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of a command that ran once, which compiles its modules.

    If memory for it lacks, Python's parser says that the syntax of a module is wrong.
    """
    folder = tmp_path_factory.mktemp("limited")
    (folder / "q").write_text("1 0 a 1\n")
    (folder / "r").write_text("1 Q0 a 1 2 x\n")
    subprocess.run([sys.executable, "-c", START, *EVAL], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("megabytes", [*separately(200, 600), 300, 8000])
def test_a_limit_of_memory(folder, megabytes):
    import resource

    limit = megabytes << 20
    process = subprocess.run(
        [sys.executable, "-c", START, *EVAL],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=FEW if megabytes == 8000 else None,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    if megabytes == 8000:
        assert (process.returncode, process.stderr) == (0, "")
        assert "AP" in process.stdout
        return
    assert process.returncode in {0, 2}, process.stderr
    if process.returncode:
        assert process.stderr.startswith("rankgate: out of memory"), process.stderr
        assert process.stderr.count("\n") == 1


GATE = ["gate", "judged", "first", "worse", "--policy", "policy.toml"]


def run_limited(folder, words, kind, limit):
    import resource

    return subprocess.run(
        [sys.executable, "-c", START, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,  # OpenBLAS asks again and again for memory
        preexec_fn=lambda: resource.setrlimit(getattr(resource, kind), (limit, limit)),
    )


@pytest.fixture(scope="module")
def gate_folder(folder):
    (folder / "judged").write_text("".join(f"{query} 0 a 1\n" for query in range(20)))
    for name, lists in {"first": "ab", "worse": "ba"}.items():
        lines = (
            f"{query} Q0 {doc} 1 {9 - rank} x\n" for query in range(20) for rank, doc in enumerate(lists)
        )
        (folder / name).write_text("".join(lines))
    (folder / "policy.toml").write_text('[[rules]]\nkind = "floor"\nmetric = "AP"\nat_least = 0.9\n')
    process = subprocess.run(
        [sys.executable, "-c", START, *GATE], cwd=folder, capture_output=True, check=False, text=True
    )
    assert process.returncode == 1, process.stderr
    return folder


@pytest.mark.parametrize("kilobytes", [*separately(240_000, 260_000, 375_000), 330_000, 410_000])
def test_a_gate_that_gets_no_memory_does_not_fail(gate_folder, kilobytes):
    process = run_limited(gate_folder, GATE, "RLIMIT_AS", kilobytes << 10)
    verdict = "FAIL" in process.stdout.upper()
    assert process.returncode == (1 if verdict else 2), process.stderr
    assert verdict or process.stderr.startswith("rankgate: out of memory"), process.stderr


def test_a_failed_gate_is_1_under_a_limit_of_memory(gate_folder):
    import resource

    process = subprocess.run(
        [sys.executable, "-c", START, *GATE],
        cwd=gate_folder,
        capture_output=True,
        check=False,
        env=FEW,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (8000 << 20, 8000 << 20)),
    )
    assert (process.returncode, process.stderr) == (1, b"")


@pytest.mark.parametrize("descriptors", [*separately(5, 7), 6, 12])
def test_a_gate_that_may_open_few_files_does_not_fail(gate_folder, descriptors):
    process = run_limited(gate_folder, GATE, "RLIMIT_NOFILE", descriptors)
    verdict = "FAIL" in process.stdout.upper()
    assert process.returncode == (1 if verdict else 2), process.stderr
    assert verdict or process.stderr.splitlines()[-1].startswith("rankgate: too many open files"), (
        process.stderr
    )


def test_a_wrong_option_says_the_same_under_a_limit(tmp_path):
    import resource

    processes = [
        subprocess.run(
            [sys.executable, "-c", START, "eval", "--nothing"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=limited,
            env=FEW,
        )
        for limited in (None, lambda: resource.setrlimit(resource.RLIMIT_AS, (8000 << 20, 8000 << 20)))
    ]
    assert processes[0].returncode == processes[1].returncode == 2
    assert processes[0].stderr == processes[1].stderr
