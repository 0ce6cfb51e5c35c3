"""``--store`` and ``--project``: a command reads and writes a store instead of files."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from rankgate.errors import UsageError

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


def instead_of_files(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--store`` and ``--project`` of commands that otherwise read files."""

    @functools.wraps(function)
    def both(*args: Any, **given: Any) -> Any:
        if (given["store"] is None) is not (given["project"] is None):
            problem = "--store and --project belong together; give both, or neither."
            raise UsageError(problem, code="missing-input")
        return function(*args, **given)

    named = click.option(
        "--store",
        "store",
        metavar="URL",
        help="Read and write a store instead of files: arguments are names in its project.",
    )
    return named(project(required=False)(_without_secret(both)))


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
