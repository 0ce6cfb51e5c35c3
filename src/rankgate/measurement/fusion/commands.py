"""``rankgate fuse``: several runs merged into one."""

from __future__ import annotations

import sys
from typing import Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options, value_options, verb_options
from rankgate.core.console.option_types import DefiningCommand
from rankgate.core.console.shared_options import check_paths
from rankgate.core.console.terminal_output import TerminalProgress, print_result, print_to_stderr
from rankgate.core.errors import UsageError
from rankgate.core.present.document_forms import render_text
from rankgate.core.present.write_results import FORMS
from rankgate.data.files.conversion import choose_format, write_run
from rankgate.measurement.fusion.fuse import FusionLearning, fuse
from rankgate.measurement.fusion.trained_methods import METHODS, NORMALISATIONS


def _numbers(_ctx: click.Context, _option: click.Parameter, weights_text: str | None) -> list[float] | None:
    if weights_text is None:
        return None
    try:
        return [float(word) for word in weights_text.split(",")]
    except ValueError:
        raise click.BadParameter(f"{weights_text!r} is not a list of numbers, as in 0.7,0.3") from None


@click.command(
    "fuse",
    cls=DefiningCommand,
    definitions={
        "Methods": [(method.name, method.title) for method in METHODS.values()],
        "Normalisations": [
            (normalisation.name, normalisation.title) for normalisation in NORMALISATIONS.values()
        ],
    },
)
@shared_options.runs
@shared_options.from_formats("judgments train", "runs runs")
@verb_options(fuse, "method", choices={"method": METHODS})
@shared_options.parameters("A parameter of the method, as in k=30; may be given several times.")
@click.option(
    "--weights",
    metavar="W,W,...",
    callback=_numbers,
    help="A weight for each RUN, for weighted methods, as in 0.7,0.3.",
)
@verb_options(fuse, "norm", "depth N", "keep N", choices={"norm": NORMALISATIONS})
@value_options(
    "learning",
    FusionLearning,
    *("train QRELS", "tune", "metric METRIC -m", "folds N", "relevant GRADE", "seed"),
    "convention CONVENTION",
)
@shared_options.form(*FORMS)
@own_options("target FILE -o --output", "to FORMAT")
def fuse_command(
    runs: tuple[str, ...],
    learning: FusionLearning,
    *,
    target: str | None = None,
    to: str | None = None,
    form: str,
    **arguments: Any,
) -> None:
    """Merge two or more RUNs into one run.

    The fused run goes to standard output, or to -o FILE. The contribution of each RUN is printed
    on standard error; --format json, csv, ... prints it on standard output instead, with -o FILE.

    With --train, each part of the judged queries is fused by what the other parts teach, so that
    the fused run can be evaluated with the same judgments.

    \b
    rankgate fuse bm25.run dense.run -o hybrid.run
    rankgate fuse bm25.run dense.run --method linear --weights 0.3,0.7 -o hybrid.run
    rankgate fuse bm25.run dense.run --method linear --train qrels.txt --tune -o hybrid.run
    rankgate fuse a.run b.run c.run --method probfuse --train qrels.txt -o fused.run.gz
    \f

    Options:
        target: Write the fused run to FILE instead of standard output.
        to: The format of the run; by the suffix of FILE without it.
    """
    judged = (str(learning.train),) if learning.train else ()
    check_paths((*runs, *judged), target)
    streamed = target in (None, "-")
    if streamed and form != FORMS[0]:
        raise UsageError(
            f"standard output is for the fused run, where the {form} would go; give the run a file with -o.",
            code="output-is-input",
        )
    file_format = choose_format(None if streamed else target, to or ("trec" if streamed else None), "runs")
    with TerminalProgress(len(runs) + (learning.folds if judged else 0)):
        result = fuse(runs, learning=learning, **arguments)
    assert result.run is not None
    for loss in write_run(result.run, sys.stdout.buffer if streamed else str(target), file_format):
        click.echo(f"! {file_format.name} cannot hold {loss.words}; try csv", err=True)
    if form == FORMS[0]:
        print_to_stderr(render_text(result.document()))
    else:
        print_result(result, form)
