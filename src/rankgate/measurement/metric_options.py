"""Options of metrics and conventions, which commands share, and their names for shells."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from rankgate.core.console.options import Renamed
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.scoring.chosen import chosen_convention

if TYPE_CHECKING:
    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def completed_metrics(
    ctx: click.Context,  # noqa: ARG001 - click's signature
    param: click.Parameter,  # noqa: ARG001 - as above
    incomplete: str,
) -> list[CompletionItem]:
    """The metrics that begin with a word."""
    from rankgate.measurement.metrics.catalogue import CATALOGUE

    return _beginning(incomplete, ((each.name, each.title) for each in CATALOGUE))


def completed_conventions(
    ctx: click.Context,  # noqa: ARG001 - click's signature
    param: click.Parameter,  # noqa: ARG001 - as above
    incomplete: str,
) -> list[CompletionItem]:
    """The conventions that begin with a word."""
    from rankgate.measurement.scoring import CONVENTIONS

    return _beginning(incomplete, ((each.name, each.title) for each in CONVENTIONS.values()))


def _beginning(word: str, known: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    folded = word.casefold()
    return [
        CompletionItem(name, help=title)
        for name, title in known
        if name.casefold().startswith(folded)
    ]


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


def metrics_from(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--metrics-from``: the metrics of a file can be named while the command runs."""

    @functools.wraps(function)
    def with_metrics(*args: Any, metrics_from: str | None, **options: Any) -> Any:
        if metrics_from is not None:
            from rankgate.core.declare.plugins import using
            from rankgate.measurement.metrics.names import known as refuse_taken_names
            from rankgate.measurement.metrics.plugins import from_file

            metrics = from_file(metrics_from)
            refuse_taken_names(metrics)
            click.get_current_context().with_resource(using(*metrics))
        return function(*args, **options)

    named = click.option(
        "--metrics-from",
        metavar="FILE.py",
        type=click.Path(),
        help="Load metrics that FILE.py declares with @rankgate.metric. This runs the "
        "file: name only one that you trust.",
    )
    return named(with_metrics)


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
