"""Superscript marks of systems, for tables that say which one is higher than which."""

from __future__ import annotations

LETTERS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
"""Of the systems, in order; a number follows where there are more systems than letters."""

DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"


def system_mark(index: int) -> str:
    """The mark of the system at a place.

    >>> system_mark(0), system_mark(24), system_mark(25)
    ('ᵃ', 'ᶻ', 'ᵃ²')
    """
    round_number, letter = divmod(index, len(LETTERS))
    return LETTERS[letter] + (
        "".join(DIGITS[int(digit)] for digit in str(round_number + 1)) if round_number else ""
    )
