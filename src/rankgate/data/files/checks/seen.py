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
_REPORTED_ELSEWHERE = "without judgments"  # by the checks of judgments


@check("unreadable", "error", "failure", "The file cannot be read as what it is.")
def _find_unreadable(error: InputError) -> Iterator[Found]:
    if error.suggestions:
        problem, mend = error.problem.split(";")[0], f"add {error.suggestions[0]} if this is right"
        yield Found(problem, 1, mend, line=error.line)
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
            yield _make_finding(
                note,
                "nothing needs to be done: they are not part of the run here, nor should they be "
                "elsewhere",
            )


@check("seen", "note", "contents", "The reader saw or did something worth a note.")
def _find_notes(contents: FileContents) -> Iterator[Found]:
    for note in contents.notes:
        if _RATED_ONLY not in note.what and not note.what.endswith(_REPORTED_ELSEWHERE):
            yield _make_finding(note, "nothing needs to be done if this is as it should be")


def _make_finding(note: Note, mend: str) -> Found:
    return Found(
        f"{note.count:,} {note.what}", note.count, mend, note.examples[0] if note.examples else ""
    )
