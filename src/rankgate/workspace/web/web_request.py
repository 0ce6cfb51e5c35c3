"""Requests in the form for handlers, declarations of routes, and the fields of both.

A handler gets the sender, the address, and checked values. A route declares path, method,
permission and fields, and the values of a request are checked against these fields. Fields for
parameters of verbs come from the declarations of the verbs. The module also has the choices that
forms offer in lists, in addition to those declared by routes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from rankgate.core.declare import Parameter, declared_parameter
from rankgate.core.declare.flag_words import FLAG_WORDS, parse_flag
from rankgate.core.frozen import dataclass
from rankgate.data.formats import registry
from rankgate.store.blobs import stored_runs
from rankgate.store.material import project_engines
from rankgate.store.people import users
from rankgate.store.people.audit import Actor
from rankgate.store.rating import batches
from rankgate.store.records import series
from rankgate.workspace.records.alerts.alert_rules import read_rules
from rankgate.workspace.web.replies import RequestRefused, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.errors import RankgateError
    from rankgate.core.value_types import JsonObject
    from rankgate.store.material.projects import Project
    from rankgate.store.people.sign_in import Session, Token
    from rankgate.store.people.users import User
    from rankgate.store.store import Store
    from rankgate.store.stored_project import StoredProject
    from rankgate.workspace.web.replies import Reply
    from rankgate.workspace.web.server_config import ServerConfig
    from rankgate.workspace.web.value_cache import ValueCache


T = TypeVar("T")
Handler = TypeVar("Handler", bound="Callable[[WebRequest], Reply]")


@dataclass(frozen=True)
class Upload:
    """An uploaded file."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Identity:
    """The sender of a request.

    Attributes:
        user: the signed-in user, or the user of the token.
        session, token: the session or the token of the request.
        project: the project in the path.
        role: the role in the project; None without one.
        rater: the number of the user's rater; None if the user has never rated.
    """

    user: User | None = None
    session: Session | None = None
    token: Token | None = None
    project: Project | None = None
    role: str | None = None
    rater: int | None = None


@dataclass(frozen=True)
class WebRequest:
    """A request whose sender has permission.

    Attributes:
        config: the settings of the server.
        cache: the value cache of the application.
        who: the sender.
        path: the parameters of the path.
        values: the values of the declared fields; None for fields that were not sent.
        address: the network address of the client.
        origin: the scheme and host for links that people share.
        form_word: the CSRF token of forms before sign-in.
        cookies: the cookies that the browser sent.
        browser: the user agent of the browser (``User-Agent``).
    """

    config: ServerConfig
    cache: ValueCache
    who: Identity
    path: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    address: str = ""
    origin: str = ""
    form_word: str = ""
    cookies: Mapping[str, str] = field(default_factory=dict)
    browser: str = ""

    @property
    def store(self) -> Store:
        """The store of the server."""
        return self.config.store

    @property
    def user(self) -> User:
        """The user who sends the request; not available in routes without sign-in."""
        assert self.who.user is not None
        return self.who.user

    def rater(self, connection: Connection) -> int:
        """The number of the sender as a rater; a missing rater is added through ``connection``."""
        return self.who.rater or users.rater_of_user(connection, self.user.id).id

    @property
    def project(self) -> Project:
        """The project in the path."""
        if self.who.project is None:
            raise not_found("project")
        return self.who.project

    @property
    def stored_project(self) -> StoredProject:
        """The project in the path, with the interface for programs."""
        from rankgate.store.stored_project import StoredProject

        return StoredProject(self.store, self.project.name, self.project.id)

    @property
    def role(self) -> str:
        """The role of the sender in the project; empty without a role."""
        return self.who.role or ""

    def cached(self, name: str, make: Callable[[], T]) -> T:
        """A cached value of the project, which may be some seconds old."""
        return self.cache.get((name, self.project.id), make, changes=True)

    def project_path(self, *parts: object) -> str:
        """A path in the project, such as ``/projects/shop/rate``."""
        return "/".join(["/projects", self.project.name, *map(str, parts)])

    @property
    def actor(self) -> Actor:
        """The sender in the audit log."""
        user, project, token = self.who.user, self.who.project, self.who.token
        name, number = (user.name, user.id) if user else ("", None)
        return Actor(name, number, project.id if project else None, token.name if token else "")

    def record(self, connection: Connection, action: str, subject: str = "", **details: Any) -> None:
        """Add to the audit log."""
        self.actor.record(connection, action, subject, **details)


