"""``rankgate history``: a recorded metric over time."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.name_types import RECORDED_METRIC
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.workspace.records.follow import history


@click.command("history")
@click.argument("metric", type=RECORDED_METRIC)
@verb_options(history, "from_ FOLDER --from", "store URL", "project NAME")
@verb_options(history, "system SYSTEM", "slice TAG=VALUE", "since MOMENT", "rate SHARE")
@click.option(
    "--bridge/--no-bridge",
    default=True,
    show_default=True,
    help="Score the run before a break by the judgments after it, to see the part of the "
    "judgments.",
)
@options.form(*FORMS)
@options.output
def command(metric: str, form: str, output: str | None, **arguments: Any) -> None:
    """Show METRIC over time: recorded values, change-points, breaks, annotations.

    Records are in a folder (--from), a store or a server (--store and --project), or what the
    environment names: RANKGATE_HISTORY, or RANKGATE_STORE and RANKGATE_PROJECT.

    \b
    rankgate history nDCG@10 --from history/
    rankgate history nDCG@10 --store sqlite:///judging.db --project shop --system bm25
    rankgate history search_ctr --store https://search.example.org --project shop --since 2026-01-01
    """
    print_result(history(metric, **arguments), form, output)
