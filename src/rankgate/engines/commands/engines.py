"""``rankgate engines``: the kinds of engines, and a look at one."""

from __future__ import annotations

import sys

import click

from rankgate.core.console import options
from rankgate.core.console.name_types import ENGINE
from rankgate.core.console.output import print_result, print_summary
from rankgate.core.console.sections import FullHelpGroup
from rankgate.core.present.write import FORMS
from rankgate.engines.catalogue import ENGINES
from rankgate.engines.engine_check import check_engine
from rankgate.engines.engine_kinds import engines


@click.group("engines", cls=FullHelpGroup, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Show the kinds of engines; check the file of one.

    \b
    rankgate engines list
    rankgate engines show opensearch
    rankgate engines check engine.toml --query "red shoes"
    """


@command.command("list")
@options.form(*FORMS)
def list_(form: str) -> None:
    """List the kinds of engines that can be asked."""
    print_result(engines(), form)
    print_summary(ENGINES.added.problems)


@command.command("show")
@click.argument("kind", type=ENGINE)
@options.form(*FORMS)
def show(kind: str, form: str) -> None:
    """Show the keys of the file of one KIND of engine."""
    print_result(engines(kind), form)


@command.command("check")
@click.argument("engine", type=click.Path(), metavar="ENGINE.toml")
@click.option("--query", default="test", show_default=True, help="The query.")
@options.parameters("A parameter of the engine's request; may be given several times.")
@options.form(*FORMS)
def check(engine: str, query: str, parameters: tuple[str, ...], form: str) -> None:
    """Ask the engine one query; show what a snapshot would keep, and what is missing.

    Exits with 3 if there are no documents, or the index lacks a field that the engine's file names.
    """
    result = check_engine(engine, query, parameters)
    print_result(result, form)
    if result.failed:
        sys.exit(3)
