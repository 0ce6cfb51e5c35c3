"""The commands ``store project``, ``store user`` and ``store token``; secrets are never arguments."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import label, option, own_options, parse_labels
from rankgate.core.console.option_types import FullHelpGroup
from rankgate.core.console.terminal_output import prints_to_stdout
from rankgate.core.declare import Parameter, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.data.qrels import parse_scale, possible_grades
from rankgate.measurement import store_options

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.store.store import Store

_ROLES = ("admin", "manager", "rater", "viewer")
_SCOPES = ("read", "record", "rate", "manage", "admin")


def _act(store: Store, act: str, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - that of the act
    """Do an act of `rankgate.store.people.acts` as the command line; return its result."""
    from rankgate.store.people import acts
    from rankgate.store.people.audit import COMMAND_LINE

    with store.write() as connection:
        return getattr(acts, act)(connection, COMMAND_LINE, *arguments, **options)


@click.group("project", cls=FullHelpGroup)
def project() -> None:
    """Make and list projects."""


@project.command("add")
@click.argument("name")
@store_options.open_store
@shared_options.scale
@label
@own_options("title")
def add(name: str, *, open_store: Store, scale: str | None, labels: tuple[str, ...], title: str = "") -> None:
    """Make the project NAME, with the grades of its scale.

    \f

    Options:
        title: The title of the project on pages.
    """
    grades = None
    if scale is not None:
        grade_scale = parse_scale(scale)
        names = dict(grade_scale.labels) | parse_labels(labels)
        named = tuple((grade, names.get(grade, f"{grade:g}")) for grade in possible_grades(grade_scale))
        grades = replace(grade_scale, labels=named)
    _act(open_store, "add_project", name, scale=grades, title=title)
    click.echo(f"made the project {name}")


@project.command("list")
@store_options.open_store
@prints_to_stdout
def list_(open_store: Store) -> Result:
    """List the projects with their contents."""
    from rankgate.judging.store.store_people import list_projects

    return list_projects(open_store)


password_file = option(
    Parameter(
        "password_file",
        "path",
        "Read the password from the first line of FILE (- is standard input), instead of asking.",
    ),
    metavar="FILE",
)


@click.group("user", cls=FullHelpGroup)
def user() -> None:
    """Add, list and remove users; give them roles in projects."""


@user.command("add")
@click.argument("name")
@store_options.open_store
@own_options("admin", "no_password")
@password_file
def add_user(
    name: str, *, open_store: Store, admin: bool = False, no_password: bool = False, password_file: str | None
) -> None:
    """Add the user NAME; you are asked for a password of ten characters or more.

    \f

    Options:
        admin: Make the user an admin of the store.
        no_password: Set no password: the user signs in by a provider, or not yet.
    """
    hashed = None if no_password else _password_hash(password_file)
    _act(open_store, "add_user", name, hashed, admin=admin)
    click.echo(f"added the user {name}")


@user.command("password")
@click.argument("name")
@store_options.open_store
@password_file
def password(name: str, open_store: Store, password_file: str | None) -> None:
    """Set a new password for NAME; sessions and password links of NAME end."""
    _act(open_store, "set_password", name, _password_hash(password_file))
    click.echo(f"changed the password of {name}")


@user.command("remove-second-factor")
@click.argument("name")
@store_options.open_store
def remove_second_factor(name: str, open_store: Store) -> None:
    """Remove the second factor of NAME, who lost the device; their sessions end."""
    _act(open_store, "remove_second_factor", name)
    click.echo(f"removed the second factor of {name}")


@user.command("role")
@click.argument("name")
@click.argument("role", type=click.Choice([*_ROLES, "none"]))
@store_options.open_store
@store_options.project()
def role(name: str, role: str, open_store: Store, project: str) -> None:
    """Give NAME a ROLE in a project, instead of the one that they have there."""
    _act(open_store, "set_role", name, project, None if role == "none" else role)
    click.echo(f"{name} is {role} in {project}")


@user.command("remove")
@click.argument("name")
@store_options.open_store
def remove(name: str, open_store: Store) -> None:
    """Remove NAME: their ratings stay, under a pseudonym."""
    pseudonym = _act(open_store, "remove_user", name)
    click.echo(f"removed {name}; their ratings are now of {pseudonym}")


@user.command("list")
@store_options.open_store
@prints_to_stdout
def list_users(open_store: Store) -> Result:
    """List the users with their roles."""
    from rankgate.judging.store.store_people import list_users

    return list_users(open_store)


@click.group("token", cls=FullHelpGroup)
def token() -> None:
    """Add, list and revoke tokens of the REST API."""


@token.command("add")
@click.argument("user")
@store_options.open_store
@store_options.project(required=False)
@own_options("name", "scopes --scope", "days", kinds={"scopes": click.Choice(_SCOPES)})
def add_token(
    user: str,
    *,
    open_store: Store,
    project: str | None,
    name: str,
    scopes: tuple[str, ...] = ("read",),
    days: Annotated[int, Range(1, 3_650)] | None = None,
) -> None:
    """Make a token of USER; its secret is printed once, and is not kept.

    \f

    Options:
        name: The purpose of the token.
        scopes: The actions that it allows; may be given several times.
        days: After how many days it expires.
    """
    _, secret = _act(open_store, "add_token", user, name, scopes, project=project, days=days)
    click.echo(secret)


@token.command("list")
@store_options.open_store
@prints_to_stdout
def list_tokens(open_store: Store) -> Result:
    """List all tokens, without their secrets."""
    from rankgate.judging.store.store_people import list_tokens

    return list_tokens(open_store)


@token.command("revoke")
@click.argument("number", type=int)
@store_options.open_store
def revoke(number: int, open_store: Store) -> None:
    """Revoke the token NUMBER."""
    _act(open_store, "revoke_token", number)
    click.echo(f"revoked the token {number}")


def _password_hash(file: str | None) -> str:
    """The hash of the password in a file, on standard input, or typed at the terminal."""
    from rankgate.store.people.sign_in import password_hash

    if file == "-":
        return password_hash(sys.stdin.readline().rstrip("\r\n"))
    if file is not None:
        try:
            lines = Path(file).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            problem = f"cannot be read: {error}."
            raise InputError(problem, source=file, code="cannot-read") from None
        return password_hash(lines[0] if lines else "")
    if not sys.stdin.isatty():
        raise UsageError(
            "a password can only be typed at a terminal; give --password-file, or --no-password.",
            code="missing-input",
        )
    return password_hash(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
