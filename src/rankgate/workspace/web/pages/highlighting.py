"""Highlight the words of a query in texts: exact words, word forms, and scripts without spaces.

Letters are compared without case and accents. For scripts without spaces, parts of the query's
letter sequences are searched. The time depends only on the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from itertools import groupby
from typing import Protocol
from unicodedata import category, combining, normalize

from rankgate.core.errors import require
from rankgate.core.frozen import dataclass

Segments = list[tuple[str, bool]]


class Stemmer(Protocol):
    """A stemmer of a language from snowballstemmer."""

    def stemWord(self, word: str) -> str:  # noqa: N802 - its name
        """The stem of a word."""


_CJK = (
    r"\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_RUNS = {"cjk": (_CJK, 2), "thai": (r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff", 4)}
"""Letters of scripts without spaces, and the number of letters in a part of a query: two Chinese
or Japanese characters are about a word; Thai, Lao, Burmese and Khmer have short alphabets."""

_HIRAGANA = re.compile(r"[\u3040-\u309f]+")
"""The script of Japanese endings and particles; parts of it alone occur in every text."""

_MAX_RUNS = 20
"""The largest number of whole letter sequences of a query that are searched."""

LANGUAGES = {
    "ar": ("Arabic", "arabic"),
    "ca": ("Catalan", "catalan"),
    "cs": ("Czech", "czech"),
    "da": ("Danish", "danish"),
    "de": ("German", "german"),
    "el": ("Greek", "greek"),
    "en": ("English", "english"),
    "es": ("Spanish", "spanish"),
    "et": ("Estonian", "estonian"),
    "eu": ("Basque", "basque"),
    "fa": ("Persian", "persian"),
    "fi": ("Finnish", "finnish"),
    "fr": ("French", "french"),
    "ga": ("Irish", "irish"),
    "hi": ("Hindi", "hindi"),
    "hu": ("Hungarian", "hungarian"),
    "hy": ("Armenian", "armenian"),
    "id": ("Indonesian", "indonesian"),
    "it": ("Italian", "italian"),
    "lt": ("Lithuanian", "lithuanian"),
    "ne": ("Nepali", "nepali"),
    "nl": ("Dutch", "dutch"),
    "no": ("Norwegian", "norwegian"),
    "pl": ("Polish", "polish"),
    "pt": ("Portuguese", "portuguese"),
    "ro": ("Romanian", "romanian"),
    "ru": ("Russian", "russian"),
    "sr": ("Serbian", "serbian"),
    "sv": ("Swedish", "swedish"),
    "ta": ("Tamil", "tamil"),
    "tr": ("Turkish", "turkish"),
    "yi": ("Yiddish", "yiddish"),
}
"""Languages with supported word forms, by code: the language name and the stemmer's name."""

_SCRIPTS = (
    ("\u0370", "\u03ff", ("el",)),
    ("\u0400", "\u04ff", ("ru", "sr")),
    ("\u0530", "\u058f", ("hy",)),
    ("\u0590", "\u05ff", ("yi",)),
    ("\u0600", "\u06ff", ("ar", "fa")),
    ("\u0900", "\u097f", ("hi", "ne")),
    ("\u0b80", "\u0bff", ("ta",)),
)
"""Scripts by their first and last letter, with their languages; the first language is the guess."""


@dataclass(frozen=True)
class QueryWords:
    """The words of a query in the forms used for matching.

    Attributes:
        exact_words: the words without case and accents.
        stems: the stems of the words, with the code of their language.
        runs: whole letter sequences of scripts without spaces.
        parts: the parts of such sequences.
        language: the code of the project's language; if empty, the language follows from the
            script.
    """

    exact_words: frozenset[str] = frozenset()
    stems: frozenset[tuple[str, str]] = frozenset()
    runs: tuple[str, ...] = ()
    parts: frozenset[str] = frozenset()
    language: str = ""

    def __bool__(self) -> bool:
        """Return True if there are words to search."""
        return bool(self.exact_words or self.runs)


def read_query_words(query: str, language: str = "") -> QueryWords:
    """The words of a query.

    Args:
        query: the text of the query.
        language: the code of the query's language; if empty, the language follows from the script
            (English for Latin letters).
    """
    exact_words, runs, parts = set(), [], set()
    for match in _word_pattern().finditer(query):
        if match.lastgroup is None:
            if len(match.group()) > 1:
                exact_words.add(match.group())
            continue
        run, length = _fold(match.group()), _RUNS[match.lastgroup][1]
        runs.append(run)
        run_parts = {run[start : start + length] for start in range(len(run) - length + 1)}
        parts |= {run_part for run_part in run_parts if not _HIRAGANA.fullmatch(run_part)}
    stems = {stem for word in exact_words if (stem := _stem(_lower(word), language)) is not None}
    folded_words = frozenset(map(_fold, exact_words))
    distinct_runs = tuple(dict.fromkeys(runs))[:_MAX_RUNS]
    return QueryWords(folded_words, frozenset(stems), distinct_runs, frozenset(parts), language)


