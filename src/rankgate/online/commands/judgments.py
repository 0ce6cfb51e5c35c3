"""``rankgate online judgments``: what clicks say of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.backends import backend_options
from rankgate.core.console.declared_options import value_options, verb_options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.name_types import FORMAT
from rankgate.core.console.output import print_result
from rankgate.core.console.places import check_paths, input_paths
from rankgate.core.present.write import FORMS
from rankgate.online.clicks.catalogue import MODELS
from rankgate.online.clicks.grades import Grading
from rankgate.online.clicks.judge import OPENSEARCH, judgments
from rankgate.online.commands.arguments import events_argument, events_options

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


def _parse_numbers(_ctx: click.Context, _option: click.Parameter, text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers, as in 0.2,0.5") from None


@click.command(
    "judgments",
    cls=DefiningCommand,
    definitions={"Models": [(model.name, model.title) for model in MODELS.values()]},
)
@events_argument
@click.option(
    "-o",
    "--output",
    "target",
    metavar="QRELS",
    type=click.Path(writable=True),
    help="Write the judgments to QRELS; what was found is printed.",
)
@click.option(
    "--to",
    metavar="FORMAT",
    type=FORMAT,
    help="The format of QRELS; by the suffix of its name without it.",
)
@verb_options(
    judgments,
    "model",
    "models MODEL",
    "ranks N",
    choices={"model": ["auto", *MODELS, OPENSEARCH], "models": list(MODELS)},
)
@value_options("grading", Grading, "grades", also={"cuts": "cuts", "min_examined": "min_examined"})
@click.option(
    "--cuts",
    default="0.25,0.5,0.75",
    show_default=True,
    metavar="X,X,...",
    callback=_parse_numbers,
    help="Where grades begin: the first gives grade 1, the second grade 2, and so on.",
)
@verb_options(Grading, "min_examined N")
@verb_options(
    judgments,
    "prior N",
    "no_click",
    "held_out SHARE",
    "human",
    "resamples N",
    "seed",
    choices={"no_click": ["drop", "all_examined"]},
)
@events_options("judgments human")
@options.form(*FORMS)
@backend_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    events: Events,
    target: str | None,
    to: str | None,
    form: str,
    **arguments: Any,
) -> None:
    """Make judgments from clicks, by a click model.

    EVENTS is a folder that rankgate online ingest made, a table of events, files of logs, or click
    counts in Parquet. Query ids are the texts of the queries. Exit code 3: the log has too
    little for the model, and no judgments are written.

    \b
    rankgate online judgments events
    rankgate online judgments ubi.ndjson --model sdbn -o qrels.csv
    rankgate online judgments events --grades quantiles --min-examined 50 -o qrels.csv
    """
    check_paths(input_paths(), target)
    result = judgments(events, **arguments)
    if target and not result.status:
        result.write(target, to)
    print_result(result, form)
    ctx.exit(result.status)
