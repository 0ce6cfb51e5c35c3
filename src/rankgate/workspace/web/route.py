"""Routes as data: path, method, who may, what they send."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.workspace.web.asked import Asked
    from rankgate.workspace.web.replies import Reply

Kind = Literal[
    "text", "long", "secret", "number", "whole", "flag", "choice", "moment", "file", "rows"
]

ANYONE, SIGNED_IN, ADMIN = "anyone", "signed in", "admin of the store"
MEMBER = frozenset({"admin", "manager", "rater", "viewer"})
RATE = frozenset({"admin", "manager", "rater"})
VIEW = frozenset({"admin", "manager", "viewer"})
MANAGE = frozenset({"admin", "manager"})

Needs = str | frozenset[str]
"""``ANYONE``, ``SIGNED_IN``, ``ADMIN``, or the roles in the path's project that may."""


@dataclass(frozen=True)
class Field:
    """One value that a request sends, in a form, as JSON, or in the address.

    Attributes:
        name: as in the form.
        label: for people.
        kind: of its value; ``long`` has lines, ``secret`` is not shown, ``rows`` is an array of
            objects in JSON.
        required: whether it must be there.
        help: more about it.
        choices: the words that it may be, each with its label.
        most: characters, or rows.
        least, largest: the bounds of a number; None is without.
        default: what the form shows at first.
        columns: the fields of each row.
        options: the words of a list of the project, where any other text is refused later.
    """

    name: str
    label: str = ""
    kind: Kind = "text"
    required: bool = False
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    most: int = 500
    least: float | None = None
    largest: float | None = None
    default: str = ""
    columns: tuple[Field, ...] = ()
    options: Callable[[Asked], list[str]] | None = None


@dataclass(frozen=True)
class Route:
    """One thing that the server does.

    Attributes:
        name: how pages name it.
        method: ``GET`` or ``POST``.
        path: with parameters in braces; those that end in ``:int`` are numbers.
        needs: who may.
        handler: what does it.
        title: in a few words, also on its button.
        fields: what is sent.
        scope: that a token needs; None is that no token may.
        tabular: whether its page has a twin in CSV.
        in_archived: whether it may change a project that is archived.
    """

    name: str
    method: Literal["GET", "POST"]
    path: str
    needs: Needs
    handler: Callable[[Asked], Reply]
    title: str
    fields: tuple[Field, ...] = ()
    scope: str | None = "read"
    tabular: bool = False
    in_archived: bool = False

    @property
    def has_file(self) -> bool:
        """Whether files are sent."""
        return any(each.kind == "file" for each in self.fields)
