"""Format numbers for people, figures of a comparison, and superscript marks of systems.

Numbers are formatted for people; files for programs keep full precision. The marks are for
tables that show which system is higher than another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

UNDEFINED = "–"
"""The text of an undefined value."""


def finite_or_none(value: float | None) -> float | None:
    """The value itself; None if undefined or infinite.

    >>> finite_or_none(0.5), finite_or_none(math.nan), finite_or_none(math.inf)
    (0.5, None, None)
    """
    return value if value is not None and math.isfinite(value) else None


def format_decimal(value: float | None) -> str:
    """A number with four decimals.

    >>> format_decimal(2 / 3), format_decimal(-0.00001), format_decimal(None)
    ('0.6667', '0.0000', '–')
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{value:z.4f}"


def format_column(values: Iterable[float | None]) -> list[str]:
    """Four decimals each, unless all are counts: whole numbers other than only 0 and 1.

    >>> format_column([0.5, 1.0]), format_column([12.0, 1.0])
    (['0.5000', '1.0000'], ['12', '1'])
    """
    numbers = list(values)
    finite = [value for value in numbers if value is not None and math.isfinite(value)]
    counts = any(abs(value) > 1 for value in finite) and all(map(float.is_integer, finite))
    if not counts:
        return [format_decimal(value) for value in numbers]
    return [
        format_decimal(value) if value is None or not math.isfinite(value) else f"{value:.0f}"
        for value in numbers
    ]


def format_counts(values: Iterable[float | None]) -> list[str]:
    """Whole numbers if all are whole, else four decimals each.

    >>> format_counts([7.0, 1.0]), format_counts([0.5, 1.0, None])
    (['7', '1'], ['0.5000', '1.0000', '–'])
    """
    numbers = list(values)
    if all(value is None or value.is_integer() for value in numbers):
        return [UNDEFINED if value is None else f"{value:.0f}" for value in numbers]
    return [format_decimal(value) for value in numbers]


