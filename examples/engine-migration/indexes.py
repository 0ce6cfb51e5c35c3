"""Simulate an index of vectors that is to be replaced by a smaller one; all grades are known.

python indexes.py              write the runs and the judgments of the old lists into ``indexes``
python indexes.py rate FILE    judge the documents of a pool, as a person would

The old index searches all vectors. The new one has vectors of 8 bits and a graph: ``graph.run`` misses
a few documents anywhere; ``broken.run`` misses as many, but always the same ones, which the graph cannot
reach: they are the best ones of their queries.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

QUERIES, NEIGHBOURS, SIZE, SHOWN = 400, 40, 24, 20
FOLDER = Path("indexes")


def world() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors of queries and of the documents near each, and the grades of these from 0 to 3."""
    random = np.random.default_rng(5)
    queries = random.normal(size=(QUERIES, SIZE))
    documents = queries[:, None] + random.normal(size=(QUERIES, NEIGHBOURS, SIZE)) * 1.2
    similarity = np.einsum("qs,qds->qd", queries, documents) / np.linalg.norm(documents, axis=2)
    order = np.argsort(np.argsort(-similarity + random.normal(0, 0.35, similarity.shape), axis=1), axis=1)
    return queries, documents, np.clip(3 - order // 3, 0, 3)


def lists(queries: np.ndarray, documents: np.ndarray, missed: np.ndarray | None = None) -> tuple:
    """The first documents by cosine, without those that a search misses, and their scores."""
    scores = np.einsum("qs,qds->qd", queries, documents) / np.linalg.norm(documents, axis=2)
    scores /= np.linalg.norm(queries, axis=1)[:, None]
    missed = np.zeros(scores.shape, bool) if missed is None else missed
    order = np.argsort(np.where(missed, 9.0, -scores), axis=1)[:, :SHOWN]
    return order, np.take_along_axis(scores, order, axis=1)


def main() -> None:
    """Write the runs, and the judgments of the old lists."""
    FOLDER.mkdir(exist_ok=True)
    queries, documents, grades = world()
    random = np.random.default_rng(8)
    step = np.abs(documents).max() / 127
    small = np.round(documents / step) * step
    first = lists(queries, small)[0]
    missed = random.random(grades.shape) < 0.014
    unreachable = np.zeros(grades.shape, bool)
    broken = random.choice(QUERIES, int(missed.sum() * 10 / NEIGHBOURS), replace=False)
    unreachable[broken, first[broken, 0]] = True
    for name, (order, scores) in {
        "old": lists(queries, documents),
        "int8": lists(queries, small),
        "graph": lists(queries, small, missed),
        "broken": lists(queries, small, unreachable),
    }.items():
        lines = (
            f"q{q} Q0 d{q}-{d} {rank + 1} {scores[q, rank]:.5f} {name}\n"
            for (q, rank), d in np.ndenumerate(order)
        )
        (FOLDER / f"{name}.run").write_text("".join(lines))
    old = lists(queries, documents)[0][:, :10]
    judged = (f"q{q} 0 d{q}-{d} {grades[q, d]}\n" for (q, _), d in np.ndenumerate(old))
    (FOLDER / "old.qrels").write_text("".join(judged))


def rate(pool: str) -> None:
    """Judge the documents of a pool, after those that were judged before."""
    grades = world()[2]
    pairs = pl.read_csv(pool).select("query_id", "doc_id").rows()
    path = Path(pool).with_suffix(".qrels")
    path.write_text("".join(f"{q} 0 {d} {grades[tuple(map(int, d[1:].split('-')))]}\n" for q, d in pairs))


if __name__ == "__main__":
    rate(sys.argv[2]) if len(sys.argv) > 2 else main()
