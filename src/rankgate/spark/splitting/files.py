"""Write a split from Spark: folders under the names of the files of one machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rankgate.errors import UsageError
from rankgate.recommenders.split_files import SUFFIXES
from rankgate.spark.splitting.tables import JUDGMENTS, TEST, TRAIN, TUNING, VALIDATION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rankgate.spark.splitting.result import SparkFold, SparkSplit


def written(result: SparkSplit, folder: str, to: str) -> tuple[str, ...]:
    """Write every part, and ``split.json`` when all are there.

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
    names = []
    try:
        for number, fold in enumerate(result.folds, 1):
            place = f"{number}/" if len(result) > 1 else ""
            for name, table, form in _tables(fold, result, to):
                names.append(f"{place}{name}.{form}")
                _write(table, f"{folder}/{names[-1]}", form)
        _write_text(result, f"{folder}/split.json")
    except Exception as error:
        line = str(error).strip().split("\n", 1)[0]
        raise UsageError(f"{folder}: cannot be written: {line}", code="cannot-write") from error
    return (*names, "split.json")


def _tables(fold: SparkFold, result: SparkSplit, to: str) -> list[tuple[str, DataFrame, str]]:
    """The tables of a fold as people read them, each with its name and format."""
    summary = result.summary
    mark = summary.candidates.replace("sampled(", ".sampled-").rstrip(")")
    mark = mark if mark.startswith(".") else ""
    logs = {TRAIN: fold.train, VALIDATION: fold.validation, TEST: fold.test}
    names = {TRAIN: "train", VALIDATION: "validation", TEST: "test"}
    found = [
        (names[part], _public(table, summary.unit, whole=part not in fold.broken), to)
        for part, table in logs.items()
        if table is not None
    ]
    judged = {TUNING: fold.tuning, JUDGMENTS: fold.judgments}
    called = {TUNING: "validation.qrels", JUDGMENTS: f"test{mark}.qrels"}
    found += [
        (called[part], _judged(table, whole=part not in fold.broken), "csv")
        for part, table in judged.items()
        if table is not None
    ]
    if fold.candidates is not None:
        found.append((f"candidates{mark}", fold.candidates, to))
    return found


def _public(table: DataFrame, unit: str, *, whole: bool) -> DataFrame:
    """The interactions without columns that say nothing, times as people read them."""
    from pyspark.sql import functions as F

    if unit == "none":
        return table.drop("at")
    seconds = "(at - pmod(at, 1000000)) div 1000000"
    if unit in {"order", "place"}:
        return table.withColumn("at", F.expr(seconds if whole else "at / 1000000D"))
    epoch = "timestamp_ntz'1970-01-01 00:00:00'"  # no zone of a session changes it
    second = F.expr(f"timestampadd(SECOND, {seconds}, {epoch})")
    text = F.replace(second.cast("string"), F.lit(" "), F.lit("T"))
    broken = F.expr("concat('.', lpad(cast(pmod(at, 1000000) as string), 6, '0'))")
    return table.withColumn("at", F.concat(text, *([] if whole else [broken]), F.lit("Z")))


def _judged(table: DataFrame, *, whole: bool) -> DataFrame:
    from pyspark.sql import functions as F

    return table.withColumn("grade", F.col("grade").cast("bigint")) if whole else table


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
