"""``rankgate online``: what users did."""

from __future__ import annotations

from importlib import import_module

import click

from rankgate.core.console.sections import FullHelpGroup

_COMMAND_NAMES = (
    "ingest",
    "doctor",
    "kpi",
    "weeks",
    "intents",
    "personalization",
    "judgments",
    "lists",
    "simulate",
    "plan",
    "ab",
    "interleave",
    "ope",
    "replay",
    "agreement",
)
_COMMAND_MODULES = {name: f"rankgate.online.commands.{name}" for name in _COMMAND_NAMES} | {
    "watch": "rankgate.decisions.gating.commands.watch"
}
"""The module of each command, imported when it is called; ``watch`` is built on this package."""


class _OnlineGroup(FullHelpGroup):
    """A group that imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_COMMAND_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMAND_MODULES:
            return None
        command: click.Command = import_module(_COMMAND_MODULES[cmd_name]).command
        return command


@click.group("online", cls=_OnlineGroup, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Read logs of clicks: find faults, compute KPIs, make judgments, compare A/B tests.

    \b
    rankgate online doctor log.ndjson
    rankgate online ingest log.ndjson -o events
    rankgate online kpi events --by day
    rankgate online weeks events
    rankgate online judgments events -o qrels.csv
    rankgate online plan events -k search_ctr --effect 0.02
    rankgate online ab events -m search_ctr --control old
    rankgate online lists events -o shown.csv
    rankgate online watch launch.toml
    rankgate online simulate qrels.txt old.run new.run -o events.parquet
    rankgate online interleave score shown.jsonl
    rankgate online ope log.csv --target uniform
    rankgate online replay new.run events
    rankgate online agreement experiments.csv
    """
