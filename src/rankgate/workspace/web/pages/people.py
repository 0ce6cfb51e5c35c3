"""The people of a project: members with roles, and invitations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.store.people import invitations, users
from rankgate.workspace.web.replies import ActionReply, PageReply, RequestRefused, not_found

if TYPE_CHECKING:
    from rankgate.workspace.web.asked import WebRequest


def people_page(request: WebRequest) -> PageReply:
    """Members, and invited people."""
    with request.store.read() as connection:
        members = users.members(connection, request.project.id)
        waiting = invitations.list_open(connection, request.project.id)
    data = {
        "project": request.project.name,
        "members": [
            {
                "name": member.name,
                "display": member.display,
                "role": role,
                "disabled": member.disabled,
            }
            for member, role in members
        ],
        "invitations": [
            {
                "id": invitation.id,
                "name": invitation.name,
                "role": invitation.role,
                "expires_at": invitation.expires_at,
            }
            for invitation in waiting
        ],
    }
    return PageReply("people.html", data)


def _refuse_higher_role(request: WebRequest, role: str | None) -> None:
    """Refuse roles that only admins give to managers, who invite raters and viewers."""
    if request.role != "admin" and role in {"admin", "manager"}:
        raise RequestRefused(403, "not-allowed", "Only an admin of the project makes managers.")


def invite_person(request: WebRequest) -> PageReply:
    """A link by which somebody becomes a member, shown once."""
    role = request.values["role"]
    _refuse_higher_role(request, role)
    with request.store.write() as connection:
        invitation, secret = invitations.invite(
            connection,
            project=request.project.id,
            role=role,
            name=request.values["name"] or "",
            created_by=request.user.id,
        )
        request.record(connection, "invitation.make", invitation.name, role=role)
    link = f"{request.origin}{request.config.base}/invitations/{secret}"
    data = {"token": link, "name": invitation.name or role, "expires_at": invitation.expires_at}
    return PageReply("secret.html", data, {"back": request.at("people"), "what": "invitation"})


def revoke_invitation(request: WebRequest) -> ActionReply:
    """Revoke an invitation."""
    number = request.path["invitation"]
    with request.store.write() as connection:
        waiting = {
            invitation.id: invitation
            for invitation in invitations.list_open(connection, request.project.id)
        }
        if number not in waiting:
            raise not_found("invitation")
        _refuse_higher_role(request, waiting[number].role)
        invitations.revoke(connection, number)
        request.record(connection, "invitation.revoke", waiting[number].name)
    return ActionReply(request.at("people"), {"invitation": number})


def grant_role(request: WebRequest) -> ActionReply:
    """Give a user another role in the project, or none."""
    role = request.values["role"] if request.values["role"] != "none" else None
    _refuse_higher_role(request, role)
    with request.store.write() as connection:
        user = users.get_by_name(connection, request.values["name"])
        _refuse_higher_role(request, users.role_of(connection, request.project.id, user.id))
        users.grant(connection, request.project.id, user.id, role)
        request.record(connection, "role.grant", user.name, role=role or "none")
    return ActionReply(request.at("people"), {"name": user.name, "role": role})
