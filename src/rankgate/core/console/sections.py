"""Help of commands: options in sections, groups with a whole line for each command."""

from __future__ import annotations

from typing import Any

import click

COLLECTION = "Options of the collection"
RUNS = "Options of runs"
TEST = "Options of the test"
OUTPUT = "Options of the output"
"""The headings, in their order."""


class SectionOption(click.Option):
    """An option in a section of the help."""

    def __init__(self, *declarations: Any, section: str, **attributes: Any) -> None:
        super().__init__(*declarations, **attributes)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help lists the options of values under their own headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then a section for each value."""
        sections: dict[str, list[tuple[str, str]]] = {
            title: [] for title in ("Options", COLLECTION, RUNS, TEST, OUTPUT)
        }
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(param, "section", "Options"), []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class FullHelpGroup(click.Group):
    """A group whose help has the first sentence of each command whole."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their sentences, wrapped and never cut."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, short_help(command)) for name, command in commands if command is not None]
            )


def short_help(command: click.Command) -> str:
    """The first sentence of a command's help."""
    return command.get_short_help_str(limit=1000)
