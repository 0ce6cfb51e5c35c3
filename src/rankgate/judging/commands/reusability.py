"""``rankgate reusability``: what runs lose when they are left out of the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.sections import SectionedCommand
from rankgate.core.present.write import FORMS
from rankgate.judging.pooling.reusability import reusability
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.data.collection import Collection


@click.command("reusability", cls=SectionedCommand)
@options.qrels
@options.runs
@metric_options.metrics
@metric_options.convention
@verb_options(reusability, "depth")
@options.form(*FORMS)
@options.output
@of_collection("runs")
def command(
    collection: Collection, runs: tuple[str, ...], form: str, output: str | None, **arguments: Any
) -> None:
    """Estimate how much each RUN would lose if it had not been part of the pool.

    Large losses mean that the judgments are unfair to later systems.

    \b
    rankgate reusability qrels.txt *.run -m nDCG@10 --depth 10
    """
    with TerminalProgress(len(runs)):
        result = reusability(collection, list(runs), **arguments)
    print_result(result, form, output)
