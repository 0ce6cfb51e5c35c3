"""Find the text of judged documents in a new version of the documents."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import field
from functools import cached_property
from itertools import chain
from sys import intern
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.errors import require
from rankgate.core.frozen import dataclass
from rankgate.data.text.near_duplicates import text_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Flags


_GRAM_LENGTH = 5  # consecutive words that candidates share
_MIN_MATCH_LENGTH = 3  # consecutive words that count as the same text
_MAX_DOCUMENTS = 50  # a gram in more documents than this carries no information
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd multiplier for hashes: every word counts


@dataclass(frozen=True)
class Texts:
    """Documents as words.

    Attributes:
        words: the words of each document, in lower case and without punctuation.
    """

    words: Mapping[str, tuple[str, ...]]

    @classmethod
    def from_texts(cls, texts: Mapping[str, str]) -> Texts:
        """Build documents from texts, which are normalised first; each word is stored once."""
        return cls({doc: tuple(map(intern, text_words(text))) for doc, text in texts.items()})

    @cached_property
    def equal(self) -> Mapping[tuple[str, ...], tuple[str, ...]]:
        """The documents grouped by equal words."""
        documents: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for doc, doc_words in self.words.items():
            documents[doc_words].append(doc)
        return {doc_words: tuple(docs) for doc_words, docs in documents.items() if doc_words}

    @cached_property
    def _ids(self) -> tuple[str, ...]:
        return tuple(self.words)

    @cached_property
    def _grams(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """The sorted hashes of all grams that are in few documents, and the document of each."""
        lengths = np.fromiter(map(len, self.words.values()), np.int64, len(self.words))
        hashes = _gram_hashes(chain.from_iterable(self.words.values()), int(lengths.sum()))
        owners = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        is_inside = (
            owners[: len(hashes)] == owners[_GRAM_LENGTH - 1 :]
        )  # a gram must not extend beyond the end of a document
        hashes, owners = hashes[is_inside], owners[: len(hashes)][is_inside]
        order = np.argsort(hashes, kind="stable")  # documents keep their order within a gram
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
        matches = [owners[begin:end] for begin, end in zip(begins, ends, strict=True) if begin < end]
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
    return [doc_words[start : start + _GRAM_LENGTH] for start in range(len(doc_words) - _GRAM_LENGTH + 1)]


@dataclass(frozen=True)
class Overlap:
    """The words that two documents share: runs of five anywhere, runs of three in the same order.

    Shares count each word with its frequency in both documents: a phrase that one document repeats
    counts only as often as it occurs in the other.

    Attributes:
        first: True for the words of the first document that are in the second.
        second: True for the words of the second that are in the first.
        texts: the words of the two documents.
    """

    first: Flags
    second: Flags
    texts: tuple[tuple[str, ...], tuple[str, ...]]

    @cached_property
    def _counts(self) -> tuple[Counter[str], Counter[str]]:
        """The shared words of each document, with their frequencies."""
        return _count_marked(self.texts[0], self.first), _count_marked(self.texts[1], self.second)

    @cached_property
    def _shared(self) -> int:
        return (self._counts[0] & self._counts[1]).total()

    @property
    def of_first(self) -> float:
        """The shared part of the first document's words, from 0 to 1."""
        return self._shared / len(self.first)

    @property
    def of_second(self) -> float:
        """The shared part of the second document's words, from 0 to 1."""
        return self._shared / len(self.second)

    @cached_property
    def longest(self) -> int:
        """The longest sequence of words of the first document that is also in the second."""
        ends = np.flatnonzero(np.diff(np.concatenate([[False], self.first, [False]]).astype(int)))
        return int((ends[1::2] - ends[::2]).max(initial=0))

    @cached_property
    def together(self) -> tuple[float, int, int]:
        """The largest share of the first document within one part of the second, and that part.

        A part is a little longer than the first document: 1.2 times its words and two more. Words
        that the second document repeats share the weight of those that the first one has.
        """
        size = min(int(1.2 * len(self.first)) + 2, len(self.second))
        first_counts, second_counts = self._counts
        weights = {word: min(first_counts[word], count) / count for word, count in second_counts.items()}
        weighted = [weights.get(word, 0.0) for word in self.texts[1]] * self.second
        sums = np.concatenate([[0.0], np.cumsum(weighted)])
        begin = int((sums[size:] - sums[: len(sums) - size]).argmax())
        positions = begin + np.flatnonzero(self.second[begin : begin + size])
        if not len(positions):
            return 0.0, 0, 0
        end = int(positions[-1]) + 1
        words_of_part = _count_marked(self.texts[1][begin:end], self.second[begin:end])
        return (first_counts & words_of_part).total() / len(self.first), int(positions[0]), end


