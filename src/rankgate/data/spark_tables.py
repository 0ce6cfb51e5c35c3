"""Tables on Apache Spark: how they are written, recognised, and sent to the verbs there.

They are accepted as judgments, runs, logs and events. Verbs that measure on Spark ask `is_on_spark`
or `any_on_spark` and call `run_on_spark`; everything else reads tables on this machine, where the
list of adapters refuses them. Functions of `rankgate.spark` import PySpark; the check does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.lazy_names import ON_SPARK, load_name

_MAX_RUNS = 1000
"""Runs of one call, at most: a longer list is rows, a longer dictionary rankings of queries."""


@dataclass(frozen=True)
class SparkTable:
    """A table that Spark reads, where the verbs on one machine take a path or a frame.

    Attributes:
        source: a Spark DataFrame; a path, or a list of paths that are one table, of Parquet, Delta,
            CSV, TSV, JSON lines or TREC files; or ``table:NAME`` of the session's catalogue.
        format: the format of the files: parquet, delta, csv, tsv, json or trec; of a log also those
            that `rankgate.split` reads. By default it follows from the names of the files.

    Raises:
        UsageError: no source, or one of another type; a format of what is not a file.

    >>> SparkTable("run.parquet")
    SparkTable('run.parquet')
    >>> SparkTable(["a.txt", "b.txt"], format="trec")
    SparkTable(['a.txt', 'b.txt'], format='trec')
    """

    source: Any
    format: str | None = None

    def __post_init__(self) -> None:
        source = self.source
        if isinstance(source, list | tuple) and all(isinstance(path, str | Path) for path in source):
            self.__dict__["source"] = source = tuple(map(str, source))
        elif isinstance(source, Path):
            self.__dict__["source"] = source = str(source)
        is_file_source = isinstance(source, str | tuple)
        if not (source if is_file_source else _is_frame(source)):
            raise UsageError(
                "a table on Spark is a Spark DataFrame, a path, a list of paths or table:NAME, not "
                f"{type(source).__name__}; tables in memory are sent there as they are.",
                code="wrong-type",
            )
        if self.format is not None and (not is_file_source or str(source).startswith("table:")):
            raise UsageError(
                f"format {self.format!r} is for files, and this table has no file; leave it out.",
                code="conflicting-options",
            )

    def __repr__(self) -> str:
        source = list(self.source) if isinstance(self.source, tuple) else self.source
        source_text = repr(source) if isinstance(source, str | list) else "<DataFrame of Spark>"
        format_text = "" if self.format is None else f", format={self.format!r}"
        return f"{type(self).__name__}({source_text}{format_text})"


def _is_frame(source: object) -> bool:
    """True for a DataFrame of Spark, by the module of its class."""
    return type(source).__module__.startswith("pyspark.sql.")


def is_on_spark(source: object) -> bool:
    """True for a table on Spark: a `SparkTable` or a Spark DataFrame."""
    return isinstance(source, SparkTable) or _is_frame(source)


def path_of(table: object) -> object:
    """The path of a table on Spark of one file or folder; else the table itself."""
    return table.source if isinstance(table, SparkTable) else table


def any_on_spark(*sources: object) -> bool:
    """True if a table, or any table in a list or mapping of tables, is on Spark."""
    return any(is_on_spark(table) for source in sources for table in _tables(source))


def _tables(source: object) -> Iterable[object]:
    """The tables of a source, or its first rows or rankings, after a check for Spark."""
    if isinstance(source, list | tuple):
        return source[:_MAX_RUNS]
    if isinstance(source, Mapping):
        return islice(source.values(), _MAX_RUNS)
    return (source,)


def run_on_spark(verb: str, *values: Any, **options: Any) -> Any:
    """The result of a verb, or what the verb makes it from, computed on Spark from its arguments.

    Args:
        verb: the name of the verb in `ON_SPARK`.
        values: the verb's values.
        options: the verb's options.

    Raises:
        UsageError: a run with several seeds.
    """
    runs = [run[-1] if isinstance(run, tuple) else run for value in values for run in _tables(value)]
    if any(getattr(run, "seeds", ()) for run in runs):
        problem = "runs with several seeds are not put together on Spark; read them on one machine."
        raise UsageError(problem, code="on-spark")
    return load_name(ON_SPARK[verb])(*values, **options)


def refuse_on_spark(source: object) -> None:
    """Check that a table that is read on this machine is not on Spark.

    Raises:
        UsageError: the table is on Spark.
    """
    if is_on_spark(source):
        verbs = ", ".join(name for name in ON_SPARK if name != "click_counts")
        raise UsageError(
            f"{source!r:.80} is on Spark, but this is read on one machine; on Spark use {verbs} or gate; "
            "reports take their scores. Give a file, or a frame such as frame.toArrow().",
            code="on-spark",
        )
