"""Names of metrics and conventions, for shells that complete words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    import click


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
