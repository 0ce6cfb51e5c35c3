"""``--backend`` and ``--master``: a command runs its verb on a cluster instead of this machine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from rankgate.core.console.hooks import find_hook
from rankgate.core.errors import UsageError

BACKENDS = ("local", "spark")


def backend_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--backend`` and ``--master`` of a command.

    With ``--backend spark`` the command is called with tables on Spark in the place of its files,
    which the hook ``on_spark`` makes; its verb measures them there.
    """

    @functools.wraps(function)
    def chosen(*args: Any, backend: str, master: str | None, **options: Any) -> Any:
        if backend == "spark":
            with find_hook("on_spark")(master, options) as tables:
                return function(*args, **tables)
        if master is not None:
            problem = "--master is of --backend spark; give both or none."
            raise UsageError(problem, code="unused-option")
        return function(*args, **options)

    backend_option = click.option(
        "--backend",
        type=click.Choice(BACKENDS),
        default="local",
        show_default=True,
        help="Run on this machine, or on Apache Spark (needs Java and rankgate[spark]).",
    )
    master_option = click.option(
        "--master",
        metavar="URL",
        help="The Spark master, such as local[4] or spark://host:7077; by default that of "
        "spark-submit, or all cores of this machine.",
    )
    return backend_option(master_option(chosen))
