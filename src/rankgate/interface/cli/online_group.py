"""``rankgate online``: the commands on user behaviour."""

from __future__ import annotations

import click

from rankgate.core.console.option_types import FullHelpGroup
from rankgate.core.present.lazy_names import load_name

_MODULES = {
    "rankgate.online.commands.log_commands": "ingest map doctor kpi weeks intents personalization lists",
    "rankgate.online.commands.click_commands": "judgments simulate replay ope",
    "rankgate.online.commands.experiment_commands": "plan ab agreement",
    "rankgate.online.commands.interleave_commands": "interleave",
    "rankgate.decisions.gating.ramps.commands": "watch",
}
"""The modules that have the commands; they are imported when a command is called."""

_COMMANDS = {
    name: f"{module}:{name.replace('-', '_')}_command"
    for module, names in _MODULES.items()
    for name in names.split()
}


class _OnlineGroup(FullHelpGroup):
    """A group that imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = load_name(_COMMANDS[cmd_name])
        return command


@click.group("online", cls=_OnlineGroup)
def online_command() -> None:
    """Read logs of clicks: find faults, compute KPIs, make judgments, compare A/B tests.

    \b
    rankgate online map visits.csv -o log.toml
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
