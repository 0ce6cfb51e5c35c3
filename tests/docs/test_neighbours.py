"""The programs that work with other libraries, where these are installed (``make neighbours``)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[2] / "examples" / "neighbours"
PROGRAMS = sorted(HERE.glob("with_*.py"))
HOME = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_TRACKING_URI": "file:./mlruns"}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_both_libraries_agree(program, tmp_path):
    library = program.stem.removeprefix("with_")
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed; make neighbours installs it")
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path, env=os.environ | HOME, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_page_has_each_program():
    page = (HERE / "README.md").read_text()
    assert {path.name for path in PROGRAMS} == set(re.findall(r"\]\((with_\w+\.py)\)", page))
