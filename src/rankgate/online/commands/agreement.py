"""``rankgate online agreement``: whether offline predicts online."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import events_options
from rankgate.online.offline_online.agreement import NOTHING_TO_MEASURE, agreement

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


@click.command("agreement")
@click.argument("experiments", type=click.Path(), required=False, metavar="[EXPERIMENTS]")
@click.option(
    "--events",
    type=click.Path(),
    metavar="EVENTS",
    help="Instead of EXPERIMENTS a log: a folder that rankgate online ingest made, a table of "
    "events, or a file of a log.",
)
@verb_options(
    agreement,
    "qrels",
    "metrics METRIC -m --metric",
    "min_searches N",
    "chance",
    "level",
    "resamples N",
    "seed",
)
@events_options("judgments qrels", "tables experiments")
@options.form(*FORMS)
@options.output
def command(
    experiments: str | None,
    events: Events | None,
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Measure whether offline metrics predict what users do.

    EXPERIMENTS is a table with a row for each past experiment and metric or KPI: experiment, side
    (offline or online), name, delta, standard_error. With a log, the metrics of the lists that
    users were shown are compared with their clicks, query by query.

    \b
    rankgate online agreement experiments.csv
    rankgate online agreement experiments.csv --chance 0.9 -o agreement.html
    rankgate online agreement --events events --qrels qrels.txt -m nDCG@10 -m RR@10
    """
    data = experiments or events
    if data is None or (experiments and events) or bool(events) != bool(arguments["qrels"]):
        raise UsageError(NOTHING_TO_MEASURE, code="missing-argument")
    print_result(agreement(data, **arguments), form, output)