def _count_marked(doc_words: tuple[str, ...], is_marked: Flags) -> Counter[str]:
    return Counter(doc_words[position] for position in np.flatnonzero(is_marked))


def find_overlap(first: tuple[str, ...], second: tuple[str, ...]) -> Overlap:
    """Find the words that two documents share.

    These are all sequences of five words that both have, and the runs of three or more words in the
    longest common subsequence (rapidfuzz), which continue across single changed words.
    """
    require("changed documents are compared by RapidFuzz", "rapidfuzz")
    from rapidfuzz.distance import LCSseq

    shared = set(_grams(first)) & set(_grams(second))
    is_shared_first, is_shared_second = _find_spans(first, shared), _find_spans(second, shared)
    for match in LCSseq.opcodes(first, second):
        if match.tag == "equal" and match.src_end - match.src_start >= _MIN_MATCH_LENGTH:
            is_shared_first[match.src_start : match.src_end] = True
            is_shared_second[match.dest_start : match.dest_end] = True
    return Overlap(is_shared_first, is_shared_second, (first, second))


def _find_spans(doc_words: tuple[str, ...], grams: Collection[tuple[str, ...]]) -> Flags:
    """True for each word that belongs to one of the grams."""
    is_in_gram = np.zeros(len(doc_words), bool)
    for start, gram in enumerate(_grams(doc_words)):
        if gram in grams:
            is_in_gram[start : start + _GRAM_LENGTH] = True
    return is_in_gram


Status = Literal["valid", "moved", "split", "merged", "ambiguous", "lost"]
STATUSES: Mapping[Status, str] = {
    "valid": "the same text under the same id",
    "moved": "the text has another id",
    "split": "the text is in several documents now",
    "merged": "the text is in a longer document",
    "ambiguous": "several documents are as near",
    "lost": "less than half of the text is anywhere",
}

NEAR_SHARE = 0.9
"""The share of a document's words that another document must have to contain it."""

NO_TEXT = "it has no text"
"""The reason for the loss of a judged document that is empty or not among the old documents."""

_MIN_LEAD = 0.03  # distance of the second nearest document minus that of the nearest
_MIN_SPLIT_SHARE = 0.5  # share of a document's words; below it the document is lost, not split
_MIN_SEQUENCE = 10  # consecutive words that do not agree by chance
_MIN_SEQUENCE_SHARE = 0.3  # share of a short document's words in one sequence
_MIN_SHARE = 0.1  # share of a document's words; a smaller share is chance


@dataclass(frozen=True)
class Anchor:
    """The match of an old document among the new ones.

    Attributes:
        status: valid: the same text under the same id; moved: under another one; merged: within a
            longer document; split: over several ones; ambiguous: several documents are as near;
            lost: nowhere.
        same: new documents with this text.
        parts: the words that are shared with each new document.
        why: the reason why no match was found for a lost or ambiguous document.
    """

    status: Status
    same: tuple[str, ...] = ()
    parts: Mapping[str, Overlap] = field(default_factory=dict)
    why: str = ""

    def reaches(self, name: str, *, inherit: bool) -> bool:
        """True if the grade of this relevant document applies to a new document.

        Args:
            name: the new document.
            inherit: True if parts of a document also get the grade; see `is_half_shared`.
        """
        shared = self.parts.get(name)
        if shared is None:
            return name in self.same
        return is_contained(shared) or (inherit and is_half_shared(shared))


def is_contained(shared: Overlap) -> bool:
    """True if nearly all words of the first document are in one part of the second."""
    return shared.together[0] >= NEAR_SHARE


def is_half_shared(shared: Overlap) -> bool:
    """True if half of one document is in the other, as after a finer or coarser split."""
    return max(shared.of_first, shared.of_second) >= _MIN_SPLIT_SHARE


