"""``rankgate online plan``: how long experiments would take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import events_argument, events_options
from rankgate.online.commands.experiment_options import design_options, test_options
from rankgate.online.experiments.plan import plan

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


@click.command("plan")
@events_argument
@verb_options(plan, "kpis KPI -k --kpi")
@design_options("unit UNIT")
@click.option(
    "--share",
    "shares",
    type=float,
    multiple=True,
    default=(0.01, 0.05, 0.25, 0.5),
    show_default=True,
    help="A share of the traffic that the treatment would have; may be given several times.",
)
@verb_options(plan, "effect SHARE", "horizon DAYS")
@test_options("level", "power")
@click.option(
    "--interleave",
    nargs=3,
    metavar="QRELS OLD NEW",
    help="Also say what interleaving needs to tell two runs from each other, against A/B tests of "
    "the same two; simulated users click on what judgments call relevant.",
)
@events_options(goals=True, figures=True)
@options.form(*FORMS)
@options.output
def command(events: Events, form: str, output: str | None, **arguments: Any) -> None:
    """Plan an A/B test from a log: for each KPI, the days until a difference can be detected.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs.

    \b
    rankgate online plan events
    rankgate online plan events -k search_ctr -k latency_p95 --effect 0.01 --share 0.1
    rankgate online plan events --interleave qrels.txt old.run new.run
    """
    print_result(plan(events, **arguments), form, output)
