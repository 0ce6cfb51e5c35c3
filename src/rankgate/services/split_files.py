"""The parts of a split as files: what is learned from, what is predicted, what may be ranked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.target import replacing
from rankgate.errors import UsageError

if TYPE_CHECKING:
    from rankgate.data.interactions import Interactions
    from rankgate.data.qrels import Qrels
    from rankgate.services.split import Fold, Split

SUFFIXES = ("csv", "parquet")
"""The formats of the parts."""


def written(told: Split, folder: str | Path, to: str = "csv") -> tuple[str, ...]:
    """Write every part: interactions, judgments (as CSV), candidates where they were drawn.

    A split of several folds gets a folder for each, from 1 on; ``split.json`` says how it was
    made.

    Args:
        told: the split.
        folder: where to; it is made if it is not there.
        to: ``csv`` or ``parquet``, of the interactions and candidates.

    Returns:
        the names of the files, in the order of writing.

    Raises:
        UsageError: no such format, or a folder that cannot be made.
    """
    if to not in SUFFIXES:
        raise UsageError(f"parts are written as {' or '.join(SUFFIXES)}, not as '{to}'.")
    top = Path(folder)
    names = []
    for number, fold in enumerate(told.folds, 1):
        place = top / str(number) if len(told.folds) > 1 else top
        _made(place)
        names += [str((place / name).relative_to(top)) for name in _fold(fold, place, to)]
    with replacing(top / "split.json") as out:
        out.write(json.dumps(told.to_dict(), ensure_ascii=False, indent=2).encode() + b"\n")
    return (*names, "split.json")


def _made(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{place}: cannot be made: {error.strerror}.") from None


def _fold(fold: Fold, place: Path, to: str) -> list[str]:
    names = []
    for name, log in (("train", fold.train), ("validation", fold.validation), ("test", fold.test)):
        if log is not None:
            names.append(_table(_public(log), place, name, to))
    judged = [qrels for qrels in (fold.tuning, fold.judgments) if qrels is not None]
    names += [_table(_judged(qrels), place, f"{qrels.name}.qrels", "csv") for qrels in judged]
    if fold.sample:
        mark = pl.lit(fold.sample.mark).alias("candidates")
        candidates = fold.sample.table.with_columns(mark)
        names.append(_table(candidates, place, f"candidates.sampled-{fold.sample.negatives}", to))
    return names


def _public(log: Interactions) -> pl.DataFrame:
    """The interactions without columns that say nothing, times as people read them."""
    table = log.table
    if not log.timed:
        return table.drop("at")
    whole = bool((table["at"] % 1_000_000 == 0).all())
    if log.unit in {"order", "place"}:
        bare = pl.col("at") // 1_000_000 if whole else pl.col("at") / 1e6
        return table.with_columns(bare.alias("at"))
    form = "%Y-%m-%dT%H:%M:%SZ" if whole else "%Y-%m-%dT%H:%M:%S%.6fZ"
    return table.with_columns(pl.col("at").cast(pl.Datetime("us")).dt.strftime(form))


def _judged(qrels: Qrels) -> pl.DataFrame:
    grade = pl.col("grade")
    exact = bool((qrels.table["grade"] % 1 == 0).all())
    return qrels.table.with_columns(grade.cast(pl.Int64) if exact else grade)


def _table(table: pl.DataFrame, place: Path, name: str, to: str) -> str:
    with replacing(place / f"{name}.{to}") as out:
        table.write_parquet(out) if to == "parquet" else table.write_csv(out)
    return f"{name}.{to}"
