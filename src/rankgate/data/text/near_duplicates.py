"""Near-duplicate texts, proposed by MinHash and confirmed by counting.

MinHash (Broder 1997) proposes pairs without comparing every text with every other. Each proposed pair is
then compared in full, so that no pair is reported that is not one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal
from zlib import crc32

from rankgate.core.errors import require
from rankgate.data.text.text_values import normalize_text

NEAR = 0.8
"""The share of common shingles, of all of both texts, from which two texts are near-duplicates."""

_WORD = re.compile(r"\w+")
_SIZES = {"words": 3, "characters": 4}  # of a shingle
_PERMUTATIONS = 128
_PROPOSED = 0.6  # a lower share than NEAR, so that few pairs are missed


def text_words(text: str) -> list[str]:
    """The words of a text, in lower case and without punctuation.

    >>> text_words("Reset the PASSWORD!")
    ['reset', 'the', 'password']
    """
    return _WORD.findall(normalize_text(text))


def shingles(text: str, unit: Literal["words", "characters"]) -> frozenset[str]:
    """All sequences of three words, or of four characters; a shorter text is one.

    >>> sorted(shingles("a red usb hub", "words"))
    ['a red usb', 'red usb hub']
    """
    word_list, size = text_words(text), _SIZES[unit]
    parts, blank = (word_list, " ") if unit == "words" else (" ".join(word_list), "")
    return frozenset(blank.join(parts[i : i + size]) for i in range(max(len(parts) - size + 1, 1)))


def near_duplicates(
    texts: Mapping[str, str], copies: Mapping[str, str], unit: Literal["words", "characters"]
) -> Iterator[tuple[str, str]]:
    """Pairs that share at least `NEAR` of their shingles: two of the texts, or a text and a copy.

    Raises:
        MissingExtraError: datasketch is not installed.
    """
    require("near-duplicates are found by datasketch", "datasketch")
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=_PROPOSED, num_perm=_PERMUTATIONS)
    indexed: dict[str, frozenset[str]] = {}
    for text_id, text in {**texts, **copies}.items():
        grams = shingles(text, unit)
        text_hash = MinHash(num_perm=_PERMUTATIONS, hashfunc=int)
        text_hash.update_batch([crc32(gram.encode()) for gram in grams])
        for other_id in sorted(index.query(text_hash)):
            if len(grams & indexed[other_id]) >= NEAR * len(grams | indexed[other_id]):
                yield other_id, text_id
        if text_id in texts:
            index.insert(text_id, text_hash)
            indexed[text_id] = grams
