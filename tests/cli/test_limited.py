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


@pytest.mark.parametrize("megabytes", [200, 300, 600, 8000])
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
