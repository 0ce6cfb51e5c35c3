"""Commands of ``rankgate online`` on experiments: plan, compare, agree."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import option, own_options, value_options, verb_options
from rankgate.core.console.terminal_output import prints, with_figures_options
from rankgate.core.declare import Parameter
from rankgate.core.errors import UsageError
from rankgate.online.commands.log_options import events_argument, events_options
from rankgate.online.experiments.compare_arms import ab
from rankgate.online.experiments.experiment_design import Design, ExperimentTest
from rankgate.online.experiments.measure_agreement import NOTHING_TO_MEASURE, agreement
from rankgate.online.experiments.plan_experiment import plan

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command, Decorator
    from rankgate.core.present.base_result import Result
    from rankgate.online.events.events import Events


def design_options(*fields: str) -> Decorator:
    """Add options of an experiment, by default all; the command gets a `Design`."""
    all_options = (
        "variant COLUMN",
        "unit UNIT",
        "control ARM",
        "split",
        "phases DAY=ARM:SHARE,... --phase",
        "day COLUMN",
        "start DAY",
        "end DAY",
        "cuped",
        "covariates METRIC=COLUMN --covariate",
        "segments COLUMN --segment",
        "crossed SHARE",
    )
    declarations = fields or all_options

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def with_file(*args: Any, design: Design, design_file: str | None, **arguments: Any) -> None:
            if design_file is not None:
                names = _options_on_command_line(declaration.split()[0] for declaration in declarations)
                options = {name: getattr(design, name) for name in names}
                design = replace(Design.read(design_file), **options)
            function(*args, design=design, **arguments)

        with_design = value_options("design", Design, *declarations)(with_file)
        return option(_DESIGN_FILE, "--design", metavar="FILE", kind=click.Path(dir_okay=False))(with_design)

    return decorate


_DESIGN_FILE = Parameter(
    "design_file", help="A TOML file with the experiment, in the table [design]; options override it."
)


def _options_on_command_line(names: Iterable[str]) -> list[str]:
    """The options that are on the command line."""
    context = click.get_current_context()
    default = ParameterSource.DEFAULT
    return [name for name in names if context.get_parameter_source(name) is not default]


def test_options(*fields: str) -> Decorator:
    """Add options of the test of arms, by default all; the command gets an `ExperimentTest`."""
    all_options = (
        "winsorise SHARE",
        "sequential",
        "tuned_to N",
        "bootstrap N",
        "relative",
        "level",
        "power",
        "correction",
        "prior",
        "halves N",
        "seed",
    )
    return value_options("test", ExperimentTest, *(fields or all_options))


@click.command("plan")
@events_argument
@verb_options(plan, "kpis KPI -k --kpi")
@design_options("unit UNIT")
@own_options("shares --share", kinds={"shares": click.FLOAT})
@verb_options(plan, "effect SHARE", "horizon DAYS")
@test_options("level", "power")
@click.option(
    "--interleave",
    nargs=3,
    metavar="QRELS OLD NEW",
    help="Also compute the searches that interleaving needs to distinguish two runs, compared with A/B "
    "tests; simulated users click on documents that are judged relevant.",
)
@events_options(goals=True, figures=True)
@prints
def plan_command(
    events: Events, *, shares: tuple[float, ...] = (0.01, 0.05, 0.25, 0.5), **arguments: Any
) -> Result:
    """Plan an A/B test from a log: for each KPI, the days until a difference can be detected.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs.

    \b
    rankgate online plan events
    rankgate online plan events -k search_ctr -k latency_p95 --effect 0.01 --share 0.1
    rankgate online plan events --interleave qrels.txt old.run new.run
    \f

    Options:
        shares: A share of the traffic that the treatment would have; may be given several times.
    """
    return plan(events, shares=shares, **arguments)


@click.command("ab")
@events_argument
@verb_options(ab, "metrics KPI -m --metric", "guardrails METRIC=SHARE --guardrail", "down METRIC")
@design_options()
@test_options()
@events_options(goals=True, figures=True)
@with_figures_options
@prints
def ab_command(events: Events, design: Design, **arguments: Any) -> Result:
    """Compare the arms of an A/B test, after a check of the sample ratio.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs; with
    --variant it is a table with a row for each unit. Exits with 3 if the experiment
    has a fault that makes its figures wrong.

    \b
    rankgate online ab events -m search_ctr --control old --guardrail latency_p95=0.05
    rankgate online ab events -m revenue_per_session --cuped --start 2026-03-01
    rankgate online ab users.csv --variant arm --unit user_id -m spend -m spend/visits
    """
    data = events.log if design.variant else events
    return ab(data, design=design, despite=events.despite, **arguments)


_EVENTS = Parameter(
    "events",
    "path",
    "Instead of EXPERIMENTS a log: a folder that rankgate online ingest made, a table of events, or a file "
    "of a log.",
)


@click.command("agreement")
@shared_options.paths("[experiments] [EXPERIMENTS]")
@option(_EVENTS, metavar="EVENTS")
@verb_options(
    agreement,
    "qrels",
    "metrics METRIC -m --metric",
    "min_searches N",
    "chance",
    "level",
    "resamples N",
    "seed",
)
@events_options("judgments qrels", "tables experiments")
@prints
def agreement_command(experiments: str | None, events: Events | None, **arguments: Any) -> Result:
    """Measure whether offline metrics predict what users do.

    EXPERIMENTS is a table with a row for each past experiment and metric or KPI: experiment, side
    (offline or online), name, delta, standard_error. With a log, the metrics of the lists that
    users were shown are compared with their clicks, query by query.

    \b
    rankgate online agreement experiments.csv
    rankgate online agreement experiments.csv --chance 0.9 -o agreement.html
    rankgate online agreement --events events --qrels qrels.txt -m nDCG@10 -m RR@10
    """
    data = experiments or events
    if data is None or (experiments and events) or bool(events) != bool(arguments["qrels"]):
        raise UsageError(NOTHING_TO_MEASURE, code="missing-argument")
    return agreement(data, **arguments)
