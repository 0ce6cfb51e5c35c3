"""``rankgate sweep``: settings measured point by point, and one of them chosen."""

from __future__ import annotations

import signal
import sys
from typing import Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.terminal_output import TerminalProgress, print_result
from rankgate.core.present.write_results import FORMS
from rankgate.decisions.sweeps.sweep_verb import count_steps, sweep


@click.command("sweep")
@click.argument("plan", type=click.Path(), metavar="SWEEP.toml")
@verb_options(sweep, "folder FOLDER", "workers N", "trials N")
@shared_options.form(*FORMS)
@shared_options.output
def sweep_command(plan: str, form: str, output: str | None, **options_of_sweep: Any) -> None:
    """Measure every setting that SWEEP.toml describes, and choose one.

    The result names the best setting, and its gain over the baseline on queries that were not used
    to choose it. Measurements are kept: after an interruption, the same command continues. Exits
    with 3 if a point failed.

    \b
    rankgate sweep sweep.toml
    rankgate sweep sweep.toml --workers 4 -o sweep.html
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # set-ups are undone after SIGTERM too
    with TerminalProgress(count_steps(plan, options_of_sweep["trials"])):
        result = sweep(plan, **options_of_sweep)
    print_result(result, form, output)
    if not result.finished:
        sys.exit(3)
