"""A request as its handler sees it: sender, address, and checked values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.store.people import audit, raters
from rankgate.workspace.web.replies import not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.material.projects import Project
    from rankgate.store.people.sessions import Session
    from rankgate.store.people.tokens import Token
    from rankgate.store.people.users import User
    from rankgate.store.store import Store
    from rankgate.workspace.web.config import ServerConfig


@dataclass(frozen=True)
class Upload:
    """A file that was sent."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Identity:
    """The sender of a request.

    Attributes:
        user: the user who is signed in, or who has the token.
        session, token: the session or the token of the request.
        project: of the path.
        role: the role in the project; None without one.
        rater: their number as a rater, once they have rated.
    """

    user: User | None = None
    session: Session | None = None
    token: Token | None = None
    project: Project | None = None
    role: str | None = None
    rater: int | None = None


@dataclass(frozen=True)
class WebRequest:
    """A request that its sender may make.

    Attributes:
        config: of the server.
        who: the sender.
        path: the parameters of the path.
        values: the fields that the route declares; None where they were not sent.
        address: the network address of the client.
        origin: scheme and host, for links that people pass on.
        form_word: the word of forms before anybody is signed in.
        cookies: that the browser sent.
    """

    config: ServerConfig
    who: Identity
    path: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    address: str = ""
    origin: str = ""
    form_word: str = ""
    cookies: Mapping[str, str] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        """The store of the server."""
        return self.config.store

    @property
    def user(self) -> User:
        """The user who sends the request; routes for anyone do not use it."""
        assert self.who.user is not None
        return self.who.user

    def rater(self, connection: Connection) -> int:
        """The number of the sender as a rater; ``connection`` writes."""
        return self.who.rater or raters.rater_of_user(connection, self.user.id).id

    @property
    def project(self) -> Project:
        """The project of the path."""
        if self.who.project is None:
            raise not_found("project")
        return self.who.project

    @property
    def role(self) -> str:
        """The role of the sender in the project; empty without one."""
        return self.who.role or ""

    def at(self, *parts: object) -> str:
        """A path in the project, such as ``/projects/shop/rate``."""
        return "/".join(["/projects", self.project.name, *map(str, parts)])

    def record(
        self, connection: Connection, action: str, subject: str = "", **details: object
    ) -> None:
        """Add to the audit log."""
        user = self.who.user
        actor = audit.Actor(user.name if user else "", user.id if user else None)
        project = self.who.project
        if self.who.token is not None:
            details["token"] = self.who.token.name
        audit.record(
            connection,
            actor,
            action,
            subject,
            project=project.id if project else None,
            details=details,
        )
