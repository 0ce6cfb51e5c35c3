"""``rankgate advise``: which metrics to report and to gate on, and why."""

from __future__ import annotations

import click

from rankgate import services
from rankgate.cli import options
from rankgate.cli.places import deliver, refuse_clashes
from rankgate.cli.progress import Progress
from rankgate.cli.terminal import styled, width
from rankgate.report.advice import FORMS, render
from rankgate.report.advice_policy import policy
from rankgate.services.advice_facts import DEPTH, MARGIN, PAGE, STAGES, TASKS, Answers
from rankgate.services.advise import advise


@click.command("advise")
@options.qrels
@click.argument("runs", type=click.Path(), nargs=-1, metavar="[RUN]...")
@click.option(
    "--task",
    type=click.Choice(list(TASKS)),
    default="explore",
    show_default=True,
    help="What people want of a list: " + "; ".join(f"{k}, {v}" for k, v in TASKS.items()) + ".",
)
@click.option(
    "--stage",
    type=click.Choice(list(STAGES)),
    default="final",
    show_default=True,
    help="What becomes of the list: " + "; ".join(f"{k}, {v}" for k, v in STAGES.items()) + ".",
)
@click.option(
    "--page",
    type=click.IntRange(min=1),
    default=PAGE,
    show_default=True,
    help="How many documents people see.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=DEPTH,
    show_default=True,
    help="How many candidates are handed on, or looked through.",
)
@click.option(
    "--margin",
    type=float,
    default=MARGIN,
    show_default=True,
    help="The loss that the gate shall allow.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Of a false pass.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Of a right pass.")
@options.convention
@options.form(*FORMS)
@options.output
def command(  # noqa: PLR0917 - click passes them by name
    qrels: str,
    runs: tuple[str, ...],
    task: str,
    stage: str,
    page: int,
    depth: int,
    margin: float,
    alpha: float,
    power: float,
    convention: services.Convention,
    form: str,
    output: str | None,
) -> None:
    """Advise on metrics: what to decide by, to watch and to report, by your own data.

    RUNs show what the queries can carry: the first is the baseline, the others differ from it as
    your changes do. Every rule names its source.

    \b
    rankgate advise qrels.txt old.run new.run --task find-one
    rankgate advise qrels.txt bm25.run dense.run --stage retrieval --depth 200
    rankgate advise qrels.txt old.run new.run --format policy -o rankgate.toml
    """  # noqa: D301 - click needs the character that \b makes
    refuse_clashes((qrels, *runs), output)
    answers = Answers(task, stage, page, depth, margin, alpha, power)
    with Progress(len(runs) + 1) as progress:
        told = advise(qrels, list(runs), answers, convention, on_progress=progress)
    if form == "policy":
        known = [each.name for each in services.conventions()]
        deliver(policy(told, known), output)
        return
    deliver(styled(render(told, form, width(output)), form, output), output)
