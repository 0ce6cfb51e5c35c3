"""Write a split from Spark: folders under the names of the files of one machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.recommenders.split_files import SUFFIXES
from rankgate.spark.splitting.part_files import PartTable, written_by_executors
from rankgate.spark.splitting.tables import JUDGMENTS, TEST, TRAIN, TUNING, VALIDATION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from rankgate.spark.splitting.result import SparkSplit


_NAMES = {
    TRAIN: "train", VALIDATION: "validation", TEST: "test", TUNING: "validation.qrels",
    JUDGMENTS: "test{mark}.qrels",
}  # fmt: skip


def written(result: SparkSplit, folder: str, to: str) -> tuple[str, ...]:
    """Write every part, and ``split.json`` when all are there.

    Executors write the parts by themselves where the folder is one that they see as files.

    Args:
        result: the split.
        folder: a path or URL of the cluster's file system.
        to: ``csv`` or ``parquet``, of the interactions and candidates.

    Returns:
        the names of the folders, and of ``split.json``.

    Raises:
        UsageError: no such format, or a folder that cannot be written.
    """
    if to not in SUFFIXES:
        problem = f"parts are written as {' or '.join(SUFFIXES)}, not as '{to}'."
        raise UsageError(problem, code="unknown-format")
    mark = result.summary.candidates.replace("sampled(", ".sampled-").rstrip(")")
    mark = mark if mark.startswith(".") else ""
    tables = [*_tables(result, to, mark)]
    names = [each.name for each in tables]
    try:
        place = _local(result, folder)
        if place is not None:
            written_by_executors(result.kept[0], tables, place)
        for each in tables if place is None else ():
            _write(each.rows(result.kept[0]), f"{folder}/{each.name}", each.form)
        for number, fold in enumerate(result.folds, 1):
            if fold.candidates is not None:
                names.append(_named(result, number, f"candidates{mark}.{to}"))
                _write(fold.candidates, f"{folder}/{names[-1]}", to)
        _write_text(result, f"{folder}/split.json")
    except Exception as error:
        line = str(error).strip().split("\n", 1)[0]
        raise UsageError(f"{folder}: cannot be written: {line}", code="cannot-write") from error
    return (*names, "split.json")


def _tables(result: SparkSplit, to: str, mark: str) -> Iterator[PartTable]:
    """The tables of all folds but candidates."""
    for number, fold in enumerate(result.folds, 1):
        made = {VALIDATION: fold.validation, TUNING: fold.tuning}
        for part, name in _NAMES.items():
            if made.get(part, fold.train) is None:
                continue
            form = "csv" if part in {TUNING, JUDGMENTS} else to
            called = _named(result, number, f"{name.format(mark=mark)}.{form}")
            whole = part not in fold.broken
            yield PartTable(number - 1, part, called, form, result.summary.unit, whole)


def _named(result: SparkSplit, fold: int, name: str) -> str:
    return f"{fold}/{name}" if len(result) > 1 else name


def _local(result: SparkSplit, folder: str) -> Path | None:
    """A folder of this machine's file system; None for any other."""
    spark: Any = result.spark
    path = spark._jvm.org.apache.hadoop.fs.Path(folder)  # noqa: SLF001 - there is no other way
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
    if system.getUri().getScheme() != "file":
        return None
    return Path(system.makeQualified(path).toUri().getPath())


def _write(table: DataFrame, place: str, form: str) -> None:
    writer = table.write.mode("overwrite")
    if form == "csv":
        writer.csv(place, header=True, escape='"')
    else:
        writer.parquet(place)


def _write_text(result: SparkSplit, place: str) -> None:
    """The figures, through the cluster's file system."""
    text = json.dumps(result.summary.to_dict(), ensure_ascii=False, indent=2) + "\n"
    spark: Any = result.spark
    path = spark._jvm.org.apache.hadoop.fs.Path(place)  # noqa: SLF001 - there is no other way
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
    out = system.create(path, True)  # noqa: FBT003 - overwrite
    try:
        out.write(bytearray(text.encode()))
    finally:
        out.close()
