"""Which words of one document are in another: exact spans and near-duplicates."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankgate.errors import MissingExtraError
from rankgate.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]

_WORD = re.compile(r"\w+")
_GRAM = 5  # words in a row that candidates share
_RUN = 3  # words in a row that count as the same text
_FREQUENT = 50  # documents that share a gram which says nothing


@dataclass(frozen=True)
class Texts:
    """Documents as words.

    Attributes:
        words: by document its words, in lower case and without punctuation.
    """

    words: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Texts:
        """Documents from their texts."""
        return cls({doc: tuple(_WORD.findall(text.lower())) for doc, text in texts.items()})

    @cached_property
    def equal(self) -> Mapping[tuple[str, ...], tuple[str, ...]]:
        """By words the documents that have exactly these."""
        found: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for doc, words in self.words.items():
            found[words].append(doc)
        return {words: tuple(docs) for words, docs in found.items() if words}

    @cached_property
    def _grams(self) -> Mapping[tuple[str, ...], tuple[str, ...]]:
        found: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for doc, words in self.words.items():
            for gram in set(_grams(words)):
                found[gram].append(doc)
        return {gram: tuple(docs) for gram, docs in found.items() if len(docs) <= _FREQUENT}

    def candidates(self, words: tuple[str, ...]) -> list[str]:
        """Documents that share some words in a row, those that share most first."""
        shared: Counter[str] = Counter()
        for gram in set(_grams(words)):
            shared.update(self._grams.get(gram, ()))
        return [doc for doc, _ in shared.most_common()]


def _grams(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [words[at : at + _GRAM] for at in range(len(words) - _GRAM + 1)]


@dataclass(frozen=True)
class Overlap:
    """The words that two documents share: five in a row anywhere, three in the same order.

    Attributes:
        first: which words of the first document are in the second.
        second: which words of the second are in the first.
    """

    first: Bools
    second: Bools

    @property
    def of_first(self) -> float:
        """The share of the first document's words."""
        return float(self.first.mean())

    @property
    def of_second(self) -> float:
        """The share of the second document's words."""
        return float(self.second.mean())

    @cached_property
    def longest(self) -> int:
        """The most words in a row of the first document that the second one has."""
        ends = np.flatnonzero(np.diff(np.concatenate([[False], self.first, [False]]).astype(int)))
        return int((ends[1::2] - ends[::2]).max(initial=0))

    @cached_property
    def together(self) -> tuple[float, int, int]:
        """The largest share of the first document that one part of the second has, and that part.

        A part is a little longer than the first document: 1.2 times its words and two more.
        """
        size = min(int(1.2 * len(self.first)) + 2, len(self.second))
        sums = np.concatenate([[0], np.cumsum(self.second)])
        within = sums[size:] - sums[: len(sums) - size]
        begin = int(within.argmax())
        at = begin + np.flatnonzero(self.second[begin : begin + size])
        if not len(at):
            return 0.0, 0, 0
        return float(within[begin]) / len(self.first), int(at[0]), int(at[-1]) + 1


def overlap(first: tuple[str, ...], second: tuple[str, ...]) -> Overlap:
    """Find the words that two documents share.

    Every five words in a row that both have; and the runs of three or more of the longest common
    subsequence, by rapidfuzz, which go on where single words were changed.

    Raises:
        MissingExtraError: rapidfuzz is not installed.
    """
    try:
        from rapidfuzz.distance import LCSseq
    except ImportError:
        message = "texts are aligned by rapidfuzz; pip install 'rankgate[anchors]'."
        raise MissingExtraError(message) from None
    shared = set(_grams(first)) & set(_grams(second))
    one, two = _spans(first, shared), _spans(second, shared)
    for part in LCSseq.opcodes(first, second):
        if part.tag == "equal" and part.src_end - part.src_start >= _RUN:
            one[part.src_start : part.src_end] = True
            two[part.dest_start : part.dest_end] = True
    return Overlap(one, two)


def _spans(words: tuple[str, ...], grams: Collection[tuple[str, ...]]) -> Bools:
    """Which words are in some of the grams."""
    found = np.zeros(len(words), bool)
    for at, gram in enumerate(_grams(words)):
        if gram in grams:
            found[at : at + _GRAM] = True
    return found
