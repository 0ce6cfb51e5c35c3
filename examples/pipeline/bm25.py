"""BM25 over the words that SQLite's FTS5 makes, with k1 and b as parameters.

FTS5 and Tantivy rank by BM25 with fixed k1 and b, so this example ranks by itself: FTS5 cuts texts
into words and stems them (Porter), this module counts. Words are cut as Lucene's English analyser
does: ``U.S.A`` and ``3.14`` are one word, ``'s`` goes, and so do 33 stop words.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import corpora
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# fmt: off
STOP = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
))
# fmt: on
_WORD = re.compile(r"\w+(?:(?:(?<=[^\W\d])[.':](?=[^\W\d])|(?<=\d)[.,;'](?=\d))\w+)*")
_TOKENIZER = "porter unicode61 tokenchars '.,:;''_'"


@dataclass(frozen=True)
class Index:
    """An inverted index.

    Attributes:
        ids: of the documents.
        postings: by word, the rows of the documents that have it, and how often.
        lengths: ``(n,)``, words of each document.
    """

    ids: list[str]
    postings: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]
    lengths: NDArray[np.float64]


def search(query: str, depth: int, index: str, k1: float, b: float) -> list[tuple[str, float]]:
    """The best documents by BM25, as Lucene computes it.

        Σ_w log(1 + (N − n_w + 0.5) / (n_w + 0.5)) · tf / (tf + k1 (1 − b + b · length / mean))

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009.
    """
    return _ranked(load(index), query, depth, k1, b)


def scores(found: Index, query: str, k1: float = 0.9, b: float = 0.4) -> NDArray[np.float64]:
    """The score of every document, ``(n,)``."""
    count, mean = len(found.ids), found.lengths.mean()
    total = np.zeros(count)
    for word, times in stems([query])[0].items():
        if word in found.postings:
            rows, often = found.postings[word]
            weight = np.log(1 + (count - len(rows) + 0.5) / (len(rows) + 0.5))
            norm = k1 * (1 - b + b * found.lengths[rows] / mean)
            total[rows] += times * weight * often / (often + norm)
    return total


def _ranked(found: Index, query: str, depth: int, k1: float, b: float) -> list[tuple[str, float]]:
    total = scores(found, query, k1, b)
    best = np.argsort(-total, kind="stable")[:depth]
    return [(found.ids[i], float(total[i])) for i in best if total[i] > 0]


def titles(query: str, depth: int, index: str) -> list[tuple[str, float]]:
    """The best documents by BM25 over their titles only."""
    return _ranked(load(index, "title"), query, depth, 0.9, 0.4)


@cache
def load(folder: str, field: str = "words") -> Index:
    """The index of a field of a collection, in memory."""
    documents = corpora.read(folder)
    counted = stems([each[field] for each in documents])
    postings: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for row, words in enumerate(counted):
        for word, times in words.items():
            postings[word][0].append(row)
            postings[word][1].append(times)
    return Index(
        [each["id"] for each in documents],
        {
            word: (np.array(rows), np.array(often, float))
            for word, (rows, often) in postings.items()
        },
        np.array([words.total() for words in counted], float),
    )


def stems(texts: Sequence[str]) -> list[Counter[str]]:
    """The words of texts as FTS5 has them in its index, with their counts."""
    counted: list[Counter[str]] = [Counter() for _ in texts]
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f'CREATE VIRTUAL TABLE t USING fts5(words, tokenize="{_TOKENIZER}")')
        database.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
        database.executemany("INSERT INTO t VALUES (?)", ((_kept(text),) for text in texts))
        for word, row in database.execute("SELECT term, doc FROM v"):
            counted[row - 1][word] += 1
    return counted


def _kept(text: str) -> str:
    words = (word.removesuffix("'s") for word in _WORD.findall(text.lower()))
    return " ".join(word for word in words if word and word not in STOP)
