"""Examples of all help with a damaged file or another number end with a stated exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.separate
def test_changed_inputs_end_with_a_stated_code():
    """`make fuzz` runs more of them."""
    command = [sys.executable, "fuzz/commands.py", "--inputs", "100", "--seed", "3"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "100 inputs" in result.stdout
