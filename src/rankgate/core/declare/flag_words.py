"""The words that stand for true and false, wherever text or a number becomes a boolean."""

from __future__ import annotations

import re
from collections.abc import Mapping

FLAG_WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
"""The boolean of each word, in lower case."""


def normalize_flag(value: object) -> str:
    """A text or a number as `FLAG_WORDS` has it: in lower case, whole numbers without a fraction."""
    return re.sub(r"\.0+$", "", str(value).strip().lower())


def parse_flag(value: object, flag_words: Mapping[str, bool] = FLAG_WORDS) -> bool | None:
    """The boolean that a text or a number stands for; None if it stands for neither.

    >>> parse_flag(" Yes"), parse_flag(0.0), parse_flag("ja")
    (True, False, None)
    """
    return flag_words.get(normalize_flag(value))
