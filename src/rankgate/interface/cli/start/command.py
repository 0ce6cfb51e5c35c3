"""``rankgate init``: write a folder to begin with."""

from __future__ import annotations

import click

from rankgate.core.console import options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.interface.cli.start.kinds import CI_FILES, KINDS
from rankgate.interface.cli.start.started_folder import init


@click.command(
    "init",
    cls=DefiningCommand,
    definitions={
        "Kinds": [(start_kind.name, f"for {start_kind.title}") for start_kind in KINDS.values()]
    },
)
@click.argument("folder", type=click.Path(file_okay=False), default=".")
@click.option(
    "--kind",
    "user",
    type=click.Choice(list(KINDS)),
    metavar="KIND",
    help="Who the folder is for (see Kinds below); by the files in it if not given.",
)
@click.option(
    "--ci",
    type=click.Choice(list(CI_FILES)),
    help="Whose files of CI run the gate; by the repository of the folder if not given.",
)
@options.form(*FORMS)
def command(folder: str, user: str | None, ci: str | None, form: str) -> None:
    """Write a FOLDER to begin with: policy, sample data, CI, and a README about every file.

    Files that are there stay as they are.

    \b
    rankgate init
    rankgate init search-quality --kind search --ci gitlab
    """
    print_result(init(folder, user, ci=ci), form)
