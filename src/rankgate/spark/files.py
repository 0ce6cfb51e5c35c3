"""Files of tables on Spark: their formats by their names, and how each is read."""

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
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv", ".json": "json",
    ".jsonl": "json", ".ndjson": "json",
}  # fmt: skip
_CORRUPT = "_corrupt_record"  # Spark's column of lines that it cannot read
_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")


def paths_of(table: Any) -> list[str]:  # noqa: ANN401 - a path, several, or anything else
    """The paths that are given; none where it is something else."""
    if isinstance(table, str | Path):
        return [str(table)]
    several = isinstance(table, Sequence) and all(isinstance(each, str | Path) for each in table)
    return [str(each) for each in table] if several else []


def format_of(path: str) -> str:
    """The format of a file, or of the files in a folder, by their names."""
    place = Path(path)
    if place.is_dir():
        if (place / "_delta_log").is_dir():
            return "delta"
        inside = sorted(each for each in place.rglob("*") if each.is_file())
        shown = [each for each in inside if not each.name.startswith(("_", "."))]
        return format_of(str(shown[0])) if shown else "parquet"
    return _SUFFIXES.get(Path(_uncompressed(place.name.lower())).suffix, "trec")


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

    at = F.monotonically_increasing_id().alias("at")
    lines = text.select("value", at, *(each.alias(name) for name, each in file_place().items()))
    value = F.trim("value")
    wrong = (value != "") & (F.try_parse_json("value").isNull() | ~value.startswith("{"))
    row = lines.where(wrong).orderBy("file", "block", "at").first()
    if row is None:
        return
    same, block = F.col("file") == row.file, F.col("block")
    before = (block < row.block) | ((block == row.block) & (F.col("at") < row["at"]))
    line = lines.where(same & before).count() + 1
    file = local_path(row.file)
    found = json_text.parsed(row.value.strip().encode(), file, line)
    problem = f"{json_text.kind(found)}, where an object is needed."
    raise InputError(problem, source=file, line=line, code="wrong-type")


def local_path(file: str) -> str:
    """A path without the scheme of this machine's files."""
    return "/" + file.removeprefix("file:").lstrip("/") if file.startswith("file:") else file


def file_place() -> dict[str, Column]:
    """The columns that say in which part of which file a row is."""
    from pyspark.sql import functions as F

    names = {"file": "_metadata.file_path", "block": "_metadata.file_block_start"}
    return {name: F.col(path) for name, path in names.items()}


def _is_nested(paths: Sequence[str]) -> bool:
    """Whether files are in folders of folders that are no partitions (``day=2026-03-02``)."""
    inside = [each for path in paths if Path(path).is_dir() for each in Path(path).iterdir()]
    folders = [each for each in inside if each.is_dir() and each.name[0] not in "_."]
    return bool(folders) and not any("=" in each.name for each in folders)


def label_of(paths: Sequence[str]) -> str:
    """What errors call files."""
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def stem_of(path: str) -> str:
    """The name of a file without its suffixes."""
    name = _uncompressed(path.rstrip("/").rpartition("/")[2])
    stem, _, suffix = name.rpartition(".")
    known = {*_SUFFIXES, ".trec", ".run", ".qrels", ".txt"}
    return stem if stem and f".{suffix.lower()}" in known else name


def _uncompressed(name: str) -> str:
    """A name without the suffixes of compression."""
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return name
