"""``rankgate conventions``: list the conventions, or read what one, or each axis, decides."""

from __future__ import annotations

import click

from rankgate.console import options
from rankgate.console.places import deliver
from rankgate.console.terminal import styled, width
from rankgate.evaluation.conventions import axis_facts, convention_facts, conventions
from rankgate.evaluation.documents.conventions import FORMS, render, render_all, render_axes
from rankgate.scoring.chosen import chosen_convention


@click.group("conventions", invoke_without_command=True)
@options.form(*FORMS)
@click.pass_context
def command(ctx: click.Context, form: str) -> None:
    """List the named conventions; `show NAME` reads one, `axes` what each axis decides.

    \b
    rankgate conventions show trec
    """
    if ctx.invoked_subcommand is None:
        deliver(render_all(conventions(), form, width()))
    else:
        ctx.obj = form


@command.command("show")
@click.argument("name")
@options.setting
@options.form(*FORMS)
@click.pass_obj
def show(before: str, name: str, settings: tuple[str, ...], form: str) -> None:
    """Every axis of the convention NAME, or of the TOML file NAME, with source and defects."""
    facts = convention_facts(chosen_convention(name, settings))
    chosen = _chosen(before, form)
    deliver(styled(render(facts, chosen, width()), chosen))


@command.command("axes")
@options.form(*FORMS)
@click.pass_obj
def axes(before: str, form: str) -> None:
    """Every axis: what it decides, what it may be, and what each tool chooses."""
    chosen = _chosen(before, form)
    deliver(styled(render_axes(axis_facts(), chosen, width()), chosen))


def _chosen(before: str, form: str) -> str:
    """``--format`` may stand before the word or behind it."""
    return form if form != FORMS[0] else before