FieldKind = Literal[
    "text", "long", "secret", "number", "whole", "flag", "choice", "moment", "file", "rows", "json", "lines"
]

ANYONE, SIGNED_IN, ADMIN = "anyone", "signed in", "admin of the store"
MEMBER_ROLES = frozenset({"admin", "manager", "rater", "viewer"})
RATING_ROLES = frozenset({"admin", "manager", "rater"})
VIEWING_ROLES = frozenset({"admin", "manager", "viewer"})
MANAGING_ROLES = frozenset({"admin", "manager"})
ADMIN_ROLE = frozenset({"admin"})

Permission = str | frozenset[str]
"""``ANYONE``, ``SIGNED_IN``, ``ADMIN``, or the permitted roles in the path's project."""


@dataclass(frozen=True)
class Field:
    """One value that a request sends, in a form, as JSON, or in the address.

    Attributes:
        name: the name in the form.
        label: the label for people.
        kind: the kind of the value; ``long`` has lines, ``secret`` is not shown, ``rows`` is a JSON
            array of objects, ``json`` is an object or an array with a schema, ``lines`` is the same
            or lines of a form, each ``name = value`` or a value.
        required: True if the field must be sent.
        help: the help text.
        choices: the allowed values, each with its label.
        most: the largest number of characters or rows.
        least, largest: the bounds of a number; None for no bound.
        default: the initial value in the form.
        unset: the value if the field was not sent.
        columns: the fields of each row.
        schema: the JSON schema of an object or an array; an array may be words in one text, too.
        options: the name of a list of the project with the choices; other texts are refused later.
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
    unset: Any = None
    columns: tuple[Field, ...] = ()
    schema: JsonObject = field(default_factory=dict)
    options: Callable[[WebRequest], list[str]] | None = None


_KIND_OF_PARAMETER: Mapping[str, FieldKind] = {
    "bool": "flag",
    "int": "whole",
    "float": "number",
    "number": "number",
    "choice": "choice",
}
_TEXTS: JsonObject = {"type": "array", "items": {"type": "string"}}


def declared_field(declared: Parameter, **changes: Any) -> Field:
    """The field for a declared parameter, with its name, label, type, default and help.

    Args:
        declared: the parameter.
        changes: the changed settings of the field.
    """
    name, default = declared.name, declared.default
    low, high = (
        None if math.isinf(bound) else int(bound) if bound.is_integer() else bound
        for bound in (float(declared.range.low), float(declared.range.high))
    )
    web_field = Field(
        name,
        name.replace("_", " ").capitalize(),
        "json" if declared.repeatable else _KIND_OF_PARAMETER.get(declared.kind, "text"),
        required=declared.required,
        help=declared.sentence,
        choices=tuple((choice, choice) for choice in declared.choices),
        least=low,
        largest=high,
        default="" if default is None or declared.kind == "bool" else str(default),
        unset=default,
    )
    if declared.repeatable:
        web_field = replace(web_field, default="", schema=_TEXTS)
    return replace(web_field, **changes)


def declared_fields(
    verb: Callable[..., object], *names: str, **changes: Mapping[str, Any]
) -> tuple[Field, ...]:
    """The fields for parameters of a verb, or for fields of a dataclass.

    Args:
        verb: the function, or the class of the value.
        names: the parameters.
        changes: the changed settings of each parameter's field.
    """
    return tuple(declared_field(declared_parameter(verb, name), **changes.get(name, {})) for name in names)


@dataclass(frozen=True)
class Route:
    """A route of the server: one page or one action.

    Attributes:
        name: its name on pages.
        method: ``GET`` or ``POST``.
        path: the path with parameters in braces; parameters that end in ``:int`` are numbers.
        needs: the required permission.
        handler: the function that answers.
        title: a short title, also used on its button.
        fields: the values that a request sends.
        scope: the scope that a token needs; None if tokens may not use the route.
        tabular: True if its page is also available as CSV.
        in_archived: True if the route may change an archived project.
        does_step: True if the action does a step of a project; a link to the next step follows.
        section: the section of the navigation that has the page; empty for pages of `SECTIONS`, and for
            routes that belong to other pages.
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
    does_step: bool = False
    section: str = ""

    @property
    def has_file(self) -> bool:
        """True if a field of the route is a file."""
        return any(field.kind == "file" for field in self.fields)


