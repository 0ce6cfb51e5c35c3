"""The commands ``init``, ``skill``, ``config``, ``doctor``, ``plugins`` and ``completion``."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options
from rankgate.core.console.option_types import DefiningCommand
from rankgate.core.console.terminal_output import print_result, print_to_stderr, prints_to_stdout
from rankgate.core.output_files import new_folder, save_file
from rankgate.core.present.write_results import FORMS
from rankgate.interface.cli.doctor import TEAMS, doctor
from rankgate.interface.cli.installed_plugins import plugins
from rankgate.interface.cli.project_settings import config
from rankgate.interface.cli.start.started_folder import CI_FILES, KINDS, init

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result


@click.command(
    "init",
    cls=DefiningCommand,
    definitions={"Kinds": [(start_kind.name, f"for {start_kind.title}") for start_kind in KINDS.values()]},
)
@click.argument("folder", type=click.Path(file_okay=False), default=".")
@own_options("user KIND --kind", "ci", choices={"user": KINDS, "ci": CI_FILES})
@prints_to_stdout
def init_command(folder: str, *, user: str | None = None, ci: str | None = None) -> Result:
    """Write a FOLDER to begin with: policy, sample data, CI, and a README about every file.

    Existing files stay as they are.

    \b
    rankgate init
    rankgate init search-quality --kind search --ci gitlab
    \f

    Options:
        user: The kind of user (see Kinds below); by the files in it if not given.
        ci: The CI service that runs the gate; by the repository of the folder if not given.
    """
    return init(folder, user, ci=ci)


@click.command("skill")
@click.argument("folder", type=click.Path(file_okay=False, readable=False, writable=True), required=False)
def skill_command(folder: str | None) -> None:
    """Print instructions for coding agents (an Agent Skill), or write them to FOLDER/rankgate/SKILL.md.

    They cover golden sets, baselines, gates in CI, and verdicts. FOLDER is where your agent looks for
    skills.

    \b
    rankgate skill
    rankgate skill .agents/skills
    """
    text = (files("rankgate.interface.cli.start") / "SKILL.md").read_text(encoding="utf-8")
    if folder is None:
        click.echo(text, nl=False)
        return
    with new_folder(Path(folder) / "rankgate") as skill_folder:
        save_file(skill_folder / "SKILL.md", text)
    print_to_stderr(f"{skill_folder / 'SKILL.md'} is written.\n")


@click.command("config")
@prints_to_stdout
def config_command() -> Result:
    """Show the default of each option in this folder, and where it comes from.

    rankgate.toml, or [tool.rankgate] of pyproject.toml, has [defaults] for options and
    [files] for names of files; a command takes @NAME for such a file.

    \b
    rankgate config
    rankgate eval @qrels @production @candidate
    """
    return config()


@click.command("doctor", cls=DefiningCommand, definitions={"Teams": TEAMS.items()})
@click.argument("folder", type=click.Path(exists=True, file_okay=False), default=".")
@own_options("team TEAM", choices={"team": TEAMS})
@shared_options.form(*FORMS)
def doctor_command(folder: str, *, team: str | None = None, form: str) -> None:
    """Check the installation and the project in FOLDER; report how to fix each problem.

    Exits with 2 if something is wrong; a missing optional program is not an error.

    \b
    rankgate doctor
    rankgate doctor --team startup
    \f

    Options:
        team: Also list missing parts that a team of this size can afford (see Teams below).
    """
    result = doctor(Path(folder), team)
    print_result(result, form)
    if result.wrong:
        sys.exit(2)


@click.command("plugins")
@prints_to_stdout
def plugins_command() -> Result:
    """List the plug-ins: where they are from, what they add, and their errors.

    Packages are found by their entry points; files are those of --plugin.

    \b
    rankgate plugins
    rankgate --plugin mine.py plugins
    """
    return plugins()


_VARIABLE = "_RANKGATE_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Write the script that completes commands, options and names, also those in files, in SHELL.

    \b
    rankgate completion bash >> ~/.bashrc
    rankgate completion zsh >> ~/.zshrc
    rankgate completion fish > ~/.config/fish/completions/rankgate.fish
    """
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    program = click.get_current_context().find_root().command
    completion = completion_class(program, {}, "rankgate", _VARIABLE)
    click.echo(completion.source_template % completion.source_vars())
