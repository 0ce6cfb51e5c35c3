"""One Spark session for all tests of a process."""

import os
import shutil
import sys

import pytest


@pytest.fixture(scope="session")
def spark():
    """A session on two cores of this machine; its tests skip without PySpark or Java."""
    pytest.importorskip("pyspark.sql", reason="PySpark is not installed: make spark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none")
    from rankgate.spark import session

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    opened = session("local[2]", settings)
    yield opened
    opened.stop()
