"""One spelling of texts that look alike: Unicode forms, ligatures, quotes, soft hyphens."""

from __future__ import annotations

import unicodedata

_SPELLINGS = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)


def normalize_text(text: str) -> str:
    r"""A text in Unicode's form NFKC, in lower case, with plain quotes and hyphens.

    Soft hyphens and other characters without a width are left out.

    >>> normalize_text("The \u201cof\ufb01ce\u201d, Cafe\u0301 and co\u00adoperate")
    'the "office", café and cooperate'
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).translate(_SPELLINGS).casefold()
