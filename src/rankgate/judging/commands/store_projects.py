"""``rankgate store project``: projects with their scales."""

from __future__ import annotations

import click

from rankgate.core.console import options
from rankgate.core.console.labels import label, parse_labels
from rankgate.core.console.output import print_result
from rankgate.core.console.sections import FullHelpGroup
from rankgate.core.present.write import FORMS
from rankgate.measurement import store_options


@click.group("project", cls=FullHelpGroup, context_settings={"help_option_names": ["-h", "--help"]})
def project() -> None:
    """Make and list projects."""


@project.command("add")
@click.argument("name")
@store_options.store
@options.scale
@label
@click.option("--title", default="", help="What pages call the project.")
def add(
    name: str, store: str | None, scale: str | None, labels: tuple[str, ...], title: str
) -> None:
    """Make the project NAME, with the grades of its scale."""
    from rankgate.judging.store.people import add_project
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        add_project(open_store, name, scale=scale, labels=parse_labels(labels), title=title)
    click.echo(f"made the project {name}")


@project.command("list")
@store_options.store
@options.form(*FORMS)
def list_(store: str | None, form: str) -> None:
    """List the projects with what they hold."""
    from rankgate.judging.store.people import list_projects
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        result = list_projects(open_store)
    print_result(result, form)
