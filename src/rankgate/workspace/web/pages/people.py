"""The people of a project: members with roles, and invitations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.store.people import invitations, users
from rankgate.workspace.web.replies import Done, Page, Refused, not_found

if TYPE_CHECKING:
    from rankgate.workspace.web.asked import Asked


def page(asked: Asked) -> Page:
    """Members, and who is invited."""
    with asked.store.read() as connection:
        members = users.members(connection, asked.project.id)
        waiting = invitations.waiting(connection, asked.project.id)
    data = {
        "project": asked.project.name,
        "members": [
            {"name": each.name, "display": each.display, "role": role, "disabled": each.disabled}
            for each, role in members
        ],
        "invitations": [
            {"id": each.id, "name": each.name, "role": each.role, "expires_at": each.expires_at}
            for each in waiting
        ],
    }
    return Page("people.html", data)


def _refuse_higher(asked: Asked, role: str | None) -> None:
    """Managers invite raters and viewers; who may do more is for admins to say."""
    if asked.role != "admin" and role in {"admin", "manager"}:
        raise Refused(403, "not-allowed", "Only an admin of the project makes managers.")


def invite(asked: Asked) -> Page:
    """A link by which somebody becomes a member, shown once."""
    role = asked.values["role"]
    _refuse_higher(asked, role)
    with asked.store.write() as connection:
        found, secret = invitations.invite(
            connection, project=asked.project.id, role=role, name=asked.values["name"] or "",
            created_by=asked.user.id,
        )  # fmt: skip
        asked.record(connection, "invitation.make", found.name, role=role)
    link = f"{asked.origin}{asked.config.base}/invitations/{secret}"
    data = {"token": link, "name": found.name or role, "expires_at": found.expires_at}
    return Page("secret.html", data, {"back": asked.at("people"), "what": "invitation"})


def revoke(asked: Asked) -> Done:
    """Let nobody use an invitation."""
    number = asked.path["invitation"]
    with asked.store.write() as connection:
        here = {each.id: each for each in invitations.waiting(connection, asked.project.id)}
        if number not in here:
            raise not_found("invitation")
        _refuse_higher(asked, here[number].role)
        invitations.revoke(connection, number)
        asked.record(connection, "invitation.revoke", here[number].name)
    return Done(asked.at("people"), {"invitation": number})


def grant(asked: Asked) -> Done:
    """Give a user another role in the project, or none."""
    role = asked.values["role"] if asked.values["role"] != "none" else None
    _refuse_higher(asked, role)
    with asked.store.write() as connection:
        user = users.named(connection, asked.values["name"])
        _refuse_higher(asked, users.role_of(connection, asked.project.id, user.id))
        users.grant(connection, asked.project.id, user.id, role)
        asked.record(connection, "role.grant", user.name, role=role or "none")
    return Done(asked.at("people"), {"name": user.name, "role": role})
