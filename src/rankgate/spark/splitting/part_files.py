"""Files of a Spark split: parts written by executors, with folder names as on one machine.

Executors write the parts by themselves, as the local engine writes them. The folders have the
names that the files of one machine have.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.recommenders.split_files import SUFFIXES, readable_interactions, readable_judgments
from rankgate.spark.shuffle import map_partitions
from rankgate.spark.splitting.packed_rows import JUDGMENTS, TEST, TRAIN, TUNING, VALIDATION, unpack_rows
from rankgate.spark.worker import ERROR

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from rankgate.recommenders.split import Split
    from rankgate.spark.shuffle import Columns
    from rankgate.spark.splitting.spark_split import SparkParts


_TIMES = {"none": "", "order": "at bigint, ", "place": "at bigint, "}


@dataclass(frozen=True)
class PartTable:
    """One table of a split in the form for readers.

    Attributes:
        fold: the fold of the split, from 0 on.
        part: the part of the fold.
        name: the name of its folder.
        form: ``csv`` or ``parquet``.
        unit: the unit of times.
        whole: True if all times, or grades, are whole numbers.
    """

    fold: int
    part: int
    name: str
    form: str
    unit: str
    whole: bool

    def readable_rows(self, table: pl.DataFrame) -> pl.DataFrame:
        """Rows in the form for readers."""
        if self.part in {TUNING, JUDGMENTS}:
            return readable_judgments(table.lazy(), whole=self.whole).collect()
        return readable_interactions(table.lazy(), self.unit, whole=self.whole).collect()

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
        """The rows of a partition."""
        for _, table in unpack_rows(batches):
            yield self.readable_rows(table)

    def rows(self, frame: DataFrame) -> DataFrame:
        """The rows as a DataFrame, for file systems that Spark writes.

        Args:
            frame: all parts, packed.
        """
        from pyspark.sql import functions as F

        part_rows = frame.where((F.col("part") == self.part) & (F.col("fold") == self.fold))
        if self.part in {TUNING, JUDGMENTS}:
            columns = f"query_id string, doc_id string, grade {'bigint' if self.whole else 'double'}"
        else:
            time_column = _TIMES.get(self.unit, "at string, ")
            time_column = time_column if self.whole else time_column.replace("bigint", "double")
            columns = f"query_id string, doc_id string, {time_column}kind string, value double"
        return map_partitions(part_rows.select("stretch", "rows"), self, columns)


def write_on_executors(frame: DataFrame, tables: Sequence[PartTable], folder: Path) -> None:
    """Write tables in one pass; each folder appears when it is complete.

    Each attempt of a task writes to new file names, and the driver uses only the files that
    successful tasks report: failed and duplicate attempts leave no files.

    Args:
        frame: all parts, packed.
        tables: the tables to write.
        folder: the target, which executors can access too.

    Raises:
        OSError: a folder that cannot be written, or that executors cannot access.
    """
    from pyspark.sql import functions as F

    work = folder / f".writing-{uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        work.mkdir()
        part_rows = frame.where(F.col("part").isin([table.part for table in tables]))
        writing = _Writing(str(work), tuple(tables))
        rows = map_partitions(part_rows.select("fold", "part", "rows"), writing, "totals string").collect()
        reports = [json.loads(row.totals) for row in rows]
        for report in reports:
            if ERROR in report:
                raise OSError(report[ERROR]["problem"])
        files = [written_file for written_files in reports for written_file in written_files]
        for number, table in enumerate(tables):
            table_folder = work / str(number)
            table_folder.mkdir()
            for report in files:
                if report["table"] == number:
                    _move_file(
                        work / report["file"], report, table_folder / f"part-{report['task']:05}.{table.form}"
                    )
            (table_folder / "_SUCCESS").touch()
        for number, table in enumerate(tables):
            final = folder / table.name
            final.parent.mkdir(exist_ok=True)
            if final.is_dir():
                shutil.rmtree(final)
            (work / str(number)).replace(final)
    finally:
        # a late attempt of a lost executor can create files while the folder has this name
        with suppress(OSError):
            work = work.rename(f"{work}-ended")
        shutil.rmtree(work, ignore_errors=True)


def _move_file(file: Path, written_file: dict[str, Any], final: Path) -> None:
    """Move a file that an executor wrote.

    Raises:
        OSError: the file does not exist, or is incomplete.
    """
    if not file.is_file() or file.stat().st_size != written_file["size"]:
        problem = "executors do not see this folder; name one that all machines see."
        raise OSError(problem)
    file.replace(final)


@dataclass(frozen=True)
class _Writing:
    """Write packed parts, as a task of executors.

    Attributes:
        folder: the folder of its files.
        tables: the tables to write.
    """

    folder: str
    tables: tuple[PartTable, ...]

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Columns]:
        """The names and sizes of the written files, as text.

        Raises:
            UsageError: a file cannot be written, for example because the disk is full.
        """
        try:
            yield {"totals": [json.dumps(self._written(batches))]}
        except OSError as error:
            raise UsageError(error.strerror or str(error), code="cannot-write") from None

    def _written(self, batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
        import io

        import polars as pl
        from pyspark import TaskContext

        context = TaskContext.get()
        task = context.partitionId() if context else 0
        places = {(table.fold, table.part): i for i, table in enumerate(self.tables)}
        files: dict[int, _TableFile] = {}
        with ExitStack() as stack:
            for batch in batches:
                keys = zip(*(batch.column(name).to_pylist() for name in ("fold", "part")), strict=True)
                for key, value in zip(keys, batch.column("rows"), strict=True):
                    number = places[key]
                    if number not in files:
                        path = Path(self.folder) / f"{task}-{number}-{uuid4().hex}"
                        files[number] = stack.enter_context(_TableFile(path, self.tables[number]))
                    files[number].add(pl.read_ipc_stream(io.BytesIO(value.as_buffer())))
        return [
            {"table": i, "task": task, "file": table_file.path.name, "size": table_file.path.stat().st_size}
            for i, table_file in files.items()
        ]


class _TableFile:
    """A file of one table, written piece by piece."""

    def __init__(self, path: Path, table: PartTable) -> None:
        self.path = path
        self._table = table
        self._stream = path.open("wb")
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
        self._stream.close()

    def add(self, rows: pl.DataFrame) -> None:
        """Write some rows."""
        readable_rows = self._table.readable_rows(rows)
        if self._table.form == "csv":
            readable_rows.write_csv(self._stream, include_header=not self._stream.tell())
            return
        import polars as pl
        import pyarrow.parquet as pq

        table = readable_rows.to_arrow(compat_level=pl.CompatLevel.oldest())
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._stream, table.schema)
        self._writer.write_table(table)


_NAMES = {
    TRAIN: "train",
    VALIDATION: "validation",
    TEST: "test",
    TUNING: "validation.qrels",
    JUDGMENTS: "test{mark}.qrels",
}


def write_split(figures: Split, result: SparkParts, folder: str, form: str) -> tuple[str, ...]:
    """Write every part, and ``split.json`` when all of them are complete.

    Executors write the parts by themselves if they can access the folder as files.

    Args:
        figures: the figures of the split.
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
    """The tables of all folds, except candidates."""
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
    """A folder of this machine's file system; None for other file systems."""
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
    """Write the figures through the cluster's file system."""
    text = json.dumps(figures.to_dict(), ensure_ascii=False, indent=2) + "\n"
    spark: Any = result.spark
    path = spark._jvm.org.apache.hadoop.fs.Path(path_text)  # noqa: SLF001 - there is no other way
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001
    stream = system.create(path, True)  # noqa: FBT003 - overwrite
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()