ROUTES: dict[str, Route] = {}
"""The declared routes by name; a module declares its routes when it is imported."""

_SCOPES: dict[Permission, str | None] = {
    ANYONE: None,
    SIGNED_IN: None,
    MEMBER_ROLES: "read",
    VIEWING_ROLES: "read",
    RATING_ROLES: "rate",
    MANAGING_ROLES: "manage",
    ADMIN_ROLE: "admin",
    ADMIN: "admin",
}
"""The scope that a token needs for a route, by the permission that people need."""


def declare_route(
    method: Literal["GET", "POST"],
    name: str,
    path: str,
    needs: Permission,
    title: str,
    *fields: Field,
    scope: str | None = "by permission",
    **facts: Any,
) -> Callable[[Handler], Handler]:
    """Declare the function as the handler of a route; the arguments are the attributes of `Route`.

    Without a scope it is that of the permission: ``read``, ``rate``, ``manage`` or ``admin`` for the
    roles of a project, and none for ``ANYONE`` and ``SIGNED_IN``.
    """

    def declare(handler: Handler) -> Handler:
        token_scope = _SCOPES[needs] if scope == "by permission" else scope
        ROUTES[name] = Route(name, method, path, needs, handler, title, fields, token_scope, **facts)
        return handler

    return declare


page, action = partial(declare_route, "GET"), partial(declare_route, "POST")
"""Decorators of the handlers of pages and of actions."""


_CHECKBOX_WORDS = {**FLAG_WORDS, "on": True, "off": False, "none": False, "": False}


def check_values(fields: tuple[Field, ...], raw_values: Mapping[str, Any], *, strict: bool) -> dict[str, Any]:
    """The checked value of each field; None for fields that were not sent.

    Args:
        fields: the fields of the route.
        raw_values: the texts and files of a form or an address, or JSON values.
        strict: True to refuse unknown names.

    Raises:
        Refused: a value is missing, is too long, or has a wrong kind.
    """
    names = {field.name for field in fields}
    if strict and (unknown_names := sorted(set(raw_values) - names)):
        allowed_names = ", ".join(sorted(names)) or "nothing"
        raise invalid_value(unknown_names[0][:50], f"is not expected; there are: {allowed_names}")
    values = {}
    for route_field in fields:
        try:
            values[route_field.name] = _check_value(route_field, raw_values.get(route_field.name))
        except RequestRefused as refused:
            refused.field = route_field.name
            raise
    return values


def invalid_value(name: str, problem: str) -> RequestRefused:
    """The refusal for an invalid value."""
    return RequestRefused(400, "invalid-value", f"{name}: {problem}.", field=name)


def refused_declaration(error: RankgateError, names: Collection[str]) -> RequestRefused:
    """The refusal for a declaration that a form made, next to the first field that its error names."""
    words = [word.strip(".,:;'") for word in error.problem.split()]
    field = next((word for word in words if word in names), "")
    return RequestRefused(400, error.code, error.problem, field=field)


def _check_text(field: Field, text: str) -> None:
    """Refuse a text that is too long, or has a character that no store takes."""
    name = field.label or field.name
    if len(text) > field.most:
        problem = f"{len(text):,} characters, and at most {field.most:,} are taken"
        if field.kind != "long":
            raise invalid_value(name, problem)
        raise RequestRefused(413, "too-large", f"{name}: {problem}; send a file, or parts.", field=name)
    if "\0" in text:
        raise invalid_value(name, "has characters that are not allowed")


