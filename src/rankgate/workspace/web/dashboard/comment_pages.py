"""Comments on queries, records and comparisons: show, add and withdraw."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from rankgate.store.material import queries_documents
from rankgate.store.records import record_notes
from rankgate.store.tables.record_tables import SUBJECTS
from rankgate.workspace.web.replies import ActionReply, PageReply, RequestRefused
from rankgate.workspace.web.web_request import MEMBER_ROLES, RATING_ROLES, Field, action, invalid_value, page

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.workspace.web.web_request import WebRequest


_PAIR_PATTERN = re.compile(r"(?P<before>[0-9a-f]{64})\.\.(?P<after>[0-9a-f]{64})")
"""The pattern of a comment's subject with the hashes of two compared records."""

_RATER_SUBJECTS = frozenset({"query", "document"})
"""The subjects whose comments raters read; comments on results would reveal the systems."""


def list_comments(
    connection: Connection, request: WebRequest, kind: str, subject: str
) -> list[dict[str, Any]]:
    """The comments on a subject, the oldest first, marked if the reader may withdraw them."""
    stored_comments = record_notes.list_comments(connection, request.project.id, kind, subject)
    return [
        {
            "id": comment.id,
            "text": comment.text,
            "at": comment.at,
            "by": comment.actor,
            "withdrawn": comment.withdrawn,
            "mine": _may_withdraw(request, comment),
        }
        for comment in stored_comments
        if _is_visible(request, comment)
    ]


def _may_withdraw(request: WebRequest, comment: record_notes.Comment) -> bool:
    """True if the reader wrote the comment or manages the project."""
    is_author = comment.user is not None and comment.user == request.user.id
    return not comment.withdrawn and (is_author or request.role in {"admin", "manager"})


def _is_visible(request: WebRequest, comment: record_notes.Comment) -> bool:
    """False if raters would read other people's comments about results."""
    is_author = comment.user is not None and comment.user == request.user.id
    is_discussion = comment.subject.startswith(record_notes.DISCUSSION_PREFIX)
    is_open_to_raters = comment.subject_kind in _RATER_SUBJECTS and not is_discussion
    return request.role != "rater" or is_open_to_raters or is_author


_KIND = Field("kind", "Kind", "choice", choices=tuple((kind, kind) for kind in SUBJECTS))

_SUBJECT = Field("subject", "Subject", most=500, help="The id of a query, the hash of a record.")

_SUBJECTS = (
    Field("kind", "Kind", "choice", required=True, choices=_KIND.choices),
    Field("subject", "Subject", required=True, most=500, help=_SUBJECT.help),
)


@page("comments", "/projects/{project}/comments", MEMBER_ROLES, "Comments", _KIND, _SUBJECT)
def comments_page(request: WebRequest) -> PageReply:
    """The page of the comments on a subject, or of the latest comments of the project."""
    fields = request.values
    with request.store.read() as connection:
        if fields["kind"] and fields["subject"]:
            shown_comments = list_comments(connection, request, fields["kind"], fields["subject"])
        else:
            shown_comments = [
                {
                    "id": comment.id,
                    "kind": comment.subject_kind,
                    "subject": comment.subject,
                    "text": comment.text,
                    "at": comment.at,
                    "by": comment.actor,
                    "withdrawn": comment.withdrawn,
                    "mine": _may_withdraw(request, comment),
                }
                for comment in reversed(
                    record_notes.list_comments(connection, request.project.id, fields["kind"])
                )
                if _is_visible(request, comment)
            ]
        subjects = {(comment.get("kind"), comment.get("subject")) for comment in shown_comments}
        query_ids = [subject for kind, subject in subjects if kind == "query" and subject]
        texts = queries_documents.read_query_texts(connection, request.project.id, query_ids)
    data = {"project": request.project.name, "comments": shown_comments}
    paths = {
        comment["id"]: _subject_path(request, comment["kind"], comment["subject"])
        for comment in shown_comments
        if "kind" in comment
    }
    return PageReply("comments.html", data, {"places": paths, "texts": texts})


@action(
    "comment-add",
    "/projects/{project}/comments",
    RATING_ROLES,
    "Add the comment",
    *_SUBJECTS,
    Field("text", "Comment", "long", required=True, most=5_000),
    Field("comment_id", most=100, help="Made by the client, and the same in every retry."),
    Field("comparison", most=200, help="Two records to open on one page."),
)
def add(request: WebRequest) -> ActionReply:
    """Add a comment.

    Raises:
        Refused: the pair is disputed; raters discuss disputed pairs on another page.
    """
    fields = request.values
    if fields["subject"].startswith(record_notes.DISCUSSION_PREFIX):
        raise invalid_value("subject", "is discussed under Discussion")
    with request.store.write() as connection:
        # the client's own id, made unique for the project and the user
        client_id = request.values["comment_id"]
        comment = record_notes.add_comment(
            connection,
            request.project.id,
            fields["kind"],
            fields["subject"],
            fields["text"],
            user=request.user.id,
            actor=request.user.display,
            comment_id=f"{request.project.id}-{request.user.id}-{client_id}" if client_id else "",
        )
        request.record(connection, "comment.add", f"{fields['kind']} {fields['subject']}", id=comment.id)
    return ActionReply(_subject_path(request, fields["kind"], fields["subject"]), {"id": comment.id})


@action(
    "comment-withdraw",
    "/projects/{project}/comments/{comment:int}/withdraw",
    RATING_ROLES,
    "Take the comment back",
)
def withdraw(request: WebRequest) -> ActionReply:
    """Withdraw a comment; only its author and managers may.

    Raises:
        Refused: another user wrote the comment.
    """
    with request.store.write() as connection:
        comment = record_notes.get_comment(connection, request.project.id, request.path["comment"])
        if not comment.withdrawn and not _may_withdraw(request, comment):
            raise RequestRefused(403, "not-allowed", "Only the author of a comment may withdraw it.")
        record_notes.withdraw_comment(
            connection, request.project.id, comment.id, user=request.user.id, actor=request.user.display
        )
        request.record(
            connection, "comment.withdraw", f"{comment.subject_kind} {comment.subject}", id=comment.id
        )
    return ActionReply(_subject_path(request, comment.subject_kind, comment.subject), {"id": comment.id})


def _subject_path(request: WebRequest, kind: str, subject: str) -> str:
    """The page of the subject of comments; raters see no results and stay on the comments."""
    compared = subject if kind == "comparison" else request.values.get("comparison") or ""
    pair = _PAIR_PATTERN.fullmatch(compared)
    if request.role != "rater" and pair is not None:
        query = {"query": subject} if kind == "query" else {}
        path = request.project_path("changes", *query)
        return f"{path}?{urlencode({**query, **pair.groupdict()})}"
    if request.role == "rater" or kind not in {"query", "record"}:
        return f"{request.project_path('comments')}?{urlencode({'kind': kind, 'subject': subject})}"
    if kind == "record":
        return request.project_path("records", subject)
    return f"{request.project_path('query')}?{urlencode({'query': subject})}"
