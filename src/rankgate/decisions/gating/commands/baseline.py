"""``rankgate baseline``: save a system's results, so that a gate needs no old engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgate.core.console import options
from rankgate.core.console.name_types import SAVED_BASELINE
from rankgate.core.console.output import print_result
from rankgate.core.console.sections import FullHelpGroup, SectionedCommand
from rankgate.core.present.write import FORMS
from rankgate.decisions.gating.saved import baselines as service
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection
from rankgate.measurement.metrics.names import DEFAULT_METRICS

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.measurement.scoring import Convention


@click.group(
    "baseline", cls=FullHelpGroup, context_settings={"help_option_names": ["-h", "--help"]}
)
def command() -> None:
    """Save baselines as plain files in rankgate/baselines, to be committed.

    \b
    rankgate baseline save main qrels.txt main.run -m nDCG@10 -m RR@10
    rankgate baseline noise main qrels.txt main-again.run
    rankgate baseline list
    """


@command.command("save", cls=SectionedCommand)
@click.argument("name", type=SAVED_BASELINE)
@options.qrels
@options.run
@metric_options.metrics_option(
    "A metric to keep in addition to those of the policy; may be given several times. Without it: "
    f"{', '.join(DEFAULT_METRICS)}."
)
@metric_options.convention
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    help="How many documents of each query are saved; by default what the policy needs.",
)
@click.option("--force", is_flag=True, help="Replace an existing baseline.")
@of_collection("run")
def save(
    name: str,
    collection: Collection,
    run: str,
    metrics: tuple[str, ...],
    convention: Convention,
    depth: int | None,
    force: bool,
) -> None:
    """Score RUN and save it as the baseline NAME."""
    result = service.save(name, collection, run, metrics, convention, depth=depth, force=force)
    print_result(service.SavedBaselines.of(result), "text")


@command.command("noise", cls=SectionedCommand)
@click.argument("name", type=SAVED_BASELINE)
@options.qrels
@options.runs
@of_collection("runs")
def noise(name: str, collection: Collection, runs: tuple[str, ...]) -> None:
    """Measure noise: how repeated RUNs differ from the baseline NAME."""
    print_result(service.SavedBaselines.of(service.measure_noise(name, collection, runs)), "text")


@command.command("show")
@click.argument("name", type=SAVED_BASELINE)
@options.form(*FORMS)
def show(name: str, form: str) -> None:
    """Show the baseline NAME and the log of its uses."""
    print_result(service.SavedBaselines.of(service.find_baseline(name)), form)


@command.command("list")
@options.form(*FORMS)
def listed(form: str) -> None:
    """List all saved baselines."""
    print_result(service.SavedBaselines.of(*service.list_baselines()), form)