def mark_words(text: str, query_words: QueryWords | AbstractSet[str]) -> Segments:
    """The text in segments, each with True if it is a word of the query.

    Args:
        text: any text without markup.
        query_words: the words from `read_query_words`, or a set of words that are matched exactly.

    >>> mark_words("A Red bike, redder", {"red"})
    [('A ', False), ('Red', True), (' bike, redder', False)]
    >>> mark_words("In den Cafés", read_query_words("cafe", "fr"))
    [('In den ', False), ('Cafés', True)]
    >>> mark_words("东京大学在东京", read_query_words("京大学"))
    [('东', False), ('京大学', True), ('在东京', False)]
    """
    if not isinstance(query_words, QueryWords):
        query_words = QueryWords(exact_words=frozenset(map(_fold, query_words)))
    if not query_words:
        return [(text, False)] if text else []
    is_marked = bytearray(len(text))
    for match in _word_pattern().finditer(text):
        if match.lastgroup is not None:
            _mark_parts(is_marked, match, query_words, _RUNS[match.lastgroup][1])
        elif _is_word(match.group(), query_words):
            is_marked[match.start() : match.end()] = b"\1" * len(match.group())
    segments: Segments = []
    start = 0
    for flag, flags in groupby(is_marked):
        end = start + len(list(flags))
        segments.append((text[start:end], bool(flag)))
        start = end
    return segments


def _mark_parts(is_marked: bytearray, match: re.Match[str], query_words: QueryWords, length: int) -> None:
    """Mark the parts that a letter sequence shares with the query."""
    folded, positions = [], []
    for position, letter in enumerate(match.group(), match.start()):
        folded_letter = _fold(letter)
        folded.append(folded_letter)
        positions += [position] * len(folded_letter)
    run = "".join(folded)
    spans = [
        (start, length)
        for start in range(len(run) - length + 1)
        if run[start : start + length] in query_words.parts
    ]
    for query_run in query_words.runs:
        start = run.find(query_run)
        while start >= 0:
            spans.append((start, len(query_run)))
            start = run.find(query_run, start + len(query_run))
    for start, span_length in spans:
        for position in positions[start : start + span_length]:
            is_marked[position] = 1


def _is_word(word: str, query_words: QueryWords) -> bool:
    if _fold(word) in query_words.exact_words:
        return True
    if not query_words.stems:
        return False
    stem = _stem(_lower(word), query_words.language)
    return stem is not None and stem in query_words.stems


_LAST = 0x10000
"""Letters from this code on have no marks that words need."""


@cache
def _word_pattern() -> re.Pattern[str]:
    """A pattern for words and letter sequences of scripts without spaces, one group each."""
    marks = re.escape("".join(chr(n) for n in range(_LAST) if category(chr(n))[0] == "M"))
    groups = "|".join(f"(?P<{name}>[{letters}]+)" for name, (letters, _) in _RUNS.items())
    without_spaces = "".join(letters for letters, _ in _RUNS.values())
    return re.compile(f"{groups}|(?:(?![{without_spaces}])[\\w{marks}])+")


@lru_cache(maxsize=20_000)
def _fold(text: str) -> str:
    """A text without case and accents; vowel marks that scripts need are kept."""
    folded = "".join(sign for sign in normalize("NFKD", text.casefold()) if not _is_accent(sign))
    return normalize("NFC", folded)


def _is_accent(sign: str) -> bool:
    """True for marks above and below letters, and the optional vowels of Hebrew and Arabic."""
    position = combining(sign)
    return category(sign) == "Mn" and (position >= 200 or 10 <= position <= 36)


def _lower(word: str) -> str:
    return normalize("NFC", word).casefold()


@lru_cache(maxsize=100_000)
def _stem(word: str, language: str) -> tuple[str, str] | None:
    """The language and the stem of a word in lower case; None for numbers and other scripts."""
    code = _language_of(word, language)
    if code is None:
        return None
    return code, _fold(_stemmer(code).stemWord(word))


def _language_of(word: str, language: str) -> str | None:
    """The language for word forms: the project's language, if it fits the script."""
    letter = word[0]
    if not letter.isalpha():
        return None
    languages = next((codes for low, high, codes in _SCRIPTS if low <= letter <= high), None)
    if languages is not None:
        return language if language in languages else languages[0]
    if letter > "\u024f" and not "\u1e00" <= letter <= "\u1eff":
        return None
    is_latin = not any(language in codes for _, _, codes in _SCRIPTS)
    return language if language and is_latin else "en"


@cache
def _stemmer(code: str) -> Stemmer:
    require("marked word forms need snowballstemmer", "snowballstemmer")
    import snowballstemmer

    stemmer: Stemmer = snowballstemmer.stemmer(LANGUAGES[code][1])
    return stemmer
