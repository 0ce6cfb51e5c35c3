"""``rankgate online judgments``: what clicks say of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.backends import on_backend
from rankgate.core.console.declared_options import options_of, value_options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result
from rankgate.core.console.places import inputs, refuse_clashes
from rankgate.core.present.write import FORMS
from rankgate.online.clicks.catalogue import MODELS
from rankgate.online.clicks.grades import Grading
from rankgate.online.clicks.judge import OPENSEARCH, judgments
from rankgate.online.commands.arguments import events_options, logs

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


def _numbers(_ctx: click.Context, _option: click.Parameter, words: str) -> list[float]:
    try:
        return [float(word) for word in words.split(",")]
    except ValueError:
        raise click.BadParameter(f"{words!r} is not a list of numbers, as in 0.2,0.5") from None


@click.command(
    "judgments",
    cls=DefiningCommand,
    definitions={"Models": [(each.name, each.title) for each in MODELS.values()]},
)
@logs
@click.option(
    "-o",
    "--output",
    "target",
    metavar="QRELS",
    type=click.Path(writable=True),
    help="Write the judgments to QRELS; what was found is printed.",
)
@click.option(
    "--to", metavar="FORMAT", help="The format of QRELS; by the suffix of its name without it."
)
@options_of(
    judgments, "model", "models MODEL", "ranks N",
    choices={"model": ["auto", *MODELS, OPENSEARCH], "models": list(MODELS)},
)  # fmt: skip
@value_options("grading", Grading, "grades", also={"cuts": "cuts", "min_examined": "min_examined"})
@click.option(
    "--cuts",
    default="0.25,0.5,0.75",
    show_default=True,
    metavar="X,X,...",
    callback=_numbers,
    help="Where grades begin: the first gives grade 1, the second grade 2, and so on.",
)
@options_of(Grading, "min_examined N")
@options_of(
    judgments, "prior N", "no_click", "held_out SHARE", "human", "resamples N",
    "seed",
    choices={"no_click": ["drop", "all_examined"]},
)  # fmt: skip
@events_options()
@options.form(*FORMS)
@on_backend("judgments")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    events: Events,
    target: str | None,
    to: str | None,
    form: str,
    **chosen: Any,
) -> None:
    """Learn from clicks what documents are worth, and write judgments.

    EVENTS is a folder that rankgate online ingest made, a table of events, files of logs, or click
    counts in Parquet. The ids of queries are their words. Exit code 3: the log cannot teach the
    model, and no judgments are written.

    \b
    rankgate online judgments events
    rankgate online judgments ubi.ndjson --model sdbn -o qrels.csv
    rankgate online judgments events --grades quantiles --min-examined 50 -o qrels.csv
    """
    refuse_clashes(inputs(), target)
    result = judgments(events, **chosen)
    if target and not result.status:
        result.write(target, to)
    print_result(result, form)
    ctx.exit(result.status)
