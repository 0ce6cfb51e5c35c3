"""Turn what Spark raises into the errors of rankgate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from rankgate.errors import InputError, RankgateError, UsageError

_FILE = re.compile(r"(?:file:|hdfs:|s3a?:|abfss?:|gs:)/+[^\s,;'\")]+")
_MISSING = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND")
_OTHER_TYPES = (
    "PARQUET_COLUMN_DATA_TYPE_MISMATCH", "SchemaColumnConvertNotSupported", "CANNOT_MERGE_SCHEMAS",
    "INCOMPATIBLE_TYPES",
)  # fmt: skip
_DAMAGED = ("FAILED_READ_FILE", "CANNOT_READ_FILE_FOOTER", "is not a Parquet file", "MALFORMED")
_VERSIONS = ("rankgate: executors run Python", "PYTHON_VERSION_MISMATCH")
_LACKING = ("No module named 'rankgate", "No module named 'polars", "No module named 'pyarrow")


@contextmanager
def translated(label: str) -> Iterator[None]:
    """Errors of Spark become ours; `label` is what was read.

    Raises:
        InputError: a file that is missing, damaged, or has other types than the others.
        UsageError: executors lack rankgate, or run another Python.
    """
    try:
        yield
    except RankgateError:
        raise
    except Exception as error:
        found = known_failure(str(error), label)
        if found is None:
            raise
        raise found from error


def known_failure(text: str, label: str) -> RankgateError | None:
    """The error that a text of Spark's means; None if it is another."""
    file = _file_in(text) or label
    if any(word in text for word in _MISSING):
        return InputError("no such file or table.", source=file, code="no-such-file")
    if any(word in text for word in _OTHER_TYPES):
        problem = "a column has another type than in the other files; write them with one schema."
        return InputError(problem, source=file, code="wrong-type")
    if any(word in text for word in _DAMAGED):
        problem = "the file is damaged and cannot be read; write it again, or leave it out."
        return InputError(problem, source=file, code="damaged-file")
    if any(word in text for word in _VERSIONS):
        which = re.search(r"executors run Python [^\n]*", text)
        own = which.group(0) if which else "executors run another Python than the driver"
        problem = f"{own}; set PYSPARK_PYTHON to the same version everywhere."
        return UsageError(problem, code="python-versions-differ")
    if any(word in text for word in _LACKING):
        problem = (
            "executors have no rankgate; install 'rankgate[spark]' there, or send an environment "
            "with --archives."
        )
        return UsageError(problem, code="executors-lack-rankgate")
    return None


def _file_in(text: str) -> str:
    found = _FILE.search(text)
    return re.sub(r"^file:/+", "/", found.group(0)).rstrip(".") if found else ""
