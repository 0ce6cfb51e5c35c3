"""The command ``rankgate eval``: it scores runs against judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options, verb_options
from rankgate.core.console.option_types import SectionedCommand
from rankgate.core.console.shared_options import backend_options
from rankgate.core.console.terminal_output import TerminalProgress, print_result, with_figures_options
from rankgate.core.errors import UsageError
from rankgate.core.present.lazy_names import load_upper
from rankgate.core.present.write_results import FORMS
from rankgate.data.score_parts import Need
from rankgate.data.spark_tables import is_on_spark
from rankgate.measurement import metric_options, store_options
from rankgate.measurement.collection_options import of_collection
from rankgate.measurement.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.measurement.scoring import Convention
    from rankgate.store.stored_project import StoredProject


FROM_RATINGS = ("searchtweak", "quepid")
"""The tools that go all the way from single ratings to values."""


@click.command("eval", cls=SectionedCommand)
@shared_options.qrels
@shared_options.runs
@metric_options.metrics
@metric_options.metrics_from
@metric_options.convention
@own_options("per_query")
@verb_options(evaluate, "bounds", "slices TAG --slice")
@shared_options.scale
@of_collection("runs", stored=True)
@store_options.save_as("Keep the evaluation in the project under this name.")
@with_figures_options
@shared_options.form(*FORMS)
@shared_options.output
@backend_options
def eval_command(
    runs: tuple[str, ...],
    *,
    collection: Collection,
    per_query: bool = False,
    scale: str | None,
    stored: StoredProject | None,
    save_as: str | None,
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Score each RUN against the judgments in QRELS; `-` is standard input.

    With the conventions searchtweak and quepid, QRELS may hold the ratings of several raters:
    grades are converted to the scale of the metric, and become one by the rule of that tool.

    \b
    rankgate eval qrels.txt bm25.run dense.run -m nDCG@10 -m RR@10
    rankgate eval chat.qrels chat.run --tags "ids:(?P<talk>.+)_(?P<turn>[0-9]+)" --slice turn
    rankgate eval test.qrels.csv knn.run -m Coverage@10 --items books.csv --training train.csv
    rankgate eval gold bm25 dense --project shop --store sqlite:///judging.db
    \f

    Options:
        per_query: Show each query, not only the means.
    """
    convention: Convention = arguments.pop("convention")
    if convention.name in FROM_RATINGS and not is_on_spark(collection.judgments):
        with TerminalProgress(len(runs)):
            rated = load_upper("score_ratings")(
                collection,
                runs,
                how=convention,
                scale=scale,
                metrics=arguments["metrics"],
                bounds=arguments["bounds"],
            )
        if rated is not None and (arguments["slices"] or collection.sample is not None):
            flag = "--slice" if arguments["slices"] else "--sample"
            raise UsageError(
                f"{flag} is for judgments, not for the grades of single raters.", code="conflicting-options"
            )
        if rated is not None:
            if stored is not None and save_as is not None:
                stored.add_result(rated, save_as)
            print_result(rated, form, output, per_query=per_query)
            return
    if scale is not None:
        raise UsageError(
            "--scale is for the grades of single raters under a convention that takes them "
            f"({', '.join(FROM_RATINGS)}), and this is not such an evaluation; leave it out, or check "
            "judgments with rankgate validate --scale.",
            code="unused-option",
        )
    with TerminalProgress(len(runs)):
        result = evaluate(collection, runs, convention=convention, **arguments)
    if per_query:
        result.require("--per-query", Need("values"))
    if stored is not None and save_as is not None:
        stored.add_result(result, save_as)
    print_result(result, form, output, per_query=per_query)
