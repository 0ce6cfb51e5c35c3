"""The command ``rankgate cutoff``: where to cut off the scores of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import value_options, verb_options
from rankgate.core.console.option_types import TEST, SectionedCommand
from rankgate.core.console.terminal_output import TerminalProgress, prints
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.cutoffs.cutoff import cutoff
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.data.collection import Collection


@click.command("cutoff", cls=SectionedCommand)
@shared_options.qrels
@shared_options.runs
@verb_options(cutoff, "silent", "kept", "keep", "no_answer", "threshold", "slices TAG --slice", "rel")
@verb_options(cutoff, "metric METRIC -m")
@metric_options.convention
@value_options("test", Test, "level", "seed", section=TEST)
@prints
@of_collection("runs")
def cutoff_command(collection: Collection, runs: tuple[str, ...], **settings: Any) -> Result:
    """Find the score below which each RUN should show nothing, with a guarantee.

    \b
    rankgate cutoff qrels.txt dense.run
    rankgate cutoff qrels.txt dense.run --silent 0.98 --kept 0.8 --threshold 0.25
    rankgate cutoff qrels.txt dense.run --tags tags.csv --slice intent
    """
    with TerminalProgress(len(runs)):
        return cutoff(collection, runs, **settings)
