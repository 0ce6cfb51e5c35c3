"""Write a split to files: training set, test set, judgments, candidates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.target import replacing

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
        """Those of a fold in memory."""
        parts = {"train": fold.train, "validation": fold.validation, "test": fold.test}
        judged = [qrels for qrels in (fold.tuning, fold.judgments) if qrels is not None]
        if not judged:
            problem = "this split has figures only; split the log again for its tables."
            raise UsageError(problem, code="no-table")
        drawn = fold.sample
        return cls(
            {name: log.table.lazy() for name, log in parts.items() if log is not None},
            {qrels.name: qrels.table.lazy() for qrels in judged},
            {drawn.name: drawn.marked.lazy()} if drawn else {},
        )


def written(result: Split, folder: str | Path, to: str = "csv") -> tuple[str, ...]:
    """Write every part: interactions, judgments (as CSV), candidates where they were drawn.

    A split of several folds gets a folder for each, from 1 on; ``split.json`` says how it was
    made.

    Args:
        result: the split.
        folder: where to; it is made if it is not there.
        to: ``csv`` or ``parquet``, of the interactions and candidates.

    Returns:
        the names of the files, in the order of writing.

    Raises:
        UsageError: no such format, or a folder that cannot be made.
    """
    top = folder_for(folder, to)
    return saved(result, [FoldTables.of(fold) for fold in result.folds], top, to)


def folder_for(folder: str | Path, to: str) -> Path:
    """The folder of the parts, made if it is not there.

    Raises:
        UsageError: no such format, or a folder that cannot be made.
    """
    if to not in SUFFIXES:
        raise UsageError(
            f"parts are written as {' or '.join(SUFFIXES)}, not as '{to}'.", code="unknown-format"
        )
    return _made(Path(folder))


def saved(result: Split, folds: list[FoldTables], top: Path, to: str) -> tuple[str, ...]:
    """Write the tables of every fold, and the figures; the names of the files come back."""
    names = []
    for number, tables in enumerate(folds, 1):
        place = _made(top / str(number)) if len(folds) > 1 else top
        found = [
            *(
                _table(public(table, result.unit, whole=_whole(table, "at")), place, name, to)
                for name, table in tables.logs.items()
            ),
            *(
                _table(judged(table, whole=_whole(table, "grade")), place, f"{name}.qrels", "csv")
                for name, table in tables.qrels.items()
            ),
            *(_table(table, place, name, to) for name, table in tables.candidates.items()),
        ]
        names += [str((place / name).relative_to(top)) for name in found]
    with replacing(top / "split.json") as out:
        out.write(json.dumps(result.to_dict(), ensure_ascii=False, indent=2).encode() + b"\n")
    return (*names, "split.json")


def _made(place: Path) -> Path:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{place}: cannot be made: {error.strerror}.", code="cannot-write"
        ) from None
    return place


def public(table: pl.LazyFrame, unit: str, *, whole: bool) -> pl.LazyFrame:
    """The interactions without columns that say nothing, times as people read them.

    Args:
        table: the columns of `Interactions`.
        unit: what times were written in.
        whole: whether all times are whole numbers of seconds, or of what orders rows.
    """
    if unit == "none":
        return table.drop("at")
    at = pl.col("at")
    if unit in {"order", "place"}:
        return table.with_columns(at // 1_000_000 if whole else at / 1e6)
    form = "%Y-%m-%dT%H:%M:%SZ" if whole else "%Y-%m-%dT%H:%M:%S%.6fZ"
    return table.with_columns(at.cast(pl.Datetime("us")).dt.strftime(form))


def judged(table: pl.LazyFrame, *, whole: bool) -> pl.LazyFrame:
    """Judgments as people read them.

    Args:
        table: the columns of `Qrels`.
        whole: whether all grades are whole numbers.
    """
    return table.with_columns(pl.col("grade").cast(pl.Int64)) if whole else table


def _whole(table: pl.LazyFrame, name: str) -> bool:
    """Whether all numbers of a column are whole; times are in millionths."""
    holds = pl.col(name) % (1_000_000 if name == "at" else 1) == 0
    return bool(table.select(holds.all()).collect(engine="streaming").item())


def _table(table: pl.LazyFrame, place: Path, name: str, to: str) -> str:
    with replacing(place / f"{name}.{to}") as out:
        table.sink_parquet(out) if to == "parquet" else table.sink_csv(out)
    return f"{name}.{to}"
