"""``rankgate reanchor``: judgments of old documents for new versions of them."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result, print_to_stderr
from rankgate.core.console.verbosity import is_quiet
from rankgate.core.present.write import FORMS, render_result
from rankgate.data.files.reanchor import reanchor


@click.command("reanchor")
@click.argument("qrels", type=click.Path())
@click.argument("old_documents", type=click.Path(), metavar="OLD_DOCS")
@click.argument("new_documents", type=click.Path(), metavar="NEW_DOCS")
@verb_options(reanchor, "pieces", "judgments FILE")
@options.from_formats("judgments qrels")
@options.form(*FORMS)
@options.output
def command(
    qrels: str,
    old_documents: str,
    new_documents: str,
    *,
    form: str,
    output: str | None,
    **settings: Any,
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
