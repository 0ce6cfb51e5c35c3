"""The command line: one command a file, loaded only when it is called."""

from __future__ import annotations

import io
import os
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from rankgate.core.errors import RankgateError, UsageError, describe_resource_error, replace_controls
from rankgate.core.present.lazy_names import load_name
from rankgate.interface.cli.startup import (
    CheckedCommand,
    described_command,
    move_global_options_first,
    watched_status,
)

SECTIONS = {
    "Start": {
        "init": "Write a folder to begin with: policy, sample data, CI, README.",
        "demo": "Evaluate two search engines on real input, in one command.",
        "open": "Open the lists of all queries, side by side, in the browser.",
        "describe": "Describe files: format, queries, grades, overlap, hashes.",
        "validate": "Check judgments and runs for errors, with line numbers and fixes.",
        "convert": "Convert a file to another format; report the loss.",
        "formats": "List the file formats, or show one.",
        "help": "Find commands, options, metrics and pages of the manual by a word.",
        "advise": "Recommend metrics and a gate policy for your data.",
        "skill": "Print instructions for coding agents (SKILL.md), or write them to a folder.",
    },
    "Measure": {
        "eval": "Score runs against judgments.",
        "explain": "Show how one value was computed, document by document.",
        "reconcile": "Explain why tools give different values for one metric.",
        "conventions": "List the conventions of other tools, or show one.",
        "metrics": "List the metrics, or show one metric's details.",
        "trec_eval": "Run as trec_eval: same options, same output.",
        "cwl_eval": "Run as cwl_eval: expected utility and cost by user models, same output.",
        "ndeval": "Run as ndeval: novelty and diversity, same options, same output.",
        "gdeval": "Run as gdeval: nDCG and ERR of the TREC web track, same output.",
    },
    "Decide": {
        "compare": "Compare systems query by query, with intervals and tests.",
        "rank-similarity": "Compare the rankings of two runs or more without judgments.",
        "audit": "Check whether the numbers of a published table are possible.",
        "blindspots": "Find changes that the chosen metrics do not detect.",
        "holes": "Estimate what unjudged documents could change.",
        "cutoff": "Find the score below which nothing should be shown, with a guarantee.",
        "migrate": "Check whether a new index may replace the old one.",
        "next": "Select the documents to judge next, by people or a model, to decide a comparison.",
        "total-error": "Estimate how far other queries, judges or engines change a difference.",
        "gate": "Check a candidate against a policy: pass, fail or inconclusive.",
        "policy": "Check a gate policy, or show the kinds of rules.",
        "baseline": "Save, show and list baselines for the gate.",
        "account": "Keep what an optimiser's candidates spend of held-out queries.",
    },
    "Judge": {
        "pool": "Select what to judge from the results of several systems.",
        "sheet": "Create rating sheets from a pool.",
        "collect": "Read filled rating sheets and check them.",
        "rate": "Rate a pool at the terminal, or with a language model.",
        "resolve": "Combine the ratings of several raters into judgments.",
        "agree": "Measure inter-annotator agreement and find suspicious raters.",
        "admit": "Check whether a judge agrees with people well enough.",
        "admit-plan": "Plan the human judgments needed to check a judge, and their cost.",
        "reanchor": "Move judgments to documents that were split again or have new ids.",
        "gold": "Check gold labels: find wrong ones by a blind rating.",
        "reusability": "Estimate how much a run loses if it was not pooled.",
        "store": "Keep ratings, runs and users in SQLite or PostgreSQL.",
        "serve": "Start the web server: dashboard, rating pages and REST API.",
    },
    "Search engines": {
        "engines": "List the kinds of search engines, or check the file of one.",
        "snapshot": "Send all queries to a search engine; write its results as a run.",
        "sweep": "Measure combinations of settings; report the gain of the best one.",
        "fuse": "Merge the runs of several systems into one.",
        "stages": "Evaluate each stage of a ranking pipeline and find the bottleneck.",
    },
    "Clicks and A/B": {"online": "Read logs of clicks: KPIs, judgments, A/B tests, interleaving."},
    "History": {
        "record": "Save results in the history, to follow them over time.",
        "history": "Show a metric over time: values, changes and notes.",
        "attribute": "Explain why a value changed: system, judge, judgments or queries.",
        "alerts": "Check the history by rules; send messages when quality falls.",
        "jobs": "Run evaluations, snapshots and KPIs on a schedule.",
    },
    "Recommenders": {
        "split": "Split a log into training and test sets.",
        "scorecard": "Compare recommenders: accuracy, novelty, diversity, fairness.",
        "rating-accuracy": "Compare predicted ratings with those that users gave.",
    },
    "Report": {
        "report": "Write one HTML page from runs or results.",
        "plot": "Draw a chart of a result as SVG, PNG, HTML or text.",
        "mcp": "Let an AI assistant call rankgate (Model Context Protocol).",
    },
    "Installation": {
        "doctor": "Check the installation and the project; report how to fix each problem.",
        "config": "Show the defaults from rankgate.toml, and where each value comes from.",
        "completion": "Write the script that completes commands, options and names in a shell.",
        "plugins": "List the plug-ins: their origin, the objects that they add, and their errors.",
    },
}
"""Every command with its line of help, by task."""

