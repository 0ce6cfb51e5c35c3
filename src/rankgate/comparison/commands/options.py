"""Options of the commands that compare systems query by query."""

from __future__ import annotations

import click

from rankgate.comparison.compare import CORRECTIONS, UNEQUAL
from rankgate.comparison.paired import METHODS, TESTS
from rankgate.evaluation.scored_system import DEPTH

test = click.option(
    "--test",
    type=click.Choice(list(TESTS)),
    default="t",
    show_default=True,
    help="Behind p; t and randomization keep their level on ranking metrics.",
)
interval = click.option(
    "--interval",
    type=click.Choice(METHODS),
    default="t",
    show_default=True,
    help="How the interval of the difference is made.",
)
level = click.option(
    "--level", type=float, default=0.95, show_default=True, help="Of the intervals."
)
correction = click.option(
    "--correction",
    type=click.Choice(CORRECTIONS),
    default="holm",
    show_default=True,
    help="Of p over all metrics and comparisons; maxt goes with --test randomization.",
)
resamples = click.option(
    "--resamples",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    help="Of tests and intervals that draw; an interval takes 10,000 at most.",
)
unequal = click.option(
    "--unequal",
    type=click.Choice(UNEQUAL),
    default="refuse",
    show_default=True,
    help="What queries are that only one of two systems ran: a reason to stop; as the "
    "convention has a missing query; left out of both.",
)
depth = click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=DEPTH,
    show_default=True,
    help="How far lists are looked at.",
)
