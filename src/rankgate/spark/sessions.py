"""Open Spark sessions, with clear errors where PySpark or Java is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import MissingExtraError, UsageError
from rankgate.core.extras import install_command, require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_JAVA = 17
"""What Spark 4 asks for."""

_OURS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # a task has one core
}
"""Settings of sessions that rankgate opens; a session of the user's own keeps its own."""


def pyspark() -> Any:  # noqa: ANN401 - the module
    """PySpark.

    Raises:
        MissingExtraError: it is not installed, or too old.
    """
    require("Spark needs PySpark 4", "pyspark")
    found = import_module("pyspark")
    version = str(getattr(found, "__version__", ""))
    if version.startswith(("2.", "3.")):
        message = f"Spark needs PySpark 4, and this is {version}; {install_command('pyspark')}."
        raise MissingExtraError(message)
    return found


def session(
    master: str | None = None, settings: dict[str, str] | None = None, *, name: str = "rankgate"
) -> SparkSession:
    """The session that is active, or a new one.

    Args:
        master: such as ``local[2]`` or ``spark://host:7077``; without it that of ``spark-submit``,
            or all cores of this machine.
        settings: of Spark, in addition to ours; they have no effect on a session that is active.
        name: of the application.

    Raises:
        MissingExtraError: PySpark is not installed.
        UsageError: Java is missing or too old; the master cannot be reached.
    """
    pyspark()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    check_java()
    place = master or os.environ.get("MASTER") or "local[*]"
    if place.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # no setting says so
    builder: Any = SparkSession.builder
    for key, value in {**_OURS, **_local(place), **(settings or {})}.items():
        builder = builder.config(key, value)
    if master is not None or "PYSPARK_GATEWAY_PORT" not in os.environ:  # spark-submit has its own
        builder = builder.master(place)
    try:
        opened: SparkSession = builder.appName(name).getOrCreate()
    except Exception as error:
        line = next(iter(str(error).strip().splitlines()), type(error).__name__)
        problem = f"no Spark session at {place}: {line}; check the master and Java."
        raise UsageError(problem, code="spark-unavailable") from error
    opened.sparkContext.setLogLevel("OFF")  # errors are raised, and need no log
    return opened


def _local(master: str) -> dict[str, str]:
    """What a session on this machine needs: no other host."""
    if not master.startswith("local"):
        return {}
    return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def check_java() -> None:
    """Check that Java is there and new enough.

    Raises:
        UsageError: it is missing, or too old.
    """
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    fix = f"install Java {LEAST_JAVA} or newer, or set JAVA_HOME to it."
    if program is None or not Path(program).exists():
        where = f" at JAVA_HOME, {home}" if home else ""
        raise UsageError(
            f"Spark needs Java, which was not found{where}; {fix}", code="java-missing"
        )
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    except OSError as error:
        problem = f"{program} cannot be run: {error.strerror}; {fix}"
        raise UsageError(problem, code="java-missing") from None
    words = done.stderr.split('"')
    number = words[1].split(".")[0].split("-")[0] if len(words) > 1 else ""
    if number.isdigit() and int(number) < LEAST_JAVA:
        problem = f"Spark 4 needs Java {LEAST_JAVA}, and {program} is Java {words[1]}; {fix}"
        raise UsageError(problem, code="java-too-old")
