"""``rankgate store model``: language models as raters of a project, and their admission."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import value_options
from rankgate.core.console.output import print_result
from rankgate.core.console.sections import FullHelpGroup
from rankgate.core.present.write import FORMS
from rankgate.judging.admission.demands import Demands
from rankgate.measurement import store_options

if TYPE_CHECKING:
    from rankgate.store.stored_project import StoredProject


@click.group("model", cls=FullHelpGroup, context_settings={"help_option_names": ["-h", "--help"]})
def model() -> None:
    """List language models that rate in a project, and admit them by evidence."""


@model.command("list")
@store_options.store
@store_options.project()
@options.form(*FORMS)
def list_(store: str | None, project: str, form: str) -> None:
    """List the models of a project with what they rated, its cost, and whether they count."""
    from rankgate.judging.models.listing import list_models
    from rankgate.store.stored_project import StoredProject

    with StoredProject.open(store, project) as stored_project:
        result = list_models(stored_project)
    print_result(result, form)


@model.command("admit")
@click.argument("name")
@store_options.store
@store_options.project()
@value_options("demands", Demands)
@click.option("--with-runs", is_flag=True, help="Also compare the order of the project's runs.")
@options.form(*FORMS)
@options.output
@click.pass_context
def admit(
    ctx: click.Context,
    /,
    name: str,
    store: str | None,
    project: str,
    demands: Demands,
    with_runs: bool,
    form: str,
    output: str | None,
) -> None:
    """Compare the model NAME with people in the project; its ratings count if it is admitted.

    Exits with 0 if it is admitted, 1 if it is refused, 3 if these pairs cannot decide.
    """
    from rankgate.judging.models.admitting import admit_model
    from rankgate.store.stored_project import StoredProject

    with StoredProject.open(store, project) as stored_project:
        rater = _model_number(stored_project, name)
        result, _ = admit_model(
            stored_project.store, stored_project.number, rater, demands=demands, with_runs=with_runs
        )
    print_result(result, form, output)
    ctx.exit(result.status)


@model.command("withdraw")
@click.argument("name")
@store_options.store
@store_options.project()
def withdraw(name: str, store: str | None, project: str) -> None:
    """Exclude the ratings of the model NAME from now on."""
    from rankgate.judging.models.admitting import withdraw_model
    from rankgate.store.stored_project import StoredProject

    with StoredProject.open(store, project) as stored_project:
        withdraw_model(
            stored_project.store, stored_project.number, _model_number(stored_project, name)
        )
    click.echo(f"the ratings of {name} do not count in {project}")


def _model_number(stored_project: StoredProject, name: str) -> int:
    from rankgate.judging.models.admitting import find_model

    with stored_project.store.read() as connection:
        return find_model(connection, name)
