"""``rankgate online``: what users did."""

from __future__ import annotations

from importlib import import_module

import click

_LINES = {
    "ingest": "Read logs into one table of events.",
    "doctor": "Find faults of a log, and the figures that they spoil.",
}


class _Lazy(click.Group):
    """A group that imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_LINES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _LINES:
            return None
        command: click.Command = import_module(f"rankgate.online.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(_LINES.items()))


@click.group("online", cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Read logs of users; find their faults; compute KPIs and judgments from clicks.

    \b
    rankgate online doctor log.ndjson
    rankgate online ingest log.ndjson -o events
    """
