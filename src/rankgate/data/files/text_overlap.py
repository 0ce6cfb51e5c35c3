"""The words that two documents share: exact spans and near-duplicates."""

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
from rankgate.data.text.normalized import normalize_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]

_WORD = re.compile(r"\w+")
_GRAM_LENGTH = 5  # consecutive words that candidates share
_MIN_MATCH_LENGTH = 3  # consecutive words that count as the same text
_MAX_DOCUMENTS = 50  # documents that share a gram which carries no information
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
        return cls(
            {
                doc: tuple(map(intern, _WORD.findall(normalize_text(text))))
                for doc, text in texts.items()
            }
        )

    @cached_property
    def equal(self) -> Mapping[tuple[str, ...], tuple[str, ...]]:
        """The documents with exactly the same words, by their words."""
        documents: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for doc, doc_words in self.words.items():
            documents[doc_words].append(doc)
        return {doc_words: tuple(docs) for doc_words, docs in documents.items() if doc_words}

    @cached_property
    def _ids(self) -> tuple[str, ...]:
        return tuple(self.words)

    @cached_property
    def _grams(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """The hashes of all grams that few documents have, sorted, and the document of each."""
        lengths = np.fromiter(map(len, self.words.values()), np.int64, len(self.words))
        hashes = _gram_hashes(chain.from_iterable(self.words.values()), int(lengths.sum()))
        owners = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        is_inside = (
            owners[: len(hashes)] == owners[_GRAM_LENGTH - 1 :]
        )  # not over the end of a document
        hashes, owners = hashes[is_inside], owners[: len(hashes)][is_inside]
        order = np.argsort(hashes, kind="stable")  # documents stay in order within a gram
        hashes, owners = hashes[order], owners[order]
        del order
        is_repeated = np.zeros(len(hashes), bool)
        is_repeated[1:] = (hashes[1:] == hashes[:-1]) & (owners[1:] == owners[:-1])
        hashes, owners = hashes[~is_repeated], owners[~is_repeated]
        _, counts = np.unique(hashes, return_counts=True)
        is_rare = np.repeat(counts <= _MAX_DOCUMENTS, counts)
        return hashes[is_rare], owners[is_rare]

    def candidates(self, query_words: tuple[str, ...]) -> list[str]:
        """Documents that share consecutive words, sorted by the number of shared grams."""
        hashes, owners = self._grams
        grams = np.unique(_gram_hashes(query_words, len(query_words)))
        begins, ends = np.searchsorted(hashes, grams), np.searchsorted(hashes, grams, "right")
        matches = [
            owners[begin:end] for begin, end in zip(begins, ends, strict=True) if begin < end
        ]
        if not matches:
            return []
        documents, shared = np.unique(np.concatenate(matches), return_counts=True)
        return [self._ids[i] for i in documents[np.argsort(-shared, kind="stable")]]


def _gram_hashes(texts: Collection[str] | chain[str], count: int) -> NDArray[np.uint64]:
    """A hash for each five consecutive words; equal words have equal hashes."""
    codes = np.fromiter(map(hash, texts), np.int64, count).view(np.uint64)
    hashes = np.zeros(max(count - _GRAM_LENGTH + 1, 0), np.uint64)
    for offset in range(_GRAM_LENGTH):
        hashes *= _BASE
        hashes += codes[offset : offset + len(hashes)]
    return hashes


def _grams(doc_words: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [
        doc_words[start : start + _GRAM_LENGTH]
        for start in range(len(doc_words) - _GRAM_LENGTH + 1)
    ]


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
        return _count_marked(self.texts[0], self.first), _count_marked(self.texts[1], self.second)

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
        """The longest sequence of words of the first document that the second one has."""
        ends = np.flatnonzero(np.diff(np.concatenate([[False], self.first, [False]]).astype(int)))
        return int((ends[1::2] - ends[::2]).max(initial=0))

    @cached_property
    def together(self) -> tuple[float, int, int]:
        """The largest share of the first document in one part of the second, and that part.

        A part is a little longer than the first document: 1.2 times its words and two more. Words
        that the second document repeats share the weight of those that the first one has.
        """
        size = min(int(1.2 * len(self.first)) + 2, len(self.second))
        first_counts, second_counts = self._counts
        weights = {
            word: min(first_counts[word], count) / count for word, count in second_counts.items()
        }
        weighted = [weights.get(word, 0.0) for word in self.texts[1]] * self.second
        sums = np.concatenate([[0.0], np.cumsum(weighted)])
        begin = int((sums[size:] - sums[: len(sums) - size]).argmax())
        positions = begin + np.flatnonzero(self.second[begin : begin + size])
        if not len(positions):
            return 0.0, 0, 0
        end = int(positions[-1]) + 1
        words_of_part = _count_marked(self.texts[1][begin:end], self.second[begin:end])
        return (first_counts & words_of_part).total() / len(self.first), int(positions[0]), end


def _count_marked(doc_words: tuple[str, ...], is_marked: Bools) -> Counter[str]:
    return Counter(doc_words[position] for position in np.flatnonzero(is_marked))


def find_overlap(first: tuple[str, ...], second: tuple[str, ...]) -> Overlap:
    """Find the words that two documents share.

    Every five words in a row that both have; and the runs of three or more of the longest common
    subsequence, by rapidfuzz, which go on where single words were changed.
    """
    from rapidfuzz.distance import LCSseq

    shared = set(_grams(first)) & set(_grams(second))
    is_shared_first, is_shared_second = _find_spans(first, shared), _find_spans(second, shared)
    for match in LCSseq.opcodes(first, second):
        if match.tag == "equal" and match.src_end - match.src_start >= _MIN_MATCH_LENGTH:
            is_shared_first[match.src_start : match.src_end] = True
            is_shared_second[match.dest_start : match.dest_end] = True
    return Overlap(is_shared_first, is_shared_second, (first, second))


def _find_spans(doc_words: tuple[str, ...], grams: Collection[tuple[str, ...]]) -> Bools:
    """True for each word that is in some of the grams."""
    is_in_gram = np.zeros(len(doc_words), bool)
    for start, gram in enumerate(_grams(doc_words)):
        if gram in grams:
            is_in_gram[start : start + _GRAM_LENGTH] = True
    return is_in_gram
