"""Comments on queries, records and comparisons: shown, added, taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from rankgate.store.records import comments
from rankgate.workspace.web.replies import Done, Page, Refused

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.workspace.web.asked import Asked

WRITERS = frozenset({"admin", "manager", "rater"})
"""Roles that may comment; a viewer reads."""

_BLIND = frozenset({"query", "document"})
"""What raters read comments on; those on results would tell them which system ranked what."""


def view(connection: Connection, asked: Asked, kind: str, subject: str) -> list[dict[str, Any]]:
    """The comments on something, the oldest first, and which of them the reader may take back."""
    found = comments.listed(connection, asked.project.id, kind, subject)
    return [
        {"id": each.id, "text": each.text, "at": each.at, "by": each.actor,
         "withdrawn": each.withdrawn, "mine": _mine(asked, each)}
        for each in found
        if _shown(asked, each)
    ]  # fmt: skip


def _mine(asked: Asked, comment: comments.Comment) -> bool:
    """Whether the reader wrote it, or manages the project."""
    own = comment.user is not None and comment.user == asked.user.id
    return not comment.withdrawn and (own or asked.role in {"admin", "manager"})


def _shown(asked: Asked, comment: comments.Comment) -> bool:
    """True unless a rater would read what others say about results."""
    mine = comment.user is not None and comment.user == asked.user.id
    return asked.role != "rater" or comment.subject_kind in _BLIND or mine


def page(asked: Asked) -> Page:
    """The comments on something, or the latest of the project."""
    given = asked.values
    with asked.store.read() as connection:
        if given["kind"] and given["subject"]:
            found = view(connection, asked, given["kind"], given["subject"])
        else:
            found = [
                {"id": e.id, "kind": e.subject_kind, "subject": e.subject, "text": e.text,
                 "at": e.at, "by": e.actor, "withdrawn": e.withdrawn, "mine": _mine(asked, e)}
                for e in reversed(comments.listed(connection, asked.project.id, given["kind"]))
                if _shown(asked, e)
            ]  # fmt: skip
    data = {"project": asked.project.name, "comments": found}
    places = {each["id"]: _place(asked, each["kind"], each["subject"])
              for each in found if "kind" in each}  # fmt: skip
    return Page("comments.html", data, {"places": places})


def add(asked: Asked) -> Done:
    """Add a comment."""
    given = asked.values
    with asked.store.write() as connection:
        made = comments.add(
            connection, asked.project.id, given["kind"], given["subject"], given["text"],
            user=asked.user.id, actor=asked.user.display, comment_id=_own_id(asked),
        )  # fmt: skip
        asked.record(connection, "comment.add", f"{given['kind']} {given['subject']}", id=made.id)
    return Done(_place(asked, given["kind"], given["subject"]), {"id": made.id})


def _own_id(asked: Asked) -> str:
    """The client's own id, which no other project or user can have used."""
    given = asked.values["comment_id"]
    return f"{asked.project.id}-{asked.user.id}-{given}" if given else ""


def withdraw(asked: Asked) -> Done:
    """Take a comment back: those who wrote it, and managers.

    Raises:
        Refused: somebody else's.
    """
    with asked.store.write() as connection:
        found = comments.get(connection, asked.project.id, asked.path["comment"])
        if not found.withdrawn and not _mine(asked, found):
            raise Refused(403, "not-allowed", "Only who wrote a comment may take it back.")
        comments.withdraw(
            connection, asked.project.id, found.id, user=asked.user.id, actor=asked.user.display
        )
        asked.record(connection, "comment.withdraw", f"{found.subject_kind} {found.subject}",
                     id=found.id)  # fmt: skip
    return Done(_place(asked, found.subject_kind, found.subject), {"id": found.id})


def _place(asked: Asked, kind: str, subject: str) -> str:
    """The page of what is commented on; raters, who see no results, stay with the comments."""
    if asked.role == "rater" or kind not in {"query", "record"}:
        return f"{asked.at('comments')}?{urlencode({'kind': kind, 'subject': subject})}"
    if kind == "record":
        return asked.at("records", subject)
    return f"{asked.at('query')}?{urlencode({'query': subject})}"
