"""Write a split from Spark: folders under the names of the files of one machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.recommenders.split_files import SUFFIXES
from rankgate.spark.splitting.part_files import PartTable, write_on_executors
from rankgate.spark.splitting.tables import JUDGMENTS, TEST, TRAIN, TUNING, VALIDATION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from rankgate.recommenders.split import Split
    from rankgate.spark.splitting.result import SparkParts


_NAMES = {
    TRAIN: "train",
    VALIDATION: "validation",
    TEST: "test",
    TUNING: "validation.qrels",
    JUDGMENTS: "test{mark}.qrels",
}


def write_split(figures: Split, result: SparkParts, folder: str, form: str) -> tuple[str, ...]:
    """Write every part, and ``split.json`` when all of them are complete.

    Executors write the parts by themselves where they see the folder as files.

    Args:
        figures: of the split.
        result: its parts.
        folder: a path or URL of the cluster's file system.
        form: ``csv`` or ``parquet``, of the interactions and candidates.

    Returns:
        the names of the folders, and of ``split.json``.

    Raises:
        UsageError: no such format, or a folder that cannot be written.
    """
    if form not in SUFFIXES:
        problem = f"parts are written as {' or '.join(SUFFIXES)}, not as '{form}'."
        raise UsageError(problem, code="unknown-format")
    mark = figures.candidates.replace("sampled(", ".sampled-").rstrip(")")
    mark = mark if mark.startswith(".") else ""
    tables = [*_tables(figures, result, form, mark)]
    names = [table.name for table in tables]
    try:
        local_folder = _local_folder(result, folder)
        if local_folder is not None:
            write_on_executors(result.kept[0], tables, local_folder)
        for table in tables if local_folder is None else ():
            _write(table.rows(result.kept[0]), f"{folder}/{table.name}", table.form)
        for number, fold in enumerate(result.folds, 1):
            if fold.candidates is not None:
                names.append(_file_name(result, number, f"candidates{mark}.{form}"))
                _write(fold.candidates, f"{folder}/{names[-1]}", form)
        _write_text(figures, result, f"{folder}/split.json")
    except Exception as error:
        line = str(error).strip().split("\n", 1)[0]
        raise UsageError(f"{folder}: cannot be written: {line}", code="cannot-write") from error
    return (*names, "split.json")


def _tables(figures: Split, result: SparkParts, log_form: str, mark: str) -> Iterator[PartTable]:
    """The tables of all folds but candidates."""
    for number, fold in enumerate(result.folds, 1):
        optional_parts = {VALIDATION: fold.validation, TUNING: fold.tuning}
        for part_number, name in _NAMES.items():
            if optional_parts.get(part_number, fold.train) is None:
                continue
            form = "csv" if part_number in {TUNING, JUDGMENTS} else log_form
            file_name = _file_name(result, number, f"{name.format(mark=mark)}.{form}")
            is_whole = part_number not in fold.broken
            yield PartTable(number - 1, part_number, file_name, form, figures.unit, is_whole)


def _file_name(result: SparkParts, fold: int, name: str) -> str:
    return f"{fold}/{name}" if len(result.folds) > 1 else name


def _local_folder(result: SparkParts, folder: str) -> Path | None:
    """A folder of this machine's file system; None for any other."""
    spark: Any = result.spark
    path = spark._jvm.org.apache.hadoop.fs.Path(folder)  # noqa: SLF001 - there is no other way
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
    if system.getUri().getScheme() != "file":
        return None
    return Path(system.makeQualified(path).toUri().getPath())


def _write(table: DataFrame, path: str, form: str) -> None:
    writer = table.write.mode("overwrite")
    if form == "csv":
        writer.csv(path, header=True, escape='"')
    else:
        writer.parquet(path)


def _write_text(figures: Split, result: SparkParts, path_text: str) -> None:
    """The figures, through the cluster's file system."""
    text = json.dumps(figures.to_dict(), ensure_ascii=False, indent=2) + "\n"
    spark: Any = result.spark
    path = spark._jvm.org.apache.hadoop.fs.Path(path_text)  # noqa: SLF001 - there is no other way
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
    stream = system.create(path, True)  # noqa: FBT003 - overwrite
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()
