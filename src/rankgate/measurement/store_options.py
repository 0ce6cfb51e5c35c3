"""``--store`` and ``--project``: commands that read and write a store instead of files."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankgate.core.console.declared_options import option
from rankgate.core.declare import Parameter
from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command, Decorator
    from rankgate.store.client.remote_project import RemoteProject
    from rankgate.store.stored_project import StoredProject

VARIABLE = "RANKGATE_STORE"
"""The environment variable that names the store."""


def store(function: Command) -> Command:
    """``--store`` for commands that use a store; by default an environment variable gives it."""
    declared = Parameter(
        "store",
        help="The store: sqlite:///judging.db, postgresql://USER@HOST/DATABASE, or the path of a SQLite "
        f"file. Without it the environment variable {VARIABLE} names it.",
    )
    return option(declared, metavar="URL")(refuse_secret(function))


def open_store(function: Command) -> Command:
    """``--store``; the command gets the open store, as ``open_store``."""

    @functools.wraps(function)
    def with_store(*args: Any, store: str | None, **options: Any) -> object:
        from rankgate.store.store import Store

        with Store.open(store) as open_store:
            return function(*args, open_store=open_store, **options)

    return store(with_store)


def project(*, required: bool = True) -> Decorator:
    """``--project`` for commands that use a store."""
    return option(Parameter("project", help="The project in the store.", required=required), metavar="NAME")


def open_project(function: Command) -> Command:
    """``--store`` and ``--project``; the command gets the open project, as ``stored_project``."""

    @functools.wraps(function)
    def with_project(*args: Any, store: str | None, project: str, **options: Any) -> object:
        from rankgate.store.stored_project import StoredProject

        with StoredProject.open(store, project) as stored_project:
            return function(*args, stored_project=stored_project, **options)

    return store(project()(with_project))


def instead_of_files(**kinds: str) -> Decorator:
    """``--store`` and ``--project`` for commands that otherwise read files.

    With these options, arguments are names in the project. The command gets the tables instead of
    names, and the project as ``stored`` (None without the options).

    Args:
        kinds: the kind of object that each argument names: ``judgments`` (or ratings, for tools
            that score by them), ``ratings``, ``counted`` (ratings without models that are not
            admitted), ``run``, ``baseline`` (a run, or a name that the command knows), ``batch``
            (unchanged).
    """

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def opened(*args: Any, store: str | None, project: str | None, **options: Any) -> object:
            with project_of(store, project) as stored_project:
                if stored_project is not None:
                    options |= {
                        name: project_tables(stored_project, kind, options[name])
                        for name, kind in kinds.items()
                    }
                return function(*args, stored=stored_project, **options)

        return in_project()(opened)

    return decorate


_STORE_OF_PROJECT = Parameter(
    "store",
    help="The store of --project: sqlite:///judging.db, or a server such as https://judging.example.org with "
    f"the token in RANKGATE_TOKEN; without it the environment variable {VARIABLE} names it.",
)
_OPTIONAL_PROJECT = Parameter(
    "project", help="Read and write a project of a store instead of files: arguments are its names."
)


def in_project(section: str = "Options") -> Decorator:
    """``--store`` and ``--project`` for commands that otherwise read files."""
    store_option = option(_STORE_OF_PROJECT, metavar="URL", section=section)
    project_option = option(_OPTIONAL_PROJECT, metavar="NAME", section=section)
    return lambda function: store_option(project_option(refuse_secret(function)))


@contextmanager
def project_of(store: str | None, project: str | None) -> Iterator[StoredProject | RemoteProject | None]:
    """The project that options name; None if they name no project.

    Raises:
        UsageError: a store is given without a project, or the store or project does not exist.
    """
    if project is not None:
        with opened_project(store, project) as stored_project:
            yield stored_project
        return
    source = click.get_current_context().get_parameter_source("store")
    if source is ParameterSource.COMMANDLINE:
        problem = "--store needs --project, the project with the ratings, runs and judgments."
        raise UsageError(problem, code="missing-input")
    yield None


def is_server(store: str | None) -> bool:
    """True if an address is that of a server and not of a database."""
    address = store if store is not None else os.environ.get(VARIABLE, "")
    return address.startswith(("http://", "https://"))


def opened_project(store: str | None, project: str) -> StoredProject | RemoteProject:
    """A project of a store or of a server.

    Raises:
        UsageError: the store or project does not exist.
    """
    if is_server(store):
        from rankgate.store.client.remote_project import RemoteProject

        return RemoteProject(store or os.environ[VARIABLE], project)
    from rankgate.store.stored_project import StoredProject

    return StoredProject.open(store, project)


def save_as(help_text: str) -> Decorator:
    """``--save-as`` for commands that can save their result in a store."""

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def checked(*args: Any, save_as: str | None, **options: Any) -> object:
            if save_as is not None and options["stored"] is None:
                problem = "--save-as is a name in a store; give --project too."
                raise UsageError(problem, code="missing-input")
            return function(*args, save_as=save_as, **options)

        return option(Parameter("save_as", help=help_text), metavar="NAME")(checked)

    return decorate


def project_tables(stored_project: StoredProject | RemoteProject, kind: str, names: Any) -> Any:
    """The tables that names refer to in a project, by the kinds of `instead_of_files`.

    Raises:
        UsageError: the project does not have a name.
    """
    if names is None or kind == "batch":
        return names
    if isinstance(names, tuple | list):
        return tuple(project_tables(stored_project, kind, name) for name in names)
    rated: dict[str, Callable[[str], Any]] = {
        "judgments": stored_project.judged,
        "ratings": stored_project.ratings,
        "counted": stored_project.counted,
    }
    if kind in rated:
        return rated[kind](names)
    try:
        return stored_project.run(names)
    except UsageError:
        if kind != "baseline":
            raise
        return names


def refuse_secret(function: Command) -> Command:
    """Reject a password on the command line, where other users of the machine can read it."""

    @functools.wraps(function)
    def checked(*args: Any, store: str | None, **options: Any) -> object:
        source = click.get_current_context().get_parameter_source("store")
        _, _, location = (store or "").partition("://")
        user, separator, _ = location.partition("@")
        if source is ParameterSource.COMMANDLINE and separator and ":" in user:
            raise UsageError(
                "--store holds a password, which others on this machine can see; put it into PGPASSWORD or "
                f"~/.pgpass, or the address into {VARIABLE}.",
                code="secret-in-argument",
            )
        return function(*args, store=store, **options)

    return checked
