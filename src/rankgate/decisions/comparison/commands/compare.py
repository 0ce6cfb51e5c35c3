"""``rankgate compare``: differences between systems, with intervals and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.name_types import QUERY_ID, SYSTEM_OR_FILE
from rankgate.core.console.output import print_result
from rankgate.core.console.places import write_output
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.recording import with_record_option
from rankgate.core.console.sections import SectionedCommand
from rankgate.core.console.terminal import output_width, style_output
from rankgate.core.errors import UsageError
from rankgate.core.present.forms.documents import render_text
from rankgate.core.present.write import FORMS
from rankgate.decisions.comparison.commands import options as comparing
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.documents.comparison import WORST, query_document
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.measurement.evaluation.scores import Scores


@click.command("compare", cls=SectionedCommand)
@click.argument("qrels", type=SYSTEM_OR_FILE, required=False)
@click.argument("baseline", type=SYSTEM_OR_FILE, required=False)
@click.argument("candidates", type=SYSTEM_OR_FILE, nargs=-1, metavar="[CANDIDATE...]")
@comparing.score_options
@metric_options.metrics
@metric_options.metrics_from
@metric_options.convention
@comparing.test
@verb_options(compare, "slices TAG --slice")
@comparing.depth
@click.option(
    "--query",
    "query_id",
    metavar="ID",
    type=QUERY_ID,
    help="Show both ranked lists of one query side by side.",
)
@click.option(
    "--worst",
    type=click.IntRange(min=0),
    default=WORST,
    show_default=True,
    help="The number of worst queries to show for each metric.",
)
@click.option(
    "--pairs",
    is_flag=True,
    help="Of several candidates also show each against the baseline, and every pair of systems.",
)
@click.option(
    "--lists",
    is_flag=True,
    help="With --format json: add both ranked lists of every query.",
)
@with_record_option
@options.form(*FORMS)
@options.output
@comparing.system_names("baseline", "candidates")
@of_collection("baseline", "candidates")
@comparing.reported_scores
def command(
    collection: Collection | Scores,
    baseline: str | None,
    candidates: tuple[str, ...],
    *,
    query_id: str | None,
    worst: int,
    pairs: bool,
    lists: bool,
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Compare each CANDIDATE run with the BASELINE, query by query.

    \b
    rankgate compare qrels.txt old.run new.run -m nDCG@10 -m RR
    rankgate compare qrels.txt old.run new.run --query q17
    rankgate compare qrels.txt old.run a.run b.run c.run --test randomization --correction maxt
    rankgate compare qrels.txt old.run new.run --tags tags.csv --slice intent
    rankgate compare qrels.txt old.run new.run --wanted 0.02 --power 0.9
    rankgate compare --scores old.eval --scores new.eval -m nDCG@10
    rankgate compare --scores table.csv -m nDCG@10 bm25 dense
    rankgate compare test.qrels.csv popular.run knn.run -m nDCG@10 -m Coverage@10 --items books.csv
    """
    if lists and form != "json":
        raise UsageError(
            "--lists is for --format json; one query's lists are shown by --query.",
            code="conflicting-options",
        )
    if query_id is not None and (len(candidates) > 1 or form != "text"):
        raise UsageError(
            "--query shows one candidate as text; leave out the others and --format.",
            code="conflicting-options",
        )
    with TerminalProgress(2 * len(candidates) + 2):  # each is scored, then compared
        result = compare(collection, baseline, list(candidates), **settings)
    if query_id is not None:
        rendered = render_text(query_document(result.only, query_id), output_width(output))
        write_output(style_output(rendered, form, output), output)
    elif form == "json":
        print_result(result, form, output, lists=lists)
    else:
        print_result(result, form, output, worst=worst, pairs=pairs)
