"""Option types with completion, and help of commands in sections and definition lists."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from rankgate.core.present.lazy_names import load_upper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Command: TypeAlias = Callable[..., object]
    """A function that becomes a command."""

    Decorator: TypeAlias = Callable[[Command], Command]


class NameType(click.types.StringParamType):
    """A name, such as that of a metric; any text is accepted.

    Args:
        kind: the names that a shell offers, a key of the table ``completed_names`` of `ABOVE`.
        files: True if the value may also be a file.
    """

    def __init__(self, kind: str, *, files: bool = False) -> None:
        self.kind = kind
        self.files = files

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The names with this beginning, in upper or lower case, then files."""
        return [
            *([CompletionItem(incomplete, type="file")] if self.files else []),
            *_completions(self.kind, ctx, param, incomplete),
        ]


class NameOrPathType(click.Path):
    """A path, or a name defined by the command, such as that of a saved baseline.

    Args:
        kind: see `NameType`.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Files, then the names with this beginning."""
        files = super().shell_complete(ctx, param, incomplete)
        return [*files, *_completions(self.kind, ctx, param, incomplete)]


class AliasedChoice(click.Choice):  # type: ignore[type-arg]  # generic since click 8.2
    """A choice of names with aliases; the help shows the names."""

    def __init__(self, choices: Iterable[str], aliases: Mapping[str, str]) -> None:
        super().__init__(tuple(choices))
        self.aliases = aliases

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name of a choice or of its alias."""
        return str(super().convert(self.aliases.get(value, value), param, ctx))


def _completions(
    kind: str, ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names of a kind that begin with a text and are not yet on the command line."""
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

WRITABLE = click.Path(writable=True)
"""A file that the command writes."""

BY_METAVAR = {
    "METRIC": METRIC,
    "KPI": KPI,
    "CONVENTION": CONVENTION,
    "FORMAT": FORMAT,
    "ID": QUERY_ID,
    "TAG": TAG,
    "SYSTEM": SYSTEM,
    **dict.fromkeys(("FILE", "QRELS", "RUN"), click.Path()),
}
"""The types of options that take any text, by what the help calls their value."""


COLLECTION = "Options of the collection"
RUNS = "Options of runs"
TEST = "Options of the test"
OUTPUT = "Options of the output"
"""The headings, in their order."""


class SectionOption(click.Option):
    """An option in a section of the help."""

    def __init__(self, *declarations: Any, section: str, **attributes: Any) -> None:
        super().__init__(*declarations, **attributes)
        self.section = section


class RenamedOption(click.Option):
    """An option that was called ``--set``, which is accepted but not listed in the help."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add the option under both names."""
        super().add_to_parser(parser, ctx)
        parser.add_option(obj=self, opts=["--set"], dest=self.name, action="append")


_ITEMS = "Options of items and users"
_RECOMMENDERS = "Options of recommenders"
_JUDGMENTS = "Options of how judgments were made"
_RANKINGS = "Options of sequences and repeated runs"
TOPICS: Mapping[str, tuple[str, ...]] = {
    _ITEMS: ("items", "features", "category", "group", "length", "document", "users"),
    _RECOMMENDERS: ("training", "candidate_items", "reference", "drop_seen", "judged_users_only"),
    _JUDGMENTS: ("sample", "selection", "predicted", "predicted_saw"),
    _RANKINGS: ("sequences", "earlier", "repeats", "seeds"),
}
"""The other options of collections and runs, by the heading under which ``--help-all`` shows them."""

_OWN_TOPICS = {
    "scorecard": (_ITEMS, _RECOMMENDERS, _RANKINGS),
    "rating-accuracy": (_RECOMMENDERS,),
    "total-error": (_JUDGMENTS,),
    "report": (_RANKINGS,),
}
"""The topics that the help of a command shows always, because the command is about them."""

_ALL_OPTIONS = "all options"
_MARGINS = 6  # columns before, between and behind the two of a definition list


class SectionedCommand(click.Command):
    """A command with a help that lists the options of values under their own headings.

    The help names the options that few users of the command need; ``--help-all`` explains them.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, and ``--help-all`` if the help leaves options out."""
        params = super().get_params(ctx)
        if not any(map(self._is_left_out, params)):
            return params
        help_all = click.Option(
            ["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all_options,
            help="Show this message with all options, by topic, and exit.",
        )
        return [*params, help_all]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then a section for each value or topic."""
        shows_all = ctx.meta.get(_ALL_OPTIONS, False)
        sections: dict[str, list[tuple[str, str]]] = {
            title: [] for title in ("Options", COLLECTION, RUNS, *TOPICS, TEST, OUTPUT)
        }
        left_out: dict[str, list[str]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            title = _TOPIC_OF_OPTION.get(param.name or "", "") if self._has_topic(param) else ""
            if not shows_all and self._is_left_out(param):
                left_out.setdefault(title.removeprefix("Options of "), []).append(param.opts[0])
            else:
                sections[title or getattr(param, "section", "Options")].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if left_out:
            room = formatter.width - max(map(len, left_out)) - _MARGINS
            rows = []
            for topic, names in left_out.items():
                first_line, *next_lines = textwrap.wrap(" ".join(names), room, break_on_hyphens=False)
                rows += [(topic, first_line), *(("", line) for line in next_lines)]
            with formatter.section("Further options, which --help-all explains"):
                formatter.write_dl(rows)

    def _has_topic(self, param: click.Parameter) -> bool:
        return getattr(param, "section", "") in {COLLECTION, RUNS} and param.name in _TOPIC_OF_OPTION

    def _is_left_out(self, param: click.Parameter) -> bool:
        """True if the usual help only names an option."""
        is_own_topic = _TOPIC_OF_OPTION.get(param.name or "") in _OWN_TOPICS.get(self.name or "", ())
        return self._has_topic(param) and not is_own_topic


_TOPIC_OF_OPTION = {name: title for title, names in TOPICS.items() for name in names}


def _show_all_options(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - as of click
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL_OPTIONS] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class FullHelpGroup(click.Group):
    """A group with a help that has the full first sentence of each command."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their sentences, wrapped and never cut."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, short_help(command)) for name, command in commands if command is not None]
            )


def help_text(command: click.Command) -> str:
    """The help of a command as it is shown: without what follows a form feed."""
    return inspect.cleandoc((command.help or "").partition("\f")[0]).rstrip()


def short_help(command: click.Command) -> str:
    """The first sentence of a command's help."""
    return command.get_short_help_str(limit=1000)


class DefiningCommand(SectionedCommand):
    """A command that explains choices of its options below them.

    Attributes:
        definitions: each choice and its meaning, by heading.
    """

    def __init__(
        self, *args: Any, definitions: Mapping[str, Iterable[tuple[str, str]]], **options: Any
    ) -> None:
        """Accept what click's group accepts, and the definition lists."""
        super().__init__(*args, **options)
        self.definitions = {
            heading: tuple((name, meaning) for name, meaning in rows) for heading, rows in definitions.items()
        }

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists."""
        super().format_epilog(ctx, formatter)
        for heading, rows in self.definitions.items():
            with formatter.section(heading):
                formatter.write_dl(rows)
