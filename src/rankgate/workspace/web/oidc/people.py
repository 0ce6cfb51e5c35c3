"""The user whom a provider's claims name, and the roles that their groups give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.store.material import projects
from rankgate.store.people import audit, invitations, users
from rankgate.store.tables.people import ROLES
from rankgate.workspace.web.replies import RequestRefused

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.invitations import Invitation
    from rankgate.store.people.users import User
    from rankgate.workspace.web.oidc.settings import OidcSettings


def find_user(
    connection: Connection, settings: OidcSettings, claims: Mapping[str, Any], invitation: str = ""
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
    email = _verified_email(settings, claims)
    user = users.by_identity(connection, settings.issuer, claims["sub"])
    address = user.name if email is None and user is not None else email
    if address is None:
        problem = "The sign-in provider names no verified e-mail address."
        raise RequestRefused(403, "no-verified-email", problem)
    if settings.domains and address.rpartition("@")[2] not in settings.domains:
        raise RequestRefused(
            403, "other-domain", "This sign-in takes addresses of other domains only."
        )
    waiting = _find_invitations(connection, email, invitation)
    if user is None:
        user = _link_or_add_user(connection, settings, claims, address, waiting)
    if user.disabled:
        raise RequestRefused(403, "disabled", "This user may not sign in.")
    for pending_invitation in waiting:
        invitations.apply_invitation(connection, pending_invitation, user)
        _audit(connection, user, "invitation.accept")
    _grant_group_roles(connection, settings, claims, user)
    return users.get(connection, user.id) or user


def _verified_email(settings: OidcSettings, claims: Mapping[str, Any]) -> str | None:
    """The address, in lower case, if the provider says that it is theirs."""
    verified_claim, email = claims.get("email_verified"), claims.get("email")
    is_verified = verified_claim is True or verified_claim == "true" or settings.emails_are_verified
    is_address = is_verified and isinstance(email, str) and "@" in email
    return email.strip().lower() if is_address and isinstance(email, str) else None


def _find_invitations(connection: Connection, email: str | None, secret: str) -> list[Invitation]:
    linked = invitations.find(connection, secret) if secret else None
    matching = (
        []
        if email is None
        else [
            invitation
            for invitation in invitations.list_open(connection)
            if invitation.name == email
        ]
    )
    may_join = linked is not None and linked.name in {"", email}
    return (
        [linked, *(invitation for invitation in matching if invitation.id != linked.id)]
        if linked and may_join
        else matching
    )


def _link_or_add_user(
    connection: Connection,
    settings: OidcSettings,
    claims: Mapping[str, Any],
    email: str,
    waiting: list[Invitation],
) -> User:
    """The user of this address, who signs in this way from now on, or a new one."""
    existing_user = next(
        (user for user in users.list_users(connection) if user.name == email), None
    )
    issuer, subject = settings.issuer, claims["sub"]
    if existing_user is not None:
        try:
            users.link(connection, existing_user.id, issuer, subject)
        except UsageError as error:
            raise RequestRefused(403, error.code, "This address is of another user.") from None
        _audit(connection, existing_user, "user.link")
        return existing_user
    if not (waiting or settings.new_users == "viewer" or _roles_of_groups(settings, claims)):
        problem = "Nobody has invited you; ask a manager for an invitation."
        raise RequestRefused(403, "not-invited", problem)
    display = claims.get("name")
    display = display[:100] if isinstance(display, str) and display.isprintable() else email
    new_user = users.add(connection, email, display=display, issuer=issuer, subject=subject)
    _audit(connection, new_user, "user.add")
    if settings.new_users == "viewer":
        for name in settings.viewer_of:
            _set_role(connection, new_user, name, "viewer")
    return new_user


def _roles_of_groups(settings: OidcSettings, claims: Mapping[str, Any]) -> dict[str, str]:
    """The most powerful role in each project that the groups give."""
    value = claims.get(settings.groups_claim)
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    groups = {name for name in names if isinstance(name, str)}
    role_of_project: dict[str, str] = {}
    for group, project, role in settings.groups:
        if group in groups:
            roles = (role_of_project.get(project, role), role)
            role_of_project[project] = min(roles, key=ROLES.index)
    return role_of_project


def _grant_group_roles(
    connection: Connection, settings: OidcSettings, claims: Mapping[str, Any], user: User
) -> None:
    """Set the roles in projects that groups rule: what the groups give, or none."""
    granted_roles = _roles_of_groups(settings, claims)
    for project in dict.fromkeys(project for _, project, _ in settings.groups):
        _set_role(connection, user, project, granted_roles.get(project))


def _set_role(connection: Connection, user: User, project: str, role: str | None) -> None:
    try:
        number = projects.get_by_name(connection, project).id
    except UsageError:  # it is not made yet
        return
    members = users.members(connection, number)
    before = next((member_role for member, member_role in members if member.id == user.id), None)
    if before != role:
        users.grant(connection, number, user.id, role)
        details = {"role": role or "none", "by": "sign-in"}
        _audit(connection, user, "user.role", number, details)


def _audit(
    connection: Connection,
    user: User,
    action: str,
    project: int | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    actor = audit.Actor(user.name, user.id)
    audit.record(connection, actor, action, user.name, project=project, details=details or {})
