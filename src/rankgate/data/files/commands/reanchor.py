"""``rankgate reanchor``: judgments of old documents for new versions of them."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_report, print_result
from rankgate.core.console.verbosity import quiet
from rankgate.core.present.write import FORMS, rendered
from rankgate.data.files.reanchor import reanchor


@click.command("reanchor")
@click.argument("qrels", type=click.Path())
@click.argument("old_documents", type=click.Path(), metavar="OLD_DOCS")
@click.argument("new_documents", type=click.Path(), metavar="NEW_DOCS")
@options_of(reanchor, "pieces", "judgments FILE")
@options.form(*FORMS)
@options.output
def command(
    qrels: str, old_documents: str, new_documents: str, *, form: str, output: str | None,
    **settings: Any,
) -> None:  # fmt: skip
    """Carry the judgments QRELS of OLD_DOCS over to NEW_DOCS, by the texts of both.

    The documents were cut, joined, edited or numbered anew. Every decision is in the JSON or CSV.

    \b
    rankgate reanchor qrels.txt corpus.jsonl corpus.new.jsonl --judgments qrels.new.txt
    rankgate reanchor qrels.txt pages.csv paragraphs.csv --pieces inherit
    rankgate reanchor qrels.txt passages.csv passages.new.csv -o decisions.csv
    """
    result = reanchor(qrels, old_documents, new_documents, **settings)
    print_result(result, form, output)
    if output not in (None, "-") and not quiet():
        print_report(rendered(result, "text"))
