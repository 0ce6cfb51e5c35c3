"""Checks of how a file is written: marks, line ends, guards against formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgate.data.files.checks.declare import Found, check, counted
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.files.checks.subject import Bytes

_SHOWN = 40
_FEW = (2, 3)  # fields, as many kinds of text have them
_OTHERS = frozenset(
    {"json", "jsonl", "toml", "yaml", "yml", "xml", "html", "md", "ini", "cfg", "py", "parquet"}
)
"""Ends of names of files that hold no lines of fields."""
_NO_ID = re.compile(rb"[^\w]+|.*[\[\]{}<>\"]+.*", re.DOTALL)
_GUARDS = {
    "apostrophe": rb"'[-=+@]",
    "blank": rb" [-=+@]",
    "formula": rb"(?:[=@]|[-+](?![\d.]))[^\s,;\t\"]",
}


@check("byte-order-mark", "note", "bytes", "The file begins with a byte order mark.")
def _mark(found: Bytes) -> Iterator[Found]:
    if found.head.startswith(BOM):
        yield Found(
            "the file begins with a byte order mark, which is passed over",
            1,
            "nothing needs to be done here; other tools take it for a part of the first name",
            line=1,
        )


@check("line-ends", "note", "bytes", "Lines end as on Windows.")
def _ends(found: Bytes) -> Iterator[Found]:
    windows = found.head.count(b"\r\n")
    plain = found.head.count(b"\n") - windows
    if windows:
        mixed = f", not on {plain:,} others" if plain else ""
        yield Found(
            f"Windows line ends (CR LF) on {counted(windows, 'line')}{mixed}",
            windows,
            "nothing needs to be done here; other tools may keep the CR in the last column",
            line=1 + found.head.split(b"\r\n", 1)[0].count(b"\n"),
        )


@check(
    "guessed-format",
    "warning",
    "bytes",
    "The number of fields says what the file is, and its name or its contents speak against it.",
)
def _guesses(found: Bytes) -> Iterator[Found]:
    lines = enumerate(found.head.removeprefix(BOM).split(b"\n"), start=1)
    line, fields = next(
        ((n, f) for n, text in lines if (f := text.split()) and not f[0].startswith(b"#")), (1, [])
    )
    if not found.guess or len(fields) not in _FEW:
        return
    suffix = found.name.removesuffix(".gz").rpartition(".")[2].lower()
    doubts = [f"its name ends in .{suffix}"] if suffix in _OTHERS else []
    odd = [text for text in fields if _NO_ID.fullmatch(text)]
    doubts += [f"{text.decode(errors='replace')!r} is no usual id or number" for text in odd]
    if doubts:
        yield Found(
            f"{found.guess}, so that it is taken for judgments or a run; {' and '.join(doubts)}",
            1,
            "check whether this is the right file; name its format with --from, or what it is "
            "with --as",
            fields[0].decode(errors="replace"),
            line=line,
        )


def _cells(found: Bytes, kind: str) -> tuple[int, str, int]:
    """How many cells of a table match a kind of guard, the first of them and its line."""
    if found.separator is None:
        return 0, "", 0
    between = re.escape(found.separator.encode())
    cells = list(re.finditer(rb'(?m)(?:^|%b)"?(%b)' % (between, _GUARDS[kind]), found.head))
    if not cells:
        return 0, "", 0
    begin = cells[0].start(1)
    text = re.split(rb'%b|["\r\n]' % between, found.head[begin : begin + _SHOWN], maxsplit=1)[0]
    line = found.head.count(b"\n", 0, begin) + 1
    return len(cells), text.decode(errors="replace"), line


@check(
    "apostrophe-guard",
    "warning",
    "bytes",
    "Cells of a table have an apostrophe that guards against formulas.",
)
def _apostrophes(found: Bytes) -> Iterator[Found]:
    count, example, line = _cells(found, "apostrophe")
    if count:
        yield Found(
            f"{counted(count, 'cell')} with an apostrophe before a sign that begins a formula",
            count,
            "take the apostrophe away: it is read as a part of the id or text, which then matches "
            "nothing",
            example,
            line=line,
        )


@check(
    "blank-guard", "warning", "bytes", "Cells of a table have a blank that guards against formulas."
)
def _blanks(found: Bytes) -> Iterator[Found]:
    count, example, line = _cells(found, "blank")
    if count and found.guarded:
        yield Found(
            f"{counted(count, 'cell')} with a blank before a sign that begins a formula, as "
            "Quepid guards them; the blank is taken away in reading",
            count,
            "nothing needs to be done here",
            example,
            line=line,
            severity="note",
        )
    elif count:
        yield Found(
            f"{counted(count, 'cell')} with a blank before a sign that begins a formula, a guard "
            "that stays a part of the id or text",
            count,
            "take the blank away, or read the file as --from quepid-csv if it is from Quepid",
            example,
            line=line,
        )


@check("formula", "note", "bytes", "Cells of a table begin like a formula.")
def _formulas(found: Bytes) -> Iterator[Found]:
    count, example, line = _cells(found, "formula")
    if count:
        yield Found(
            f"{counted(count, 'cell')} that a spreadsheet would run as a formula",
            count,
            "do not open the file in a spreadsheet; convert it to a format of Quepid's, which "
            "guards such cells",
            example,
            line=line,
        )
