"""``rankgate migrate``: may this index replace that one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import option, own_options, value_options, verb_options
from rankgate.core.console.option_types import TEST, SectionedCommand
from rankgate.core.console.shared_options import write_output
from rankgate.core.console.terminal_output import TerminalProgress, prints
from rankgate.core.declare import Parameter, Range
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.migration.migrate import MARGIN, migrate
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.data.collection import Collection


_QRELS = Parameter(
    "qrels", "path", "Judgments from before; the more of the old lists they cover, the fewer have to be made."
)


@click.command("migrate", cls=SectionedCommand)
@shared_options.paths("old", "new")
@option(_QRELS, metavar="QRELS")
@verb_options(migrate, "metric METRIC -m")
@metric_options.convention
@verb_options(migrate, "exact", "quantised", "answers", "budget", "highest")
@own_options("save_pool FILE")
@own_options("margin", section=TEST)
@value_options("test", Test, "level", "seed", section=TEST)
@prints
@of_collection("old", "new", "exact", "quantised")
def migrate_command(
    collection: Collection,
    old: str,
    new: str,
    *,
    margin: Annotated[float, Range(0, exclusive=True)] = MARGIN,
    test: Test,
    save_pool: str | None = None,
    **settings: Any,
) -> Result:
    """Decide if the index of run NEW may replace that of run OLD: what it lost, and few judgments.

    Exit codes: 0 it may, 1 it may not, 3 not settled.

    \b
    rankgate migrate old.run new.run --save-pool todo.csv
    rankgate migrate old.run graph.run --exact exact.run
    rankgate migrate old.run new.run --answers people.qrels --save-pool more.csv
    \f

    Options:
        save_pool: Write the documents to judge next to FILE: sheet and rate take it.
        margin: The loss of the mean that is allowed.
    """
    with TerminalProgress(2):
        result = migrate(old, new, collection, test=replace(test, margin=margin), **settings)
    if save_pool:
        write_output(result.pool.write_csv(), save_pool)
    return result
