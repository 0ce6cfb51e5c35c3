"""Cells that no spreadsheet program takes for a formula, and their way back."""

from __future__ import annotations

import re

_DANGEROUS = re.compile(r"^ *[-=+@\t\r]")
_GUARDED = re.compile(r"^ +[-=+@\t\r]")


def guarded(word: str) -> str:
    """The word with a blank before it where it begins like a formula.

    >>> guarded("=1+1"), guarded("a=1"), guarded(" =1")
    (' =1+1', 'a=1', '  =1')
    """
    return f" {word}" if _DANGEROUS.match(word) else word


def unguarded(word: str) -> str:
    """The word as it was before ``guarded``.

    >>> [unguarded(guarded(word)) for word in ("=1", " =1", "a", " a", "-")]
    ['=1', ' =1', 'a', ' a', '-']
    """
    return word[1:] if _GUARDED.match(word) else word
