"""Routes as data: path, method, permission, fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.workspace.web.asked import WebRequest
    from rankgate.workspace.web.replies import Reply

FieldKind = Literal[
    "text", "long", "secret", "number", "whole", "flag", "choice", "moment", "file", "rows", "json"
]

ANYONE, SIGNED_IN, ADMIN = "anyone", "signed in", "admin of the store"
MEMBER_ROLES = frozenset({"admin", "manager", "rater", "viewer"})
RATING_ROLES = frozenset({"admin", "manager", "rater"})
VIEWING_ROLES = frozenset({"admin", "manager", "viewer"})
MANAGING_ROLES = frozenset({"admin", "manager"})

Permission = str | frozenset[str]
"""``ANYONE``, ``SIGNED_IN``, ``ADMIN``, or the roles in the path's project that may."""


@dataclass(frozen=True)
class Field:
    """One value that a request sends, in a form, as JSON, or in the address.

    Attributes:
        name: as in the form.
        label: for people.
        kind: of its value; ``long`` has lines, ``secret`` is not shown, ``rows`` is an array of
            objects in JSON, ``json`` an object or an array that has a schema.
        required: True if it must be there.
        help: more about it.
        choices: the words that it may be, each with its label.
        most: characters, or rows.
        least, largest: the bounds of a number; None is without.
        default: what the form shows at first.
        columns: the fields of each row.
        schema: the JSON schema of an object or an array.
        options: the words of a list of the project, where any other text is refused later.
    """

    name: str
    label: str = ""
    kind: FieldKind = "text"
    required: bool = False
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    most: int = 500
    least: float | None = None
    largest: float | None = None
    default: str = ""
    columns: tuple[Field, ...] = ()
    schema: Mapping[str, Any] = field(default_factory=dict)
    options: Callable[[WebRequest], list[str]] | None = None


@dataclass(frozen=True)
class Route:
    """One thing that the server does.

    Attributes:
        name: its name on pages.
        method: ``GET`` or ``POST``.
        path: with parameters in braces; those that end in ``:int`` are numbers.
        needs: the permission that it takes.
        handler: the function that answers.
        title: in a few words, also on its button.
        fields: the values that a request sends.
        scope: that a token needs; None is that no token may.
        tabular: True if its page has a twin in CSV.
        in_archived: True if it may change a project that is archived.
    """

    name: str
    method: Literal["GET", "POST"]
    path: str
    needs: Permission
    handler: Callable[[WebRequest], Reply]
    title: str
    fields: tuple[Field, ...] = ()
    scope: str | None = "read"
    tabular: bool = False
    in_archived: bool = False

    @property
    def has_file(self) -> bool:
        """True if files are sent."""
        return any(field.kind == "file" for field in self.fields)
