"""``rankgate admit``: check whether a judge agrees with people well enough."""

from __future__ import annotations

from dataclasses import replace

import click

from rankgate.console import options
from rankgate.console.output import print_result
from rankgate.console.places import refuse_clashes
from rankgate.console.progress import Progress
from rankgate.judging.admission.admit import DEMANDS, METRICS, admit
from rankgate.present.write import FORMS
from rankgate.scoring import Convention


@click.command("admit")
@click.argument("people", type=click.Path())
@click.argument("judge", type=click.Path())
@click.argument("runs", nargs=-1, type=click.Path())
@options.metrics_option(
    "Under which the order of RUNS is compared; may be given several times.", METRICS, shown=True
)
@options.convention
@options.scale
@click.option(
    "--asked",
    type=click.Path(),
    metavar="POOL",
    help="The pool that the judge was asked about (csv, json); without it every pair that people "
    "graded.",
)
@click.option(
    "--answered",
    type=click.FloatRange(0, 1),
    default=DEMANDS.answered,
    show_default=True,
    metavar="SHARE",
    help="The least share of these pairs that the judge must have graded.",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=DEMANDS.pairs,
    show_default=True,
    help="How many pairs both must have judged.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(-1, 1),
    default=DEMANDS.alpha,
    show_default=True,
    help="The least ordinal alpha of Krippendorff.",
)
@click.option(
    "--bias",
    type=click.FloatRange(min=0),
    default=DEMANDS.bias,
    show_default=True,
    help="The largest mean difference from people's grades, either way.",
)
@click.option(
    "--tau",
    type=click.FloatRange(-1, 1),
    default=DEMANDS.tau,
    show_default=True,
    help="The least rank correlation of the systems' order under both.",
)
@options.resamples
@options.seed
@options.form(*FORMS)
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    people: str,
    judge: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    convention: Convention,
    scale: str | None,
    asked: str | None,
    answered: float,
    pairs: int,
    alpha: float,
    bias: float,
    tau: float,
    resamples: int,
    seed: int,
    form: str,
    output: str | None,
) -> None:
    """Check whether JUDGE, a language model or clicks, agrees with PEOPLE well enough.

    A pair that people graded and the judge did not counts against it. With three RUNS or more the
    order of these systems by both is compared too. Exits with 0 if the judge is admitted, 1 if it
    is refused, 3 if these pairs cannot decide.

    \b
    rankgate admit people.txt llm.txt
    rankgate admit people.txt llm.txt a.run b.run c.run -m nDCG@10 --tau 0.9
    rankgate admit people.txt llm.txt --format json -o admission.json
    """
    refuse_clashes((people, judge, *runs, *((asked,) if asked else ())), output)
    with Progress(len(runs) + 1) as progress:
        result = admit(
            people,
            judge,
            runs,
            metrics,
            convention,
            demands=replace(
                DEMANDS, pairs=pairs, alpha=alpha, bias=bias, tau=tau, answered=answered
            ),
            asked=asked,
            scale=scale,
            resamples=resamples,
            seed=seed,
            on_progress=progress,
        )
    print_result(result, form, output)
    ctx.exit(result.status)
