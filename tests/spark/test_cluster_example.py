"""The example prints the same table twice."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "examples" / "cluster" / "run.py"


@pytest.mark.slow
def test_spark_and_one_machine_print_the_same_table(tmp_path):
    pytest.importorskip("pyspark", reason="PySpark is not installed: make spark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none")
    command = [sys.executable, PROGRAM, "--rows", "20000", "--master", "local[2]"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=400, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-2000:]
    spark, local = done.stdout.partition("one machine")[::2]
    table = [line for line in spark.splitlines()[1:] if line]
    assert table == [line for line in local.splitlines()[1:] if line and line != "equal"]
