"""Seeded lists of recommendations, what was relevant, and what users had before.

    python bench/recommending_lists.py USERS FOLDER

Three matrices of item codes with a row a user: the list, best first; the relevant items, half of
them on the list; the items of training, none of them on the list. Some items are shown far more
often than others. No row names an item twice.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SEED = 20260102
ITEMS = 50_000
DEPTH, RELEVANT, BEFORE = 100, 20, 20
NAMES = ("lists", "relevant", "before")


def made(users: int, folder: Path) -> list[Path]:
    """The files of the three matrices, written if they are not there yet."""
    home = folder / f"recommending-{users}"
    paths = [home / f"{name}.npy" for name in NAMES]
    note, settings = home / "made.json", json.dumps({"users": users, "seed": _SEED, "version": 1})
    if not (note.exists() and note.read_text() == settings):
        home.mkdir(parents=True, exist_ok=True)
        for path, table in zip(paths, _tables(users), strict=True):
            np.save(path, table)
        note.write_text(settings)
    return paths


def _tables(users: int) -> list[NDArray[np.int32]]:
    """Rising walks around a circle of items: the list, then unseen relevant ones, then others."""
    random = np.random.default_rng(_SEED)
    missed = RELEVANT // 2
    walk = random.integers(1, 250, (users, DEPTH + missed + BEFORE), dtype=np.int32)
    walk[:, 0] = random.random(users) ** 3 * ITEMS  # most begin among the first items
    items = np.cumsum(walk, axis=1, dtype=np.int32) % ITEMS
    tenth = DEPTH // (RELEVANT - missed)
    positions = np.arange(0, DEPTH, tenth) + random.integers(0, tenth, (users, RELEVANT - missed))
    lists, unseen_relevant, history = np.split(items, [DEPTH, DEPTH + missed], axis=1)
    hits = np.take_along_axis(lists, positions, axis=1)
    return [lists, np.concatenate([hits, unseen_relevant], axis=1), history]


def read(paths: list[str]) -> list[NDArray[np.int32]]:
    """The three matrices."""
    return [np.load(path) for path in paths]


if __name__ == "__main__":
    print(*made(int(sys.argv[1]), Path(sys.argv[2])), sep="\n")
