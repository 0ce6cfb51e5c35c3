"""``rankgate online ab``: arms of an experiment, compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.console.recording import with_record_option
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import events_argument, events_options
from rankgate.online.commands.experiment_options import design_options, test_options
from rankgate.online.experiments.ab import ab

if TYPE_CHECKING:
    from rankgate.online.events.events import Events
    from rankgate.online.experiments.design import Design


@click.command("ab")
@events_argument
@verb_options(ab, "metrics KPI -m --metric", "guardrails METRIC=SHARE --guardrail", "down METRIC")
@design_options()
@test_options()
@events_options(goals=True, figures=True)
@with_record_option
@options.form(*FORMS)
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    /,
    events: Events,
    design: Design,
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Compare the arms of an A/B test, after a check of the sample ratio.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs; with
    --variant it is a table with a row for each unit. Exits with 3 if the experiment
    has a fault that makes its figures wrong.

    \b
    rankgate online ab events -m search_ctr --control old --guardrail latency_p95=0.05
    rankgate online ab events -m revenue_per_session --cuped --start 2026-03-01
    rankgate online ab users.csv --variant arm --unit user_id -m spend -m spend/visits
    """
    data = events.log if design.variant else events
    result = ab(data, design=design, despite=events.despite, **arguments)
    print_result(result, form, output)
    ctx.exit(result.status)
