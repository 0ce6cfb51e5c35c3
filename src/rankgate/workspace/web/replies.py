"""Replies of handlers; each reply has a form for people and one for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.present.document_model import PlainRows


@dataclass(frozen=True)
class PageReply:
    """A page; its data are its JSON.

    Attributes:
        template: its file.
        data: what it shows, as JSON.
        extra: what only the page needs, such as rendered documents.
        status: of HTTP.
        images: origins from which it may load images.
        cookies: to set.
        rows: its main table, which its twin in CSV has.
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
    """Something was done: people go on to a page, programs get data.

    Attributes:
        to: the path of the page, below the server's own.
        data: for programs.
        fragment: a template that a script asks for in ``html``, with ``extra``.
        extra: what only the fragment needs.
        message: for people, on the page.
        cookies: to set, or to remove where None.
    """

    to: str
    data: Mapping[str, Any] = field(default_factory=dict)
    fragment: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    cookies: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class FileReply:
    """A file."""

    content: bytes
    media: str
    name: str = ""
    fresh: bool = True


@dataclass(frozen=True)
class RedirectReply:
    """The browser goes to another site.

    Attributes:
        address: whole.
        cookies: to set.
    """

    address: str
    cookies: Mapping[str, str | None] = field(default_factory=dict)


Reply = PageReply | ActionReply | FileReply | RedirectReply


class RequestRefused(Exception):  # noqa: N818 - it is an answer
    """The request is refused.

    Attributes:
        status: of HTTP.
        code: in kebab case, as of the errors of rankgate.
        problem: for people.
        again: seconds after which to try again.
        field: the field of the form that is wrong; empty if it is not known.
    """

    def __init__(
        self, status: int, code: str, problem: str, *, again: int | None = None, field: str = ""
    ) -> None:
        super().__init__(problem)
        self.status, self.code, self.problem, self.again = status, code, problem, again
        self.field = field


def not_found(subject: str = "page") -> RequestRefused:
    """The refusal for objects that do not exist, or that the sender may not see."""
    return RequestRefused(404, "not-found", f"There is no such {subject}.")
