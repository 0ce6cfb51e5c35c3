"""Sign-in by OpenID Connect: settings, sign-ins in progress, users and roles.

Settings come from a TOML file and the environment. A sign-in in progress is stored in a signed
cookie of the browser. A provider's claims name the user, and the user's groups determine the roles.
"""

from __future__ import annotations

import hmac
import json
import os
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.material import projects
from rankgate.store.people import invitations, users
from rankgate.store.people.audit import Actor
from rankgate.store.tables.people_tables import ROLES
from rankgate.workspace.web.replies import RequestRefused

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject
    from rankgate.store.people.invitations import Invitation
    from rankgate.store.people.users import User


_CODE = "invalid-oidc-settings"
_TEXT_KEYS = ("issuer", "client_id", "client_secret_file", "title", "groups_claim", "new_users")
_KEYS = (*_TEXT_KEYS, "scopes", "domains", "viewer_of", "groups", "emails_are_verified")
_VARIABLES = {
    "issuer": "RANKGATE_OIDC_ISSUER",
    "client_id": "RANKGATE_OIDC_CLIENT_ID",
    "client_secret_file": "RANKGATE_OIDC_CLIENT_SECRET_FILE",
    "title": "RANKGATE_OIDC_TITLE",
}
_SECRET = "RANKGATE_OIDC_CLIENT_SECRET"  # noqa: S105 - the name of a variable


@dataclass(frozen=True)
class OidcSettings:
    """The settings of sign-in by OpenID Connect.

    Attributes:
        issuer: the provider's address, as in its tokens.
        client_id: this server's id at the provider.
        client_secret: the secret from the provider; empty for a public client.
        title: the name of the provider on the button.
        scopes: the requested scopes.
        domains: the domains of e-mail addresses that may sign in; empty means all.
        new_users: the people who may become users: ``invited``, or anyone as ``viewer``.
        viewer_of: the projects that new users may see.
        groups: for each group of the provider, projects with a role in each.
        groups_claim: the claim that names a user's groups.
        emails_are_verified: True if the provider gives only addresses that it has verified.
    """

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    title: str = ""
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    domains: tuple[str, ...] = ()
    new_users: Literal["invited", "viewer"] = "invited"
    viewer_of: tuple[str, ...] = ()
    groups: tuple[tuple[str, str, str], ...] = ()
    groups_claim: str = "groups"
    emails_are_verified: bool = False

    @property
    def name(self) -> str:
        """The name of the provider on the sign-in button."""
        return self.title or urlsplit(self.issuer).netloc


def read_oidc_settings(file: Path | None, environment: Mapping[str, str] = os.environ) -> OidcSettings | None:
    """Read the settings; None without an issuer.

    Args:
        file: a TOML file with a table ``[oidc]``; environment variables take precedence.
        environment: ``RANKGATE_OIDC_ISSUER``, ``_CLIENT_ID``, ``_CLIENT_SECRET`` and others.

    Raises:
        InputError: the file or one of its values cannot be read.
        UsageError: an address is not safe; other users can read the secret.
    """
    toml = TomlFile.parse("", "the environment", code=_CODE)
    if file is not None:
        toml = TomlFile.read(file, ("oidc",), code=_CODE)
        toml.check_keys(toml.values, _KEYS)
    table = dict(toml.values)
    table |= {
        name: environment[variable] for name, variable in _VARIABLES.items() if environment.get(variable)
    }
    if file is None and "issuer" not in table:
        return None
    for name in _TEXT_KEYS:
        if not isinstance(table.get(name, ""), str):
            raise toml.error(f"{name} is a text.", name)
    for name in ("issuer", "client_id"):
        if not table.get(name):
            raise toml.error(f"{name} is missing, or {_VARIABLES[name]}.", name)
    if table.get("new_users", "invited") not in {"invited", "viewer"}:
        raise toml.error('new_users is "invited" or "viewer".', "new_users")
    return OidcSettings(
        issuer=_check_issuer(table["issuer"]),
        client_id=table["client_id"],
        client_secret=environment.get(_SECRET) or _read_secret(table.get("client_secret_file")),
        title=table.get("title", ""),
        scopes=_read_list(toml, table, "scopes") or OidcSettings.scopes,
        domains=tuple(domain.lower().lstrip("@") for domain in _read_list(toml, table, "domains")),
        new_users=table.get("new_users", "invited"),
        viewer_of=_read_list(toml, table, "viewer_of"),
        groups=_read_groups(toml, table.get("groups", {})),
        groups_claim=table.get("groups_claim", "groups"),
        emails_are_verified=table.get("emails_are_verified") is True,
    )


