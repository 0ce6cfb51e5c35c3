"""Arguments and options that commands share: a name means the same in all of them.

Options of metrics and conventions are in `rankgate.measurement.metric_options`, those of a store in
`rankgate.measurement.store_options`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankgate.core.console.places import inputs, refuse_clashes
from rankgate.core.console.sections import OUTPUT, SectionOption
from rankgate.core.target import suffix_of

if TYPE_CHECKING:
    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Renamed(click.Option):
    """An option that was called ``--set``, which is accepted but not listed in the help."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add the option under both names."""
        super().add_to_parser(parser, ctx)
        parser.add_option(obj=self, opts=["--set"], dest=self.name, action="append")


qrels = click.argument("qrels", type=click.Path())
runs = click.argument("runs", type=click.Path(), nargs=-1, required=True, metavar="RUN...")
run = click.argument("run", type=click.Path())


def parameters(help_text: str) -> Decorator:
    """``--parameter NAME=VALUE`` of what a command chose by name."""
    return click.option(
        "--parameter",
        "parameters",
        cls=Renamed,
        multiple=True,
        metavar="NAME=VALUE",
        help=help_text,
    )


seed = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The seed of the random numbers.",
)
resamples = click.option(
    "--resamples",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="The number of resamples for an interval.",
)
scale = click.option(
    "--scale",
    metavar="SCALE",
    help="The rating scale: binary, graded (0 to 3), detail (1 to 10), a range such "
    "as 0..4, or a list such as 0,1,10,100.",
)
from_ = click.option(
    "--from",
    "from_",
    metavar="FORMAT",
    help="The format of the input; detected without it (see rankgate formats).",
)
as_either = click.option(
    "--as",
    "as_",
    type=click.Choice(["qrels", "run"]),
    help="Read the input as judgments or as a run, if it could be either.",
)


def output(function: Callable[..., Any]) -> Callable[..., Any]:
    """``-o``, which may be none of the files that the command reads."""

    @functools.wraps(function)
    def checked(*args: Any, output: str | None, **rest: Any) -> Any:
        refuse_clashes(inputs(), output)
        return function(*args, output=output, **rest)

    named = click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=click.Path(),
        help="Write to FILE instead of standard output; a failed write leaves no partial file.",
        cls=SectionOption,
        section=OUTPUT,
    )
    return named(checked)


def form(*forms: str) -> Decorator:
    """``--format`` with the forms of a command, the default first.

    Without it the suffix of the output's name decides.
    """

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        others = {each.name for each in getattr(function, "__click_params__", ())}
        by_suffix = "; by default inferred from the suffix of FILE"
        named = click.option(
            "--format",
            "form",
            type=click.Choice(forms),
            default=forms[0],
            show_default=True,
            help=f"The output format{by_suffix if others & {'output', 'target'} else ''}.",
            cls=SectionOption,
            section=OUTPUT,
        )

        @functools.wraps(function)
        def chosen(*args: Any, form: str, **rest: Any) -> Any:
            place = rest.get("output") or "-"
            source = click.get_current_context().get_parameter_source("form")
            if suffix_of(place) and source is not ParameterSource.COMMANDLINE:
                from rankgate.core.present.suffixes import form_of

                form = form_of(place, forms, ", or give --format")
            return function(*args, form=form, **rest)

        return named(chosen)

    return decorated
