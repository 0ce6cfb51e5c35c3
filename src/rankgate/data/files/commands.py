"""The commands ``rankgate formats``, ``convert``, ``reanchor`` and ``validate``."""

from __future__ import annotations

import sys
from typing import Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options, verb_options
from rankgate.core.console.option_types import FORMAT
from rankgate.core.console.shared_options import check_paths, write_output
from rankgate.core.console.terminal_output import (
    TerminalProgress,
    is_quiet,
    output_width,
    print_result,
    print_summary,
    print_to_stderr,
    style_output,
)
from rankgate.core.errors import UsageError
from rankgate.core.present.write_results import FORMS, render_result
from rankgate.data.files.conversion import convert
from rankgate.data.files.formats import format_details, formats
from rankgate.data.files.reanchor import reanchor
from rankgate.data.files.validate import make_checklist, validate
from rankgate.data.formats import registry


@click.command("formats")
@click.argument("name", required=False, type=FORMAT)
@shared_options.form(*FORMS)
def formats_command(name: str | None, form: str) -> None:
    """List the formats that are read and written, or show the details of the one called NAME.

    \b
    rankgate formats trec
    """
    print_result(format_details(name) if name else formats(), form)
    if not name:
        print_summary(registry.load_plugin_formats().problems)


@click.command("convert")
@shared_options.paths("source IN")
@click.argument("target", type=click.Path(writable=True, readable=False), metavar="OUT")
@own_options("from_ FORMAT --from")
@verb_options(convert, "to FORMAT")
@verb_options(convert, "as_ --as", "depth N", "tolerance")
@shared_options.table_columns
@shared_options.form(*FORMS)
@shared_options.output
def convert_command(
    source: str,
    target: str,
    *,
    from_: str | None = None,
    to: str | None,
    columns: str | None,
    grades: dict[str, float],
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Convert IN to another format and write it to OUT; report the loss.

    OUT is replaced when all of it is written; `.gz` and `.zst` compress it. The report goes to
    standard error, as JSON to standard output; -o FILE takes either. `-` as IN is standard
    input, as OUT standard output.

    \b
    rankgate convert judgments.csv judgments.qrels
    rankgate convert bm25.run bm25.parquet
    rankgate convert case.json - --to csv --as qrels
    rankgate convert exact.run neighbours.qrels --as qrels --depth 10 --tolerance 0.001
    \f

    Options:
        from_: The format of IN; detected without it.
    """
    check_paths((source,), target)
    if target == "-" and form != "text" and output in (None, "-"):
        raise UsageError(
            "OUT is standard output, which the report would use too; give a file with -o.",
            code="output-is-input",
        )
    stream = sys.stdout.buffer if target == "-" else target
    result = convert(source, stream, from_=from_, to=to, columns=columns, grades=grades, **settings)
    report = render_result(result, form, output_width(output))
    if form == "text" and output is None:
        print_to_stderr(report)
    else:
        write_output(style_output(report, form, output), output)


@click.command("reanchor")
@shared_options.paths("qrels", "old_documents OLD_DOCS", "new_documents NEW_DOCS")
@verb_options(reanchor, "pieces", "judgments FILE")
@shared_options.from_formats("judgments qrels")
@shared_options.form(*FORMS)
@shared_options.output
def reanchor_command(
    qrels: str, old_documents: str, new_documents: str, *, form: str, output: str | None, **settings: Any
) -> None:
    """Move the judgments QRELS from OLD_DOCS to NEW_DOCS, by comparing their texts.

    For documents that were split, joined or edited, or have new ids. The output as JSON or CSV has
    every decision.

    \b
    rankgate reanchor qrels.txt corpus.jsonl corpus.new.jsonl --judgments qrels.new.txt
    rankgate reanchor qrels.txt pages.csv paragraphs.csv --pieces inherit
    rankgate reanchor qrels.txt passages.csv passages.new.csv -o decisions.csv
    """
    result = reanchor(qrels, old_documents, new_documents, **settings)
    print_result(result, form, output)
    if output not in (None, "-") and not is_quiet():
        print_to_stderr(render_result(result, "text"))


_INVALID = 2


@click.command("validate")
@shared_options.paths("[files...] FILE...")
@verb_options(validate, "against QRELS")
@shared_options.from_option
@shared_options.as_kind
@shared_options.scale
@verb_options(validate, "golden")
@own_options("listed --list")
@shared_options.table_columns
@shared_options.form(*FORMS)
@shared_options.output
@click.pass_context
def validate_command(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    *,
    listed: bool = False,
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Check each FILE for errors and suspicious data.

    An error stops rankgate from reading or scoring, a warning can change numbers, a note is for
    information. Each has its line, an example and how to fix it. Exits with 2 if there are
    errors, with 0 otherwise.

    \b
    rankgate validate qrels.txt
    rankgate validate bm25.run dense.run --against qrels.txt
    rankgate validate ratings.csv --scale 0..3 --format json
    rankgate validate --golden qrels.txt queries.csv docs.csv ratings.csv old.run new.run
    rankgate validate --list
    \f

    Options:
        listed: List all checks.
    """
    if listed:
        print_result(make_checklist(), form, output)
        return
    if not files:
        raise UsageError("no file to check; give at least one, or --list.", code="missing-input")
    with TerminalProgress(len(files) + bool(settings["against"])):
        result = validate(list(files), **settings)
    print_result(result, form, output)
    ctx.exit(0 if result.valid else _INVALID)