def _check_issuer(issuer: str) -> str:
    """Check that an issuer uses TLS or is on this machine."""
    try:
        parts = urlsplit(issuer)
        is_local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    except ValueError:
        parts, is_local = urlsplit(""), False
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
        problem = f"the issuer {issuer!r} is not an https address, so that tokens could be forged."
        raise UsageError(problem, code="insecure-address")
    return issuer


def _read_secret(file: str | None) -> str:
    """Read the secret from a file that only its owner may read."""
    if file is None:
        return ""
    try:
        mode = Path(file).stat().st_mode
        secret = Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}.", code="cannot-read") from None
    if mode & 0o077:
        problem = f"{file}: others may read this secret; chmod 600 {file}"
        raise UsageError(problem, code="secret-readable")
    return secret


def _read_list(toml: TomlFile, table: JsonObject, name: str) -> tuple[str, ...]:
    value = table.get(name, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise toml.error(f"{name} must be a list of strings.", name)
    return tuple(value)


def _read_groups(toml: TomlFile, table: object) -> tuple[tuple[str, str, str], ...]:
    """The group, project and role of values such as ``"search" = ["shop:rater"]``."""
    if not isinstance(table, dict):
        raise toml.error("groups is a table.", "groups")
    grants = []
    for group, value in table.items():
        for grant_text in [value] if isinstance(value, str) else value:
            project, _, role = grant_text.rpartition(":") if isinstance(grant_text, str) else ("", "", "")
            if not project or role not in ROLES:
                problem = f"{grant_text!r} is not a project and a role, as in shop:rater."
                raise toml.error(problem, "groups", group)
            grants.append((group, project, role))
    return tuple(grants)


COOKIE = "rankgate_oidc"

_LIFETIME = 600
"""The time limit in seconds for signing in at the provider."""


def seal_cookie(settings: OidcSettings, contents: Mapping[str, str], moment: float | None = None) -> str:
    """Create a cookie with contents, expiry time, and a signature by this server."""
    end = int((moment or time.time()) + _LIFETIME)
    body = urlsafe_b64encode(json.dumps({**contents, "end": str(end)}).encode()).decode()
    return f"{body}.{_signature(settings, body)}"


def open_cookie(settings: OidcSettings, cookie: str, moment: float | None = None) -> Mapping[str, str] | None:
    """The contents of a cookie; None if it has expired or was not signed by this server."""
    body, _, signature = cookie.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(settings, body).encode()):
        return None
    contents: dict[str, str] = json.loads(urlsafe_b64decode(body))
    return contents if int(contents["end"]) > (moment or time.time()) else None


def _signature(settings: OidcSettings, body: str) -> str:
    key = sha256(f"rankgate sign-in {settings.issuer} {settings.client_secret}".encode()).digest()
    return hmac.new(key, body.encode(), sha256).hexdigest()


