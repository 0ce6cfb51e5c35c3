"""Options of the commands that compare systems query by query."""

from __future__ import annotations

import click

from rankgate.core.console.declared_options import collected
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.pairs import UNEQUAL
from rankgate.measurement.evaluation.scored_system import DEPTH

test = collected("test", Test)
"""The options of `Test`; the command gets one."""

unequal = click.option(
    "--unequal",
    type=click.Choice(UNEQUAL),
    default="refuse",
    show_default=True,
    help="Queries that only one of two systems ran: stop with an error (refuse), treat them as "
    "missing (zero), or leave them out of both (drop).",
)
depth = click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=DEPTH,
    show_default=True,
    help="The depth to which lists are compared.",
)
