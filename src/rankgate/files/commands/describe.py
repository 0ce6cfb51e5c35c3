"""``rankgate describe``: what files are."""

from __future__ import annotations

import click

from rankgate.console import options
from rankgate.console.output import print_result
from rankgate.console.places import refuse_clashes
from rankgate.console.progress import Progress
from rankgate.files.describe import CUTOFF, describe
from rankgate.present.write import FORMS


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
def command(
    files: tuple[str, ...],
    from_: str | None,
    as_: str | None,
    cutoff: int,
    form: str,
    output: str | None,
) -> None:
    """Show what each FILE holds: format, queries, documents, grades, ties, hashes.

    For several files also what they have in common, and how much of the first documents of
    the runs is judged.

    \b
    rankgate describe ratings.csv
    rankgate describe qrels.txt bm25.run dense.run -k 20
    """
    refuse_clashes(files, output)
    with Progress(len(files)) as progress:
        result = describe(list(files), from_=from_, as_=as_, cutoff=cutoff, on_progress=progress)
    print_result(result, form, output)
