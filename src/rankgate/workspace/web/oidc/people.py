"""Which user a provider's claims name, and what their groups let them do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.store.material import projects
from rankgate.store.people import audit, invitations, users
from rankgate.store.tables.people import ROLES
from rankgate.workspace.web.replies import Refused

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.invitations import Invitation
    from rankgate.store.people.users import User
    from rankgate.workspace.web.oidc.settings import Oidc


def user_of(
    connection: Connection, settings: Oidc, claims: Mapping[str, Any], invitation: str = ""
) -> User:
    """The user of an ID token: by subject, by verified e-mail address, or by an invitation.

    Args:
        connection: of a store, to write.
        settings: who may become a user, and what groups give.
        claims: of a token that was checked.
        invitation: the secret of a link that they followed.

    Raises:
        Refused: they may not sign in here.
    """
    email = _email(settings, claims)
    found = users.by_identity(connection, settings.issuer, claims["sub"])
    address = found.name if email is None and found is not None else email
    if address is None:
        problem = "The sign-in provider names no verified e-mail address."
        raise Refused(403, "no-verified-email", problem)
    if settings.domains and address.rpartition("@")[2] not in settings.domains:
        raise Refused(403, "other-domain", "This sign-in takes addresses of other domains only.")
    waiting = _invitations(connection, email, invitation)
    if found is None:
        found = _new(connection, settings, claims, address, waiting)
    if found.disabled:
        raise Refused(403, "disabled", "This user may not sign in.")
    for each in waiting:
        invitations.join(connection, each, found)
        _note(connection, found, "invitation.accept")
    _grant(connection, settings, claims, found)
    return users.get(connection, found.id) or found


def _email(settings: Oidc, claims: Mapping[str, Any]) -> str | None:
    """The address, in lower case, if the provider says that it is theirs."""
    says, email = claims.get("email_verified"), claims.get("email")
    verified = says is True or says == "true" or settings.emails_are_verified
    good = verified and isinstance(email, str) and "@" in email
    return email.strip().lower() if good and isinstance(email, str) else None


def _invitations(connection: Connection, email: str | None, secret: str) -> list[Invitation]:
    found = invitations.find(connection, secret) if secret else None
    named = [] if email is None else [
        each for each in invitations.waiting(connection) if each.name == email
    ]  # fmt: skip
    free = found is not None and found.name in {"", email}
    return [found, *(each for each in named if each.id != found.id)] if found and free else named


def _new(
    connection: Connection,
    settings: Oidc,
    claims: Mapping[str, Any],
    email: str,
    waiting: list[Invitation],
) -> User:
    """The user of this address, who signs in this way from now on, or a new one."""
    known = next((each for each in users.listed(connection) if each.name == email), None)
    issuer, subject = settings.issuer, claims["sub"]
    if known is not None:
        try:
            users.link(connection, known.id, issuer, subject)
        except UsageError as error:
            raise Refused(403, error.code, "This address is of another user.") from None
        _note(connection, known, "user.link")
        return known
    if not (waiting or settings.new_users == "viewer" or _roles(settings, claims)):
        problem = "Nobody has invited you; ask a manager for an invitation."
        raise Refused(403, "not-invited", problem)
    display = claims.get("name")
    display = display[:100] if isinstance(display, str) and display.isprintable() else email
    made = users.add(connection, email, display=display, issuer=issuer, subject=subject)
    _note(connection, made, "user.add")
    if settings.new_users == "viewer":
        for name in settings.viewer_of:
            _set_role(connection, made, name, "viewer")
    return made


def _roles(settings: Oidc, claims: Mapping[str, Any]) -> dict[str, str]:
    """The most powerful role in each project that the groups give."""
    value = claims.get(settings.groups_claim)
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    groups = {name for name in names if isinstance(name, str)}
    found: dict[str, str] = {}
    for group, project, role in settings.groups:
        if group in groups:
            both = (found.get(project, role), role)
            found[project] = min(both, key=ROLES.index)
    return found


def _grant(connection: Connection, settings: Oidc, claims: Mapping[str, Any], user: User) -> None:
    """In projects that groups rule, the role is what the groups give, or none."""
    given = _roles(settings, claims)
    for project in dict.fromkeys(project for _, project, _ in settings.groups):
        _set_role(connection, user, project, given.get(project))


def _set_role(connection: Connection, user: User, project: str, role: str | None) -> None:
    try:
        number = projects.named(connection, project).id
    except UsageError:  # it is not made yet
        return
    members = users.members(connection, number)
    before = next((was for each, was in members if each.id == user.id), None)
    if before != role:
        users.grant(connection, number, user.id, role)
        details = {"role": role or "none", "by": "sign-in"}
        _note(connection, user, "user.role", number, details)


def _note(
    connection: Connection,
    user: User,
    action: str,
    project: int | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    actor = audit.Actor(user.name, user.id)
    audit.record(connection, actor, action, user.name, project=project, details=details or {})
