"""Files of tables on Spark: formats by file name, and readers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, UsageError
from rankgate.data.text import json_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FORMATS = ("parquet", "delta", "csv", "tsv", "json", "trec")
_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_CORRUPT = "_corrupt_record"  # Spark's column of lines that it cannot read
_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")


def paths_of(table: Any) -> list[str]:  # noqa: ANN401 - a path, several, or anything else
    """The given paths; empty for any other input."""
    if isinstance(table, str | Path):
        return [str(table)]
    is_list_of_paths = isinstance(table, Sequence) and all(
        isinstance(path, str | Path) for path in table
    )
    return [str(path) for path in table] if is_list_of_paths else []


def format_of(path: str) -> str:
    """The format of a file, or of the files in a folder, by their names."""
    folder = Path(path)
    if folder.is_dir():
        if (folder / "_delta_log").is_dir():
            return "delta"
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        visible = [file for file in files if not file.name.startswith(("_", "."))]
        return format_of(str(visible[0])) if visible else "parquet"
    return _SUFFIXES.get(Path(_uncompressed(folder.name.lower())).suffix, "trec")


def refuse_unknown(form: str) -> None:
    """Check a format.

    Raises:
        UsageError: an unknown format.
    """
    if form not in FORMATS:
        problem = f"Spark reads no format {form!r}; it reads {', '.join(FORMATS)}."
        raise UsageError(problem, code="unknown-format")


def read_files(spark: SparkSession, paths: list[str], form: str) -> DataFrame:
    """The rows of files of one of `FORMATS`; of TREC the lines, in ``value``.

    Raises:
        InputError: a line of a JSON file is not an object, with the line.
    """
    if form == "delta":
        return spark.read.format(form).load(paths[0] if len(paths) == 1 else paths)
    reader = spark.read.option("recursiveFileLookup", str(_is_nested(paths)))
    if form == "trec":
        return reader.text(paths)
    if form in {"csv", "tsv"}:
        separator = "\t" if form == "tsv" else ","
        # columns in another order in one of the files are an error, not other values
        return reader.csv(paths, header=True, sep=separator, escape='"', enforceSchema=False)
    table = reader.format(form).load(paths)
    if form == "json" and _CORRUPT in table.columns:
        _refuse_line(reader.text(paths))
    return table


def _refuse_line(text: DataFrame) -> None:
    """Raise the error of the first line that is not a JSON object.

    Raises:
        InputError: always, but if Spark refused a line that is one.
    """
    from pyspark.sql import functions as F

    row_number = F.monotonically_increasing_id().alias("at")
    lines = text.select(
        "value", row_number, *(column.alias(name) for name, column in file_columns().items())
    )
    value = F.trim("value")
    is_wrong = (value != "") & (F.try_parse_json("value").isNull() | ~value.startswith("{"))
    row = lines.where(is_wrong).orderBy("file", "block", "at").first()
    if row is None:
        return
    is_same_file, block = F.col("file") == row.file, F.col("block")
    is_before = (block < row.block) | ((block == row.block) & (F.col("at") < row["at"]))
    line = lines.where(is_same_file & is_before).count() + 1
    file = local_path(row.file)
    parsed_value = json_text.parse_json(row.value.strip().encode(), file, line)
    problem = f"{json_text.describe_type(parsed_value)}, where an object is needed."
    raise InputError(problem, source=file, line=line, code="wrong-type")


def local_path(file: str) -> str:
    """A path without the scheme of this machine's files."""
    return "/" + file.removeprefix("file:").lstrip("/") if file.startswith("file:") else file


def file_columns() -> dict[str, Column]:
    """The columns with a row's file and its block in the file."""
    from pyspark.sql import functions as F

    names = {"file": "_metadata.file_path", "block": "_metadata.file_block_start"}
    return {name: F.col(path) for name, path in names.items()}


def _is_nested(paths: Sequence[str]) -> bool:
    """True if files are in folders of folders that are no partitions (``day=2026-03-02``)."""
    children = [child for path in paths if Path(path).is_dir() for child in Path(path).iterdir()]
    folders = [child for child in children if child.is_dir() and child.name[0] not in "_."]
    return bool(folders) and not any("=" in folder.name for folder in folders)


def label_of(paths: Sequence[str]) -> str:
    """The name of files in errors."""
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def stem_of(path: str) -> str:
    """The name of a file without its suffixes."""
    name = _uncompressed(path.rstrip("/").rpartition("/")[2])
    stem, _, suffix = name.rpartition(".")
    known_suffixes = {*_SUFFIXES, ".trec", ".run", ".qrels", ".txt"}
    return stem if stem and f".{suffix.lower()}" in known_suffixes else name


def _uncompressed(name: str) -> str:
    """A name without the suffixes of compression."""
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return name
