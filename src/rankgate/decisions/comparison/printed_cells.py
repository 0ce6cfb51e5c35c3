r"""Read the cells of published tables: the number that a cell prints, or why it cannot be read.

A cell is markup (LaTeX, HTML, Markdown) around

    [n =] number [± number] [%] [(remark)] [marks of significance or of footnotes]

A number may have separators of thousands and a decimal point or comma. ``6,980`` can be both: what
other cells of the table show decides, and a count of queries is a whole number.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from rankgate.core.frozen import dataclass

_NUMERAL = (
    r"(?:\d{1,3}(?:[ ,.'’_]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?"
)
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
_RAISED = re.compile(r"(?is)<(sup|sub)\b[^<>]*>.*?</\1\s*>")
_MARKS = re.compile(
    "[*†‡§¶⋆★☆•◦°↑↓▲▼△▽⇑⇓↗↘■□●○✓#^`ªº¹²³\u2070-\u209f\u02b0-\u02b8\u1d2c-\u1d6a]|~~|(?<!\\d)_|_(?!\\d{3})"
)
_FOOTNOTE = re.compile(r"\[\^?[\w*†‡]{1,4}\](?!\()")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_POWER = re.compile(r"(?<![\d.,])10\s*(?:\^|<sup|\\textsuperscript|[¹²³\u2070-\u2079])")
_INEXACT = re.compile(r"[~≈<>≤≥∼]")
_ARROW = re.compile(r"^[↑↓▲▼△▽⇑⇓↗↘]\s*[\d.,]")

_DROPPED = {
    "cellcolor": 1, "rowcolor": 1, "columncolor": 1, "color": 1, "arrayrulecolor": 1, "footnote": 1,
    "footnotetext": 1, "tnote": 1, "tablefootnote": 1, "textsuperscript": 1, "textsubscript": 1,
    "phantom": 1, "hphantom": 1, "vphantom": 1, "hspace": 1, "vspace": 1, "label": 1, "cite": 1,
    "citep": 1, "citet": 1, "ref": 1, "sym": 1, "rule": 2, "fontsize": 2, "cline": 1, "cmidrule": 1,
    "specialrule": 3, "begin": 1, "end": 1, "caption": 1, "noalign": 1, "setlength": 2,
}  # fmt: skip
"""LaTeX commands that print no part of a number, with how many arguments they take."""
_SKIPPED = {
    "textcolor": 1, "colorbox": 1, "fcolorbox": 2, "multicolumn": 2, "multirow": 2, "scalebox": 1,
    "resizebox": 2, "rotatebox": 1, "raisebox": 1, "adjustbox": 1,
}  # fmt: skip
"""Commands with arguments before the one that they print."""
_NUMBERS = ("num", "SI", "qty")
_SYMBOLS = {
    "pm": "±", "percent": "%", "times": "×", "cdot": "·", "Delta": "Δ", "textminus": "-",
    "quad": " ", "qquad": " ", "%": "%", "#": "#", "&": "&", "_": "_", ",": " ", ";": " ", ":": " ",
    "!": "", " ": " ", "approx": "≈", "sim": "~", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥",
    "lt": "<", "gt": ">", "textpm": "±", "textpercent": "%", "thinspace": " ",
}  # fmt: skip
_OPTION = re.compile(r"\s*(?:\[[^\[\]]*\]|\([^()]*\)(?=\{))")
_COMMAND = re.compile(r"\\([A-Za-z]+\*?|.)", re.DOTALL)

Decimal = Literal[".", ",", ""]
"""The decimal mark of a table; empty where its cells do not show it."""


@dataclass(frozen=True)
class Printed:
    """A number as a table prints it.

    Attributes:
        value: the number, without its percent sign.
        places: digits after its decimal mark.
        text: the number as it is printed, without marks.
        percent: whether a percent sign stands at it.
        change: whether it is printed as a change, with a plus sign or an arrow.
        spread: whether a ± follows it.
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
class Unread:
    """A cell that has text, and no number that can be read.

    Attributes:
        text: the cell without markup.
        why: the reason.
    """

    text: str
    why: str


