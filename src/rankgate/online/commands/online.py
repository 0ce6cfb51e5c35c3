"""``rankgate online``: what users did."""

from __future__ import annotations

from importlib import import_module

import click

from rankgate.online.commands import (
    ab,
    agreement,
    doctor,
    ingest,
    intents,
    interleave,
    judgments,
    kpi,
    lists,
    ope,
    personalization,
    plan,
    replay,
    simulate,
    weeks,
)

_ELSEWHERE = {"watch": "rankgate.gating.commands.watch"}
"""Commands of packages that are built on this one, imported when they are called."""


class _Commands(click.Group):
    """The commands on logs, and those of other packages."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _ELSEWHERE:
            found: click.Command = import_module(_ELSEWHERE[cmd_name]).command
            return found
        return super().get_command(ctx, cmd_name)


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


for each in (
    ingest, doctor, kpi, weeks, intents, personalization, judgments, lists, simulate, plan,
    ab, interleave, ope, replay, agreement,
):  # fmt: skip
    command.add_command(each.command)
