"""Checks of the form of a file: byte order marks, line ends, guards against formulas.

The notes and errors of a reader also become findings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgate.core.present.number_formats import count_noun
from rankgate.data.files.checks.check_declarations import Found, check
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from rankgate.core.errors import InputError
    from rankgate.data.file_contents import FileContents, Note
    from rankgate.data.files.checks.check_declarations import FileStart, Severity


_MAX_SHOWN_LENGTH = 40
_GUESSED_FIELD_COUNTS = (2, 3)  # numbers of fields that many kinds of text have
_OTHER_SUFFIXES = frozenset(
    {"json", "jsonl", "toml", "yaml", "yml", "xml", "html", "md", "ini", "cfg", "py", "parquet"}
)
"""Suffixes of files that do not hold lines of fields."""
_UNUSUAL_ID = re.compile(rb"[^\w]+|.*[\[\]{}<>\"]+.*", re.DOTALL)
_GUARDS = {"apostrophe": rb"'[-=+@]", "blank": rb" [-=+@]", "formula": rb"(?:[=@]|[-+](?![\d.]))[^\s,;\t\"]"}


@check("byte-order-mark", "note", "bytes", "The file begins with a byte order mark.")
def _find_byte_order_mark(file_start: FileStart) -> Iterator[Found]:
    if file_start.head.startswith(BOM):
        yield Found(
            "the file begins with a byte order mark",
            1,
            "rankgate ignores it; other tools may read it as part of the first name",
            line=1,
        )


@check("line-ends", "note", "bytes", "Lines end as on Windows.")
def _find_line_ends(file_start: FileStart) -> Iterator[Found]:
    windows_count = file_start.head.count(b"\r\n")
    plain_count = file_start.head.count(b"\n") - windows_count
    if windows_count:
        mixed_note = f", not on {count_noun(plain_count, 'other')}" if plain_count else ""
        yield Found(
            f"Windows line ends (CR LF) on {count_noun(windows_count, 'line')}{mixed_note}",
            windows_count,
            "rankgate ignores it; other tools may keep the CR in the last column",
            line=1 + file_start.head.split(b"\r\n", 1)[0].count(b"\n"),
        )


@check(
    "guessed-format",
    "warning",
    "bytes",
    "The number of fields suggests one kind of file, but its name or its contents suggest another.",
)
def _find_guessed_format(file_start: FileStart) -> Iterator[Found]:
    lines = enumerate(file_start.head.removeprefix(BOM).split(b"\n"), start=1)
    line, fields = next(
        (
            (number, words)
            for number, text in lines
            if (words := text.split()) and not words[0].startswith(b"#")
        ),
        (1, []),
    )
    if not file_start.guess or len(fields) not in _GUESSED_FIELD_COUNTS:
        return
    suffix = file_start.name.removesuffix(".gz").rpartition(".")[2].lower()
    doubts = [f"its name ends in .{suffix}"] if suffix in _OTHER_SUFFIXES else []
    unusual_fields = [text for text in fields if _UNUSUAL_ID.fullmatch(text)]
    doubts += [f"{text.decode(errors='replace')!r} is not a usual id or number" for text in unusual_fields]
    if doubts:
        yield Found(
            f"{file_start.guess}, so it is read as judgments or a run, but {' and '.join(doubts)}",
            1,
            "check whether this is the right file; name its format with --from, or its kind of file with "
            "--as",
            fields[0].decode(errors="replace"),
            line=line,
        )


def _count_guarded_cells(file_start: FileStart, kind: str) -> tuple[int, str, int]:
    """Count the cells that match a kind of guard; return also the first cell and its line."""
    if file_start.separator is None:
        return 0, "", 0
    separator = re.escape(file_start.separator.encode())
    cells = list(re.finditer(rb'(?m)(?:^|%b)"?(%b)' % (separator, _GUARDS[kind]), file_start.head))
    if not cells:
        return 0, "", 0
    begin = cells[0].start(1)
    text = re.split(
        rb'%b|["\r\n]' % separator, file_start.head[begin : begin + _MAX_SHOWN_LENGTH], maxsplit=1
    )[0]
    line = file_start.head.count(b"\n", 0, begin) + 1
    return len(cells), text.decode(errors="replace"), line


def _find_guarded(
    file_start: FileStart, kind: str, problem: str, remedy: str, severity: Severity | None = None
) -> Iterator[Found]:
    """Find the cells of a table that match a kind of guard."""
    count, example, line = _count_guarded_cells(file_start, kind)
    if count:
        text = f"{count_noun(count, 'cell')} {problem}"
        yield Found(text, count, remedy, example, line=line, severity=severity)


@check(
    "apostrophe-guard",
    "warning",
    "bytes",
    "Cells of a table have an apostrophe that guards against formulas.",
)
def _find_apostrophes(file_start: FileStart) -> Iterator[Found]:
    yield from _find_guarded(
        file_start,
        "apostrophe",
        "with an apostrophe before a sign that begins a formula",
        "remove the apostrophe: it is read as a part of the id or text, which then matches nothing",
    )


@check("blank-guard", "warning", "bytes", "Cells of a table have a blank that guards against formulas.")
def _find_blanks(file_start: FileStart) -> Iterator[Found]:
    problem = "with a blank before a sign that begins a formula, "
    if file_start.guarded:
        problem += "as Quepid guards them; the blank is removed when the file is read"
        remedy = "rankgate reads it correctly; ignore this"
        yield from _find_guarded(file_start, "blank", problem, remedy, "note")
    else:
        problem += "a guard that stays a part of the id or text"
        remedy = "remove the blank, or read the file as --from quepid-csv if it is from Quepid"
        yield from _find_guarded(file_start, "blank", problem, remedy)


@check("formula", "note", "bytes", "Cells of a table begin like a formula.")
def _find_formulas(file_start: FileStart) -> Iterator[Found]:
    yield from _find_guarded(
        file_start,
        "formula",
        "that a spreadsheet would run as a formula",
        "do not open the file in a spreadsheet; convert it to a format of Quepid's, which guards such cells",
    )


_RATED_ONLY = "rated only"
_REPORTED_ELSEWHERE = "without judgments"  # the checks of judgments report these notes


@check("unreadable", "error", "failure", "The file cannot be read in its format.")
def _find_unreadable(error: InputError) -> Iterator[Found]:
    if error.suggestions:
        problem, fix = error.problem.split(";")[0], f"add {error.suggestions[0]} if this is right"
        yield Found(problem, 1, fix, line=error.line)
        return
    yield Found(error.problem.rstrip("."), 1, "", line=error.line)


@check(
    "rated-only",
    "note",
    "contents",
    "Documents are in a snapshot only as they were rated; they were not retrieved.",
)
def _find_rated_only(contents: FileContents) -> Iterator[Found]:
    for note in contents.notes:
        if _RATED_ONLY in note.what:
            yield _make_finding(note, "ignore this: they are not part of the run")


@check("seen", "note", "contents", "The reader saw or did something worth a note.")
def _find_notes(contents: FileContents) -> Iterator[Found]:
    for note in contents.notes:
        if _RATED_ONLY not in note.what and not note.what.endswith(_REPORTED_ELSEWHERE):
            yield _make_finding(note, "if this is intended, ignore it")


def _make_finding(note: Note, fix: str) -> Found:
    return Found(f"{note.count:,} {note.what}", note.count, fix, note.examples[0] if note.examples else "")
