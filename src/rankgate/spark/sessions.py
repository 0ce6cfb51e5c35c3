"""Open Spark sessions, check PySpark and Java, and translate Spark's exceptions into errors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import (
    InputError,
    MissingExtraError,
    RankgateError,
    UsageError,
    install_command,
    require,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_FILE = re.compile(r"(?:file:|hdfs:|s3a?:|abfss?:|gs:)/+[^\s,;'\")]+")
_FAILURES: tuple[tuple[tuple[str, ...], type[RankgateError], str, str], ...] = (
    (
        ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE", "PARSE_SYNTAX_ERROR"),
        InputError,
        "no-such-file",
        "no such file or table.",
    ),
    (
        ("FILE_NOT_EXIST", "FileNotFoundException"),
        InputError,
        "no-such-file",
        "the file is gone; it was there when the table was listed, or the table's log has it.",
    ),
    (("UNABLE_TO_INFER_SCHEMA",), InputError, "empty-file", "no files with rows here."),
    (
        ("Failed to find the data source: delta",),
        UsageError,
        "missing-package",
        (
            "Spark has no Delta; give it the package io.delta:delta-spark_2.13 of its version "
            "(spark.jars.packages)."
        ),
    ),
    (
        ("CSV header does not conform to the schema", "Number of column in CSV header"),
        InputError,
        "wrong-header",
        "the columns differ from those of the other files; write all with one header.",
    ),
    (
        ("Cannot run program",),
        UsageError,
        "python-missing",
        "executors cannot start Python; set PYSPARK_PYTHON to a program that all of them have.",
    ),
    (
        ("native zStandard library not available",),
        InputError,
        "unsupported-compression",
        "this Spark cannot read text that zstd compressed; compress it with gzip.",
    ),
    (
        (
            "PARQUET_COLUMN_DATA_TYPE_MISMATCH",
            "SchemaColumnConvertNotSupported",
            "CANNOT_MERGE_SCHEMAS",
            "INCOMPATIBLE_TYPES",
        ),
        InputError,
        "wrong-type",
        "a column has another type than in the other files; write them with one schema.",
    ),
    (
        ("FAILED_READ_FILE", "CANNOT_READ_FILE_FOOTER", "is not a Parquet file", "MALFORMED"),
        InputError,
        "damaged-file",
        "the file is damaged and cannot be read; write it again, or leave it out.",
    ),
    (
        ("No module named 'rankgate", "No module named 'polars", "No module named 'pyarrow"),
        UsageError,
        "executors-lack-rankgate",
        (
            "executors have no rankgate; install 'rankgate[spark]' there, or send an environment with "
            "--archives."
        ),
    ),
    (
        ("ExecutorLostFailure", "Python worker exited unexpectedly", "MetadataFetchFailed"),
        UsageError,
        "executors-lost",
        (
            "executors ended during the work, again and again, mostly for lack of memory; give them more "
            "(spark.executor.memory, spark.executor.memoryOverhead), or set more partitions."
        ),
    ),
    (
        ("is bigger than spark.driver.maxResultSize",),
        UsageError,
        "result-too-large",
        "the result is larger than the driver accepts; set a larger spark.driver.maxResultSize.",
    ),
    (
        ("SparkContext was shut down", "Answer from Java side is empty", "while sending or receiving"),
        UsageError,
        "spark-ended",
        "Spark ended during the work; see the log of its driver, and start again.",
    ),
)
"""Texts in Spark's exceptions, and the error for each; the first match counts."""

_VERSIONS = ("rankgate: executors run Python", "PYTHON_VERSION_MISMATCH")


@contextmanager
def translate_errors(label: str) -> Iterator[None]:
    """Turn errors of Spark into ours; `label` names the input.

    Raises:
        InputError: a file that is missing, damaged, or has different types than the other files.
        UsageError: executors lack rankgate, run another Python, or were lost; Spark ended.
    """
    try:
        yield
    except RankgateError:
        raise
    except Exception as error:
        known_error = find_known_failure(str(error), label)
        if known_error is None:
            raise
        raise known_error from error


def find_known_failure(text: str, label: str) -> RankgateError | None:
    """The error for the text of a Spark exception; None for unknown texts."""
    if any(word in text for word in _VERSIONS):
        match = re.search(r"executors run Python [^\n]*", text)
        statement = match.group(0) if match else "executors run another Python than the driver"
        problem = f"{statement}; set PYSPARK_PYTHON to the same version everywhere."
        return UsageError(problem, code="python-versions-differ")
    for known_words, kind, code, problem in _FAILURES:
        if any(word in text for word in known_words):
            if issubclass(kind, InputError):
                return kind(problem, source=_file_in(text) or label, code=code)
            return kind(problem, code=code)
    first_line = next(iter(text.strip().splitlines()), "")
    if "Job aborted" in text and "Traceback" not in text:  # a traceback is of our own code
        return UsageError(f"Spark gave up: {first_line}", code="spark-failed")
    return None


def _file_in(text: str) -> str:
    match = _FILE.search(text)
    return re.sub(r"^file:/+", "/", match.group(0)).rstrip(".") if match else ""


MIN_JAVA = 17
"""The lowest version of Java that Spark 4 accepts."""

