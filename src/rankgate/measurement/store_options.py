"""``--store`` and ``--project``: a command reads and writes a store instead of files."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from rankgate.store.client.remote_project import RemoteProject
    from rankgate.store.stored_project import StoredProject

VARIABLE = "RANKGATE_STORE"
"""The environment variable that names the store."""


def store(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--store`` of commands that are about a store; without it the variable names one."""
    named = click.option(
        "--store",
        "store",
        metavar="URL",
        help="The store: sqlite:///judging.db, postgresql://USER@HOST/DATABASE, or the path of a "
        f"SQLite file. Without it the environment variable {VARIABLE} names it.",
    )
    return named(_without_secret(function))


def project(*, required: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--project`` of commands that are about a store."""
    return click.option(
        "--project", required=required, metavar="NAME", help="The project in the store."
    )


def instead_of_files(**kinds: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--store`` and ``--project`` of commands that otherwise read files.

    With them, arguments are names in the project; the command gets the tables in their place, and
    the project as ``stored`` (None without them).

    Args:
        kinds: by argument what it names: ``judgments`` (or ratings, for tools that score by
            them), ``ratings``, ``counted`` (ratings without models that are not admitted),
            ``run``, ``baseline`` (a run, or what the command knows itself), ``batch`` (left as it
            is).
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def opened(*args: Any, store: str | None, project: str | None, **given: Any) -> Any:
            if project is None:
                if store is not None:
                    problem = "--store needs --project: whose ratings, runs and judgments?"
                    raise UsageError(problem, code="missing-input")
                return function(*args, stored=None, **given)
            with opened_project(store, project) as found:
                tables = {name: _tables(found, kind, given[name]) for name, kind in kinds.items()}
                return function(*args, stored=found, **{**given, **tables})

        named = click.option(
            "--store",
            "store",
            metavar="URL",
            help="The store of --project: sqlite:///judging.db, or a server such as "
            "https://judging.example.org with the token in RANKGATE_TOKEN; without it the "
            f"environment variable {VARIABLE} names it.",
        )
        inside = click.option(
            "--project",
            metavar="NAME",
            help="Read and write a project of a store instead of files: arguments are its names.",
        )
        return named(inside(_without_secret(opened)))

    return decorate


def is_server(store: str | None) -> bool:
    """Whether an address is that of a server, and not of a database."""
    words = store if store is not None else os.environ.get(VARIABLE, "")
    return words.startswith(("http://", "https://"))


def opened_project(store: str | None, project: str) -> StoredProject | RemoteProject:
    """A project of a store or of a server.

    Raises:
        UsageError: there is no such store or project.
    """
    if is_server(store):
        from rankgate.store.client.remote_project import RemoteProject

        return RemoteProject(store or os.environ[VARIABLE], project)
    from rankgate.store.stored_project import StoredProject

    return StoredProject.open(store, project)


def save_as(help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--save-as`` of commands that may keep what they make in a store."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, save_as: str | None, **given: Any) -> Any:
            if save_as is not None and given["stored"] is None:
                problem = "--save-as is a name in a store; give --project too."
                raise UsageError(problem, code="missing-input")
            return function(*args, save_as=save_as, **given)

        return click.option("--save-as", metavar="NAME", help=help_text)(checked)

    return decorate


def _tables(found: StoredProject | RemoteProject, kind: str, names: Any) -> Any:
    """The tables that names stand for."""
    if names is None or kind == "batch":
        return names
    if isinstance(names, tuple):
        return tuple(_tables(found, kind, each) for each in names)
    rated: dict[str, Callable[[str], Any]] = {
        "judgments": found.judged,
        "ratings": found.ratings,
        "counted": found.counted,
    }
    if kind in rated:
        return rated[kind](names)
    try:
        return found.run(names)
    except UsageError:
        if kind != "baseline":
            raise
        return names


def _without_secret(function: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse a password on the command line, where other users of the machine see it."""

    @functools.wraps(function)
    def checked(*args: Any, store: str | None, **given: Any) -> Any:
        source = click.get_current_context().get_parameter_source("store")
        _, _, place = (store or "").partition("://")
        user, at, _ = place.partition("@")
        if source is ParameterSource.COMMANDLINE and at and ":" in user:
            raise UsageError(
                "--store holds a password, which others on this machine can see; put it into "
                f"PGPASSWORD or ~/.pgpass, or the address into {VARIABLE}.",
                code="secret-in-argument",
            )
        return function(*args, store=store, **given)

    return checked