def plain_text(raw: str) -> str:
    """The text of a name or of a head, without markup and marks."""
    text = _LINK.sub(r"\1", _TAG.sub("", html.unescape(_typeset(raw, raised=True))))
    text = re.sub(r"[*†‡§¶↑↓`]|^_+|_+$|~~", "", text)
    return _SPACES.sub(" ", text).strip()


def read_cell(raw: str, decimal: Decimal, *, count: bool = False) -> Printed | Unread | None:
    """The number of a cell; None where it is empty.

    Args:
        raw: the cell with its markup.
        decimal: the decimal mark of the table.
        count: whether the cell is a number of queries.
    """
    text = _numeral_text(raw)
    if _EMPTY.fullmatch(text):
        return None
    if _POWER.search(raw):
        return Unread(text, "it is written as a power of 10")
    if _INEXACT.match(text):
        return Unread(text, "it is not exact")
    match = _CELL.fullmatch(text)
    if not match:
        return Unread(text, "it is not one number")
    number = _number(match["number"], decimal, count=count)
    if isinstance(number, str):
        return Unread(text, number)
    value, places = number
    sign = -1 if match["sign"] == "-" else 1
    arrow = bool(_ARROW.match(_bare(raw)))
    percent = bool(match["percent"] or match["late"] or "%" in (match["spread"] or ""))
    return Printed(
        sign * value, places, match["sign"] + match["number"], percent,
        match["sign"] == "+" or arrow, bool(match["spread"]),
        queries_in(match["trailer"] + match["remark"]),
    )  # fmt: skip


def read_count(raw: str, decimal: Decimal) -> int | Unread | None:
    """A number of queries; None where the cell is empty."""
    number = read_cell(raw, decimal, count=True)
    if not isinstance(number, Printed):
        return number
    if number.percent or number.change or number.value != int(number.value) or number.value < 1:
        return Unread(number.text, "it is not a number of queries")
    return int(number.value)


def queries_in(text: str) -> int | None:
    """The number of queries that a head or a remark gives, as ``(n = 6,980)``."""
    match = _QUERIES.search(text)
    number = _number(match[1], ".", count=True) if match else None
    whole = isinstance(number, tuple) and number[0] == int(number[0]) and number[0] >= 1
    return int(number[0]) if isinstance(number, tuple) and whole else None


def decimal_mark(cells: Iterable[str], means: Iterable[str] = ()) -> Decimal:
    """The decimal mark that cells show; empty where they show none, or both as often.

    Args:
        cells: those of a table.
        means: those of metrics between 0 and 1, which have no thousands: where no cell decides,
            the mark of ``45,200`` is decimal there.
    """
    texts = [match["number"] for cell in cells if (match := _CELL.fullmatch(_numeral_text(cell)))]
    return _most_common(map(_shown_mark, texts)) or _most_common(
        "".join(set(re.findall("[.,]", match["number"])))
        for cell in means if (match := _CELL.fullmatch(_numeral_text(cell)))
    )  # fmt: skip


def _most_common(marks: Iterable[str]) -> Decimal:
    often = Counter(marks)
    if often["."] == often[","]:
        return ""
    return "." if often["."] > often[","] else ","


def _shown_mark(number: str) -> str:
    """The decimal mark of a number that can be read in one way; else empty."""
    mantissa = re.sub(r"[eE].*", "", number)
    marks = re.findall(r"[.,]", mantissa)
    if len(set(marks)) == 2:
        return str(marks[-1])
    if len(marks) != 1:
        return ""
    before, after = re.split(r"[.,]", mantissa)
    return "" if len(after) == 3 and before.strip("0") else str(marks[0])


