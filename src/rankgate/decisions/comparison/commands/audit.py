"""``rankgate audit``: whether the numbers of a published table are possible."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS
from rankgate.decisions.comparison.audit import audit


def _columns(
    _ctx: click.Context, _option: click.Parameter, words: tuple[str, ...]
) -> dict[str, str]:
    found = dict(word.rpartition("=")[::2] for word in words)
    if wrong := [word for word in words if "=" not in word]:
        problem = f"--column is HEAD=METRIC, as in 'Prec.=P@10', not {wrong[0]!r}."
        raise UsageError(problem, code="invalid-column")
    return found


@click.command("audit")
@click.argument("table", type=click.Path())
@options_of(audit, "queries N -n --queries")
@click.option(
    "--column", "columns", multiple=True, metavar="HEAD=METRIC", callback=_columns,
    help="The metric of a column whose head is not a metric's name, by head; may be given several "
    "times.",
)  # fmt: skip
@options_of(audit, "grades N", "relevant N", "sd", "level")
@options.form(*FORMS)
@options.output
@click.pass_context
def command(
    ctx: click.Context, /, table: str, *, form: str, output: str | None, **chosen: Any
) -> None:
    """Check whether the means of a published TABLE are possible, and tell its systems apart.

    TABLE is CSV, Markdown or LaTeX: a row for each system, a column for each metric. Exit codes:
    0 consistent, 1 a number is impossible, 3 unresolvable or unknown.

    \b
    rankgate audit table.md --queries 50
    rankgate audit table.tex --queries 43 --grades 3 --column "Prec.=P@10"
    """
    result = audit(table, **chosen)
    print_result(result, form, output)
    ctx.exit(result.status)
