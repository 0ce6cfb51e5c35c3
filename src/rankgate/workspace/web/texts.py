"""Texts of the rater pages, in the languages of the files in this folder.

A file in ``languages`` has the name of its language, the direction of its script, and a text for
each key of ``en.json``; a new file adds a language. Other pages are in English.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from rankgate.core.frozen import dataclass

LANGUAGE = "rankgate_language"
"""The cookie with the user's chosen language."""

ENGLISH = "en"

TRANSLATED = frozenset(
    {
        "_task.html",
        "discussions.html",
        "history.html",
        "query.html",
        "rate.html",
        "sign_in.html",
        "sign_in_code.html",
    }
)
"""The templates that use texts of these files."""

_FOLDER = Path(__file__).with_name("languages")


@dataclass(frozen=True)
class Texts:
    """The texts of a language.

    Attributes:
        code: the language code, as in HTML.
        language: the language's own name.
        direction: ``ltr`` or ``rtl``.
        texts: the texts by key, with placeholders in braces.
    """

    code: str
    language: str
    direction: str
    texts: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """The text of a key with its values; in English if the translation is missing."""
        text = self.texts.get(key) or read_languages()[ENGLISH].texts[key]
        return text.format_map(values) if values else text

    def menu_label(self, label: str) -> str:
        """The translated label of the navigation; unchanged if it is on no rater page."""
        return self.texts.get(_MENU_KEYS.get(label, ""), label)

    def script_texts(self) -> str:
        """The texts for the script of the rating page as JSON, by key without ``script.``."""
        return json.dumps(
            {
                key.removeprefix("script."): text
                for key, text in self.texts.items()
                if key.startswith("script.")
            },
            ensure_ascii=False,
        )


_MENU_KEYS = {
    "Rate": "menu.rate",
    "Your ratings": "menu.history",
    "Discussion": "menu.discussion",
    "Comments": "menu.comments",
}


@cache
def read_languages() -> Mapping[str, Texts]:
    """The texts by language code, English first."""
    files = sorted(_FOLDER.glob("*.json"), key=lambda file: (file.stem != ENGLISH, file.stem))
    return {file.stem: _read_file(file) for file in files}


def _read_file(file: Path) -> Texts:
    content = json.loads(file.read_text(encoding="utf-8"))
    return Texts(file.stem, content["language"], content["direction"], content["texts"])


def choose_texts(code: str | None, accepted: str) -> Texts:
    """The texts in the user's chosen language, or in a language that the browser prefers.

    Args:
        code: the language code in the cookie.
        accepted: the header ``Accept-Language``.

    >>> choose_texts(None, "fr-CH, fr;q=0.9, en;q=0.8").code, choose_texts("de", "fr").code
    ('fr', 'de')
    """
    languages = read_languages()
    if code is not None and code in languages:
        return languages[code]
    preferences = []
    for language_range in accepted.split(",")[:20]:
        tag, _, weight = language_range.partition(";q=")
        try:
            preferences.append((-float(weight or 1), tag.strip().lower().partition("-")[0]))
        except ValueError:
            continue
    codes = [accepted_code for _, accepted_code in sorted(preferences, key=lambda pair: pair[0])]
    return next((languages[name] for name in codes if name in languages), languages[ENGLISH])
