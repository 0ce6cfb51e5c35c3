"""Which words of one document are in another: exact spans and near-duplicates."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from functools import cached_property
from itertools import chain
from sys import intern
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.data.text.normalized import normalized

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]

_WORD = re.compile(r"\w+")
_GRAM = 5  # words in a row that candidates share
_RUN = 3  # words in a row that count as the same text
_FREQUENT = 50  # documents that share a gram which says nothing
_BASE = np.uint64(0x9E3779B97F4A7C15)  # of the hashes of grams: odd, so that no word drops out


@dataclass(frozen=True)
class Texts:
    """Documents as words.

    Attributes:
        words: by document its words, in lower case and without punctuation.
    """

    words: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Texts:
        """Documents from their texts, which are normalised first; each word is kept once."""
        return cls({doc: tuple(map(intern, _WORD.findall(normalized(text))))
                    for doc, text in texts.items()})  # fmt: skip

    @cached_property
    def equal(self) -> Mapping[tuple[str, ...], tuple[str, ...]]:
        """By words the documents that have exactly these."""
        documents: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for doc, words in self.words.items():
            documents[words].append(doc)
        return {words: tuple(docs) for words, docs in documents.items() if words}

    @cached_property
    def _ids(self) -> tuple[str, ...]:
        return tuple(self.words)

    @cached_property
    def _grams(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """The hashes of all grams that few documents have, sorted, and the document of each."""
        lengths = np.fromiter(map(len, self.words.values()), np.int64, len(self.words))
        hashes = _gram_hashes(chain.from_iterable(self.words.values()), int(lengths.sum()))
        owners = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        inside = owners[: len(hashes)] == owners[_GRAM - 1 :]  # not over the end of a document
        hashes, owners = hashes[inside], owners[: len(hashes)][inside]
        order = np.argsort(hashes, kind="stable")  # documents stay in order within a gram
        hashes, owners = hashes[order], owners[order]
        del order
        repeated = np.zeros(len(hashes), bool)
        repeated[1:] = (hashes[1:] == hashes[:-1]) & (owners[1:] == owners[:-1])
        hashes, owners = hashes[~repeated], owners[~repeated]
        _, counts = np.unique(hashes, return_counts=True)
        telling = np.repeat(counts <= _FREQUENT, counts)
        return hashes[telling], owners[telling]

    def candidates(self, words: tuple[str, ...]) -> list[str]:
        """Documents that share some words in a row, those that share most first."""
        hashes, owners = self._grams
        grams = np.unique(_gram_hashes(words, len(words)))
        begins, ends = np.searchsorted(hashes, grams), np.searchsorted(hashes, grams, "right")
        matches = [
            owners[begin:end] for begin, end in zip(begins, ends, strict=True) if begin < end
        ]
        if not matches:
            return []
        documents, shared = np.unique(np.concatenate(matches), return_counts=True)
        return [self._ids[i] for i in documents[np.argsort(-shared, kind="stable")]]


def _gram_hashes(words: Collection[str] | chain[str], count: int) -> NDArray[np.uint64]:
    """A number for each five words in a row; equal words have equal numbers."""
    codes = np.fromiter(map(hash, words), np.int64, count).view(np.uint64)
    hashes = np.zeros(max(count - _GRAM + 1, 0), np.uint64)
    for offset in range(_GRAM):
        hashes *= _BASE
        hashes += codes[offset : offset + len(hashes)]
    return hashes


def _grams(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [words[at : at + _GRAM] for at in range(len(words) - _GRAM + 1)]


@dataclass(frozen=True)
class Overlap:
    """The words that two documents share: five in a row anywhere, three in the same order.

    Shares count each word of both documents once: a phrase that one of them repeats is shared only
    as often as the other has it.

    Attributes:
        first: which words of the first document are in the second.
        second: which words of the second are in the first.
        texts: the words of the two documents.
    """

    first: Bools
    second: Bools
    texts: tuple[tuple[str, ...], tuple[str, ...]]

    @cached_property
    def _counts(self) -> tuple[Counter[str], Counter[str]]:
        """The shared words of each document with their numbers."""
        return _marked(self.texts[0], self.first), _marked(self.texts[1], self.second)

    @cached_property
    def _shared(self) -> int:
        return (self._counts[0] & self._counts[1]).total()

    @property
    def of_first(self) -> float:
        """The share of the first document's words."""
        return self._shared / len(self.first)

    @property
    def of_second(self) -> float:
        """The share of the second document's words."""
        return self._shared / len(self.second)

    @cached_property
    def longest(self) -> int:
        """The most words in a row of the first document that the second one has."""
        ends = np.flatnonzero(np.diff(np.concatenate([[False], self.first, [False]]).astype(int)))
        return int((ends[1::2] - ends[::2]).max(initial=0))

    @cached_property
    def together(self) -> tuple[float, int, int]:
        """The largest share of the first document that one part of the second has, and that part.

        A part is a little longer than the first document: 1.2 times its words and two more. Words
        that the second document repeats share the weight of those that the first one has.
        """
        size = min(int(1.2 * len(self.first)) + 2, len(self.second))
        one, two = self._counts
        weights = {word: min(one[word], count) / count for word, count in two.items()}
        weighted = [weights.get(word, 0.0) for word in self.texts[1]] * self.second
        sums = np.concatenate([[0.0], np.cumsum(weighted)])
        begin = int((sums[size:] - sums[: len(sums) - size]).argmax())
        at = begin + np.flatnonzero(self.second[begin : begin + size])
        if not len(at):
            return 0.0, 0, 0
        end = int(at[-1]) + 1
        within = _marked(self.texts[1][begin:end], self.second[begin:end])
        return (one & within).total() / len(self.first), int(at[0]), end


def _marked(words: tuple[str, ...], marks: Bools) -> Counter[str]:
    return Counter(words[at] for at in np.flatnonzero(marks))


def overlap(first: tuple[str, ...], second: tuple[str, ...]) -> Overlap:
    """Find the words that two documents share.

    Every five words in a row that both have; and the runs of three or more of the longest common
    subsequence, by rapidfuzz, which go on where single words were changed.
    """
    from rapidfuzz.distance import LCSseq

    shared = set(_grams(first)) & set(_grams(second))
    one, two = _spans(first, shared), _spans(second, shared)
    for run in LCSseq.opcodes(first, second):
        if run.tag == "equal" and run.src_end - run.src_start >= _RUN:
            one[run.src_start : run.src_end] = True
            two[run.dest_start : run.dest_end] = True
    return Overlap(one, two, (first, second))


def _spans(words: tuple[str, ...], grams: Collection[tuple[str, ...]]) -> Bools:
    """Which words are in some of the grams."""
    marks = np.zeros(len(words), bool)
    for at, gram in enumerate(_grams(words)):
        if gram in grams:
            marks[at : at + _GRAM] = True
    return marks
