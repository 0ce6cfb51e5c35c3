"""The option ``--backend spark``: tables on Spark in place of a command's files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankgate.core.errors import UsageError
from rankgate.data.collection import Collection
from rankgate.data.formats import registry
from rankgate.data.qrels import Qrels
from rankgate.data.run import Run
from rankgate.data.spark_tables import SparkTable
from rankgate.measurement.evaluation.scores import Scores, refuse_with_scores
from rankgate.online.events.events import Events
from rankgate.spark.sessions import session, translate_errors
from rankgate.spark.table_rows import format_of

_NAMES: Mapping[str | None, str] = {"jsonl": "json"}
"""Names of formats that Spark names otherwise."""


@contextmanager
def on_spark(master: str | None, arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Open a session for one command, and put tables on Spark into the command's arguments.

    The verb of the command then measures on Spark, and refuses features that Spark does not have.

    Args:
        master: the master of Spark; None means the master of ``spark-submit``, or this machine.
        arguments: the arguments of the command: a collection and runs, a log, or events.

    Raises:
        UsageError: the session cannot be opened, or Spark failed.
    """
    spark = session(master)
    try:
        with translate_errors("Spark"):
            yield {name: _table(name, value) for name, value in arguments.items()}
    finally:
        with suppress(Exception):  # Spark may have ended already
            spark.stop()


def _table(name: str, value: Any) -> Any:  # noqa: ANN401 - any argument
    """The argument, with tables on Spark in place of its files."""
    if isinstance(value, Collection):
        shop = replace(value.items, table=_large_file(value.items.table))
        side_tables = {side: _large_file(getattr(value, side)) for side in ("training", "users")}
        return replace(value, judgments=_file(value.judgments), items=shop, **side_tables)
    if isinstance(value, Scores):
        refuse_with_scores("--backend")
    if isinstance(value, Events):
        return replace(value, log=_log(value.log))
    if name in {"runs", "candidates"} and isinstance(value, tuple):
        return tuple(map(_file, value))
    is_table = name in {"log", "run", "baseline", "candidate"} and not isinstance(value, bool | None)
    return _file(value) if is_table else value


def _large_file(table: Any) -> Any:  # noqa: ANN401 - a path, or a value
    """A file that only Spark reads; other formats of training, items and users are read locally."""
    if not isinstance(table, str | Path):
        return table
    form, path = registry.split_prefix(table)
    return _file(table) if form is None and format_of(str(path)) in {"parquet", "delta"} else table


def _log(log: Any) -> SparkTable:  # noqa: ANN401 - as of `_file`
    """The files of a log as a table on Spark; file names give the format, the same for all.

    Raises:
        UsageError: files of several formats.
    """
    if not isinstance(log, list | tuple):
        return _file(log)
    names, paths = zip(*(registry.split_prefix(path) for path in log), strict=True)
    if len({*names}) > 1:
        problem = "files of a log have one format on Spark; convert them, or read them one by one."
        raise UsageError(problem, code="mixed-formats")
    return SparkTable([str(path) for path in paths], _NAMES.get(names[0], names[0]))


def _file(table: Any) -> SparkTable:  # noqa: ANN401 - a path, FORMAT:PATH, several, or a value
    """A file as a table on Spark.

    Raises:
        UsageError: the input is not a file: a table of a project, or a run with earlier runs,
            repeats, noise or seeds.
    """
    if isinstance(table, Run | Qrels):
        raise UsageError(
            f"{table.name}: on Spark judgments and runs are files, without a project, and without earlier "
            "runs, repeats, noise or seeds of a run; leave these options out.",
            code="unused-option",
        )
    form, path = registry.split_prefix(table) if isinstance(table, str | Path) else (None, table)
    return SparkTable(path, _NAMES.get(form, form))
