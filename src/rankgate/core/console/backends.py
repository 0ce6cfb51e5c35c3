"""``--backend`` and ``--master``: a command runs its verb on a cluster instead of this machine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from rankgate.core.console.hooks import hook
from rankgate.core.errors import UsageError

BACKENDS = ("local", "spark")


def on_backend(verb: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--backend`` and ``--master`` of a command; options above it reach both alike.

    With ``--backend spark`` the hook ``run_on_spark`` is called with the verb, the master and what
    the command would be called with, and the command itself is not.

    Args:
        verb: what the command does: eval, scorecard, split, kpi or judgments.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def chosen(*args: Any, backend: str, master: str | None, **given: Any) -> Any:
            if backend == "spark":
                return hook("run_on_spark")(verb, master, given)
            if master is not None:
                problem = "--master is of --backend spark; give both or none."
                raise UsageError(problem, code="unused-option")
            return function(*args, **given)

        named = click.option(
            "--backend",
            type=click.Choice(BACKENDS),
            default="local",
            show_default=True,
            help="Run on this machine, or on Apache Spark (needs Java and rankgate[spark]).",
        )
        place = click.option(
            "--master",
            metavar="URL",
            help="The Spark master, such as local[4] or spark://host:7077; by default that of "
            "spark-submit, or all cores of this machine.",
        )
        return named(place(chosen))

    return decorate
