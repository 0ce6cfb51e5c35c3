"""``rankgate scorecard``: accuracy, and further qualities of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.backends import backend_options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.recording import with_record_option
from rankgate.core.console.sections import SectionedCommand
from rankgate.core.present.write import FORMS
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection
from rankgate.recommenders.scorecard import ACCURACY, LISTS, scorecard

if TYPE_CHECKING:
    from rankgate.data.collection import Collection


@click.command("scorecard", cls=SectionedCommand)
@options.qrels
@options.runs
@metric_options.metrics_option(
    "A metric of rankings or of lists; may be given several times. Without it: "
    f"{', '.join(ACCURACY)}, and of {', '.join(LISTS)} those whose inputs are given."
)
@metric_options.convention
@verb_options(scorecard, "slices BY --slice", "level", "resamples")
@options.seed
@with_record_option
@options.form(*FORMS)
@options.output
@of_collection("runs")
@backend_options
def command(
    collection: Collection,
    runs: tuple[str, ...],
    form: str,
    output: str | None,
    **options_of_scorecard: Any,
) -> None:
    """Compare recommenders: accuracy, coverage, novelty, diversity and fairness.

    The other runs are compared with the first RUN.

    \b
    rankgate scorecard test.qrels.csv popular.run knn.run --training train.csv
    rankgate scorecard test.qrels.csv a.run b.run --items movies.csv --category genres
    rankgate scorecard test.qrels.csv a.run b.run -m nDCG@10 -m Gini@10 -m Coverage@10
    rankgate scorecard test.qrels.csv a.run b.run --training train.csv --slice activity
    """
    with TerminalProgress(len(runs)):
        card = scorecard(collection, list(runs), **options_of_scorecard)
    print_result(card, form, output)