def count_noun(count: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun, and with its verb where both forms are given.

    >>> count_noun(1, "query"), count_noun(2, "query"), count_noun(3, "search")
    ('1 query', '2 queries', '3 searches')
    >>> count_noun(1, "row has", "rows have"), count_noun(2000, "row has", "rows have")
    ('1 row has', '2,000 rows have')
    """
    return f"{count:,} {singular if count == 1 else plural or _plural(singular)}"


def count_queries(*counts: int, users: bool = False) -> str:
    """The number of queries as text; several numbers if metrics or runs differ.

    >>> (count_queries(1), count_queries(10000), count_queries(30, 29, 30),
    ...  count_queries(7, users=True))
    ('1 query', '10,000 queries', '29 or 30 queries', '7 users')
    """
    distinct = sorted(set(counts))
    singular, plural = ("user", "users") if users else ("query", "queries")
    return f"{' or '.join(f'{n:,}' for n in distinct)} {singular if distinct == [1] else plural}"


def count_plural(count: int, plural: str) -> str:
    """A number with a noun given only in the plural, such as the name of a table.

    >>> count_plural(1, "rating tasks"), count_plural(1, "queries"), count_plural(2, "batches")
    ('1 rating task', '1 query', '2 batches')
    """
    singular = re.sub(r"(?<=ch|sh|ss)es$|(?<=x)es$|s$", "", re.sub(r"ies$", "y", plural))
    return count_noun(count, singular, plural)


def _plural(singular: str) -> str:
    if singular[-1] == "y" and singular[-2] not in "aeiou":
        return f"{singular[:-1]}ies"
    return f"{singular}{'es' if singular.endswith(('ch', 'sh', 's', 'x')) else 's'}"


def format_grade(value: float | None) -> str:
    """A grade as raters write it; a dash for a document without a grade.

    >>> format_grade(3.0), format_grade(0.5), format_grade(None)
    ('3', '0.5', '–')
    """
    return UNDEFINED if value is None else f"{value:g}"


def format_hash(value: str | None) -> str:
    """The first signs of a hash, which identify what it is of.

    >>> format_hash("8b199f039c4717e2a0"), format_hash(None)
    ('8b199f039c47', '–')
    """
    return UNDEFINED if value is None else value[:12]


_SMALL = 0.001


def _undefined(value: float | None) -> bool:
    return value is None or math.isnan(value)


def format_correction(correction: str) -> str:
    """The correction of p-values, as the end of a sentence.

    >>> format_correction("holm over 3 tests"), format_correction("none over 1 test")
    ('corrected by holm over 3 tests', 'not corrected (1 test)')
    """
    rule, _, tests = correction.partition(" over ")
    return f"not corrected ({tests})" if rule == "none" else f"corrected by {correction}"


def format_signed(value: float | None, digits: int = 4) -> str:
    """A difference with its sign.

    >>> format_signed(0.05), format_signed(-0.00001), format_signed(None)
    ('+0.0500', '+0.0000', '–')
    """
    return UNDEFINED if _undefined(value) else f"{value:+z.{digits}f}"


def format_p_value(value: float | None) -> str:
    """A p-value; a small one as a bound.

    >>> format_p_value(0.04567), format_p_value(0.00001), format_p_value(None)
    ('0.046', '<0.001', '–')
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"<{_SMALL}" if value < _SMALL else f"{value:.3f}"


def format_interval(low: float | None, high: float | None, digits: int = 4) -> str:
    """An interval with signs at its ends."""
    if _undefined(low) or _undefined(high):
        return UNDEFINED
    return f"[{low:+z.{digits}f}, {high:+z.{digits}f}]"


def format_number(value: float | None, digits: int) -> str:
    """A number with that many decimals."""
    return UNDEFINED if _undefined(value) else f"{value:z.{digits}f}"


def format_milliseconds(value: float | None) -> str:
    """A time in milliseconds: one decimal, or three below 1 ms.

    >>> format_milliseconds(12.345), format_milliseconds(0.0123), format_milliseconds(None)
    ('12.3', '0.012', '–')
    """
    return format_number(value, 1 if value is None or value >= 1 else 3)


def format_bounds(low: float | None, high: float | None, format_value: Callable[[float], str]) -> str:
    """A value between two bounds; without the upper one, at least the lower one.

    >>> [format_bounds(57.0, high, "{:.1f}".format) for high in (57.02, 63.0, None)]
    ['57.0', '57.0 to 63.0', '≥ 57.0']
    """
    if low is None:
        return UNDEFINED
    text = format_value(low)
    if high is None:
        return f"≥ {text}"
    return text if text == (high_text := format_value(high)) else f"{text} to {high_text}"


def format_amount(value: float | None) -> str:
    """An amount of money: two decimals, or three digits below 1.

    >>> format_amount(1234.5), format_amount(0.01234), format_amount(0.0), format_amount(None)
    ('1,234.50', '0.0123', '0.00', '–')
    """
    if value is None:
        return UNDEFINED
    return f"{value:,.2f}" if value >= 1 or not value else f"{value:.3g}"


def format_query_count(value: float | None) -> str:
    """A number of queries, rounded up; above a million only a bound."""
    if value is None:
        return UNDEFINED
    return "> 1,000,000" if value > 1e6 else f"{-int(-value // 1):,}"


def format_setting(value: object) -> str:
    """A value of a setting as in TOML, without quotes.

    >>> format_setting(1.0), format_setting(True), format_setting("or")
    ('1', 'true', 'or')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def format_share(value: float | None) -> str:
    """A relative difference.

    >>> format_share(0.0512), format_share(None)
    ('+5.1%', '–')
    """
    return UNDEFINED if _undefined(value) else f"{value:+z.1%}"


def format_probability(value: float | None) -> str:
    """A probability; one near 0 or 1 as a bound.

    >>> format_probability(0.25), format_probability(0.9999), format_probability(1e-5)
    ('0.250', '>0.999', '<0.001')
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    if value < _SMALL:
        return f"<{_SMALL}"
    return f">{1 - _SMALL}" if value > 1 - _SMALL else f"{value:.3f}"


LETTERS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
"""Letters of the systems, in order, followed by a number if there are more systems than letters."""

DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"


def system_mark(index: int) -> str:
    """The mark of the system at a position.

    >>> system_mark(0), system_mark(24), system_mark(25)
    ('ᵃ', 'ᶻ', 'ᵃ²')
    """
    round_number, letter = divmod(index, len(LETTERS))
    return LETTERS[letter] + (
        "".join(DIGITS[int(digit)] for digit in str(round_number + 1)) if round_number else ""
    )


_MAX_NAMED = 5  # names of a list


def list_names(names: Sequence[str], limit: int = _MAX_NAMED) -> str:
    """The first few names, and how many more there are.

    >>> list_names(["a", "b"]), list_names("abcdefg")
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    return ", ".join(names[:limit]) + f" and {len(names) - limit:,} more" * (len(names) > limit)
