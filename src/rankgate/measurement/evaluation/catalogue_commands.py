"""The commands ``rankgate metrics`` and ``rankgate conventions``: the lists, and details of one."""

from __future__ import annotations

import click

from rankgate.core.console import shared_options
from rankgate.core.console.option_types import CONVENTION, METRIC, FullHelpGroup
from rankgate.core.console.terminal_output import print_result, print_summary
from rankgate.core.present.write_results import FORMS
from rankgate.measurement import metric_options
from rankgate.measurement.evaluation.convention_details import axes as every_axis
from rankgate.measurement.evaluation.convention_details import convention_details, conventions
from rankgate.measurement.evaluation.metric_details import metric_details, metrics
from rankgate.measurement.metrics.metric_name_parser import of_plugins as metrics_of_plugins
from rankgate.measurement.scoring.presets import chosen_convention
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


@click.command("metrics")
@click.argument("name", required=False, type=METRIC)
@metric_options.metrics_from
@shared_options.form(*FORMS)
def metrics_command(name: str | None, form: str) -> None:
    """List the metrics, or show the details of the one called NAME.

    \b
    rankgate metrics nDCG
    """
    print_result(metric_details(name) if name else metrics(), form)
    if not name:
        print_summary(metrics_of_plugins().problems)
