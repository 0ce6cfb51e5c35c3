"""Types of options whose values are names that a shell can complete."""

from __future__ import annotations

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from rankgate.core.present.resolve import load_upper


class NameType(click.types.StringParamType):
    """A name, such as that of a metric; any text is accepted.

    Args:
        kind: which names a shell offers, a key of the table ``completed_names`` of `ABOVE`.
        files: True where the value may be a file too.
    """

    def __init__(self, kind: str, *, files: bool = False) -> None:
        self.kind = kind
        self.files = files

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names that begin so, in any case, then files."""
        return [
            *([CompletionItem(incomplete, type="file")] if self.files else []),
            *_completions(self.kind, ctx, param, incomplete),
        ]


class NameOrPathType(click.Path):
    """A path, or a name that the command knows, such as that of a saved baseline.

    Args:
        kind: as of `NameType`.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Files, then the names that begin so."""
        files = super().shell_complete(ctx, param, incomplete)
        return [*files, *_completions(self.kind, ctx, param, incomplete)]


def _completions(
    kind: str, ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names of a kind that begin with a text and are not on the command line already."""
    current_value = ctx.params.get(param.name or "")
    was_typed = ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    excluded_names = current_value if was_typed and isinstance(current_value, tuple) else ()
    prefix = incomplete.casefold()
    return [
        CompletionItem(name, help=title)
        for name, title in load_upper("completed_names")[kind](ctx)
        if name.casefold().startswith(prefix) and name not in excluded_names
    ]


METRIC = NameType("metrics")
RATING_METRIC = NameType("rating_metrics")
KPI = NameType("kpis")
CONVENTION = NameType("conventions", files=True)
FORMAT = NameType("formats")
ENGINE = NameType("engines")
QUERY_ID = NameType("query_ids")
TAG = NameType("tags")
SYSTEM = NameType("recorded_systems")
RECORDED_METRIC = NameType("recorded_metrics")
SAVED_BASELINE = NameType("baselines")
SYSTEM_OR_FILE = NameOrPathType("systems")
"""A file; with ``--scores`` a system in its tables."""
BASELINE_OR_FILE = NameOrPathType("baselines_and_systems")
"""A run or a saved baseline; with ``--scores`` a system in its tables."""

BY_METAVAR = {
    "METRIC": METRIC,
    "KPI": KPI,
    "CONVENTION": CONVENTION,
    "FORMAT": FORMAT,
    "ID": QUERY_ID,
    "TAG": TAG,
    "SYSTEM": SYSTEM,
}
"""The types of options that take any text, by what the help calls their value."""
