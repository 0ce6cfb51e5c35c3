"""``rankgate online watch``: the share of units that the policy of a launch allows today."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.terminal_output import prints
from rankgate.decisions.gating.ramps.watch import watch

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result


@click.command("watch")
@shared_options.paths("policy")
@verb_options(watch, "events", "today DAY", "memory SIZE")
@shared_options.from_formats("logs events")
@prints
def watch_command(policy: str, events: str | None, today: str, memory: str) -> Result:
    """Decide if a launch goes on today by POLICY: pass (go on), fail (stop), inconclusive (stay).

    POLICY has an [experiment], rules on KPIs and, for a launch in steps, a [[ramp]]. Intervals
    hold at every look, so that it may run every day. Exits with 0 if the next step is allowed, 1 if
    the ramp must stop, 3 if it must stay where it is, 2 if something is wrong with the input.

    \b
    rankgate online watch launch.toml
    rankgate online watch launch.toml --events events --today 2026-03-09 --format json
    rankgate online watch launch.toml -o today.html
    """
    return watch(policy, events, today=today, memory=memory)
