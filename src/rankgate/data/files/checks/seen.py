"""Turn a reader's notes and errors into findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgate.data.files.checks.declare import Found, check

if TYPE_CHECKING:
    from rankgate.core.errors import InputError
    from rankgate.data.contents import FileContents
    from rankgate.data.notes import Note

_RATED_ONLY = "rated only"
_TOLD_ELSEWHERE = "without judgments"  # by the checks of judgments


@check("unreadable", "error", "failure", "The file cannot be read as what it is.")
def _unreadable(found: InputError) -> Iterator[Found]:
    yield Found(found.problem.rstrip("."), 1, "", line=found.line)


@check(
    "rated-only",
    "note",
    "contents",
    "Documents are in a snapshot only as they were rated; they were not retrieved.",
)
def _only_rated(found: FileContents) -> Iterator[Found]:
    for note in found.notes:
        if _RATED_ONLY in note.what:
            yield _finding(
                note,
                "nothing needs to be done: they are not part of the run here, nor should they be "
                "elsewhere",
            )


@check("seen", "note", "contents", "The reader saw or did something worth a note.")
def _seen(found: FileContents) -> Iterator[Found]:
    for note in found.notes:
        if _RATED_ONLY not in note.what and not note.what.endswith(_TOLD_ELSEWHERE):
            yield _finding(note, "nothing needs to be done if this is as it should be")


def _finding(note: Note, mend: str) -> Found:
    return Found(
        f"{note.count:,} {note.what}", note.count, mend, note.examples[0] if note.examples else ""
    )
