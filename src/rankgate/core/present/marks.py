"""Superscript marks of systems, for tables that say which one is higher than which."""

from __future__ import annotations

LETTERS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
"""Of the systems, in order; a number follows where there are more systems than letters."""

DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"


def mark(place: int) -> str:
    """The mark of the system at a place.

    >>> mark(0), mark(24), mark(25)
    ('ᵃ', 'ᶻ', 'ᵃ²')
    """
    turn, letter = divmod(place, len(LETTERS))
    return LETTERS[letter] + (
        "".join(DIGITS[int(digit)] for digit in str(turn + 1)) if turn else ""
    )
