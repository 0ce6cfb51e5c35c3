"""The example prints the same table twice."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "examples" / "cluster" / "run.py"


@pytest.mark.slow
@pytest.mark.separate
@pytest.mark.pyspark
@pytest.mark.java
def test_spark_and_one_machine_print_the_same_table(tmp_path):
    command = [sys.executable, PROGRAM, "--rows", "20000", "--master", "local[2]"]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400, cwd=tmp_path)
    assert process.returncode == 0, process.stderr[-2000:]
    spark, local = process.stdout.partition("one machine")[::2]
    table = [line for line in spark.splitlines()[1:] if line]
    assert table == [line for line in local.splitlines()[1:] if line and line != "equal"]
