"""``rankgate describe``: what files are."""

from __future__ import annotations

import click

from rankgate.console import options
from rankgate.console.places import deliver, refuse_clashes
from rankgate.console.progress import Progress
from rankgate.console.terminal import styled, width
from rankgate.files.describe import CUTOFF, describe
from rankgate.files.documents.description import FORMS, render


@click.command("describe")
@click.argument("files", type=click.Path(), nargs=-1, required=True, metavar="FILE...")
@options.from_
@options.as_either
@click.option(
    "-k",
    "cutoff",
    type=click.IntRange(min=1),
    default=CUTOFF,
    show_default=True,
    help="How deep runs are looked at for documents without judgments.",
)
@options.form(*FORMS)
@options.output
def command(  # noqa: PLR0917 - click passes them by name
    files: tuple[str, ...],
    from_: str | None,
    as_: str | None,
    cutoff: int,
    form: str,
    output: str | None,
) -> None:
    """Tell what each FILE is: format, queries, documents, grades, ties, hashes.

    Of several files also what they have in common, and how much of the tops of the runs the
    judgments know.

    \b
    rankgate describe ratings.csv
    rankgate describe qrels.txt bm25.run dense.run -k 20
    """  # noqa: D301 - click needs the character that \b makes
    refuse_clashes(files, output)
    with Progress(len(files)) as progress:
        result = describe(list(files), from_=from_, as_=as_, cutoff=cutoff, on_progress=progress)
    text = render(result, form, width(output))
    deliver(styled(text, "text" if form == "table" else form, output), output)
