"""A seeded log of any size and lists for its users, as Parquet, written in pieces.

    python bench/splitting_log.py ROWS FOLDER

A hundred interactions a user, of 200,000 items, some far more popular than others; rows are in
the order of time, so that a user's are all over the file. The lists hold a hundred items each.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

_SEED = 20260103
_PIECE = 2_000_000
ITEMS, EACH, DEPTH = 200_000, 100, 100
BEGIN, SECONDS = 1_600_000_000, 100_000_000


def made(rows: int, folder: Path) -> tuple[Path, Path]:
    """The log and the run, written if they are not there yet."""
    home = folder / f"splitting-{rows}"
    log, run = home / "log.parquet", home / "run.parquet"
    note, settings = home / "made.json", json.dumps({"rows": rows, "seed": _SEED, "version": 1})
    if not (note.exists() and note.read_text() == settings):
        home.mkdir(parents=True, exist_ok=True)
        _written(log, rows, lambda begin, many: _interactions(begin, many, rows))
        _written(run, rows // EACH * DEPTH, _lists)
        note.write_text(settings)
    return log, run


def _written(path: Path, rows: int, make: Callable[[int, int], pl.DataFrame]) -> None:
    """A file of some rows; its pieces lie next to it until they are put together."""
    parts = path.with_suffix("")
    parts.mkdir(exist_ok=True)
    for number, begin in enumerate(range(0, rows, _PIECE)):
        piece = make(begin, min(_PIECE, rows - begin))
        piece.write_ipc(parts / f"{number:04}.arrow", compression="lz4")
    pl.scan_ipc(sorted(parts.iterdir())).sink_parquet(path, row_group_size=1_000_000)
    shutil.rmtree(parts)


def _interactions(begin: int, many: int, rows: int) -> pl.DataFrame:
    random = np.random.default_rng((_SEED, begin))
    offsets = begin + np.sort(random.integers(0, many, many))
    return pl.DataFrame(
        {
            "user_id": pl.Series(random.integers(0, rows // EACH, many)).cast(pl.String),
            "item_id": pl.Series(_popular(random, many)).cast(pl.String),
            "timestamp": BEGIN + offsets * SECONDS // rows,
        }
    )


def _lists(begin: int, many: int) -> pl.DataFrame:
    random = np.random.default_rng((_SEED, begin, 1))
    users = np.arange(begin, begin + many) // DEPTH
    steps = random.integers(1, ITEMS // DEPTH // 2, (many // DEPTH, DEPTH))
    first = _popular(random, many // DEPTH)
    items = (first[:, None] + np.cumsum(steps, axis=1)) % ITEMS
    return pl.DataFrame(
        {
            "query_id": pl.Series(users).cast(pl.String),
            "doc_id": pl.Series(items.ravel()).cast(pl.String),
            "score": np.tile(np.arange(DEPTH, 0.0, -1), many // DEPTH),
        }
    )


def _popular(random: np.random.Generator, many: int) -> np.ndarray:
    return (random.random(many) ** 3 * ITEMS).astype(np.int64)


if __name__ == "__main__":
    print(*made(int(sys.argv[1]), Path(sys.argv[2])), sep="\n")
