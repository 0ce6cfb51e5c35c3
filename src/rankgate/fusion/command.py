"""``rankgate fuse``: several runs merged into one."""

from __future__ import annotations

import sys
from typing import Any

import click

from rankgate.console import options
from rankgate.console.output import print_result
from rankgate.console.places import refuse_clashes
from rankgate.console.progress import Progress
from rankgate.data.write import format_for, write_run
from rankgate.errors import UsageError
from rankgate.fusion.catalogue import METHODS
from rankgate.fusion.fuse import FOLDS, METHOD, METRIC, NORM, fuse
from rankgate.fusion.normalise import NORMALISATIONS
from rankgate.present.forms.documents import text
from rankgate.present.write import FORMS


def _listed(kind: str, entries: Any) -> str:  # noqa: ANN401 - a registry
    return f"{kind}. " + "  ".join(f"{each.name}: {each.title};" for each in entries.values())


def _numbers(
    _ctx: click.Context, _option: click.Parameter, words: str | None
) -> list[float] | None:
    if words is None:
        return None
    try:
        return [float(word) for word in words.split(",")]
    except ValueError:
        raise click.BadParameter(f"{words!r} is not a list of numbers, as in 0.7,0.3") from None


@click.command(
    "fuse",
    epilog=f"{_listed('Methods', METHODS)} {_listed('Normalisations', NORMALISATIONS)}",
)
@options.runs
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default=METHOD,
    show_default=True,
    help="How the scores or ranks of several runs become one score; see below.",
)
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the method, as in k=30; may be given several times.",
)
@click.option(
    "--weights",
    metavar="W,W,...",
    callback=_numbers,
    help="A weight for each RUN, for weighted methods, as in 0.7,0.3.",
)
@click.option(
    "--norm",
    type=click.Choice(list(NORMALISATIONS)),
    help=f"How scores are normalised first, for methods on scores; {NORM} by default.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    help="How many documents of each RUN and query count; all by default.",
)
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    help="How many documents of each query are written; all by default.",
)
@click.option(
    "--train",
    type=click.Path(),
    metavar="QRELS",
    help="Judgments that trained methods and --tune learn from.",
)
@click.option(
    "--tune",
    is_flag=True,
    help="Choose the weights and parameters that are not given, by cross-validation.",
)
@click.option(
    "-m",
    "--metric",
    default=METRIC,
    show_default=True,
    metavar="METRIC",
    help="The metric that --tune maximises.",
)
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=FOLDS,
    show_default=True,
    help="Parts of the judged queries; each is fused by what the other parts teach.",
)
@click.option(
    "--relevant",
    type=float,
    default=1,
    show_default=True,
    help="The grade from which a document is relevant to a trained method.",
)
@options.seed
@click.option(
    "--convention",
    default="trec",
    show_default=True,
    metavar="NAME",
    help="The tool whose rules the metric follows, or FILE.toml with one's own.",
)
@options.form(*FORMS)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="Write the fused run to FILE, all of it or nothing, instead of to standard output.",
)
@click.option(
    "--to", metavar="FORMAT", help="The format of the run; by the suffix of FILE without it."
)
def command(
    runs: tuple[str, ...],
    method: str,
    parameters: tuple[str, ...],
    weights: list[float] | None,
    norm: str | None,
    depth: int | None,
    keep: int | None,
    train: str | None,
    tune: bool,
    metric: str,
    folds: int,
    relevant: float,
    seed: int,
    convention: str,
    form: str,
    output: str | None,
    to: str | None,
) -> None:
    """Merge two or more RUNs into one run.

    The fused run goes to standard output, or to -o FILE. What each RUN contributed is printed on
    standard error; --format json, csv, ... prints it on standard output instead, with -o FILE.

    With --train, each part of the judged queries is fused by what the other parts teach, so that
    the fused run can be evaluated with the same judgments.

    \b
    rankgate fuse bm25.run dense.run -o hybrid.run
    rankgate fuse bm25.run dense.run --method linear --weights 0.3,0.7 -o hybrid.run
    rankgate fuse bm25.run dense.run --method linear --train qrels.txt --tune -o hybrid.run
    rankgate fuse a.run b.run c.run --method probfuse --train qrels.txt -o fused.run.gz
    """
    inputs = runs if train is None else (*runs, train)
    refuse_clashes(inputs, output)
    streamed = output in (None, "-")
    if streamed and form != FORMS[0]:
        raise UsageError(
            f"standard output is for the fused run, where the {form} would go; give the run a "
            "file with -o.",
            code="output-is-input",
        )
    found = format_for(None if streamed else output, to or ("trec" if streamed else None), "runs")
    with Progress(len(runs) + (folds if train else 0)) as progress:
        result = fuse(
            runs, method, parameters, weights=weights, norm=norm, depth=depth, keep=keep,
            train=train, tune=tune, metric=metric, folds=folds, relevant=relevant, seed=seed,
            convention=convention, on_progress=progress,
        )  # fmt: skip
    assert result.run is not None
    write_run(result.run, sys.stdout.buffer if streamed else str(output), found)
    if form == FORMS[0]:
        click.echo(text(result.document()), nl=False, err=True)
    else:
        print_result(result, form)
