"""``rankgate online replay``: a candidate ranking on logged clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import events_argument, events_options
from rankgate.online.counterfactual.replay import replay

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


def _parse_numbers(
    _ctx: click.Context, _option: click.Parameter, text: str | None
) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(",")) if text else ()
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers, as in 1,0.6,0.4") from None


@click.command("replay")
@options.run
@events_argument
@verb_options(replay, "k N -k", "model")
@click.option(
    "--examination",
    metavar="X,X,...",
    callback=_parse_numbers,
    help="How often each rank is looked at, relative to the first; estimated without it.",
)
@verb_options(replay, "min_support SHARE", "resamples N", "level", "seed")
@events_options("runs run")
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
    **arguments: Any,
) -> None:
    """Score the candidate RUN on logged clicks, before a user sees it.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs. Query
    ids in RUN are the texts of the queries. Exit code 3: the log shows too little
    of the candidate, or nothing tells how often ranks are looked at.

    \b
    rankgate online replay new.run events
    rankgate online replay new.run ubi.ndjson -k 5 --format json
    """
    result = replay(run, events, **arguments)
    print_result(result, form, output)
    ctx.exit(result.status)
