"""A scorecard of a million users, alone and with slices of 50,000 users, within 3 GB.

    python bench/recommending_card.py               1,000,000 users; ten minutes alone
    python bench/recommending_card.py --users N

The lists, judgments and training are those of ``recommending.py``, as Parquet files: 100 items, 20
relevant ones and 20 of training a user. `rankgate scorecard` computes what it does by default,
with 8 resamples; then the same with a table of users whose column has 20 values. Exit code 1: a
scorecard takes 3 GB or more.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from measure import Measured, once
from recommending_lists import made

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

WORK = Path(__file__).parent / "work"
USERS, PARTS, PIECE = 1_000_000, 20, 50_000
MOST = 3e9  # bytes
LIMIT = 3600.0  # seconds


def main() -> int:
    """Measure both and print; 1 if one takes too much memory."""
    parser = argparse.ArgumentParser(description="Measure the memory of scorecards.")
    parser.add_argument("--users", type=int, default=USERS)
    options = parser.parse_args()
    home = files(options.users)
    program = str(Path(sys.executable).with_name("rankgate"))
    card = [program, "scorecard", str(home / "qrels.parquet"), str(home / "run.parquet")]
    card += ["--train", str(home / "train.parquet"), "--resamples", "8", "--format", "json"]
    sliced = [*card, "--users", str(home / "users.csv"), "--slice", "group"]
    measurements = {"alone": once(card, LIMIT), f"with {PARTS} slices of users": once(sliced, LIMIT)}
    text = markdown(options.users, measurements)
    print(text)
    return int(max(measurement.resident for measurement in measurements.values()) >= MOST)


def files(users: int) -> Path:
    """The folder of judgments, run, training and users, written piece by piece."""
    lists, relevant, training = made(users, WORK)
    home = lists.parent
    _written(home / "run.parquet", lists, ("query_id", "doc_id"), _scores)
    _written(home / "qrels.parquet", relevant, ("query_id", "doc_id"), _grades)
    _written(home / "train.parquet", training, ("user_id", "item_id"), lambda _: {})
    ids = np.arange(users)
    pl.DataFrame({"user_id": ids, "group": ids % PARTS}).write_csv(home / "users.csv")
    return home


def _scores(table: NDArray[np.int32]) -> dict[str, Any]:
    return {"score": np.tile(np.arange(table.shape[1], 0, -1.0), len(table))}


def _grades(table: NDArray[np.int32]) -> dict[str, Any]:
    return {"grade": np.ones(table.size, np.int64)}


def _written(
    into: Path, matrix: Path, names: tuple[str, str], more: Callable[[NDArray[np.int32]], dict[str, Any]]
) -> None:
    """A matrix of items as rows of a user and an item."""
    if into.exists():
        return
    table, writer = np.load(matrix, mmap_mode="r"), None
    partly = into.with_suffix(".part")
    for begin in range(0, len(table), PIECE):
        piece = table[begin : begin + PIECE]
        users = np.repeat(np.arange(begin, begin + len(piece)), piece.shape[1])
        rows = pl.DataFrame({names[0]: users, names[1]: piece.ravel(), **more(piece)})
        arrow = rows.with_columns(pl.col(*names).cast(pl.String)).to_arrow()
        writer = writer or pq.ParquetWriter(partly, arrow.schema)
        writer.write_table(arrow)
    assert writer is not None
    writer.close()
    partly.rename(into)


def markdown(users: int, found: dict[str, Measured]) -> str:
    """The table."""
    lines = [
        f"| scorecard of {users:,} users | wall s | CPU s | anonymous MB | resident MB |",
        "| :-- | --: | --: | --: | --: |",
    ]
    for name, measurement in found.items():
        wall = "—" if measurement.wall is None else f"{measurement.wall:.0f}"
        cells = [name, wall, f"{measurement.cpu:.0f}"]
        cells += [f"{size / 1e6:,.0f}" for size in (measurement.memory, measurement.resident)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
