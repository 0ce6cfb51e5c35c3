"""Files of tables on Spark: their formats by their names, and how each is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FORMATS = ("parquet", "delta", "csv", "tsv", "json", "trec")
_SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv", ".json": "json",
    ".jsonl": "json", ".ndjson": "json",
}  # fmt: skip
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
    """The rows of files of one of `FORMATS`; of TREC the lines, in ``value``."""
    if form == "delta":
        return spark.read.format(form).load(paths[0] if len(paths) == 1 else paths)
    reader = spark.read.option("recursiveFileLookup", str(_is_nested(paths)))
    if form == "trec":
        return reader.text(paths)
    if form in {"csv", "tsv"}:
        separator = "\t" if form == "tsv" else ","
        # columns in another order in one of the files are an error, not other values
        return reader.csv(paths, header=True, sep=separator, escape='"', enforceSchema=False)
    return reader.format(form).load(paths)


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
