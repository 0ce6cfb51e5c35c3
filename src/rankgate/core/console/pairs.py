"""Options of the form NAME=VALUE that may be given several times."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from rankgate.core.errors import UsageError

T = TypeVar("T")


def parse_pairs(texts: Sequence[str], option: str, read: Callable[[str], T]) -> dict[str, T]:
    """The names with their values.

    Args:
        texts: as they were written.
        option: what errors call the option.
        read: converts the text of a value.

    Raises:
        UsageError: no ``=``, a name twice, or a value that cannot be read.

    >>> parse_pairs(["buy=1", "view=0.1"], "--weight", float)
    {'buy': 1.0, 'view': 0.1}
    """
    values_by_name: dict[str, T] = {}
    for text in texts:
        name, value = _split_pair(text, option)
        if name in values_by_name:
            raise UsageError(f"{option}: {name} is given twice.", code="duplicate-name")
        try:
            values_by_name[name] = read(value)
        except ValueError:
            raise UsageError(
                f"{option} {text}: '{value}' is not a number.", code="not-a-number"
            ) from None
    return values_by_name


_LABELLED = re.compile(r"\s*(?P<label>[^=]+?)\s*=\s*(?P<number>[^,=]+?)\s*(?:,|$)")


def parse_labelled_numbers(texts: Sequence[str], option: str) -> dict[str, float]:
    """The numbers of labels, in texts that may hold several with commas between.

    Args:
        texts: as they were written.
        option: what errors call the option.

    Raises:
        UsageError: as `parse_pairs`.

    >>> parse_labelled_numbers(["Exact=3,Yes, but late=1", "No=0"], "--grades")
    {'Exact': 3.0, 'Yes, but late': 1.0, 'No': 0.0}
    """
    pair_texts: list[str] = []
    for text in texts:
        matches = list(_LABELLED.finditer(text))
        is_complete = "".join(match[0] for match in matches) == text
        pair_texts += (
            [f"{m['label']}={m['number']}" for m in matches] if is_complete else text.split(",")
        )
    return parse_pairs(pair_texts, option, float)


def _split_pair(word: str, option: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not name or not value:
        raise UsageError(f"{option} {word}: write it as NAME=VALUE.", code="invalid-syntax")
    return name, value
