"""Seeded judgments and runs of any size, written in pieces.

    python bench/workloads.py NAME FOLDER

A ranking never has two equal scores, also not as 32-bit floats, so that no tool's order of
ties can show; documents of the same query differ. About half of the judged documents are
retrieved, more of them near the top.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

_SEED = 20260101
_DOCUMENTS = 1 << 23  # a power of two: an odd stride never meets the same document twice
_PIECE = 2_000_000  # rows made at one time
_BYTES = 56  # the longest line, for the question whether the disk is large enough
_GRADES = (0, 0, 1, 1, 2, 3)


@dataclass(frozen=True)
class Workload:
    """One collection.

    Attributes:
        name: as on the command line.
        queries: how many queries.
        depth: documents in each ranking.
        judged: judgments of each query; a single one is relevant.
        prefix: what every document's id begins with.
        shuffled: whether the run is written in random order of its lines.
    """

    name: str
    queries: int
    depth: int
    judged: int
    prefix: str = ""
    shuffled: bool = False

    @property
    def rows(self) -> int:
        """Lines of the run."""
        return self.queries * self.depth

    @property
    def title(self) -> str:
        """The size, as a reader wants it."""
        return f"{self.queries:,} x {self.depth:,}{' shuffled' * self.shuffled}"


WORKLOADS = tuple(
    Workload(f"{name}{'-shuffled' * shuffled}", queries, depth, judged, prefix, shuffled)
    for name, queries, depth, judged, prefix in (
        ("small", 50, 1_000, 300, ""),
        ("passages", 6_980, 1_000, 1, ""),
        ("users", 50_000, 100, 20, "product-"),
        ("huge", 1_000_000, 100, 5, ""),
    )
    for shuffled in ((False,) if name == "huge" else (False, True))
)
"""All workloads, the small ones first."""


def files(workload: Workload, folder: Path) -> tuple[Path, Path]:
    """The judgments and the run of a workload, written if they are not there yet.

    Raises:
        SystemExit: the disk is too small.
    """
    settings = json.dumps({**asdict(workload), "seed": _SEED, "version": 2})
    home = folder / workload.name
    qrels, run, note = home / "qrels", home / "run", home / "made.json"
    if note.exists() and note.read_text() == settings:
        return qrels, run
    home.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(home).free < 2 * _BYTES * workload.rows:
        raise SystemExit(f"{workload.name}: not enough space in {home}.")
    _write(qrels, _judgments, workload)
    _write(run, _rankings, workload)
    if workload.shuffled:
        _shuffle(run)
    note.write_text(settings)
    return qrels, run


def _write(
    path: Path, make: Callable[[Workload, NDArray[np.int64]], pl.DataFrame], workload: Workload
) -> None:
    with path.open("wb") as out:
        for queries in _pieces(workload):
            make(workload, queries).write_csv(out, separator=" ", include_header=False, float_precision=6)


def _pieces(workload: Workload) -> Iterator[NDArray[np.int64]]:
    size = max(1, _PIECE // workload.depth)
    for begin in range(0, workload.queries, size):
        yield np.arange(begin, min(begin + size, workload.queries))


def _random(workload: Workload, queries: NDArray[np.int64], part: int) -> np.random.Generator:
    seed = (_SEED, workload.queries, workload.depth, workload.judged, int(queries[0]), part)
    return np.random.default_rng(seed)


def _document(queries: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
    """The document at a place of each query's own order of all documents."""
    first = (queries + 1) * 2_654_435_761
    stride = ((queries + 1) * 40_503 * 2 + 1) % _DOCUMENTS
    return (first + stride * place) % _DOCUMENTS


def _named(workload: Workload, documents: NDArray[np.int64]) -> pl.Series:
    return pl.select(pl.lit(workload.prefix) + pl.Series(documents).cast(pl.String)).to_series()


def _rankings(workload: Workload, queries: NDArray[np.int64]) -> pl.DataFrame:
    """Rows in rank order; the document at a rank is the one at that place of the order."""
    depth = workload.depth
    owner = np.repeat(queries, depth)
    position = np.tile(np.arange(depth), len(queries))
    step = 20 / depth
    noise = _random(workload, queries, 0).random(len(owner)) * step / 2
    score = (depth - position) * step + noise
    return pl.DataFrame(
        {
            "query_id": owner + 1_000_000,
            "Q0": pl.repeat("Q0", len(owner), eager=True),
            "doc_id": _named(workload, _document(owner, position)),
            "rank": position + 1,
            "score": score,
            "tag": pl.repeat("bench", len(owner), eager=True),
        }
    )


def _judgments(workload: Workload, queries: NDArray[np.int64]) -> pl.DataFrame:
    """Judged places, one from each of some intervals that grow with the rank."""
    random = _random(workload, queries, 1)
    J, pool = workload.judged, 2 * workload.depth
    count = np.arange(J + 1)
    edges = np.maximum(count, (pool * (count / J) ** 2).astype(np.int64))
    offset = random.random((len(queries), J)) ** 4 * np.diff(edges)
    position = edges[:-1] + offset.astype(np.int64)
    grade = np.ones(position.shape, int) if J == 1 else random.choice(_GRADES, position.shape)
    owner = np.repeat(queries, J)
    return pl.DataFrame(
        {
            "query_id": owner + 1_000_000,
            "iteration": np.zeros(len(owner), int),
            "doc_id": _named(workload, _document(owner, position.ravel())),
            "grade": grade.ravel(),
        }
    )


def _shuffle(path: Path) -> None:
    lines = pl.Series(path.read_bytes().decode().splitlines())
    order = np.random.default_rng(_SEED).permutation(len(lines))
    with path.open("w") as out:
        for begin in range(0, len(lines), _PIECE):
            piece = lines.gather(order[begin : begin + _PIECE])
            out.write("\n".join(piece.to_list()) + "\n")


def main() -> None:
    """Write one workload; say its size and where it is, a line each."""
    name, folder = sys.argv[1:]
    workload = next(entry for entry in WORKLOADS if entry.name == name)
    print(workload.title, *files(workload, Path(folder)), sep="\n")


if __name__ == "__main__":
    main()
