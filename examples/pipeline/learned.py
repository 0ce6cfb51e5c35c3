"""A reranker that learns from other queries how much BM25, the bi-encoder and late interaction say.

Queries are cut into five parts by a hash of their text. The weights for a query are learned from
the four parts that it is not in, so that its own judgments say nothing about its list.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import bm25
import numpy as np
import vectors
from numpy.typing import NDArray

import rankgate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PARTS, DEPTH, STEPS, RATE, RIDGE = 5, 50, 400, 0.1, 0.001

Floats = NDArray[np.float64]


def rerank(query: str, candidates: Sequence[Mapping[str, Any]], index: str) -> dict[str, float]:
    """The candidates by a weighted sum of their features."""
    ids = [each["id"] for each in candidates]
    scores = features(query, ids, index) @ weights(index, crc32(query.encode()) % PARTS)
    return dict(zip(ids, scores.tolist(), strict=True))


def features(query: str, ids: Sequence[str], index: str) -> Floats:
    """For each document: BM25, cosine and late interaction; mean 0, deviation 1 over them."""
    found = vectors.load(index)
    rows = [found.places[doc_id] for doc_id in ids]
    words = bm25.scores(bm25.load(index), query)
    cosine = found.whole @ vectors.encoded(index, query)[0]
    late = vectors.late(query, [{"id": doc_id} for doc_id in ids], index)
    columns = [words[rows], cosine[rows], list(late.values())]
    table = np.array(columns, float).T
    return (table - table.mean(axis=0)) / (table.std(axis=0) + 1e-9)


@cache
def fused(query: str, index: str) -> Floats:
    """Reciprocal rank fusion of BM25 and cosine, over all documents, ``(n,)``."""
    found = vectors.load(index)
    lists = bm25.scores(bm25.load(index), query), found.whole @ vectors.encoded(index, query)[0]
    ranks = [np.argsort(np.argsort(-scores, kind="stable")) for scores in lists]
    return sum((1 / (61 + rank) for rank in ranks), np.zeros(len(found.ids)))


@cache
def weights(index: str, part: int) -> Floats:
    """What the queries outside a part teach: ListNet with a linear model.

    Source: Cao et al., Learning to Rank: From Pairwise to Listwise Approach, ICML 2007.
    """
    lessons = [each for other, each in _lessons(index) if other != part]
    found = np.zeros(3)
    for _ in range(STEPS):
        slope = RIDGE * found
        for table, wanted in lessons:
            given = np.exp(table @ found)
            slope += table.T @ (given / given.sum() - wanted) / len(lessons)
        found = found - RATE * slope
    return found


@cache
def _lessons(index: str) -> list[tuple[int, tuple[Floats, Floats]]]:
    """By query with a relevant candidate: its part, features, and the share of each grade."""
    folder = Path(index)
    table = rankgate.read_qrels(folder / "qrels.txt").table
    grades = {(q, d): g for q, d, g in table.select("query_id", "doc_id", "grade").iter_rows()}
    found = []
    for line in (folder / "queries.tsv").read_text(encoding="utf-8").splitlines():
        query_id, query = line.split("\t")
        best = np.argsort(-fused(query, index), kind="stable")[:DEPTH]
        ids = [vectors.load(index).ids[i] for i in best]
        wanted = np.array([max(grades.get((query_id, doc_id), 0), 0) for doc_id in ids], float)
        if wanted.any():
            lesson = features(query, ids, index), wanted / wanted.sum()
            found.append((crc32(query.encode()) % PARTS, lesson))
    return found
