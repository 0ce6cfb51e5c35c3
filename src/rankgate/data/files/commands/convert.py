"""``rankgate convert``: read a file in one format, write it in another."""

from __future__ import annotations

import sys

import click

from rankgate.core.console import options
from rankgate.core.console.name_types import FORMAT
from rankgate.core.console.output import print_to_stderr
from rankgate.core.console.places import check_paths, write_output
from rankgate.core.console.terminal import output_width, style_output
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS, render_result
from rankgate.data.files.convert import PARTS as CONVERT_PARTS
from rankgate.data.files.convert import convert


@click.command("convert")
@click.argument("source", type=click.Path(), metavar="IN")
@click.argument("target", type=click.Path(writable=True, readable=False), metavar="OUT")
@click.option(
    "--from", "from_", metavar="FORMAT", type=FORMAT, help="The format of IN; detected without it."
)
@click.option(
    "--to", metavar="FORMAT", type=FORMAT, help="The format of OUT; by default from its suffix."
)
@click.option(
    "--as",
    "as_",
    type=click.Choice(list(CONVERT_PARTS)),
    help="Convert only this part; needed for tables that could be judgments or a run.",
)
@options.table_columns
@options.form(*FORMS)
@options.output
def command(
    source: str,
    target: str,
    from_: str | None,
    to: str | None,
    as_: str | None,
    columns: str | None,
    grades: dict[str, float],
    form: str,
    output: str | None,
) -> None:
    """Convert IN to another format and write it to OUT; report what is lost.

    OUT is replaced when all of it is written; `.gz` and `.zst` compress it. The report goes to
    standard error, as JSON to standard output; -o FILE takes either. `-` as IN is standard
    input, as OUT standard output.

    \b
    rankgate convert judgments.csv judgments.qrels
    rankgate convert bm25.run bm25.parquet
    rankgate convert case.json - --to csv --as qrels
    """
    check_paths((source,), target)
    if target == "-" and form != "text" and output in (None, "-"):
        raise UsageError(
            "OUT is standard output, where the report would go; give it a file by -o.",
            code="output-is-input",
        )
    stream = sys.stdout.buffer if target == "-" else target
    result = convert(source, stream, from_=from_, to=to, as_=as_, columns=columns, grades=grades)
    report = render_result(result, form, output_width(output))
    if form == "text" and output is None:
        print_to_stderr(report)
    else:
        write_output(style_output(report, form, output), output)
