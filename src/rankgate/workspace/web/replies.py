"""Replies of handlers, each with a form for people and a form for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.present.document_model import PlainRows


@dataclass(frozen=True)
class PageReply:
    """A page, whose data are also its JSON.

    Attributes:
        template: the file of the template.
        data: the displayed data, as JSON.
        extra: data for the page only, such as rendered documents.
        status: the HTTP status.
        images: the origins from which the page may load images.
        cookies: the cookies to set.
        rows: the main table, which is also available as CSV.
    """

    template: str
    data: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    images: tuple[str, ...] = ()
    cookies: Mapping[str, str | None] = field(default_factory=dict)
    rows: PlainRows | None = None


@dataclass(frozen=True)
class ActionReply:
    """The reply to an action: people are redirected to a page, programs get data.

    Attributes:
        to: the path of the page, below the server's own.
        data: the data for programs.
        fragment: the template that scripts get as ``html``, rendered with ``extra``.
        extra: data for the fragment only.
        message: the message shown on the page.
        cookies: the cookies to set; None removes a cookie.
    """

    to: str
    data: Mapping[str, Any] = field(default_factory=dict)
    fragment: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    cookies: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class FileReply:
    """The reply with a file."""

    content: bytes
    media: str
    name: str = ""
    fresh: bool = True


@dataclass(frozen=True)
class RedirectReply:
    """A redirect of the browser to another site.

    Attributes:
        address: the full address.
        cookies: the cookies to set.
    """

    address: str
    cookies: Mapping[str, str | None] = field(default_factory=dict)


Reply = PageReply | ActionReply | FileReply | RedirectReply


class RequestRefused(Exception):  # noqa: N818 - it is an answer
    """The refusal of a request.

    Attributes:
        status: the HTTP status.
        code: the code in kebab case, as in other rankgate errors.
        problem: the message for people.
        again: the seconds to wait before a retry.
        field: the wrong field of the form; empty if unknown.
    """

    def __init__(
        self, status: int, code: str, problem: str, *, again: int | None = None, field: str = ""
    ) -> None:
        super().__init__(problem)
        self.status, self.code, self.problem, self.again = status, code, problem, again
        self.field = field


def not_found(subject: str = "page") -> RequestRefused:
    """The refusal for objects that do not exist or that the sender may not see."""
    return RequestRefused(404, "not-found", f"There is no such {subject}.")
