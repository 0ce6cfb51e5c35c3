"""The commands ``store project``, ``store user`` and ``store token``.

``rankgate store project`` has projects with their scales. In ``rankgate store user`` and
``token``, secrets are never arguments.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import label, parse_labels
from rankgate.core.console.option_types import FullHelpGroup
from rankgate.core.console.terminal_output import print_result
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.write_results import FORMS
from rankgate.measurement import store_options


@click.group("project", cls=FullHelpGroup, context_settings={"help_option_names": ["-h", "--help"]})
def project() -> None:
    """Make and list projects."""


@project.command("add")
@click.argument("name")
@store_options.store
@shared_options.scale
@label
@click.option("--title", default="", help="The title of the project on pages.")
def add(name: str, store: str | None, scale: str | None, labels: tuple[str, ...], title: str) -> None:
    """Make the project NAME, with the grades of its scale."""
    from rankgate.judging.store.store_people import add_project
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        add_project(open_store, name, scale=scale, labels=parse_labels(labels), title=title)
    click.echo(f"made the project {name}")


@project.command("list")
@store_options.store
@shared_options.form(*FORMS)
def list_(store: str | None, form: str) -> None:
    """List the projects with their contents."""
    from rankgate.judging.store.store_people import list_projects
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        result = list_projects(open_store)
    print_result(result, form)


_HELP = {"help_option_names": ["-h", "--help"]}
_ROLES = ("admin", "manager", "rater", "viewer")
_SCOPES = ("read", "record", "rate", "manage", "admin")

password_file = click.option(
    "--password-file",
    type=click.Path(),
    metavar="FILE",
    help="Read the password from the first line of FILE (- is standard input), instead of asking.",
)


@click.group("user", cls=FullHelpGroup, context_settings=_HELP)
def user() -> None:
    """Add, list and remove users; give them roles in projects."""


@user.command("add")
@click.argument("name")
@store_options.store
@click.option("--admin", is_flag=True, help="Make the user an admin of the store.")
@click.option(
    "--no-password", is_flag=True, help="Set no password: the user signs in by a provider, or not yet."
)
@password_file
def add_user(name: str, store: str | None, admin: bool, no_password: bool, password_file: str | None) -> None:
    """Add the user NAME; you are asked for a password of ten characters or more."""
    from rankgate.judging.store import store_people
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        password = None if no_password else _password(password_file)
        store_people.add_user(open_store, name, password, admin=admin)
    click.echo(f"added the user {name}")


@user.command("password")
@click.argument("name")
@store_options.store
@password_file
def password(name: str, store: str | None, password_file: str | None) -> None:
    """Set a new password for NAME; sessions and password links of NAME end."""
    from rankgate.judging.store import store_people
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        store_people.set_password(open_store, name, _password(password_file))
    click.echo(f"changed the password of {name}")


@user.command("remove-second-factor")
@click.argument("name")
@store_options.store
def remove_second_factor(name: str, store: str | None) -> None:
    """Remove the second factor of NAME, who lost the device; their sessions end."""
    from rankgate.judging.store import store_people
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        store_people.remove_second_factor(open_store, name)
    click.echo(f"removed the second factor of {name}")


@user.command("role")
@click.argument("name")
@click.argument("role", type=click.Choice([*_ROLES, "none"]))
@store_options.store
@store_options.project()
def role(name: str, role: str, store: str | None, project: str) -> None:
    """Give NAME a ROLE in a project, instead of the one that they have there."""
    from rankgate.judging.store import store_people
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        store_people.set_role(open_store, name, project, None if role == "none" else role)
    click.echo(f"{name} is {role} in {project}")


@user.command("remove")
@click.argument("name")
@store_options.store
def remove(name: str, store: str | None) -> None:
    """Remove NAME: their ratings stay, under a pseudonym."""
    from rankgate.judging.store import store_people
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        pseudonym = store_people.remove_user(open_store, name)
    click.echo(f"removed {name}; their ratings are now of {pseudonym}")


@user.command("list")
@store_options.store
@shared_options.form(*FORMS)
def list_users(store: str | None, form: str) -> None:
    """List the users with their roles."""
    from rankgate.judging.store import store_people
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        result = store_people.list_users(open_store)
    print_result(result, form)


@click.group("token", cls=FullHelpGroup, context_settings=_HELP)
def token() -> None:
    """Add, list and revoke tokens of the REST API."""


@token.command("add")
@click.argument("user")
@store_options.store
@store_options.project(required=False)
@click.option("--name", required=True, help="The purpose of the token.")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(_SCOPES),
    multiple=True,
    default=("read",),
    show_default=True,
    help="The actions that it allows; may be given several times.",
)
@click.option("--days", type=click.IntRange(1, 3_650), help="After how many days it expires.")
def add_token(
    user: str, store: str | None, project: str | None, name: str, scopes: tuple[str, ...], days: int | None
) -> None:
    """Make a token of USER; its secret is printed once, and is not kept."""
    from rankgate.judging.store import store_people
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        secret = store_people.add_token(open_store, user, name, scopes, project=project, days=days)
    click.echo(secret)


@token.command("list")
@store_options.store
@shared_options.form(*FORMS)
def list_tokens(store: str | None, form: str) -> None:
    """List all tokens, without their secrets."""
    from rankgate.judging.store import store_people
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        result = store_people.list_tokens(open_store)
    print_result(result, form)


@token.command("revoke")
@click.argument("number", type=int)
@store_options.store
def revoke(number: int, store: str | None) -> None:
    """Revoke the token NUMBER."""
    from rankgate.judging.store import store_people
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        store_people.revoke_token(open_store, number)
    click.echo(f"revoked the token {number}")


def _password(file: str | None) -> str:
    if file == "-":
        return sys.stdin.readline().rstrip("\r\n")
    if file is not None:
        try:
            lines = Path(file).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            problem = f"cannot be read: {error}."
            raise InputError(problem, source=file, code="cannot-read") from None
        return lines[0] if lines else ""
    if not sys.stdin.isatty():
        raise UsageError(
            "a password can only be typed at a terminal; give --password-file, or --no-password.",
            code="missing-input",
        )
    secret: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return secret