def _number(text: str, decimal: Decimal, *, count: bool) -> tuple[float, int] | str:
    """Value and decimal places of a numeral, or why it has none."""
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
        before, after = re.split(r"[.,]", mantissa)
        if len(after) == 3 and before.strip("0") and len(before) <= 3:  # thousands, or decimals
            if count:
                if after == "000" and point == (decimal or "."):
                    return f"it can be {before} or {before},000"
                point = ""
            elif decimal and point != decimal:
                return f"{point!r} can separate thousands or decimals"
    whole, _, fraction = mantissa.rpartition(point) if point else (mantissa, "", "")
    digits = re.sub(r"[.,]", "", whole) or "0"
    shift = int(power or 0)
    return float(f"{digits}.{fraction or 0}e{shift}"), len(fraction) - shift


def _numeral_text(raw: str) -> str:
    """The text of a cell without markup and marks, with plain spaces and signs."""
    text = _FOOTNOTE.sub("", _LINK.sub(r"\1", _MARKS.sub("", _bare(raw))))
    return _SPACES.sub(" ", text).strip()


def _bare(raw: str) -> str:
    text = html.unescape(_typeset(_RAISED.sub("", raw), raised=False))
    text = _TAG.sub("", re.sub(r"<br\s*/?>", " ", text))
    return re.sub("[−–—‐‑]+", "-", text).strip()


def _typeset(raw: str, *, raised: bool) -> str:
    """The text that LaTeX prints for a cell; other text as it is.

    Args:
        raw: the cell.
        raised: whether superscripts and subscripts stay.
    """
    if not any(mark in raw for mark in "\\$^{"):
        return raw
    text, at = "", 0
    while at < len(raw):
        character = raw[at]
        if character == "\\" and (match := _COMMAND.match(raw, at)):
            printed, at = _command(raw, match, raised=raised)
            text += printed
        elif character in "^_" and not raised and at + 1 < len(raw):
            content, at = _argument(raw, at + 1)
            if "\\pm" in content or "±" in content:
                text += _typeset(content, raised=raised)
            elif character == "_" and "{" not in raw and "$" not in raw:
                text += character + content
        else:
            text += {"{": "", "}": "", "$": "", "~": " " if "\\" in raw else "~"}.get(
                character, character
            )
            at += 1
    return text


def _command(raw: str, match: re.Match[str], *, raised: bool) -> tuple[str, int]:
    """What a command prints with its arguments, and where the text after it begins."""
    name, at = match[1].rstrip("*"), match.end()
    if name in _SYMBOLS:
        return _SYMBOLS[name], at
    if name in _DROPPED or name in _SKIPPED or name in _NUMBERS:
        while option := _OPTION.match(raw, at):
            at = option.end()
    for _ in range(_DROPPED.get(name, _SKIPPED.get(name, 0))):
        _, at = _argument(raw, at)
    if name in _DROPPED or not name.isalpha():
        return "", at
    if name in _NUMBERS:
        number, at = _argument(raw, at)
        unit, at = ("", at) if name == "num" else _argument(raw, at)
        return _typeset(number, raised=raised) + _typeset(unit, raised=raised), at
    if at < len(raw) and raw[at] == "{":
        content, at = _argument(raw, at)
        return _typeset(content, raised=raised), at
    return "", at + (raw[at : at + 1] == " ")


def _argument(raw: str, at: int) -> tuple[str, int]:
    """The argument of a command without its braces, and where the text after it begins."""
    while at < len(raw) and raw[at] == " ":
        at += 1
    if at >= len(raw):
        return "", at
    if raw[at] == "\\" and (match := _COMMAND.match(raw, at)):
        return match[0], match.end()
    if raw[at] != "{":
        return raw[at], at + 1
    depth, begin = 0, at
    while at < len(raw):
        if raw[at] == "\\":
            at += 1
        else:
            depth += {"{": 1, "}": -1}.get(raw[at], 0)
        at += 1
        if not depth:
            return raw[begin + 1 : at - 1], at
    return raw[begin + 1 :], at