MOST_USED = (
    "demo",
    "init",
    "describe",
    "eval",
    "compare",
    "gate",
    "explain",
    "scorecard",
    "snapshot",
    "serve",
    "online",
    "report",
)
"""The commands that the first screen of help describes."""

SYNONYMS = {
    "evaluate": "eval",
    "score": "eval",
    "measure": "eval",
    "diff": "compare",
    "significance": "compare",
    "check": "gate",
    "dashboard": "serve",
    "server": "serve",
    "web": "serve",
    "clicks": "online",
    "click": "online",
    "abtest": "online",
    "kpi": "online",
    "label": "rate",
    "annotate": "rate",
    "kappa": "agree",
    "agreement": "agree",
    "rbo": "rank-similarity",
    "chart": "plot",
    "heatmap": "plot",
    "topics": "plot",
    "latex": "compare",
    "paper": "compare",
    "unjudged": "holes",
    "threshold": "cutoff",
    "abstention": "cutoff",
    "search": "help",
}
"""Words that people try, and the command that does it."""

COMMANDS = {name: line for section in SECTIONS.values() for name, line in section.items()}

_MODULES = {
    "rankgate.interface.cli.cli_commands": "init skill config doctor completion plugins",
    "rankgate.interface.demo.demo_command": "demo",
    "rankgate.decisions.reproduction.commands": "open rank-similarity audit",
    "rankgate.measurement.description.commands": "describe",
    "rankgate.data.files.commands": "validate convert formats reanchor",
    "rankgate.interface.cli.help_search": "help",
    "rankgate.decisions.advice.commands": "advise blindspots next",
    "rankgate.measurement.evaluation.commands": "eval",
    "rankgate.measurement.explanation.commands": "explain reconcile",
    "rankgate.measurement.evaluation.catalogue_commands": "conventions metrics",
    "rankgate.measurement.evaluation.trec_eval_command": "trec_eval",
    "rankgate.measurement.evaluation.trec_commands": "cwl_eval ndeval gdeval",
    "rankgate.decisions.comparison.commands": "compare",
    "rankgate.decisions.unjudged.commands": "holes total-error",
    "rankgate.decisions.cutoffs.commands": "cutoff",
    "rankgate.decisions.migration.commands": "migrate",
    "rankgate.decisions.gating.commands": "gate policy baseline account",
    "rankgate.judging.commands.pool_commands": "pool sheet collect reusability",
    "rankgate.judging.commands.rate_commands": "rate",
    "rankgate.judging.commands.agreement_commands": "resolve agree gold",
    "rankgate.judging.commands.admission_commands": "admit admit-plan",
    "rankgate.workspace.web.commands": "serve",
    "rankgate.judging.commands.store_commands": "store",
    "rankgate.workspace.records.commands": "alerts jobs record history attribute",
    "rankgate.engines.commands": "engines snapshot",
    "rankgate.decisions.sweeps.commands": "sweep",
    "rankgate.measurement.fusion.commands": "fuse",
    "rankgate.decisions.pipelines.commands": "stages",
    "rankgate.interface.cli.online_group": "online",
    "rankgate.recommenders.commands": "split scorecard rating-accuracy",
    "rankgate.workspace.reports.commands": "report plot",
    "rankgate.interface.mcp.mcp_command": "mcp",
}
"""The modules that have the commands; they are imported when a command is called."""

_COMMANDS = {
    name: f"{module}:{name.replace('-', '_')}_command"
    for module, names in _MODULES.items()
    for name in names.split()
}

_INPUT, _OURS, _INTERRUPTED, _CLOSED = 2, 70, 130, 141


