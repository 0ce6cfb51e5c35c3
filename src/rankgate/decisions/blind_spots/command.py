"""``rankgate blindspots``: what the chosen metrics cannot see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.sections import SectionedCommand
from rankgate.core.present.write import FORMS
from rankgate.decisions.blind_spots.verb import blindspots
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.data.collection import Collection


@click.command("blindspots", cls=SectionedCommand)
@options.qrels
@click.argument("baseline", type=click.Path())
@click.argument("candidate", type=click.Path(), required=False)
@metric_options.metrics
@metric_options.metrics_from
@metric_options.convention
@verb_options(blindspots, "depth", "page")
@options.form(*FORMS)
@options.output
@of_collection("baseline", "candidate")
def command(
    collection: Collection,
    baseline: str,
    candidate: str | None,
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Find what the metrics do not see of the change from BASELINE to CANDIDATE.

    Without CANDIDATE only the profile is made: what the metrics would see of typical changes
    to BASELINE.

    \b
    rankgate blindspots qrels.txt old.run new.run -m RR -m nDCG@10
    rankgate blindspots qrels.txt old.run -m RR@10
    """
    with TerminalProgress(3):
        result = blindspots(collection, baseline, candidate, **settings)
    print_result(result, form, output)
