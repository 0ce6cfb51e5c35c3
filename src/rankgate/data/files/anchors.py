"""Find the text of judged documents in a new version of the documents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.data.files.text_overlap import Overlap, Texts, find_overlap

if TYPE_CHECKING:
    from numpy.typing import NDArray

Status = Literal["valid", "moved", "split", "merged", "ambiguous", "lost"]
STATUSES: tuple[Status, ...] = ("valid", "moved", "split", "merged", "ambiguous", "lost")

NEAR_SHARE = 0.9
"""The share of a document's words that another must have to hold it."""

NO_TEXT = "it has no text"
"""The reason why a judged document is lost that is not among the old documents, or is empty."""

_MIN_LEAD = 0.03  # how much nearer the nearest document is than the next one
_MIN_SPLIT_SHARE = 0.5  # of a document's words: with less it is lost, not split
_MIN_SEQUENCE = 10  # consecutive words that are not the same by chance
_MIN_SEQUENCE_SHARE = 0.3  # of a short document's words in a row
_MIN_SHARE = 0.1  # of a document's words: a smaller share is chance


@dataclass(frozen=True)
class Anchor:
    """The place of an old document among the new ones.

    Attributes:
        status: valid: the same text under the same id; moved: under another one; merged: within a
            longer document; split: over several ones; ambiguous: several documents are as near;
            lost: nowhere.
        same: new documents with this text.
        parts: by new document the words that are shared with it.
        why: the reason why a document that is lost or ambiguous was not found.
    """

    status: Status
    same: tuple[str, ...] = ()
    parts: Mapping[str, Overlap] = field(default_factory=dict)
    why: str = ""

    def reaches(self, name: str, *, inherit: bool) -> bool:
        """True if the grade of this relevant document is one of a new document.

        Args:
            name: the new document.
            inherit: pieces have the grade too; see `is_half_shared`.
        """
        shared = self.parts.get(name)
        if shared is None:
            return name in self.same
        return is_contained(shared) or (inherit and is_half_shared(shared))


def is_contained(shared: Overlap) -> bool:
    """True if the second document has nearly all words of the first one in one place."""
    return shared.together[0] >= NEAR_SHARE


def is_half_shared(shared: Overlap) -> bool:
    """True if half of one of the two documents is in the other: a finer or a coarser cut."""
    return max(shared.of_first, shared.of_second) >= _MIN_SPLIT_SHARE


def find_anchors(old: Texts, new: Texts, docs: Collection[str]) -> dict[str, Anchor]:
    """Find old documents among the new ones.

    Equal words decide first. A new document whose words are equal to those of some old document is
    that one and a near-duplicate of no other. A near-duplicate must be the nearest of both sides,
    and clearly so.

    Args:
        old: the documents that were judged, and others of their time.
        new: the documents of today.
        docs: the old documents that are looked for.
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
    partial_overlaps = {
        name: shared for name, shared in overlaps.items() if name not in near_duplicates
    }
    if equal_docs := new.equal.get(doc_words):
        return Anchor("valid" if doc in equal_docs else "moved", equal_docs, partial_overlaps)
    is_merged = any(map(is_contained, partial_overlaps.values()))
    if near_duplicates and (
        (
            moved_anchor := _anchor_near_duplicate(doc, near_duplicates, partial_overlaps, old, new)
        ).same
        or not is_merged
    ):
        return moved_anchor
    if is_merged:
        return Anchor("merged", parts=partial_overlaps)
    if covered_share([shared.first for shared in partial_overlaps.values()]) >= _MIN_SPLIT_SHARE:
        return Anchor("split", parts=partial_overlaps)
    return Anchor("lost", parts=partial_overlaps, why="less than half of its text is left")


def _find_overlaps(
    doc: str, doc_words: tuple[str, ...], old: Texts, new: Texts
) -> dict[str, Overlap]:
    """Shared words by new document, without new documents that equal an old one."""
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
        >= min(
            _MIN_SEQUENCE, _MIN_SEQUENCE_SHARE * len(doc_words), NEAR_SHARE * len(new.words[name])
        )
        and not (is_contained(shared) and _belongs_to_other(doc, new.words[name], shared, old))
    }


def _anchor_near_duplicate(
    doc: str,
    near_duplicates: Mapping[str, float],
    partial_overlaps: Mapping[str, Overlap],
    old: Texts,
    new: Texts,
) -> Anchor:
    """The nearest of some near-duplicates, if no other one and no other old document is as near."""
    (best_doc, best_share), *other_docs = sorted(
        near_duplicates.items(), key=lambda name_and_share: -name_and_share[1]
    )
    if other_docs and best_share - other_docs[0][1] < _MIN_LEAD:
        return Anchor("ambiguous", parts=partial_overlaps, why="several documents are as near")
    if not _is_nearest(doc, new.words[best_doc], old, best_share):
        return Anchor("ambiguous", parts=partial_overlaps, why="another old document is as near")
    return Anchor("valid" if best_doc == doc else "moved", (best_doc,), partial_overlaps)


def _belongs_to_other(doc: str, new_words: tuple[str, ...], shared: Overlap, old: Texts) -> bool:
    """True if the part of new words with nearly this document belongs to another old one."""
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
    """True if no other old document is as near to new words."""
    for other_doc in old.candidates(new_words):
        if other_doc != doc:
            shared = find_overlap(old.words[other_doc], new_words)
            if min(shared.of_first, shared.of_second) > share - _MIN_LEAD:
                return False
    return True


def covered_share(parts: Collection[NDArray[np.bool_]]) -> float:
    """The share of words that some of the parts have."""
    return float(np.any(list(parts), axis=0).mean()) if parts else 0.0
