"""Logs of interactions, as read by ``rankgate split``; this module reads them as judgments.

A grade is the rating, or 1 if the log has no ratings; the highest grade counts if one user has
several interactions with one item.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.core.present.lazy_names import load_upper
from rankgate.data.column_names import LOG_COLUMNS, match_columns
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.format import Format, Note
from rankgate.data.formats.table import DOCUMENT_COLUMNS
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rankgate.data.qrels import Qrels
    from rankgate.data.streams.source import InputFile

    Sniff = Callable[[bytes, str], str | None]


_RECBOLE = re.compile(rb"^\S+:(token|float|token_seq|float_seq)(\t\S+:\w+)+\r?$")
# TREC judgments may also have four numbers separated by tabs, but the last is not a time
_U_DATA = re.compile(rb"^\d+\t\d+\t\d(\.\d)?\t\d{8,}\r?$")
_RATINGS_DAT = re.compile(rb"^\d+::\d+::\d+(\.\d+)?::\d+\r?$")
_USER_LIST = re.compile(rb"^[^\s:,\t]+:[ \t]*[^\s:,]+([ \t]+[^\s:,]+)+[ \t]*\r?$")
_LINES, _MARK = 5, 64  # lines and bytes to read


def read_judgments(source: InputFile, form: str) -> Qrels:
    """A log as judgments.

    Args:
        source: the log.
        form: its log format.

    Raises:
        InputError: the file cannot be read; the message has file and line.
    """
    if form == "lists" and source.head(_MARK).removeprefix(BOM).lstrip()[:1] in (b"{", b"["):
        problem = "JSON, where lines of user: item item are needed; check the format."
        raise InputError(problem, source=source.label, line=1, code="invalid-syntax")
    qrels: Qrels = load_upper("judgments_of_log")(source, form)
    return qrels


def read_contents(source: InputFile, form: str) -> FileContents:
    """The same judgments with a note that they come from a log."""
    qrels = read_judgments(source, form)
    note_text = "users of a log of interactions, read as judgments (rankgate split makes a test set)"
    return FileContents(
        qrels=qrels, notes=Note.of(note_text, qrels.table["query_id"].unique(maintain_order=True))
    )


def is_log(names: Sequence[str]) -> bool:
    """True if columns are those of a log: a user, an item and a time or kind, and no grade."""
    lower_names = {name.strip().lower() for name in names}
    log_columns = lower_names & LOG_COLUMNS
    known_columns = match_columns(names, ("query_id", "doc_id", "grade", "score", "rank", "rater"))
    return (
        bool(log_columns)
        and {*known_columns} == {"query_id", "doc_id"}
        and not lower_names & DOCUMENT_COLUMNS
    )


def _make_sniffer(pattern: re.Pattern[bytes], reason: str, lines: int = _LINES) -> Sniff:
    """Sniff files by a form that all their first lines have."""

    def sniff(first_bytes: bytes, name: str) -> str | None:
        lines_read = first_bytes.removeprefix(BOM).lstrip().split(b"\n")
        complete_lines = lines_read[:-1] or lines_read
        return reason if all(map(pattern.match, complete_lines[:lines])) else None

    sniff.__doc__ = f"{reason[:1].upper()}{reason[1:]}."
    return sniff


def _make_format(name: str, title: str, suffix: str, sniff: Sniff) -> Format:
    return Format(
        name=name,
        title=title,
        suffixes=(suffix,),
        sniff=sniff,
        read=lambda source: read_contents(source, name),
        detail=(
            "A log of interactions, as rankgate split reads it. A grade is the rating, or 1 without a "
            "rating; of several interactions with one item, the highest rating counts."
        ),
    )


RECBOLE = _make_format(
    "recbole",
    "RecBole's atomic files of interactions",
    ".inter",
    _make_sniffer(_RECBOLE, "the first line names columns as RecBole does", lines=1),
)
U_DATA = _make_format(
    "movielens-100k",
    "MovieLens u.data: user, item, rating and time between tabs",
    ".data",
    _make_sniffer(_U_DATA, "lines have a user, an item, a rating and a time between tabs"),
)
RATINGS_DAT = _make_format(
    "movielens-1m",
    "MovieLens ratings.dat: user::item::rating::time",
    ".dat",
    _make_sniffer(_RATINGS_DAT, "lines have a user, an item, a rating and a time between double colons"),
)
LISTS = _make_format(
    "lists",
    "Lines of user: item item …, in the order of time",
    ".txt",
    _make_sniffer(_USER_LIST, "lines have a user, a colon and items"),
)
