"""``rankgate online ab``: arms of an experiment, compared."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result
from rankgate.core.console.recording import recordable
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import logs
from rankgate.online.experiments.ab import ab


@click.command("ab")
@logs
@options_of(
    ab, "metrics METRIC -m --metric", "variant COLUMN", "unit UNIT", "control ARM", "split",
    "day COLUMN", "start DAY", "end DAY", "guardrails METRIC=SHARE --guardrail",
    "down METRIC", "cuped", "covariates METRIC=COLUMN --covariate", "segments COLUMN --segment",
    "winsorise SHARE", "sequential", "tuned_to N", "bootstrap N", "relative", "level", "power",
    "correction", "prior", "halves N", "crossed SHARE", "mapping", "without_bots",
    "success ACTION", "despite", "seed", "memory SIZE",
)  # fmt: skip
@recordable
@options.form(*FORMS)
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    /,
    events: str | tuple[str, ...],
    form: str,
    output: str | None,
    **chosen: Any,
) -> None:
    """Compare the arms of an experiment, after its sample ratio was checked.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs; with
    --variant it is a table with a row for each unit. Exits with 3 where a fault of the experiment
    forbids figures.

    \b
    rankgate online ab events -m search_ctr --control old --guardrail latency_p95=0.05
    rankgate online ab events -m revenue_per_session --cuped --start 2026-03-01
    rankgate online ab users.csv --variant arm --unit user_id -m spend -m spend/visits
    """
    result = ab(events, **chosen)
    print_result(result, form, output)
    ctx.exit(result.status)
