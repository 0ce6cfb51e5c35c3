r"""Read the cells of published tables: a printed number, or the reason why it is unreadable.

A cell is markup (LaTeX, HTML, Markdown) around

    [n =] number [± number] [%] [(remark)] [marks of significance or of footnotes]

A number may have separators of thousands and a decimal point or comma. ``6,980`` can be both: other
cells of the table decide, and a count of queries is a whole number.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from rankgate.core.frozen import dataclass

_NUMERAL = r"(?:\d{1,3}(?:[ ,.'’_]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?"
_LETTERS = r"(?:[a-j](?:\s*,?\s*[a-j])*)"
_CELL = re.compile(
    rf"\(?\s*(?:[nN]\s*=\s*)?(?P<sign>[-+]?)\s*(?P<number>{_NUMERAL})"
    rf"(?P<spread>\s*\(?\s*(?:±|\+/-|\+-)\s*{_NUMERAL}\s*%?\s*\)?)?\s*\)?\s*(?P<percent>%?)"
    rf"\s*(?:queries|topics|{_LETTERS})?(?P<trailer>(?:\s*\([^()]*\)|\s*\[[^\[\]]*\])*)"
    rf"\s*{_LETTERS}?\s*(?P<late>%?)(?P<remark>(?:\s*\([^()]*\))?)"
)
_QUERIES = re.compile(rf"(?:^|[^A-Za-z0-9])[nN]\s*=\s*({_NUMERAL})(?![\w.,])")
_EMPTY = re.compile(r"(?i)[-\s.]*|n\.?/?a\.?|nan|none|null|x")
_SPACES = re.compile(r"[\s\u00a0\u2000-\u200b\u202f\u205f\u3000]+")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_SCRIPTS = re.compile(r"(?is)<(sup|sub)\b[^<>]*>.*?</\1\s*>")
_MARKS = re.compile(
    "[*†‡§¶⋆★☆•◦°↑↓▲▼△▽⇑⇓↗↘■□●○✓#^`ªº¹²³\u2070-\u209f\u02b0-\u02b8\u1d2c-\u1d6a]|~~|(?<!\\d)_|_(?!\\d{3})"
)
_FOOTNOTE = re.compile(r"\[\^?[\w*†‡]{1,4}\](?!\()")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_POWER = re.compile(r"(?<![\d.,])10\s*(?:\^|<sup|\\textsuperscript|[¹²³\u2070-\u2079])")
_INEXACT = re.compile(r"[~≈<>≤≥∼]")
_ARROW = re.compile(r"^[↑↓▲▼△▽⇑⇓↗↘]\s*[\d.,]")

_DROPPED_COMMANDS = {
    "cellcolor": 1,
    "rowcolor": 1,
    "columncolor": 1,
    "color": 1,
    "arrayrulecolor": 1,
    "footnote": 1,
    "footnotetext": 1,
    "tnote": 1,
    "tablefootnote": 1,
    "textsuperscript": 1,
    "textsubscript": 1,
    "phantom": 1,
    "hphantom": 1,
    "vphantom": 1,
    "hspace": 1,
    "vspace": 1,
    "label": 1,
    "cite": 1,
    "citep": 1,
    "citet": 1,
    "ref": 1,
    "sym": 1,
    "rule": 2,
    "fontsize": 2,
    "cline": 1,
    "cmidrule": 1,
    "specialrule": 3,
    "begin": 1,
    "end": 1,
    "caption": 1,
    "noalign": 1,
    "setlength": 2,
}
"""LaTeX commands that do not print a part of a number, with their number of arguments."""
_WRAPPER_COMMANDS = {
    "textcolor": 1,
    "colorbox": 1,
    "fcolorbox": 2,
    "multicolumn": 2,
    "multirow": 2,
    "scalebox": 1,
    "resizebox": 2,
    "rotatebox": 1,
    "raisebox": 1,
    "adjustbox": 1,
}
"""Commands with arguments before the one that they print."""
_NUMBERS = ("num", "SI", "qty")
_SYMBOLS = {
    "pm": "±",
    "percent": "%",
    "times": "×",
    "cdot": "·",
    "Delta": "Δ",
    "textminus": "-",
    "quad": " ",
    "qquad": " ",
    "%": "%",
    "#": "#",
    "&": "&",
    "_": "_",
    ",": " ",
    ";": " ",
    ":": " ",
    "!": "",
    " ": " ",
    "approx": "≈",
    "sim": "~",
    "le": "≤",
    "leq": "≤",
    "ge": "≥",
    "geq": "≥",
    "lt": "<",
    "gt": ">",
    "textpm": "±",
    "textpercent": "%",
    "thinspace": " ",
}
_OPTION = re.compile(r"\s*(?:\[[^\[\]]*\]|\([^()]*\)(?=\{))")
_COMMAND = re.compile(r"\\([A-Za-z]+\*?|.)", re.DOTALL)

Decimal = Literal[".", ",", ""]
"""The decimal mark of a table; empty if its cells do not show it."""


@dataclass(frozen=True)
class PrintedNumber:
    """A number as a table prints it.

    Attributes:
        value: the number, without its percent sign.
        places: the number of digits after the decimal mark.
        text: the number as it is printed, without marks.
        percent: true if it has a percent sign.
        change: true if it is printed as a change, with a plus sign or an arrow.
        spread: true if a ± follows it.
        n: the number of queries that the cell itself gives, as ``(n=50)``.
    """

    value: float
    places: int
    text: str
    percent: bool = False
    change: bool = False
    spread: bool = False
    n: int | None = None


@dataclass(frozen=True)
class UnreadCell:
    """A cell with text, but without a readable number.

    Attributes:
        text: the cell without markup.
        why: the reason.
    """

    text: str
    why: str


def plain_text(raw: str) -> str:
    """The text of a name or of a head, without markup and marks."""
    text = _LINK.sub(r"\1", _TAG.sub("", html.unescape(_latex_text(raw, raised=True))))
    text = re.sub(r"[*†‡§¶↑↓`]|^_+|_+$|~~", "", text)
    return _SPACES.sub(" ", text).strip()


def read_cell(raw: str, decimal: Decimal, *, count: bool = False) -> PrintedNumber | UnreadCell | None:
    """Read the number of a cell; None if it is empty.

    Args:
        raw: the cell with its markup.
        decimal: the decimal mark of the table.
        count: true if the cell is a number of queries.
    """
    text = _numeral_text(raw)
    if _EMPTY.fullmatch(text):
        return None
    if _POWER.search(raw):
        return UnreadCell(text, "it is written as a power of 10")
    if _INEXACT.match(text):
        return UnreadCell(text, "it is not exact")
    match = _CELL.fullmatch(text)
    if not match:
        return UnreadCell(text, "it is not one number")
    number = _number(match["number"], decimal, count=count)
    if isinstance(number, str):
        return UnreadCell(text, number)
    value, places = number
    sign = -1 if match["sign"] == "-" else 1
    arrow = bool(_ARROW.match(_strip_markup(raw)))
    percent = bool(match["percent"] or match["late"] or "%" in (match["spread"] or ""))
    return PrintedNumber(
        sign * value,
        places,
        match["sign"] + match["number"],
        percent,
        match["sign"] == "+" or arrow,
        bool(match["spread"]),
        find_query_count(match["trailer"] + match["remark"]),
    )


def read_count(raw: str, decimal: Decimal) -> int | UnreadCell | None:
    """Read a number of queries; None if the cell is empty."""
    number = read_cell(raw, decimal, count=True)
    if not isinstance(number, PrintedNumber):
        return number
    if number.percent or number.change or number.value != int(number.value) or number.value < 1:
        return UnreadCell(number.text, "it is not a number of queries")
    return int(number.value)


def find_query_count(text: str) -> int | None:
    """The number of queries that a head or a remark gives, as ``(n = 6,980)``."""
    match = _QUERIES.search(text)
    number = _number(match[1], ".", count=True) if match else None
    is_whole = isinstance(number, tuple) and number[0] == int(number[0]) and number[0] >= 1
    return int(number[0]) if isinstance(number, tuple) and is_whole else None


def decimal_mark(cells: Iterable[str], means: Iterable[str] = ()) -> Decimal:
    """The decimal mark of cells; empty if cells show no mark, or both marks equally often.

    Args:
        cells: the cells of a table.
        means: the cells of metrics between 0 and 1, which have no thousands: if no cell decides,
            the mark of ``45,200`` is decimal in these cells.
    """
    texts = [match["number"] for cell in cells if (match := _CELL.fullmatch(_numeral_text(cell)))]
    return _most_common(map(_unambiguous_mark, texts)) or _most_common(
        "".join(set(re.findall("[.,]", match["number"])))
        for cell in means
        if (match := _CELL.fullmatch(_numeral_text(cell)))
    )


def _most_common(marks: Iterable[str]) -> Decimal:
    mark_counts = Counter(marks)
    if mark_counts["."] == mark_counts[","]:
        return ""
    return "." if mark_counts["."] > mark_counts[","] else ","


def _unambiguous_mark(number: str) -> str:
    """The decimal mark of a number that can be read in only one way; else empty."""
    mantissa = re.sub(r"[eE].*", "", number)
    marks = re.findall(r"[.,]", mantissa)
    if len(set(marks)) == 2:
        return str(marks[-1])
    if len(marks) != 1:
        return ""
    integer_part, fraction = re.split(r"[.,]", mantissa)
    return "" if len(fraction) == 3 and integer_part.strip("0") else str(marks[0])


def _number(text: str, decimal: Decimal, *, count: bool) -> tuple[float, int] | str:
    """The value and decimal places of a numeral, or the reason why it is unreadable."""
    mantissa, _, power = text.lower().partition("e")
    mantissa = re.sub(r"[ '’_]", "", mantissa)
    marks = re.findall(r"[.,]", mantissa)
    point = marks[-1] if marks else ""
    if len(set(marks)) == 2:
        if marks.count(point) > 1:
            return "its separators do not agree"
    elif len(marks) > 1:
        point = ""
    elif marks:
        before, decimals = re.split(r"[.,]", mantissa)
        if len(decimals) == 3 and before.strip("0") and len(before) <= 3:  # thousands, or decimals
            if count:
                if decimals == "000" and point == (decimal or "."):
                    return f"it can be {before} or {before},000"
                point = ""
            elif decimal and point != decimal:
                return f"{point!r} can separate thousands or decimals"
    integer_part, _, fraction = mantissa.rpartition(point) if point else (mantissa, "", "")
    digits = re.sub(r"[.,]", "", integer_part) or "0"
    exponent = int(power or 0)
    return float(f"{digits}.{fraction or 0}e{exponent}"), len(fraction) - exponent


def _numeral_text(raw: str) -> str:
    """The text of a cell without markup and marks, with plain spaces and signs."""
    text = _FOOTNOTE.sub("", _LINK.sub(r"\1", _MARKS.sub("", _strip_markup(raw))))
    return _SPACES.sub(" ", text).strip()


def _strip_markup(raw: str) -> str:
    text = html.unescape(_latex_text(_SCRIPTS.sub("", raw), raised=False))
    text = _TAG.sub("", re.sub(r"<br\s*/?>", " ", text))
    return re.sub("[−–—‐‑]+", "-", text).strip()


def _latex_text(raw: str, *, raised: bool) -> str:
    """The text that LaTeX prints for a cell; other text stays unchanged.

    Args:
        raw: the cell.
        raised: true to keep superscripts and subscripts.
    """
    if not any(mark in raw for mark in "\\$^{"):
        return raw
    text, position = "", 0
    while position < len(raw):
        character = raw[position]
        if character == "\\" and (match := _COMMAND.match(raw, position)):
            printed_text, position = _command(raw, match, raised=raised)
            text += printed_text
        elif character in "^_" and not raised and position + 1 < len(raw):
            content, position = _argument(raw, position + 1)
            if "\\pm" in content or "±" in content:
                text += _latex_text(content, raised=raised)
            elif character == "_" and "{" not in raw and "$" not in raw:
                text += character + content
        else:
            text += {"{": "", "}": "", "$": "", "~": " " if "\\" in raw else "~"}.get(character, character)
            position += 1
    return text


def _command(raw: str, match: re.Match[str], *, raised: bool) -> tuple[str, int]:
    """The printed text of a command, and the position after its arguments."""
    name, position = match[1].rstrip("*"), match.end()
    if name in _SYMBOLS:
        return _SYMBOLS[name], position
    if name in _DROPPED_COMMANDS or name in _WRAPPER_COMMANDS or name in _NUMBERS:
        while option := _OPTION.match(raw, position):
            position = option.end()
    for _ in range(_DROPPED_COMMANDS.get(name, _WRAPPER_COMMANDS.get(name, 0))):
        _, position = _argument(raw, position)
    if name in _DROPPED_COMMANDS or not name.isalpha():
        return "", position
    if name in _NUMBERS:
        number, position = _argument(raw, position)
        unit, position = ("", position) if name == "num" else _argument(raw, position)
        return _latex_text(number, raised=raised) + _latex_text(unit, raised=raised), position
    if position < len(raw) and raw[position] == "{":
        content, position = _argument(raw, position)
        return _latex_text(content, raised=raised), position
    return "", position + (raw[position : position + 1] == " ")


def _argument(raw: str, position: int) -> tuple[str, int]:
    """The argument of a command without its braces, and the position after it."""
    while position < len(raw) and raw[position] == " ":
        position += 1
    if position >= len(raw):
        return "", position
    if raw[position] == "\\" and (match := _COMMAND.match(raw, position)):
        return match[0], match.end()
    if raw[position] != "{":
        return raw[position], position + 1
    depth, argument_start = 0, position
    while position < len(raw):
        if raw[position] == "\\":
            position += 1
        else:
            depth += {"{": 1, "}": -1}.get(raw[position], 0)
        position += 1
        if not depth:
            return raw[argument_start + 1 : position - 1], position
    return raw[argument_start + 1 :], position
