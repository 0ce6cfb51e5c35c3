"""``rankgate online ope``: what another policy would have earned."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.online.off_policy.catalogue import ESTIMATORS
from rankgate.online.off_policy.evaluate import ope


@click.command(
    "ope",
    cls=DefiningCommand,
    definitions={
        "Estimators": [(estimator.name, estimator.title) for estimator in ESTIMATORS.values()]
    },
)
@click.argument("log", type=click.Path())
@click.option(
    "--target",
    required=True,
    metavar="POLICY",
    help="The policy: uniform over the actions of LOG, or over N as uniform:N; a column of LOG "
    "with its probability of the logged action; or a file of action, probability and perhaps "
    "position.",
)
@verb_options(ope, "estimators ESTIMATOR --estimator", choices={"estimators": list(ESTIMATORS)})
@click.option(
    "--columns",
    multiple=True,
    metavar="NAME=COLUMN,...",
    help="What columns of LOG and of the target's table are called: reward=bought,action=offer.",
)
@verb_options(ope, "clip", "min_ess N", "max_unsupported SHARE", "level")
@options.from_formats("logs log")
@options.form(*FORMS)
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    /,
    log: str,
    target: str,
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Estimate what another policy would have earned, from a LOG with propensities.

    LOG is a table with a row for each decision: action, reward, propensity; with slates a row for
    each slot, with slate and position. Exit code 3: the log cannot answer.

    \b
    rankgate online ope log.csv --target uniform
    rankgate online ope log.csv --target new_policy --columns reward=bought
    rankgate online ope slates.parquet --target new.csv --estimator rips
    """
    result = ope(log, target, **arguments)
    print_result(result, form, output)
    ctx.exit(result.status)