def find_user(
    connection: Connection, settings: OidcSettings, claims: JsonObject, invitation: str = ""
) -> User:
    """The user of an ID token, by subject, verified e-mail address, or invitation.

    Args:
        connection: a connection to a store, for writing.
        settings: the rules for new users and groups.
        claims: the claims of a checked token.
        invitation: the secret of the invitation link that the user opened.

    Raises:
        Refused: the user may not sign in.
    """
    email = _verified_email(settings, claims)
    user = users.by_identity(connection, settings.issuer, str(claims["sub"]))
    address = user.name if email is None and user is not None else email
    if address is None:
        problem = "The sign-in provider names no verified e-mail address."
        raise RequestRefused(403, "no-verified-email", problem)
    if settings.domains and address.rpartition("@")[2] not in settings.domains:
        raise RequestRefused(403, "other-domain", "This sign-in takes addresses of other domains only.")
    waiting = _find_invitations(connection, email, invitation)
    if user is None:
        user = _link_or_add_user(connection, settings, claims, address, waiting)
    if user.disabled:
        raise RequestRefused(403, "disabled", "This user may not sign in.")
    for pending_invitation in waiting:
        invitations.apply_invitation(connection, pending_invitation, user)
        _audit(connection, user, "invitation.accept")
    # set or remove the roles in projects that are controlled by groups
    granted_roles = _roles_of_groups(settings, claims)
    for project in dict.fromkeys(project for _, project, _ in settings.groups):
        _set_role(connection, user, project, granted_roles.get(project))
    return users.get(connection, user.id) or user


def _verified_email(settings: OidcSettings, claims: JsonObject) -> str | None:
    """The e-mail address in lower case, if the provider has verified it."""
    verified_claim, email = claims.get("email_verified"), claims.get("email")
    is_verified = verified_claim is True or verified_claim == "true" or settings.emails_are_verified
    is_address = is_verified and isinstance(email, str) and "@" in email
    return email.strip().lower() if is_address and isinstance(email, str) else None


def _find_invitations(connection: Connection, email: str | None, secret: str) -> list[Invitation]:
    linked = invitations.find(connection, secret) if secret else None
    matching = (
        []
        if email is None
        else [invitation for invitation in invitations.list_open(connection) if invitation.name == email]
    )
    may_join = linked is not None and linked.name in {"", email}
    return (
        [linked, *(invitation for invitation in matching if invitation.id != linked.id)]
        if linked and may_join
        else matching
    )


def _link_or_add_user(
    connection: Connection, settings: OidcSettings, claims: JsonObject, email: str, waiting: list[Invitation]
) -> User:
    """The user with an e-mail address, linked to the provider, or a new user."""
    existing_user = next((user for user in users.list_users(connection) if user.name == email), None)
    issuer, subject = settings.issuer, str(claims["sub"])
    if existing_user is not None:
        try:
            users.link(connection, existing_user.id, issuer, subject)
        except UsageError as error:
            raise RequestRefused(403, error.code, "This address is of another user.") from None
        _audit(connection, existing_user, "user.link")
        return existing_user
    if not (waiting or settings.new_users == "viewer" or _roles_of_groups(settings, claims)):
        problem = "You have no invitation; ask a manager for one."
        raise RequestRefused(403, "not-invited", problem)
    display = claims.get("name")
    display = display[:100] if isinstance(display, str) and display.isprintable() else email
    new_user = users.add(connection, email, display=display, issuer=issuer, subject=subject)
    _audit(connection, new_user, "user.add")
    if settings.new_users == "viewer":
        for name in settings.viewer_of:
            _set_role(connection, new_user, name, "viewer")
    return new_user


def _roles_of_groups(settings: OidcSettings, claims: JsonObject) -> dict[str, str]:
    """The most powerful role in each project that the user's groups grant."""
    value = claims.get(settings.groups_claim)
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    groups = {name for name in names if isinstance(name, str)}
    role_of_project: dict[str, str] = {}
    for group, project, role in settings.groups:
        if group in groups:
            roles = (role_of_project.get(project, role), role)
            role_of_project[project] = min(roles, key=ROLES.index)
    return role_of_project


def _set_role(connection: Connection, user: User, project: str, role: str | None) -> None:
    try:
        number = projects.get_by_name(connection, project).id
    except UsageError:  # the project does not exist yet
        return
    members = users.members(connection, number)
    before = next((member_role for member, member_role in members if member.id == user.id), None)
    if before != role:
        users.grant(connection, number, user.id, role)
        _audit(connection, user, "user.role", project=number, role=role or "none", by="sign-in")


def _audit(
    connection: Connection, user: User, action: str, *, project: int | None = None, **details: Any
) -> None:
    Actor(user.name, user.id).record(connection, action, user.name, project=project, **details)