def find_anchors(old: Texts, new: Texts, docs: Collection[str]) -> dict[str, Anchor]:
    """Match old documents to the new ones.

    Equal words decide first. A new document with the same words as an old document matches that
    document, and is not a near-duplicate of another one. A near-duplicate must be clearly the
    nearest in both directions.

    Args:
        old: the documents that were judged, and others of the same version.
        new: the current documents.
        docs: the old documents to match.
    """
    return {doc: _find_anchor(doc, old, new) for doc in docs}


def _find_anchor(doc: str, old: Texts, new: Texts) -> Anchor:
    doc_words = old.words.get(doc, ())
    if not doc_words:
        return Anchor("lost", why=NO_TEXT)
    overlaps = _find_overlaps(doc, doc_words, old, new)
    near_duplicates = {
        name: min(shared.of_first, shared.of_second)
        for name, shared in overlaps.items()
        if shared.of_first >= NEAR_SHARE and shared.of_second >= NEAR_SHARE
    }
    partial_overlaps = {name: shared for name, shared in overlaps.items() if name not in near_duplicates}
    if equal_docs := new.equal.get(doc_words):
        return Anchor("valid" if doc in equal_docs else "moved", equal_docs, partial_overlaps)
    is_merged = any(map(is_contained, partial_overlaps.values()))
    if near_duplicates and (
        (moved_anchor := _anchor_near_duplicate(doc, near_duplicates, partial_overlaps, old, new)).same
        or not is_merged
    ):
        return moved_anchor
    if is_merged:
        return Anchor("merged", parts=partial_overlaps)
    if covered_share([shared.first for shared in partial_overlaps.values()]) >= _MIN_SPLIT_SHARE:
        return Anchor("split", parts=partial_overlaps)
    return Anchor("lost", parts=partial_overlaps, why="less than half of its text is left")


def _find_overlaps(doc: str, doc_words: tuple[str, ...], old: Texts, new: Texts) -> dict[str, Overlap]:
    """Shared words by new document, without the new documents that equal an old one."""
    overlaps = {
        name: find_overlap(doc_words, new.words[name])
        for name in new.candidates(doc_words)
        if new.words[name] not in old.equal
    }
    return {
        name: shared
        for name, shared in overlaps.items()
        if (shared.of_first >= _MIN_SHARE or shared.of_second >= NEAR_SHARE)
        and shared.longest
        >= min(_MIN_SEQUENCE, _MIN_SEQUENCE_SHARE * len(doc_words), NEAR_SHARE * len(new.words[name]))
        and not (is_contained(shared) and _belongs_to_other(doc, new.words[name], shared, old))
    }


def _anchor_near_duplicate(
    doc: str,
    near_duplicates: Mapping[str, float],
    partial_overlaps: Mapping[str, Overlap],
    old: Texts,
    new: Texts,
) -> Anchor:
    """The nearest near-duplicate, if no other new or old document is about as near."""
    (best_doc, best_share), *other_docs = sorted(
        near_duplicates.items(), key=lambda name_and_share: -name_and_share[1]
    )
    if other_docs and best_share - other_docs[0][1] < _MIN_LEAD:
        return Anchor("ambiguous", parts=partial_overlaps, why="several documents are as near")
    if not _is_nearest(doc, new.words[best_doc], old, best_share):
        return Anchor("ambiguous", parts=partial_overlaps, why="another old document is as near")
    return Anchor("valid" if best_doc == doc else "moved", (best_doc,), partial_overlaps)


def _belongs_to_other(doc: str, new_words: tuple[str, ...], shared: Overlap, old: Texts) -> bool:
    """True if the words of the new document that match this one belong to another old document."""
    share, begin, end = shared.together
    if share == 1 or shared.of_second >= NEAR_SHARE:
        return False
    part_words = new_words[begin:end]
    return any(
        find_overlap(old.words[other_doc], part_words).of_second > share - _MIN_LEAD
        for other_doc in old.candidates(part_words)
        if other_doc != doc
    )


def _is_nearest(doc: str, new_words: tuple[str, ...], old: Texts, share: float) -> bool:
    """True if no other old document is as near to the new words."""
    for other_doc in old.candidates(new_words):
        if other_doc != doc:
            shared = find_overlap(old.words[other_doc], new_words)
            if min(shared.of_first, shared.of_second) > share - _MIN_LEAD:
                return False
    return True


def covered_share(parts: Collection[NDArray[np.bool_]]) -> float:
    """The share of words that are in at least one of the parts."""
    return float(np.any(list(parts), axis=0).mean()) if parts else 0.0
