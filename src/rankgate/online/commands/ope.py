"""``rankgate online ope``: what another policy would have earned."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of, value_options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.online.off_policy.catalogue import ESTIMATORS
from rankgate.online.off_policy.evaluate import ope
from rankgate.online.off_policy.read_log import DecisionLog


@click.command(
    "ope",
    cls=DefiningCommand,
    definitions={"Estimators": [(each.name, each.title) for each in ESTIMATORS.values()]},
)
@click.argument("log", type=click.Path())
@click.option(
    "--target",
    required=True,
    metavar="POLICY",
    help="The policy: uniform, a column of LOG with its probability of the logged action, or a "
    "file of action, probability and perhaps position.",
)
@options_of(ope, "estimators ESTIMATOR --estimator", choices={"estimators": list(ESTIMATORS)})
@value_options("log", DecisionLog, "actions N", also={"table": "log", "columns": "columns"})
@click.option(
    "--columns",
    multiple=True,
    metavar="NAME=COLUMN,...",
    help="What columns of LOG and of the target's table are called: reward=bought,action=offer.",
)
@options_of(ope, "clip", "min_ess N", "max_unsupported SHARE", "level")
@options.form(*FORMS)
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    /,
    log: DecisionLog,
    target: str,
    form: str,
    output: str | None,
    **chosen: Any,
) -> None:
    """Estimate what another policy would have earned, from a LOG with propensities.

    LOG is a table with a row for each decision: action, reward, propensity; with slates a row for
    each slot, with slate and position. Exit code 3: the log cannot answer.

    \b
    rankgate online ope log.csv --target uniform
    rankgate online ope log.csv --target new_policy --columns reward=bought
    rankgate online ope slates.parquet --target new.csv --estimator rips
    """
    result = ope(log, target, **chosen)
    print_result(result, form, output)
    ctx.exit(result.status)
