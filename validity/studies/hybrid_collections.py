"""Seeded collections for hybrid search: documents of words and identifiers, with vectors of their topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Random = np.random.Generator

DOCUMENTS, TERMS, TOPICS, DEPTH = 2000, 1200, 24, 50
KINDS = ("exact", "words", "meaning")
"""A query names an identifier, has words of its documents, or words that mean the same."""


@dataclass(frozen=True)
class HybridCollection:
    """Judged queries and the lists of two searches.

    Attributes:
        name: what was drawn.
        texts: the texts of the queries, by id.
        judgments: ``query_id``, ``doc_id``, ``grade``.
        runs: ``query_id``, ``doc_id``, ``score`` of the search by words and by vectors.
    """

    name: str
    texts: dict[str, str]
    judgments: pl.DataFrame
    runs: dict[str, pl.DataFrame]


def make_collection(seed: int, queries: int) -> HybridCollection:
    """A collection whose shares of kinds, noise of vectors and lengths of documents are drawn too."""
    random = np.random.default_rng([80, seed])
    shares = random.dirichlet((2.0, 3.0, 2.0))
    noise, telling = random.uniform(0.1, 0.3), random.uniform(0.4, 1.0)
    meanings = _unit(
        random.normal(size=(DOCUMENTS, TOPICS))
        + 1.2 * random.normal(size=(60, TOPICS))[random.integers(60, size=DOCUMENTS)]
    )
    terms = _unit(random.normal(size=(TERMS, TOPICS)))
    base = -1.05 * np.log(np.arange(2, TERMS + 2)[random.permutation(TERMS)])
    chances = np.exp(base + 6.0 * meanings @ terms.T)
    chances /= chances.sum(axis=1, keepdims=True)
    lengths = np.maximum(random.lognormal(4.0, random.uniform(0.2, 0.6), DOCUMENTS), 8).astype(int)
    counts = random.multinomial(lengths, chances).astype(np.float64)
    codes = random.integers(DOCUMENTS // 3, size=DOCUMENTS)
    vectors = _unit(meanings + noise * _noise(random, meanings.shape))
    length_part = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    rarity = np.log(1 + (DOCUMENTS - (counts > 0).sum(axis=0) + 0.5) / ((counts > 0).sum(axis=0) + 0.5))
    bm25 = rarity * counts * 2.2 / (counts + length_part[:, None])
    code_weight = float(np.log(1 + DOCUMENTS / 3.5))
    texts, judged, lists = {}, [], {"words": [], "vectors": []}
    for number in range(queries):
        query_id, target = f"q{number}", int(random.integers(DOCUMENTS))
        kind = KINDS[random.choice(3, p=shares)]
        looks = kind if random.random() < telling else KINDS[random.choice(3)]
        size = {"exact": 1, "words": 4, "meaning": 8}[looks] + int(random.integers(0, 3))
        meaning = _unit(meanings[target] + 0.2 * _noise(random, TOPICS))
        weights = np.exp(base * (0.4 if kind == "meaning" else 0.8) + 7.0 * terms @ meaning)
        if kind == "words":
            weights = weights * (counts[target] > 0) + 1e-12
        used = random.choice(TERMS, size=size, p=weights / weights.sum())
        if kind == "meaning":  # other words for the same: some terms of the documents are replaced
            replaced = random.random(size) < 0.6
            used = np.where(replaced, random.integers(TERMS, size=size), used)
        words = bm25[:, used].sum(axis=1)
        text = " ".join(_word(term) for term in used)
        is_exact = kind == "exact"
        if is_exact:
            words = words + code_weight * (codes == codes[target])
            text = f"{_code(int(codes[target]))} {text}"
        seen = _unit(meaning + (2 if is_exact else 1.0) * noise * _noise(random, TOPICS))
        cosines = vectors @ seen
        grades = _grades(meanings @ meaning, codes == codes[target], random, is_exact=is_exact)
        texts[query_id] = text
        pool = set()
        for name, scores in (("words", words), ("vectors", (1 + cosines) / 2)):
            top = np.argsort(-scores, kind="stable")[:DEPTH]
            top = top[scores[top] > 0]
            pool.update(top.tolist())
            lists[name].append(_rows(query_id, top, np.float32(scores[top]), "score"))
        shown = np.array(sorted(pool | set(np.flatnonzero(grades).tolist())))
        judged.append(_rows(query_id, shown, grades[shown], "grade"))
    name = " ".join(f"{share:.0%} {kind}" for kind, share in zip(KINDS, shares, strict=True))
    return HybridCollection(
        name, texts, pl.concat(judged), {name: pl.concat(tables) for name, tables in lists.items()}
    )


def _grades(closeness: Floats, has_code: NDArray[np.bool_], random: Random, *, is_exact: bool) -> Floats:
    """Grades from 0 to 3: the nearest documents by meaning, or those with the identifier."""
    if is_exact:
        return np.where(has_code, 3.0, 0.0)
    seen = closeness + 0.05 * random.normal(size=len(closeness))
    count = int(random.integers(3, 25))
    grades = np.zeros(len(seen))
    ranked = np.argsort(-seen)[:count]
    grades[ranked] = np.linspace(3.49, 0.51, count).round()
    return grades


def _rows(query_id: str, documents: NDArray[np.int64], values: Floats, column: str) -> pl.DataFrame:
    doc_ids = [f"d{document}" for document in documents]
    return pl.DataFrame(
        {"query_id": [query_id] * len(documents), "doc_id": doc_ids, column: values.astype(float)}
    )


def _noise(random: Random, shape: int | tuple[int, ...]) -> Floats:
    return 2 * random.normal(size=shape) / np.sqrt(TOPICS)


def _unit(vectors: Floats) -> Floats:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _word(term: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return "".join(letters[(term // 26**place) % 26] for place in range(3)) + "a"


def _code(code: int) -> str:
    return f"{'ABCDEFGH'[code % 8]}{'XYZ'[code % 3]}-{code:04d}"
