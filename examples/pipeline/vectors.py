"""Dense retrieval, and late interaction, over the vectors of a collection's documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import corpora
import numpy as np
from encoder import Encoder, Floats, model_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

PIECE = 256  # documents encoded before they are put on disk


@dataclass(frozen=True)
class Vectors:
    """The vectors of a collection.

    Attributes:
        encoder: the model.
        ids: of the documents.
        whole: ``(n, 384)``, a vector of each document.
        tokens: ``(m, 384)``, a vector of each of their tokens.
        starts: ``(n + 1,)``, where the tokens of each document begin, and the end.
    """

    encoder: Encoder
    ids: list[str]
    whole: Floats
    tokens: NDArray[np.float16]
    starts: NDArray[np.int64]

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The row of each document."""
        return {doc_id: i for i, doc_id in enumerate(self.ids)}


def build(folder: Path) -> None:
    """Encode a collection's documents; what is on disk already is not encoded again."""
    place = folder / "vectors"
    place.mkdir(exist_ok=True)
    source = model_folder()
    assert source is not None
    encoder, documents = Encoder(source), corpora.read(folder)
    for begin in range(0, len(documents), PIECE):
        file = place / f"{begin:06}.npz"
        if file.exists():
            continue
        texts = [each["text"] for each in documents[begin : begin + PIECE]]
        whole, tokens = encoder.texts(texts)
        partial = file.with_suffix(".partial.npz")
        np.savez(
            partial,
            whole=whole,
            tokens=np.concatenate(tokens).astype(np.float16),
            lengths=np.array([len(each) for each in tokens]),
        )
        partial.replace(file)


@cache
def load(folder: str) -> Vectors:
    """The vectors of a collection, from disk."""
    source = model_folder()
    assert source is not None
    files = sorted((Path(folder) / "vectors").glob("??????.npz"))
    pieces = [dict(np.load(file)) for file in files]
    lengths = np.concatenate([piece["lengths"] for piece in pieces])
    return Vectors(
        Encoder(source),
        [each["id"] for each in corpora.read(folder)],
        np.concatenate([piece["whole"] for piece in pieces]),
        np.concatenate([piece["tokens"] for piece in pieces]),
        np.concatenate([[0], np.cumsum(lengths)]),
    )


@cache
def encoded(folder: str, query: str) -> tuple[Floats, Floats]:
    """The vector of a query, and those of its tokens."""
    whole, tokens = load(folder).encoder.texts([query])
    return whole[0], tokens[0]


def search(query: str, depth: int, index: str) -> list[tuple[str, float]]:
    """The documents whose vectors are nearest to the query's: cosine, exact.

    The query is encoded each time, so that its latency counts; rerankers use what is known of it.
    """
    found = load(index)
    scores = found.whole @ found.encoder.texts([query])[0][0]
    best = np.argsort(-scores, kind="stable")[:depth]
    return [(found.ids[i], float(scores[i])) for i in best]


def late(query: str, candidates: Sequence[Mapping[str, Any]], index: str) -> dict[str, float]:
    """Late interaction: for each token of the query its most similar one in the document, summed.

    Source: Khattab and Zaharia, ColBERT, SIGIR 2020. The token vectors are those of the
    bi-encoder, which was not trained for this.
    """
    found, own = load(index), encoded(index, query)[1]
    scores = {}
    for each in candidates:
        row = found.places[each["id"]]
        tokens = found.tokens[found.starts[row] : found.starts[row + 1]].astype(np.float32)
        scores[each["id"]] = float((own @ tokens.T).max(axis=1).mean())
    return scores
