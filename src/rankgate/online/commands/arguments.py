"""Arguments and options that the commands on logs and experiments share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from rankgate.core.console.declared_options import value_options
from rankgate.online.events.events import Events
from rankgate.online.experiments.design import Design, ExperimentTest

Command = Callable[..., Any]


def _one_or_several(
    _ctx: click.Context, _argument: click.Parameter, paths: tuple[str, ...]
) -> str | tuple[str, ...] | None:
    return paths[0] if len(paths) == 1 else paths or None


def kpi_names(function: Command) -> Command:
    """``-k``: the KPIs of users; without it those of the verb."""
    named = click.option(
        "-k",
        "--kpi",
        "kpis",
        multiple=True,
        metavar="KPI",
        help="A KPI that is a mean over searches, clicks or sessions, such as search_ctr; may be "
        "given several times. Without it the most important ones.",
    )
    return named(function)


def logs(function: Command) -> Command:
    """``EVENTS...``: a folder or table of events, or files of logs."""
    return _paths(function, required=True, metavar="EVENTS...")


def optional_logs(function: Command) -> Command:
    """``[EVENTS]...``: the same, or none."""
    return _paths(function, required=False, metavar="[EVENTS]...")


def _paths(function: Command, *, required: bool, metavar: str) -> Command:
    named = click.argument(
        "events",
        type=click.Path(),
        nargs=-1,
        required=required,
        metavar=metavar,
        callback=_one_or_several,
    )
    return named(function)


def events_options(
    *, log: str = "events", goals: bool = False, figures: bool = False
) -> Callable[[Command], Command]:
    """How a log is read; the command gets `Events` in place of the log.

    Args:
        log: the argument of the command that holds the log; without it there are no events.
        goals: whether the verb needs to know when a session reached its goal.
        figures: whether faults of the log can forbid figures.
    """
    return value_options(
        log, Events, "mapping", "without_bots", "without_duplicates",
        *(["success RULE"] if goals else []), *(["despite"] if figures else []),
        "memory SIZE", "threads N",
        also={"log": log},
    )  # fmt: skip


def design_options(*fields: str) -> Callable[[Command], Command]:
    """Options of an experiment; the command gets a `Design`. Without fields they are all."""
    every = (
        "variant COLUMN", "unit UNIT", "control ARM", "split", "day COLUMN", "start DAY",
        "end DAY", "cuped", "covariates METRIC=COLUMN --covariate", "segments COLUMN --segment",
        "crossed SHARE",
    )  # fmt: skip
    several = fields or every

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def with_file(*args: Any, design: Design, design_file: str | None, **given: Any) -> None:
            if design_file is not None:
                named = _written(words.split()[0] for words in several)
                options = {name: getattr(design, name) for name in named}
                design = replace(Design.read(design_file), **options)
            function(*args, design=design, **given)

        return _DESIGN_FILE(value_options("design", Design, *several)(with_file))

    return decorate


_DESIGN_FILE = click.option(
    "--design",
    "design_file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="A TOML file with the experiment, in the table [design]; options beside it win.",
)


def _written(names: Iterable[str]) -> list[str]:
    """The options that the command line has."""
    context = click.get_current_context()
    default = ParameterSource.DEFAULT
    return [name for name in names if context.get_parameter_source(name) is not default]


def test_options(*fields: str) -> Callable[[Command], Command]:
    """Options of the test of arms; the command gets an `ExperimentTest`. Without fields all."""
    every = (
        "winsorise SHARE", "sequential", "tuned_to N", "bootstrap N", "relative", "level", "power",
        "correction", "prior", "halves N", "seed",
    )  # fmt: skip
    return value_options("test", ExperimentTest, *(fields or every))