_EXAMPLES = (
    "rankgate eval qrels.txt old.run new.run -m nDCG@10",
    "rankgate compare qrels.txt old.run new.run -m nDCG@10 -m RR",
    "rankgate gate qrels.txt old.run new.run --policy rankgate.toml",
)


class Program(click.Group):
    """A group that imports a command's module when the command is called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options of all commands at any position on the command line."""
        arguments = move_global_options_first(args)
        if any(word.startswith("@") for word in arguments):
            from rankgate.interface.cli.project_file import settings

            arguments = settings().replace_names(arguments)
        return super().parse_args(ctx, arguments)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name all commands."""
        return list(COMMANDS)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands with their lines, without loading them."""
        commands = [
            CompletionItem(name, help=line) for name, line in COMMANDS.items() if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Accept two words for a command with a hyphen: ``admit plan`` for ``admit-plan``."""
        name = "-".join(args[:2])
        if name in COMMANDS and name != args[0] and not Path(args[1]).exists():
            args = [name, *args[2:]]
        described = None if ctx.resilient_parsing else described_command(args[0])
        if described is None:
            return super().resolve_command(ctx, args)
        _take_defaults(ctx, args[0], described)
        return args[0], CheckedCommand(described, lambda: _load(args[0])), args[1:]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command, or raise an error with the nearest name."""
        if cmd_name not in COMMANDS:
            if ctx.resilient_parsing:  # a shell completes the words after the command
                return None
            from difflib import get_close_matches

            other_name = SYNONYMS.get(cmd_name.lower())
            nearest = [other_name] if other_name else get_close_matches(cmd_name, COMMANDS, 1)
            hint = f"; did you mean {nearest[0]}?" if nearest else f"; try rankgate help {cmd_name}."
            raise click.UsageError(f"unknown command {cmd_name!r}{hint}", ctx)
        command = _load(cmd_name)
        _take_defaults(ctx, cmd_name, command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; an error of a plug-in names its line."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would exit with 1, which means that a gate failed
            raise click.exceptions.Exit(_CLOSED) from None
        except (RankgateError, click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            _raise_plugin_error(error)
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the most used commands, and the names of all commands."""
        with formatter.section("Used most"):
            formatter.write_dl([(name, COMMANDS[name]) for name in MOST_USED])
        with formatter.section("All commands"):
            room = max(map(len, SECTIONS)) + 4
            for title, section in SECTIONS.items():
                names = textwrap.wrap(", ".join(section), formatter.width - room, break_on_hyphens=False)
                for label, line in zip([title, *[""] * len(names)], names, strict=False):
                    formatter.write(f"  {label}".ljust(room) + f"{line}\n")
        formatter.write_paragraph()
        formatter.write_text(
            "rankgate help: a line for each command. rankgate help WORD: related topics. rankgate COMMAND "
            "--help: its options and examples."
        )

    def format_every_command(self, formatter: click.HelpFormatter) -> None:
        """Write all commands by task, with a line each."""
        widest = max(map(len, COMMANDS))
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), line) for name, line in section.items()])
        with formatter.section("Examples"):
            formatter.write("".join(f"  {example}\n" for example in _EXAMPLES))


def _load(name: str) -> click.Command:
    command: click.Command = load_name(_COMMANDS[name])
    return command


def _take_defaults(ctx: click.Context, name: str, command: click.Command) -> None:
    """Use values of the project's file for options that are not on the command line."""
    if not (Path("rankgate.toml").is_file() or Path("pyproject.toml").is_file()):
        return
    if name in _WITHOUT_DEFAULTS or ctx.resilient_parsing:
        return
    from rankgate.interface.cli.project_file import settings

    project_settings = settings()
    values = project_settings.for_command(name, command)
    ctx.default_map = {name: values}
    if ctx.params.get("verbose"):
        for key, value in project_settings.defaults.items():
            if key in values:
                message = (
                    f"rankgate: {key} = {value!r} from {project_settings.location(key)}, without an option"
                )
                click.echo(message, err=True)


_WITHOUT_DEFAULTS = frozenset({"config", "doctor", "init", "plugins", "skill"})
"""Commands that take nothing from the file, so that one that is wrong does not stop them."""


@click.group(
    cls=Program, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    type=click.Path(),
    metavar="FILE.py",
    help="Add the metrics, rules, engines, … of FILE.py, which is run: name only one that you trust.",
)
@click.option("--quiet", is_flag=True, help="No progress and no summaries, only results.")
@click.option("--verbose", is_flag=True, help="Also options from rankgate.toml, and the time.")
@click.option("--no-color", is_flag=True, help="No colours (or NO_COLOR in the environment).")
@click.version_option(package_name="rankgate")
@click.pass_context
def rankgate(
    ctx: click.Context,
    plugins: tuple[str, ...],
    quiet: bool,  # noqa: FBT001, ARG001 - click passes flags by name; `console.verbosity` asks
    verbose: bool,  # noqa: FBT001 - as above
    no_color: bool,  # noqa: FBT001, ARG001 - as above
) -> None:
    """Evaluate, compare and gate search and recommendation rankings."""
    if plugins:
        from rankgate.core.declare.registries import using

        ctx.with_resource(using(*plugins))
    if verbose:
        start_time = time.monotonic()
        ctx.call_on_close(lambda: click.echo(f"rankgate: {time.monotonic() - start_time:.2f} s", err=True))
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run a command; every ending has its exit code.

    0 done; 1 a gate failed; 2 bad input or usage; 3 inconclusive; 70 an internal error;
    130 interrupted; 141 the reader of our output went away.
    """
    try:
        _replace_closed_streams()
        _use_utf8_output()
        status = rankgate.main(prog_name="rankgate", standalone_mode=False)
        sys.stdout.flush()
    except RankgateError as error:
        first, newline, suggestions = str(error).partition("\n")
        _exit_with_message(f"rankgate: {first}{_error_code(error)}{newline}{suggestions}", _INPUT)
    except click.UsageError as error:
        command_path = error.ctx.command_path if error.ctx else "rankgate"
        _exit_with_message(f"rankgate: {error.format_message()} (see {command_path} --help)", _INPUT)
    except click.ClickException as error:
        _exit_with_message(f"rankgate: {error.format_message()}", _INPUT)
    except (KeyboardInterrupt, click.exceptions.Abort):
        _exit_with_message("rankgate: interrupted.", _INTERRUPTED)
    except BrokenPipeError:
        status = _CLOSED
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - every ending has its exit code; a panic is no Exception
        _exit_on_failure(error)
    if status == _CLOSED:
        _discard_output()
    sys.exit(watched_status(status) if isinstance(status, int) else 0)


def _error_code(error: RankgateError) -> str:
    """The code of an error, with ``--verbose``; its page in the manual has all of them."""
    return f" [{error.code}]" if "--verbose" in sys.argv else ""


def _exit_on_failure(error: BaseException) -> NoReturn:
    """Exit with an error that the user can fix, or report an internal error."""
    if os.environ.get("RANKGATE_DEBUG"):
        raise error
    if isinstance(error.__cause__, KeyboardInterrupt):  # interrupted during an import
        _exit_with_message("rankgate: interrupted.", _INTERRUPTED)
    if problem := describe_resource_error(error):
        _discard_output()
        _exit_with_message(f"rankgate: {problem}", _INPUT)
    description = f"{type(error).__name__}: {error}".splitlines()[0]
    _exit_with_message(
        f"rankgate: internal error: {description}. Please report it with the command; RANKGATE_DEBUG=1 shows "
        "where.",
        _OURS,
    )


def _raise_plugin_error(error: Exception) -> None:
    """Raise an error with the plug-in, file and line, if a plug-in failed."""
    if "rankgate.core.declare.registries" not in sys.modules or os.environ.get("RANKGATE_DEBUG"):
        return
    from rankgate.interface.cli.installed_plugins import find_culprit

    if plugin := find_culprit(error):
        description = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UsageError(f"{plugin} fails: {description}; fix or remove it.", code="plugin-failed") from error


def _discard_output() -> None:
    """Discard output that cannot be flushed: the reader is closed, or the disk is full."""
    with suppress(OSError):  # the stream is not a file, or no more files can be opened
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _replace_closed_streams() -> None:
    """Replace a closed stream by an empty stream; without standard output no result is written."""
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        mode = "r" if name == "stdin" else "w"
        stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - to the end
        setattr(sys, name, stream)
    if "stdout" in closed:
        _exit_with_message("rankgate: standard output is closed; send it to a file or to /dev/null.", _INPUT)


def _use_utf8_output() -> None:
    """Write UTF-8 with plain newlines to files and pipes, in every locale."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", newline="\n", errors="backslashreplace")


def _exit_with_message(sentence: str, status: int) -> NoReturn:
    click.echo(replace_controls(sentence), err=True)
    sys.exit(status)
