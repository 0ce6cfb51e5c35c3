"""``rankgate help``: find commands, options, metrics, conventions and pages by a word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from importlib import resources
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console.option_types import help_text, short_help
from rankgate.core.console.terminal_output import output_width
from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.text_tables import labelled_paragraphs

if TYPE_CHECKING:
    from rankgate.interface.cli import Program


_MAX_ENTRIES = 8  # entries of a kind
_KINDS = (
    *("Commands", "Options", "KPIs", "Charts", "Metrics", "Conventions", "Formats", "Engines", "Manual"),
)


@dataclass(frozen=True)
class Entry:
    """A named item with a description: a command, option, metric, convention or page.

    Attributes:
        kind: one of `_KINDS`.
        name: the command as typed, or the page.
        line: a description, in a sentence.
        text: further words that are searched.
        aliases: other names of it.
    """

    kind: str
    name: str
    line: str
    text: str = ""
    aliases: tuple[str, ...] = ()

    def rank(self, words: Iterable[str]) -> int:
        """The worst rank of the words: 0 is the name; 1 to 3 a word of the name, the line or the text.

        From 4 on a word in them begins so; what is in none of them has rank 9.
        """
        return max(self._rank(word) for word in words)

    def _rank(self, word: str) -> int:
        name = self.name.lower().removeprefix("rankgate ").replace("_", " ")
        word = word.replace("_", " ")
        other_names = (alias.lower().replace("_", " ") for alias in self.aliases)
        if word in {name, *other_names}:
            return 0
        texts = (name, self.line.lower(), self.text.lower())
        patterns = (rf"\b{re.escape(word)}\b", rf"\b{re.escape(word)}")
        ranks = (
            rank
            for rank, (pattern, text) in enumerate(product(patterns, texts), 1)
            if re.search(pattern, text)
        )
        return next(ranks, 9)


@click.command("help")
@click.argument("words", nargs=-1, metavar="[WORD...]")
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Find commands, options, KPIs, metrics, conventions, formats and pages of the manual by WORD.

    Without a word: every command with a line.

    \b
    rankgate help
    rankgate help rbo
    rankgate help click log
    """
    program: Any = ctx.find_root().command
    if not words:
        formatter = ctx.make_formatter()
        program.format_every_command(formatter)
        click.echo(formatter.getvalue().rstrip("\n"))
        return
    lower_words = [word.lower() for word in words]
    ranked = [(entry.rank(lower_words), entry) for entry in entries(program, ctx)]
    best = [(rank, entry) for rank, entry in ranked if rank < 9]
    if not best:
        raise UsageError(
            f"no name or description contains {' '.join(words)!r}; try one word, or a part of it, or "
            "rankgate help for all commands.",
            code="not-found",
        )
    best.sort(key=lambda pair: (pair[0], _KINDS.index(pair[1].kind)))
    for kind in dict.fromkeys(entry.kind for _, entry in best):
        click.echo(_section_text(kind, [entry for _, entry in best if entry.kind == kind]))


def _section_text(kind: str, rows: list[Entry]) -> str:
    first_rows = rows[:_MAX_ENTRIES]
    room = min(max(len(entry.name) for entry in first_rows), 34)
    parts = [f"{kind}:\n"]
    for entry in first_rows:
        label, lines = entry.name, [entry.line]
        if len(label) > room:
            parts.append(f"  {label}\n")
            label = ""
        parts.append(labelled_paragraphs([f"  {label}"], lines, [room + 2], output_width(None)))
    if len(rows) > len(first_rows):
        parts.append(f"  … and {len(rows) - len(first_rows)} more; add a word.\n")
    return "".join(parts)


def entries(program: Program, ctx: click.Context) -> Iterator[Entry]:
    """All commands and pages; a command that cannot be loaded here has no options."""
    from rankgate.interface.cli import SYNONYMS  # the command line loads this module

    options = []
    for path, command in _commands_of_group(program, ctx, "rankgate"):
        subcommand = path.partition(" ")[2]
        synonyms = [word for word, name in SYNONYMS.items() if name == subcommand]
        yield Entry("Commands", path, short_help(command), " ".join([help_text(command), *synonyms]))
        options += [
            (subcommand, param) for param in command.params if isinstance(param, click.Option) and param.help
        ]
    yield from _option_entries(options)
    yield from _declared_entries()
    index = resources.files(__package__).joinpath("pages.json").read_text("utf-8")
    for path, page in json.loads(index).items():
        yield Entry("Manual", path, page["title"], " ".join(page["topics"]))


def _option_entries(options: Iterable[tuple[str, click.Option]]) -> Iterator[Entry]:
    """The options; an option with the same meaning in several commands is listed once."""
    commands: dict[tuple[str, str], list[str]] = {}
    choices: dict[tuple[str, str], tuple[str, ...]] = {}
    for path, option in options:
        key = (option.opts[0], option.help or "")
        commands.setdefault(key, []).append(path)
        choices[key] = tuple(getattr(option.type, "choices", ()))
    for (flag, line), paths in commands.items():
        more_text = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        first_sentence = line.partition(". ")[0]
        commands_text = f"({', '.join(paths[:3])}{more_text})"
        yield Entry("Options", flag, f"{first_sentence} {commands_text}", " ".join(choices[flag, line]))


def _commands_of_group(
    group: click.Group, ctx: click.Context, path: str
) -> Iterator[tuple[str, click.Command]]:
    """The commands of a group and its sub-groups, by the words that users type."""
    for name in group.list_commands(ctx):
        try:
            command = group.get_command(ctx, name)
        except (RankgateError, ImportError):  # an extra that is not installed
            continue
        if command is None:
            continue
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from _commands_of_group(command, ctx, f"{path} {name}")


def _declared_entries() -> Iterator[Entry]:
    """KPIs, charts, metrics, conventions, formats and engines."""
    from rankgate.data.files.formats import formats
    from rankgate.engines.engine_checks import engines
    from rankgate.measurement.evaluation.convention_details import conventions
    from rankgate.measurement.evaluation.metric_details import metrics
    from rankgate.online.indicators.kpi_catalogue import KPIS
    from rankgate.workspace.reports.chart_kinds import CHART_KINDS, RESULT_CHART_KINDS

    for kpi in KPIS.values():
        yield Entry("KPIs", f"online kpi -k {kpi.name}", kpi.title, kpi.formula)
    for chart in (*CHART_KINDS, *RESULT_CHART_KINDS):
        yield Entry("Charts", f"plot {chart.name}", chart.title)
    for metric in metrics().metrics:
        yield Entry("Metrics", metric.name, metric.title, "", tuple(metric.aliases))
    for convention in conventions().conventions:
        yield Entry("Conventions", convention.name, convention.title)
    for file_format in formats().formats:
        yield Entry("Formats", file_format.name, file_format.title)
    for engine in engines().kinds:
        yield Entry("Engines", engine.name, engine.title)