def _check_value(field: Field, value: object) -> Any:
    name = field.label or field.name
    if field.kind in _READERS:
        return _READERS[field.kind](field, value)
    if field.kind == "flag":
        flag = parse_flag(value, _CHECKBOX_WORDS)
        if flag is None:
            raise invalid_value(name, "is neither true nor false")
        return flag
    if value is None or (isinstance(value, str) and not value.strip()):
        if field.required:
            raise invalid_value(name, "is missing")
        return field.unset
    if field.kind in {"number", "whole"}:
        return _read_number(field, value)
    if not isinstance(value, str):
        raise invalid_value(name, "is not a text")
    _check_text(field, value)
    if field.kind == "choice" and value not in {choice for choice, _ in field.choices}:
        raise invalid_value(name, "choose one of " + ", ".join(choice for choice, _ in field.choices))
    return _read_moment(name, value) if field.kind == "moment" else value.replace("\r\n", "\n")


def page_window(start: int | None, size: int, total: int) -> tuple[slice, int | None]:
    """The rows of a page, and the start of the next page; None for the last page.

    >>> page_window(None, 50, 120), page_window(100, 50, 120)
    ((slice(0, 50, None), 50), (slice(100, 150, None), None))
    """
    first = max(start or 0, 0)
    end = first + size
    return slice(first, end), end if end < total else None


def is_true(value: object) -> bool:
    """True if a flag is set in a form, an address or JSON."""
    return bool(parse_flag(value, _CHECKBOX_WORDS))


