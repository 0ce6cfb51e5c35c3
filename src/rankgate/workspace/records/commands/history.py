"""``rankgate history``: how a figure moved."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.workspace.records.follow import history


@click.command("history")
@click.argument("metric")
@options_of(history, "from_ FOLDER --from", "store URL", "project NAME")
@options_of(history, "system NAME", "slice TAG=VALUE", "since MOMENT", "rate SHARE")
@click.option(
    "--bridge/--no-bridge", default=True, show_default=True,
    help="Score the run before a break by the judgments after it, to see the part of the "
    "judgments.",
)  # fmt: skip
@options.form(*FORMS)
@options.output
def command(metric: str, form: str, output: str | None, **chosen: Any) -> None:
    """Show how METRIC moved over recorded evaluations: values, change-points, breaks, annotations.

    The place is a folder (--from), a store or a server (--store and --project), or what the
    environment names: RANKGATE_HISTORY, or RANKGATE_STORE and RANKGATE_PROJECT.

    \b
    rankgate history nDCG@10 --from history/
    rankgate history nDCG@10 --store sqlite:///judging.db --project shop --system bm25
    rankgate history search_ctr --store https://search.example.org --project shop --since 2026-01-01
    """
    print_result(history(metric, **chosen), form, output)
