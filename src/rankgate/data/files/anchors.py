"""Where the text of judged documents is in a new version of the documents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.data.files.text_overlap import Overlap, Texts, overlap

if TYPE_CHECKING:
    from numpy.typing import NDArray

Status = Literal["valid", "moved", "split", "merged", "ambiguous", "lost"]
STATUSES: tuple[Status, ...] = ("valid", "moved", "split", "merged", "ambiguous", "lost")

NEAR = 0.9
"""The share of a document's words that another must have to hold it."""

NO_TEXT = "it has no text"
"""Why a judged document is lost that is not among the old documents, or is empty."""

_CLEARLY = 0.03  # how much nearer the nearest document is than the next one
_HALF = 0.5  # of a document's words: with less it is lost, not split
_ROW = 10  # words in a row that are not the same by chance
_THIRD = 0.3  # of a short document's words in a row
_SOME = 0.1  # of a document's words: less is chance


@dataclass(frozen=True)
class Anchor:
    """Where an old document is.

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
            inherit: pieces have the grade too; see `makes_up`.
        """
        shared = self.parts.get(name)
        if shared is None:
            return name in self.same
        return holds(shared) or (inherit and makes_up(shared))


def holds(found: Overlap) -> bool:
    """Whether the second document has nearly all words of the first one in one place."""
    return found.together[0] >= NEAR


def makes_up(shared: Overlap) -> bool:
    """True if half of one of the two documents is in the other: a finer or a coarser cut."""
    return max(shared.of_first, shared.of_second) >= _HALF


def anchors(old: Texts, new: Texts, docs: Collection[str]) -> dict[str, Anchor]:
    """Find old documents among the new ones.

    Equal words decide first. A new document whose words are equal to those of some old document is
    that one and a near-duplicate of no other. A near-duplicate must be the nearest of both sides,
    and clearly so.

    Args:
        old: the documents that were judged, and others of their time.
        new: the documents of today.
        docs: the old documents that are looked for.
    """
    return {doc: _anchor(doc, old, new) for doc in docs}


def _anchor(doc: str, old: Texts, new: Texts) -> Anchor:
    words = old.words.get(doc, ())
    if not words:
        return Anchor("lost", why=NO_TEXT)
    found = _parts(doc, words, old, new)
    near = {name: min(each.of_first, each.of_second) for name, each in found.items()
            if each.of_first >= NEAR and each.of_second >= NEAR}  # fmt: skip
    parts = {name: each for name, each in found.items() if name not in near}
    if same := new.equal.get(words):
        return Anchor("valid" if doc in same else "moved", same, parts)
    merged = any(map(holds, parts.values()))
    if near and ((moved := _moved(doc, near, parts, old, new)).same or not merged):
        return moved
    if merged:
        return Anchor("merged", parts=parts)
    if covered([each.first for each in parts.values()]) >= _HALF:
        return Anchor("split", parts=parts)
    return Anchor("lost", parts=parts, why="less than half of its text is left")


def _parts(doc: str, words: tuple[str, ...], old: Texts, new: Texts) -> dict[str, Overlap]:
    """By new document, which is not equal to an old one, what it shares with these words."""
    found = {name: overlap(words, new.words[name]) for name in new.candidates(words)
             if new.words[name] not in old.equal}  # fmt: skip
    return {name: each for name, each in found.items()
            if (each.of_first >= _SOME or each.of_second >= NEAR)
            and each.longest >= min(_ROW, _THIRD * len(words), NEAR * len(new.words[name]))
            and not (holds(each) and _taken(doc, new.words[name], each, old))}  # fmt: skip


def _moved(
    doc: str, near: Mapping[str, float], rest: Mapping[str, Overlap], old: Texts, new: Texts
) -> Anchor:
    """The nearest of some near-duplicates, if no other one and no other old document is as near."""
    (best, value), *others = sorted(near.items(), key=lambda each: -each[1])
    if others and value - others[0][1] < _CLEARLY:
        return Anchor("ambiguous", parts=rest, why="several documents are as near")
    if not _nearest(doc, new.words[best], old, value):
        return Anchor("ambiguous", parts=rest, why="another old document is as near")
    return Anchor("valid" if best == doc else "moved", (best,), rest)


def _taken(doc: str, words: tuple[str, ...], found: Overlap, old: Texts) -> bool:
    """Whether the place within new words that has nearly this document is of another old one."""
    share, begin, end = found.together
    if share == 1 or found.of_second >= NEAR:
        return False
    place = words[begin:end]
    return any(
        overlap(old.words[other], place).of_second > share - _CLEARLY
        for other in old.candidates(place)
        if other != doc
    )


def _nearest(doc: str, words: tuple[str, ...], old: Texts, value: float) -> bool:
    """Whether no other old document is as near to new words."""
    for other in old.candidates(words):
        if other != doc:
            found = overlap(old.words[other], words)
            if min(found.of_first, found.of_second) > value - _CLEARLY:
                return False
    return True


def covered(parts: Collection[NDArray[np.bool_]]) -> float:
    """The share of words that some of the parts have."""
    return float(np.any(list(parts), axis=0).mean()) if parts else 0.0
