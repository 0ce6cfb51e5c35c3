"""Options of experiments and of the tests of their arms, in every command that takes one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from rankgate.core.console.declared_options import value_options
from rankgate.online.experiments.design import Design, ExperimentTest

Command = Callable[..., Any]


def design_options(*fields: str) -> Callable[[Command], Command]:
    """Options of an experiment; the command gets a `Design`. Without fields they are all."""
    all_options = (
        "variant COLUMN",
        "unit UNIT",
        "control ARM",
        "split",
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
        def with_file(
            *args: Any, design: Design, design_file: str | None, **arguments: Any
        ) -> None:
            if design_file is not None:
                names = _options_on_command_line(
                    declaration.split()[0] for declaration in declarations
                )
                options = {name: getattr(design, name) for name in names}
                design = replace(Design.read(design_file), **options)
            function(*args, design=design, **arguments)

        return _DESIGN_FILE(value_options("design", Design, *declarations)(with_file))

    return decorate


_DESIGN_FILE = click.option(
    "--design",
    "design_file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="A TOML file with the experiment, in the table [design]; options beside it win.",
)


def _options_on_command_line(names: Iterable[str]) -> list[str]:
    """The options that the command line has."""
    context = click.get_current_context()
    default = ParameterSource.DEFAULT
    return [name for name in names if context.get_parameter_source(name) is not default]


def test_options(*fields: str) -> Callable[[Command], Command]:
    """Options of the test of arms; the command gets an `ExperimentTest`. Without fields all."""
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
