"""The options of metrics on lists: training, items, an obvious system, whose lists count."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgate.evaluation.context import Context


def context(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--train``, ``--items`` and what says how items are described, as one `Context`."""

    @functools.wraps(function)
    def result(
        *args: Any,
        train: str | None,
        items: str | None,
        features: tuple[str, ...],
        category: str | None,
        group: str | None,
        obvious: str | None,
        **rest: Any,
    ) -> Any:  # noqa: ANN401 - of the command
        from rankgate.evaluation.context import Context

        given = Context(train, items, features, category, group, obvious)
        return function(*args, context=given, **rest)

    for option in reversed(_OPTIONS):
        result = option(result)
    return result


_OPTIONS = (
    click.option("--train", type=click.Path(), help="The log that systems learned from."),
    click.option("--items", type=click.Path(), help="A table of items: item_id and columns."),
    click.option(
        "--feature", "features", multiple=True, metavar="COLUMN", help="Of items, with numbers."
    ),
    click.option(
        "--category", metavar="COLUMN", help="Of items, with categories; several between bars."
    ),
    click.option(
        "--group", metavar="COLUMN", help="Of items, with the group whose exposure counts."
    ),
    click.option(
        "--obvious", type=click.Path(), metavar="RUN", help="What an obvious system shows."
    ),
)


judged_users_only = click.option(
    "--judged-users-only",
    is_flag=True,
    help="Metrics of lists over users with judgments only, not over every user that is served.",
)
drop_seen = click.option(
    "--drop-seen", is_flag=True, help="Take items of training out of users' lists."
)


def paths(given: Context) -> tuple[str, ...]:
    """The files that were named."""
    return tuple(each for each in (given.train, given.items, given.baseline) if each)
