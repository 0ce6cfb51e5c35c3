"""Write a split to files: training set, test set, judgments, candidates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.target import replace_file

if TYPE_CHECKING:
    from rankgate.recommenders.split import Fold, Split

SUFFIXES = ("csv", "parquet")
"""The formats of the parts."""


@dataclass(frozen=True, eq=False)
class FoldTables:
    """The tables of one fold, read when they are written.

    Attributes:
        logs: the interactions of each part.
        qrels: judgments by their name.
        candidates: sampled ones by the name of their table; empty where none were drawn.
    """

    logs: Mapping[str, pl.LazyFrame]
    qrels: Mapping[str, pl.LazyFrame]
    candidates: Mapping[str, pl.LazyFrame]

    @classmethod
    def of(cls, fold: Fold) -> FoldTables:
        """The tables of a fold in memory."""
        parts = {"train": fold.train, "validation": fold.validation, "test": fold.test}
        judged = [qrels for qrels in (fold.tuning, fold.judgments) if qrels is not None]
        if not judged:
            problem = "this split has figures only; split the log again for its tables."
            raise UsageError(problem, code="no-table")
        candidate_sample = fold.sample
        return cls(
            {name: log.table.lazy() for name, log in parts.items() if log is not None},
            {qrels.name: qrels.table.lazy() for qrels in judged},
            {candidate_sample.name: candidate_sample.marked.lazy()} if candidate_sample else {},
        )


def write_split(result: Split, folder: str | Path, format_name: str = "csv") -> tuple[str, ...]:
    """Write every part: interactions, judgments (as CSV), candidates where they were drawn.

    A split of several folds gets a folder for each, from 1; ``split.json`` describes the
    split.
    made.

    Args:
        result: the split.
        folder: the target; it is made if it does not exist.
        format_name: ``csv`` or ``parquet``, of the interactions and candidates.

    Returns:
        the names of the files, in the order of writing.

    Raises:
        UsageError: no such format, or a folder that cannot be made.
    """
    top = folder_for(folder, format_name)
    return write_tables(result, [FoldTables.of(fold) for fold in result.folds], top, format_name)


def folder_for(folder: str | Path, format_name: str) -> Path:
    """The folder of the parts, made if it does not exist.

    Raises:
        UsageError: no such format, or a folder that cannot be made.
    """
    if format_name not in SUFFIXES:
        raise UsageError(
            f"parts are written as {' or '.join(SUFFIXES)}, not as '{format_name}'.",
            code="unknown-format",
        )
    return _make_folder(Path(folder))


def write_tables(
    result: Split, folds: list[FoldTables], top: Path, format_name: str
) -> tuple[str, ...]:
    """Write the tables of every fold, and the figures; return the names of the files."""
    names = []
    for number, tables in enumerate(folds, 1):
        fold_folder = _make_folder(top / str(number)) if len(folds) > 1 else top
        file_names = [
            *(
                _write_table(
                    readable_interactions(table, result.unit, whole=_is_whole(table, "at")),
                    fold_folder,
                    name,
                    format_name,
                )
                for name, table in tables.logs.items()
            ),
            *(
                _write_table(
                    readable_judgments(table, whole=_is_whole(table, "grade")),
                    fold_folder,
                    f"{name}.qrels",
                    "csv",
                )
                for name, table in tables.qrels.items()
            ),
            *(
                _write_table(table, fold_folder, name, format_name)
                for name, table in tables.candidates.items()
            ),
        ]
        names += [str((fold_folder / name).relative_to(top)) for name in file_names]
    with replace_file(top / "split.json") as stream:
        stream.write(json.dumps(result.to_dict(), ensure_ascii=False, indent=2).encode() + b"\n")
    return (*names, "split.json")


def _make_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be made: {error.strerror}.", code="cannot-write"
        ) from None
    return folder


def readable_interactions(table: pl.LazyFrame, unit: str, *, whole: bool) -> pl.LazyFrame:
    """The interactions without empty columns, times in readable form.

    Args:
        table: the columns of `Interactions`.
        unit: the unit of times.
        whole: True if all times are whole numbers of seconds, or of positions.
    """
    if unit == "none":
        return table.drop("at")
    times = pl.col("at")
    if unit in {"order", "place"}:
        return table.with_columns(times // 1_000_000 if whole else times / 1e6)
    form = "%Y-%m-%dT%H:%M:%SZ" if whole else "%Y-%m-%dT%H:%M:%S%.6fZ"
    return table.with_columns(times.cast(pl.Datetime("us")).dt.strftime(form))


def readable_judgments(table: pl.LazyFrame, *, whole: bool) -> pl.LazyFrame:
    """Judgments in readable form.

    Args:
        table: the columns of `Qrels`.
        whole: True if all grades are whole numbers.
    """
    return table.with_columns(pl.col("grade").cast(pl.Int64)) if whole else table


def _is_whole(table: pl.LazyFrame, name: str) -> bool:
    """True if all numbers of a column are whole; times are in millionths."""
    holds = pl.col(name) % (1_000_000 if name == "at" else 1) == 0
    return bool(table.select(holds.all()).collect(engine="streaming").item())


def _write_table(table: pl.LazyFrame, folder: Path, name: str, suffix: str) -> str:
    with replace_file(folder / f"{name}.{suffix}") as stream:
        table.sink_parquet(stream) if suffix == "parquet" else table.sink_csv(stream)
    return f"{name}.{suffix}"
