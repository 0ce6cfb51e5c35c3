"""One Spark session for all tests of a process."""

import gc
import math
import os
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

CACHES = ("~/.ivy2.5.2/jars", "~/.ivy2/jars", "~/.m2/repository/io/delta")
"""Where Spark (``spark.jars.packages``) and Maven keep the jars that they fetched."""

QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of Java for tests: what a long optimisation would gain, a short program never earns."""


def delta_settings():
    """What gives a session Delta; nothing where there are no jars of it for this PySpark.

    The jars are searched in the folder RANKGATE_DELTA_JARS, and in `CACHES`.
    """
    release = ".".join(version("pyspark").split(".")[:2])
    folders = [Path(path).expanduser() for path in (os.environ.get("RANKGATE_DELTA_JARS"), *CACHES) if path]
    for folder in folders:
        jars = [
            max(folder.rglob(f"*{name}-{release}.*.jar"), default=None)
            for name in ("delta-spark_2.13", "delta-storage")
        ]
        if None not in jars:
            catalogue = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
            return {
                "spark.jars": ",".join(map(str, jars)),
                "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
                "spark.sql.catalog.spark_catalog": catalogue,
            }
    return {}


def there(table):
    """A table on Spark: paths and names as tables of files, frames and dicts as DataFrames."""
    from rankgate import spark as program
    from rankgate.data import read_qrels
    from rankgate.data.spark_tables import is_on_spark
    from rankgate.spark.table_rows import to_spark

    if is_on_spark(table):
        return table
    if isinstance(table, str | Path | list):
        return program.table(table)
    if isinstance(table, dict):
        table = read_qrels(table).table
    return to_spark(program.session(), table)


def measured(verb, *values, partitions=0, keep_values=False, **options):
    """What a verb gives in the session of the process, with these settings."""
    from rankgate.spark import session

    session(partitions=partitions, keep_values=keep_values)
    return verb(*values, **options)


def assert_equal(local, other, path="result"):
    """Two plain values are equal, numbers to 1e-12."""
    if isinstance(local, dict):
        assert list(local) == list(other), path
        for name, value in local.items():
            assert_equal(value, other[name], f"{path}.{name}")
    elif isinstance(local, list | tuple):
        assert len(local) == len(other), (path, local, other)
        for index, (value, other_value) in enumerate(zip(local, other, strict=True)):
            assert_equal(value, other_value, f"{path}[{index}]")
    elif isinstance(local, float) and isinstance(other, float):
        assert math.isclose(local, other, rel_tol=1e-12, abs_tol=1e-12), (path, local, other)
    else:
        assert local == other, (path, local, other)


@pytest.fixture(scope="module")
def spark(spark_session):
    """The session of the process, for a module whose marks ignore warnings of open sockets."""
    yield spark_session
    gc.collect()  # PySpark leaves sockets open: they are not to fail the tests of another module


@pytest.fixture(scope="session")
def spark_session():
    """A session on two cores of this machine."""
    from rankgate.spark import session

    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": " ".join(QUICK_START),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        **delta_settings(),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        active_session = session("local[2]", settings)
        yield active_session
        active_session.stop()
