"""``rankgate online``: what users did."""

from __future__ import annotations

from importlib import import_module

import click

_HERE = (
    "ingest", "doctor", "kpi", "weeks", "intents", "personalization", "judgments", "lists",
    "simulate", "plan", "ab", "interleave", "ope", "replay", "agreement",
)  # fmt: skip
_HOMES = {name: f"rankgate.online.commands.{name}" for name in _HERE} | {
    "watch": "rankgate.decisions.gating.commands.watch"
}
"""The module of each command, imported when it is called; ``watch`` is built on this package."""


class _Commands(click.Group):
    """A group that imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_HOMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _HOMES:
            return None
        command: click.Command = import_module(_HOMES[cmd_name]).command
        return command


@click.group("online", cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Read logs of users; find their faults; compute KPIs, judgments, experiments.

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