_DEFAULT_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.executorEnv.POLARS_MAX_THREADS": "1",  # a task has one core
}
"""Settings of sessions that rankgate opens; a session of the user keeps its own settings."""


def pyspark() -> Any:  # noqa: ANN401 - the module
    """PySpark.

    Raises:
        MissingExtraError: it is not installed, or too old.
    """
    require("Spark needs PySpark 4", "pyspark")
    module = import_module("pyspark")
    version = str(getattr(module, "__version__", ""))
    if version.startswith(("2.", "3.")):
        message = f"Spark needs PySpark 4, and this is {version}; {install_command('pyspark')}."
        raise MissingExtraError(message)
    return module


PARTITIONS, KEEP = "spark.rankgate.partitions", "spark.rankgate.keepValues"
"""Settings of a session that are ours; ``spark-submit --conf`` takes them too."""


def session(
    master: str | None = None,
    settings: dict[str, str] | None = None,
    *,
    name: str = "rankgate",
    partitions: int | None = None,
    keep_values: bool | None = None,
) -> SparkSession:
    """The session that is active, or a new one; verbs measure tables on Spark in it.

    Args:
        master: such as ``local[2]`` or ``spark://host:7077``; without it that of ``spark-submit``,
            or all cores of this machine.
        settings: the settings of Spark, in addition to ours; they have no effect on a session that
            is active.
        name: the name of the application.
        partitions: the largest number of parallel tasks from now on; 0 is one for 48 MB of input,
            as in a new session. By default unchanged.
        keep_values: True if values of single queries are kept, in memory and on the executors'
            disks, as `rankgate.evaluate` makes them, from now on; a new session does not have them,
            and makes them again on first use. Without it, as it was.

    Raises:
        MissingExtraError: PySpark is not installed.
        UsageError: Java is missing or too old; the master cannot be reached; partitions below 0.
    """
    if partitions is not None and partitions < 0:
        raise UsageError(f"partitions are 0 or more, not {partitions}.", code="out-of-range")
    spark = _session(master, settings, name)
    if partitions is not None:
        spark.conf.set(PARTITIONS, str(partitions))
    if keep_values is not None:
        spark.conf.set(KEEP, str(keep_values).lower())
    return spark


def partitions(spark: SparkSession) -> int:
    """The session's number of parallel tasks; 0 if it is not set.

    Raises:
        UsageError: the setting is not a number.
    """
    setting = spark.conf.get(PARTITIONS, "0") or "0"
    if not setting.isdigit():
        raise UsageError(f"{PARTITIONS} is {setting!r}; give a number.", code="out-of-range")
    return int(setting)


def keeps_values(spark: SparkSession) -> bool:
    """True if the session keeps values of single queries.

    Raises:
        UsageError: the setting is neither true nor false.
    """
    setting = (spark.conf.get(KEEP, "false") or "false").lower()
    if setting not in ("true", "false"):
        raise UsageError(f"{KEEP} is {setting!r}; it is true or false.", code="unknown-choice")
    return setting == "true"


def _session(master: str | None, settings: dict[str, str] | None, name: str) -> SparkSession:
    pyspark()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    check_java()
    master_url = master or os.environ.get("MASTER") or "local[*]"
    if master_url.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark has no setting for this
    builder: Any = SparkSession.builder
    for key, value in {**_DEFAULT_SETTINGS, **_local(master_url), **(settings or {})}.items():
        builder = builder.config(key, value)
    if master is not None or "PYSPARK_GATEWAY_PORT" not in os.environ:  # spark-submit has its own
        builder = builder.master(master_url)
    try:
        spark: SparkSession = builder.appName(name).getOrCreate()
    except Exception as error:
        line = next(iter(str(error).strip().splitlines()), type(error).__name__)
        problem = f"no Spark session at {master_url}: {line}; check the master and Java."
        raise UsageError(problem, code="spark-unavailable") from error
    spark.sparkContext.setLogLevel("OFF")  # errors are raised, so the log can be quiet
    return spark


def _local(master: str) -> dict[str, str]:
    """The settings of a session on this machine: no other host, and workers that start quickly."""
    if not master.startswith("local"):
        return {}
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.python.daemon.module": "rankgate.spark.worker_daemon",
    }


def check_java() -> None:
    """Check that Java is installed and new enough.

    Raises:
        UsageError: Java is missing, or too old.
    """
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    fix = f"install Java {MIN_JAVA} or newer, or set JAVA_HOME to it."
    if program is None or not Path(program).exists():
        location = f" at JAVA_HOME, {home}" if home else ""
        raise UsageError(f"Spark needs Java, which was not found{location}; {fix}", code="java-missing")
    try:
        process = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    except OSError as error:
        problem = f"{program} cannot be run: {error.strerror}; {fix}"
        raise UsageError(problem, code="java-missing") from None
    quoted_parts = process.stderr.split('"')
    number = quoted_parts[1].split(".")[0].split("-")[0] if len(quoted_parts) > 1 else ""
    if number.isdigit() and int(number) < MIN_JAVA:
        problem = f"Spark 4 needs Java {MIN_JAVA}, and {program} is Java {quoted_parts[1]}; {fix}"
        raise UsageError(problem, code="java-too-old")
