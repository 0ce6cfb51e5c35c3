"""Turn exceptions of Spark into the errors of rankgate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from rankgate.core.errors import InputError, RankgateError, UsageError

_FILE = re.compile(r"(?:file:|hdfs:|s3a?:|abfss?:|gs:)/+[^\s,;'\")]+")
_FAILURES: tuple[tuple[tuple[str, ...], type[RankgateError], str, str], ...] = (
    (
        (
            "PATH_NOT_FOUND",
            "TABLE_OR_VIEW_NOT_FOUND",
            "REQUIRES_SINGLE_PART_NAMESPACE",
            "PARSE_SYNTAX_ERROR",
        ),
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
            "executors have no rankgate; install 'rankgate[spark]' there, or send an environment "
            "with --archives."
        ),
    ),
)
"""Words in exceptions of Spark, and the errors that they mean; the first that fits counts."""

_VERSIONS = ("rankgate: executors run Python", "PYTHON_VERSION_MISMATCH")


@contextmanager
def translate_errors(label: str) -> Iterator[None]:
    """Turn errors of Spark into ours; `label` names the input.

    Raises:
        InputError: a file that is missing, damaged, or has other types than the others.
        UsageError: executors lack rankgate, or run another Python.
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
    """The error that a text of Spark's means; None for unknown texts."""
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
    return None


def _file_in(text: str) -> str:
    match = _FILE.search(text)
    return re.sub(r"^file:/+", "/", match.group(0)).rstrip(".") if match else ""
