"""The arguments and options that commands share, so that each means the same everywhere."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankgate.core.console.places import inputs, refuse_clashes
from rankgate.core.present.suffixes import form_of
from rankgate.core.target import suffix_of
from rankgate.measurement.completion import completed_conventions, completed_metrics
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.scoring.chosen import chosen_convention

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


def metrics_option(
    help_text: str, default: tuple[str, ...] = (), *, shown: bool = False
) -> Decorator:
    """``-m`` that may be given several times, where a command says its own of it."""
    return click.option(
        "-m",
        "--metric",
        "metrics",
        multiple=True,
        metavar="METRIC",
        default=default,
        show_default=shown,
        shell_complete=completed_metrics,
        help=help_text,
    )


metrics = metrics_option(
    "A metric such as nDCG@10, AP(rel=2) or P.5,10; may be given several times. "
    f"Without it: {', '.join(DEFAULT_METRICS)}.",
    DEFAULT_METRICS,
)
metric = click.option(
    "-m",
    "--metric",
    required=True,
    metavar="METRIC",
    shell_complete=completed_metrics,
    help="The metric, such as nDCG@10.",
)
override = click.option(
    "--override",
    "overrides",
    cls=Renamed,
    multiple=True,
    metavar="AXIS=VALUE",
    help="Change one axis of the convention, such as ties=doc_id_asc, nDCG.gain=exp or "
    "RR.without_relevant=none; may be given several times (see rankgate conventions axes).",
)


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
    )
    return named(checked)


def metrics_from(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--metrics-from``; the command gets the metrics as ``extra``."""

    @functools.wraps(function)
    def known(*args: Any, metrics_from: str | None, **rest: Any) -> Any:
        if metrics_from is None:
            return function(*args, extra=(), **rest)
        from rankgate.measurement.metrics.plugins import from_file

        return function(*args, extra=from_file(metrics_from), **rest)

    named = click.option(
        "--metrics-from",
        metavar="FILE.py",
        type=click.Path(),
        help="Load metrics that FILE.py declares with @rankgate.metric. This runs the "
        "file: name only one that you trust.",
    )
    return named(known)


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
        )

        @functools.wraps(function)
        def chosen(*args: Any, form: str, **rest: Any) -> Any:
            place = rest.get("output") or "-"
            source = click.get_current_context().get_parameter_source("form")
            if suffix_of(place) and source is not ParameterSource.COMMANDLINE:
                form = form_of(place, forms, ", or give --format")
            return function(*args, form=form, **rest)

        return named(chosen)

    return decorated


def convention(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--convention`` and ``--override``; the command gets the convention that both make."""

    @functools.wraps(function)
    def chosen(*args: Any, convention: str, overrides: tuple[str, ...], **rest: Any) -> Any:
        how = chosen_convention(convention, overrides)
        return function(*args, convention=how, **rest)

    named = click.option(
        "--convention",
        metavar="NAME",
        default="trec",
        show_default=True,
        shell_complete=completed_conventions,
        help="Compute metrics as this tool does, such as trec9, or by your own FILE.toml.",
    )
    return named(override(chosen))
