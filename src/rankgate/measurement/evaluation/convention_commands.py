"""The commands of ``rankgate conventions``: the list, the details of one, and of each axis."""

from __future__ import annotations

import click

from rankgate.core.console import shared_options
from rankgate.core.console.option_types import CONVENTION, FullHelpGroup
from rankgate.core.console.terminal_output import (
    print_result,
    print_summary,
)
from rankgate.core.present.write_results import FORMS
from rankgate.measurement import metric_options
from rankgate.measurement.evaluation.convention_details import axes as every_axis
from rankgate.measurement.evaluation.convention_details import convention_details, conventions
from rankgate.measurement.scoring.chosen_convention import chosen_convention
from rankgate.measurement.scoring.presets import of_plugins as conventions_of_plugins


@click.group("conventions", cls=FullHelpGroup, invoke_without_command=True)
@shared_options.form(*FORMS)
@click.pass_context
def conventions_command(ctx: click.Context, form: str) -> None:
    """List the named conventions; `show NAME` shows one, `axes` what each axis decides.

    \b
    rankgate conventions show trec
    """
    if ctx.invoked_subcommand is None:
        print_result(conventions(), form)
        print_summary(conventions_of_plugins().problems)
    else:
        ctx.obj = form


@conventions_command.command("show")
@click.argument("name", type=CONVENTION)
@metric_options.override
@shared_options.form(*FORMS)
@click.pass_obj
def show(before: str, name: str, overrides: tuple[str, ...], form: str) -> None:
    """Show all axes of the convention NAME (or TOML file)."""
    print_result(convention_details(chosen_convention(name, overrides)), _used_form(before, form))


@conventions_command.command("axes")
@shared_options.form(*FORMS)
@click.pass_obj
def axes(before: str, form: str) -> None:
    """Show every axis: its meaning, its choices, and what each tool does."""
    print_result(every_axis(), _used_form(before, form))


def _used_form(before: str, form: str) -> str:
    """The format, which may be given before or after the sub-command."""
    return form if form != FORMS[0] else before
