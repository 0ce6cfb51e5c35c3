"""``rankgate store import`` and ``export``: files of any format, ratings of single raters."""

from __future__ import annotations

import sys
from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.name_types import FORMAT
from rankgate.core.console.output import print_to_stderr
from rankgate.core.console.places import check_paths, write_output
from rankgate.core.console.terminal import output_width, style_output
from rankgate.core.present.write import FORMS, render_result
from rankgate.data.files.convert import PARTS
from rankgate.measurement import store_options


@click.command("import")
@click.argument("source", type=click.Path(), metavar="IN")
@store_options.store
@store_options.project()
@click.option(
    "--batch",
    metavar="NAME",
    help="Add the pairs that nobody has rated to this batch, to be rated.",
)
@click.option(
    "--final",
    metavar="RATER",
    help="The grades of this rater, or of this column of grades, replace those of others.",
)
@click.option("--dry-run", is_flag=True, help="Only report; the store stays as it is.")
@click.option(
    "--columns",
    metavar="NAME=COLUMN,...",
    help="The columns of a sheet that have no usual name, as in query=term,doc=sku; grades of "
    "several raters side by side are grade=ann+bob or grade=rater_*.",
)
@click.option(
    "--transform",
    metavar="NAME|FILE",
    help="What grades become on the project's scale: graded-to-binary and its like, a file with "
    "one 'from: to' a line, or '1: 0; 2: 1'.",
)
@options.from_option
@options.form(*FORMS)
@options.output
def import_(
    source: str,
    store: str | None,
    project: str,
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Bring IN into a project: ratings, judgments, runs, queries, documents; report what is lost.

    IN is of any format (see rankgate formats). A project that is not there is made, with the
    file's scale. The same file twice adds nothing.

    \b
    rankgate store import book.json --project shop --batch open --store sqlite:///judging.db
    rankgate store import sheet.csv --project shop --columns query=term,doc=sku,grade=agent_* \\
        --dry-run
    """
    from rankgate.judging.store.transfer import import_file
    from rankgate.store.store import Store

    with Store.open(store) as open_store:
        result = import_file(open_store, project, source, **arguments)
    text = render_result(result, form, output_width(output))
    write_output(style_output(text, form, output), output)


@click.command("export")
@click.argument("target", type=click.Path(writable=True), metavar="OUT")
@store_options.store
@store_options.project()
@click.option(
    "--to", metavar="FORMAT", type=FORMAT, help="The format of OUT; by its suffix without it."
)
@click.option(
    "--as", "as_", type=click.Choice(list(PARTS)), help="Write only this part of the project."
)
@click.option(
    "--judgments", metavar="NAME", help="Write these resolved judgments, instead of ratings."
)
@click.option(
    "--run",
    "runs",
    metavar="NAME",
    multiple=True,
    help="Write this run too; may be given several times.",
)
def export(
    target: str,
    store: str | None,
    project: str,
    to: str | None,
    as_: str | None,
    judgments: str | None,
    runs: tuple[str, ...],
) -> None:
    """Write a project to OUT in any format: the ratings of every rater; report what is lost.

    `-` is standard output.

    \b
    rankgate store export ratings.csv --as ratings --project shop --store sqlite:///judging.db
    rankgate store export book.json --to quepid-book --project shop
    """
    from rankgate.judging.store.transfer import export_file
    from rankgate.store.store import Store

    check_paths((), target)
    out = sys.stdout.buffer if target == "-" else target
    with Store.open(store) as open_store:
        result = export_file(
            open_store, project, out, to=to, as_=as_, judgments_name=judgments, run_names=runs
        )
    print_to_stderr(render_result(result, "text"))