def _read_rows(field: Field, value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise invalid_value(field.name, "is not an array of objects")
    if not 0 < len(value) <= field.most:
        raise invalid_value(field.name, f"has no rows, or more than {field.most}")
    return [check_values(field.columns, row, strict=True) for row in value]


def _read_json(field: Field, value: object) -> Any:
    """Read a JSON object or array, whose contents are checked later."""
    name = field.label or field.name
    kind, max_length = field.schema["type"], field.schema.get("maxLength")
    if isinstance(max_length, int) and isinstance(value, str) and len(value) <= max_length:
        value = value.split()
    if value in (None, "", []):
        if field.required:
            raise invalid_value(name, "is missing")
        return field.unset
    kind = "array" if max_length is not None else kind
    if not isinstance(value, dict if kind == "object" else list):
        raise invalid_value(name, f"is not an {kind} of JSON")
    texts = field.schema.get("items") == {"type": "string"}
    if texts and not all(isinstance(text, str) for text in value):
        raise invalid_value(name, "is not an array of strings")
    if _has_nul(value):
        raise invalid_value(name, "has characters that are not allowed")
    return value


def _read_lines(field: Field, value: object) -> Any:
    """Read an object or an array from JSON or from lines of a form."""
    if not isinstance(value, str):
        return _read_json(field, value)
    name, text = field.label or field.name, value.strip()
    if len(text) > field.most:
        raise invalid_value(name, f"has more than {field.most} characters")
    if text[:1] in ("{", "["):
        try:
            return _read_json(field, json.loads(text))
        except (ValueError, RecursionError):
            raise invalid_value(name, "is not JSON") from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if field.schema["type"] == "array":
        return _read_json(field, [_read_line_value(line) for line in lines])
    pairs = {}
    for number, line in enumerate(lines, 1):
        key, equals, line_value = line.partition("=")
        if not equals or not key.strip():
            raise invalid_value(name, f"line {number} is not name = value")
        pairs[key.strip()] = _read_line_value(line_value.strip())
    return _read_json(field, pairs or None)


def _read_line_value(text: str) -> Any:
    """A number, a boolean or a quoted text in JSON syntax; any other text is returned unchanged."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text if value is None else value


def write_lines(value: JsonObject | Sequence[object]) -> str:
    """Write an object or an array as lines that can be read again, or as JSON if it is nested."""
    values = list(value.values()) if isinstance(value, Mapping) else list(value)
    texts = list(value) if isinstance(value, Mapping) else []
    if any(isinstance(element, dict | list) for element in values) or any(
        "=" in text or text != text.strip() for text in texts
    ):
        return json.dumps(value, ensure_ascii=False, indent=2)
    lines = [
        element
        if isinstance(element, str) and element == element.strip() and _read_line_value(element) == element
        else json.dumps(element, ensure_ascii=False)
        for element in values
    ]
    if isinstance(value, Mapping):
        lines = [f"{name} = {line}" for name, line in zip(value, lines, strict=True)]
    return "\n".join(lines)


def _has_nul(value: object) -> bool:
    """True if a text in a JSON value contains NUL, which no database accepts."""
    if isinstance(value, dict):
        return any(_has_nul(element) for pair in value.items() for element in pair)
    if isinstance(value, list):
        return any(map(_has_nul, value))
    return isinstance(value, str) and "\0" in value


def _read_file(field: Field, value: object) -> Upload | None:
    if isinstance(value, Upload) and (value.content or value.name):
        return value
    if field.required:
        raise invalid_value(field.label or field.name, "choose a file")
    return None


def _read_number(field: Field, value: object) -> float | int:
    name = field.label or field.name
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise invalid_value(name, "is not a number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise invalid_value(name, "is not a number") from None
    if not math.isfinite(number) or abs(number) > 2**53:
        raise invalid_value(name, "is not a number that can be")
    if field.least is not None and number < field.least:
        raise invalid_value(name, f"is less than {field.least:g}")
    if field.largest is not None and number > field.largest:
        raise invalid_value(name, f"is more than {field.largest:g}")
    if field.kind == "whole":
        if not number.is_integer():
            raise invalid_value(name, "is not a whole number")
        return int(number)
    return number


def _read_moment(name: str, value: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise invalid_value(name, "is not a time such as 2026-11-30T12:00") from None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (OverflowError, ValueError):
        raise invalid_value(name, "is not a time that can be") from None


_READERS: Mapping[str, Callable[[Field, Any], Any]] = {
    "file": _read_file,
    "json": _read_json,
    "lines": _read_lines,
    "rows": _read_rows,
}
"""Readers of the values of non-text fields, by kind."""


def _list_names(list_rows: Callable[[Connection, int], Sequence[Any]]) -> Callable[[WebRequest], list[str]]:
    """A function that lists the names of the rows of a request's project."""

    def list_names(request: WebRequest) -> list[str]:
        with request.store.read() as connection:
            return [row.name for row in list_rows(connection, request.project.id)]

    return list_names


list_run_names = _list_names(stored_runs.list_runs)
list_batch_names = _list_names(batches.list_batches)
list_judgment_names = _list_names(stored_runs.list_judgments)
list_engine_names = _list_names(project_engines.list_engines)


def list_engine_secrets(request: WebRequest) -> list[str]:
    """The environment variables that engines may use, in the notation of settings."""
    return [f"${{{name}}}" for name in sorted(request.config.engines.secrets)]


def list_metric_names(request: WebRequest) -> list[str]:
    """The names of metrics and KPIs recorded in the project."""
    with request.store.read() as connection:
        names = series.list_series(connection, request.project.id)
    return sorted({name.metric for name in names})


USUAL_METRICS = ("nDCG@10", "nDCG@5", "RR@10", "P@10", "AP", "R@100")
"""Metrics that forms offer in addition to those recorded."""


def list_watched_metrics(request: WebRequest) -> list[str]:
    """The metrics and KPIs recorded in the project, the usual metrics first."""
    return list(dict.fromkeys([*USUAL_METRICS, *list_metric_names(request)]))


def list_channel_names(request: WebRequest) -> list[str]:
    """The names of the channels for the project's alerts."""
    text = request.project.settings.get("alerts", "")
    return sorted(read_rules(text).channels) if text else []


def list_format_names(request: WebRequest) -> list[str]:  # noqa: ARG001 - as all of them
    """The names of the readable formats."""
    return [form.name for form in registry.FORMATS]
