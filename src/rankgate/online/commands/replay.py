"""``rankgate online replay``: a candidate ranking on logged clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import events_options, logs
from rankgate.online.counterfactual.replay import replay

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


def _numbers(_ctx: click.Context, _option: click.Parameter, words: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in words.split(",")) if words else ()
    except ValueError:
        raise click.BadParameter(f"{words!r} is not a list of numbers, as in 1,0.6,0.4") from None


@click.command("replay")
@options.run
@logs
@options_of(replay, "k N -k", "model")
@click.option(
    "--examination",
    metavar="X,X,...",
    callback=_numbers,
    help="How often each rank is looked at, relative to the first; estimated without it.",
)
@options_of(replay, "min_support SHARE", "resamples N", "level", "seed")
@events_options()
@options.form(*FORMS)
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    /,
    run: str,
    events: Events,
    form: str,
    output: str | None,
    **chosen: Any,
) -> None:
    """Score the candidate RUN on logged clicks, before a user sees it.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs. The
    ids of queries in RUN are their words. Exit code 3: too little of the candidate was ever shown,
    or nothing tells how often ranks are looked at.

    \b
    rankgate online replay new.run events
    rankgate online replay new.run ubi.ndjson -k 5 --format json
    """
    result = replay(run, events, **chosen)
    print_result(result, form, output)
    ctx.exit(result.status)
