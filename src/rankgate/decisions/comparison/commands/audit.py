"""``rankgate audit``: check whether the numbers of a published table are possible."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS
from rankgate.decisions.comparison.audit import audit


def _parse_columns(
    _ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    metric_of_column = dict(text.rpartition("=")[::2] for text in texts)
    if invalid := [text for text in texts if "=" not in text]:
        problem = f"--column is HEAD=METRIC, as in 'Prec.=P@10', not {invalid[0]!r}."
        raise UsageError(problem, code="invalid-column")
    return metric_of_column


@click.command("audit")
@click.argument("table", type=click.Path())
@verb_options(audit, "queries N -n --queries")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="HEAD=METRIC",
    callback=_parse_columns,
    help="The metric of a column whose head is not a metric's name, by head; may be given several "
    "times.",
)
@verb_options(audit, "grades N", "relevant N", "sd", "level")
@options.form(*FORMS)
@options.output
@click.pass_context
def command(
    ctx: click.Context, /, table: str, *, form: str, output: str | None, **settings: Any
) -> None:
    """Check whether the means of a published TABLE are possible, and tell its systems apart.

    TABLE is CSV, Markdown or LaTeX: a row for each system, a column for each metric. Exit codes:
    0 consistent, 1 a number is impossible, 3 unresolvable or unknown.

    \b
    rankgate audit table.md --queries 50
    rankgate audit table.tex --queries 43 --grades 3 --column "Prec.=P@10"
    """
    result = audit(table, **settings)
    print_result(result, form, output)
    ctx.exit(result.status)
