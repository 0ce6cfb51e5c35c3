"""The command ``rate``: a person at the terminal, or a language model, rates a pool."""

from __future__ import annotations

import functools
import getpass
import json
import os
import re
import select
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click
from click.core import ParameterSource

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import option, own_options, parse_pairs, verb_options
from rankgate.core.console.shared_options import check_paths, input_paths
from rankgate.core.console.terminal_output import TerminalProgress, output_width, print_to_stderr
from rankgate.core.declare import Parameter, fields_of
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import check_suffix
from rankgate.core.present.write_results import render_result
from rankgate.judging.llm.judge import Judge, Prices
from rankgate.judging.llm.protocols import PARAMETERS
from rankgate.judging.llm.rate import LLMRating, rate
from rankgate.judging.rating_session import Rating, count_pages, render
from rankgate.judging.rating_tasks import read_tasks
from rankgate.measurement import store_options

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command
    from rankgate.judging.store.remote_rating import RemoteRating
    from rankgate.judging.store.store_rating import StoreRating
    from rankgate.store.client.remote_project import RemoteProject
    from rankgate.store.stored_project import StoredProject


_DEFAULTS = ", ".join(f"{name}={value}" for name, value in PARAMETERS.items())


_OPTIONS = (
    option(
        Parameter("llm", help="Rate with this language model; the options below apply to it."),
        metavar="MODEL",
    ),
    verb_options(Judge, "protocol", "url URL", "key_from VARIABLE"),
    verb_options(Judge, "template", "structure"),
    option(
        Parameter(
            "parameters", help=f"A parameter of requests; null removes it. Default: {_DEFAULTS}.", default=()
        ),
        "--parameter",
        metavar="NAME=JSON",
        multiple=True,
    ),
    verb_options(Judge, "concurrency", "retries", "backoff", "timeout"),
    click.option(
        "--prices",
        type=(float, float),
        metavar="INPUT OUTPUT",
        help="The price of a million tokens of input and of output.",
    ),
    verb_options(
        Judge, "ceiling MONEY", "calls N", "tokens N", "longest CHARACTERS", "again", "confidence", "attack"
    ),
)
_NAMES = tuple(name for name in fields_of(Judge) if name != "model")


def add_judge_options(function: Command) -> Command:
    """Add the options of a language model; the command gets ``judge``, None without ``--llm``."""

    @functools.wraps(function)
    def with_judge(*args: Any, llm: str | None, **arguments: Any) -> object:
        judge_options = {name: arguments.pop(name) for name in _NAMES}
        return function(*args, judge=_judge(llm, judge_options), **arguments)

    command: Command = with_judge
    for decorator in reversed(_OPTIONS):
        command = decorator(command)
    return command


def _judge(model: str | None, judge_options: dict[str, Any]) -> Judge | None:
    if model is None:
        ctx = click.get_current_context()
        for name in judge_options:
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                flag = next(parameter.opts[0] for parameter in ctx.command.params if parameter.name == name)
                raise UsageError(
                    f"{flag} is for language models; name one with --llm.", code="conflicting-options"
                )
        return None
    if judge_options["prices"] is not None:
        judge_options["prices"] = Prices(*judge_options["prices"])
    judge_options["parameters"] = parse_pairs(judge_options["parameters"], "--parameter", _parse_json)
    return Judge(model, **judge_options)


def _parse_json(text: str) -> Any:  # noqa: ANN401 - what JSON holds
    try:
        return json.loads(text)
    except ValueError:
        return text


ESCAPE, BACKSPACE, MORE = "\x1b", "\x7f", " "
_PASTE_ON, _PASTE_OFF = b"\x1b[?2004h", b"\x1b[?2004l"
_BEGIN, _END = "\x1b[200~", "\x1b[201~"
_PAGE_DOWN = "\x1b[6~"
_SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
_SEQUENCE_SECONDS = 0.05  # seconds within which a terminal sends a complete key sequence


@dataclass(frozen=True)
class Key:
    """One key; empty at the end of the input."""

    char: str


@dataclass(frozen=True)
class PastedText:
    """Text that was pasted: its characters arrive faster than keys are pressed.

    Attributes:
        text: the characters.
        marked: True if the terminal marks the text as pasted.
    """

    text: str
    marked: bool = True


class Keyboard:
    """Standard input, key by key; a context manager that sets up and restores the terminal.

    Terminals mark pasted text (bracketed paste, as in xterm and most others). Without these marks,
    several characters at once are taken as pasted text. From other input, such as a pipe,
    characters are read one by one.
    """

    def __init__(self) -> None:
        self._handle = sys.stdin.fileno() if sys.stdin.isatty() else None
        self._before: list[Any] | None = None

    @property
    def terminal(self) -> bool:
        """True if a terminal sends each key at once."""
        return self._before is not None

    def __enter__(self) -> Self:
        """Make the terminal send each key at once, and mark pasted text."""
        try:
            import termios
        except ImportError:
            return self
        if self._handle is None:
            return self
        self._before = termios.tcgetattr(self._handle)
        settings = termios.tcgetattr(self._handle)
        settings[3] &= ~(termios.ICANON | termios.ECHO)
        # at once, keeping characters that were already typed
        termios.tcsetattr(self._handle, termios.TCSANOW, settings)
        self._send(_PASTE_ON)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the terminal."""
        if self._handle is None or self._before is None:
            return
        import termios

        self._send(_PASTE_OFF)
        termios.tcsetattr(self._handle, termios.TCSANOW, self._before)
        self._before = None

    def read(self) -> Key | PastedText:
        """Read the next key, or pasted text."""
        if self._handle is None or not self.terminal:
            return Key(sys.stdin.read(1))
        while True:
            text = self._chunk()
            if not text:
                return Key("")
            if text.startswith(_BEGIN):
                return PastedText(self._read_pasted(text.removeprefix(_BEGIN)))
            if text.startswith(ESCAPE):
                if text == ESCAPE and self._waiting():
                    text += self._chunk()
                if text in {ESCAPE, _PAGE_DOWN}:
                    return Key(ESCAPE if text == ESCAPE else MORE)
                text = _SEQUENCE.sub("", text)  # arrow keys have no meaning here
                if not text:
                    continue
            return Key(text) if len(text) == 1 else PastedText(text, marked=False)

    def _read_pasted(self, text: str) -> str:
        """Read pasted text to its end."""
        while _END not in text:
            chunk = self._chunk()
            if not chunk:
                break
            text += chunk
        return text.partition(_END)[0]

    def _chunk(self) -> str:
        assert self._handle is not None
        return os.read(self._handle, 1 << 16).decode(errors="ignore")

    def _waiting(self) -> bool:
        assert self._handle is not None
        return bool(select.select([self._handle], [], [], _SEQUENCE_SECONDS)[0])

    def _send(self, sequence: bytes) -> None:
        """Write to the terminal itself, because standard error may be redirected."""
        assert self._handle is not None
        try:
            os.write(self._handle, sequence)
        except OSError:  # the terminal is read-only: pasted text is then recognised by its speed
            return


_QUIT_KEYS = ("", "\x04", "q")
_CLEAR_KEY = "\x15"
_PASTED_MESSAGE = "pasted text is not a grade; nothing was rated"


def rate_by_keys(work: Rating | StoreRating | RemoteRating) -> None:
    """Show pairs and read keys until all pairs are rated, or the rater quits."""
    needs_display, page = True, 0
    with Keyboard() as keyboard:
        while (screen := work.screen) is not None:
            if needs_display:
                click.echo(render(screen, output_width(), page), err=True, nl=False)
            event = keyboard.read()
            if isinstance(event, PastedText):
                click.echo(_PASTED_MESSAGE, err=True)
                needs_display = False
                continue
            key = event.char.lower()
            if key in _QUIT_KEYS:
                return
            if key in screen.grades:
                work.rate(screen.grades[key][0])
                needs_display, page = True, 0
            elif key == MORE:
                needs_display, page = count_pages(screen) > 1, page + 1
            else:
                needs_display, page = _handle_key(work, key, keyboard), 0


def _handle_key(work: Rating | StoreRating | RemoteRating, key: str, keyboard: Keyboard) -> bool:
    """Handle a key that is not a grade; True if the screen must show another pair."""
    if key == "c":
        click.echo("why? (Enter: no reason, Esc: cancel) ", err=True, nl=False)
        reason = _read_line(keyboard)
        if reason is None:
            click.echo("cancelled", err=True)
            return False
        work.cannot_tell(reason)
    elif key == "s":
        work.skip()
    elif key == "u":
        if not work.undo():
            click.echo("nothing to undo", err=True)
            return False
    else:
        if key.strip() and key != ESCAPE:
            click.echo(f"{key!r} is not a key here", err=True)
        return False
    return True


def _read_line(keyboard: Keyboard) -> str | None:
    """Read a line until Enter; None if Esc cancels the input."""
    if not keyboard.terminal:
        line = sys.stdin.readline()
        return None if ESCAPE in line else line
    text = ""
    while True:
        event = keyboard.read()
        if isinstance(event, PastedText) and event.marked:
            text += _echo(" ".join(event.text.split()))
            continue
        for char in event.text if isinstance(event, PastedText) else event.char or "\n":
            if char in "\r\n":
                click.echo(err=True)
                return text
            if char == ESCAPE:
                return None
            if char in (BACKSPACE, "\b", _CLEAR_KEY):
                remaining = text[:-1] if char != _CLEAR_KEY else ""
                click.echo("\b \b" * (len(text) - len(remaining)), err=True, nl=False)
                text = remaining
            elif char.isprintable():
                text += _echo(char)


def _echo(text: str) -> str:
    printable = "".join(char for char in text if char.isprintable())
    click.echo(printable, err=True, nl=False)
    return printable


_CUT_MESSAGE = "an unfinished line at the end of the file was cut off"


@click.command("rate")
@shared_options.paths("pool")
@verb_options(rate, "rater NAME", "scale SCALE")
@verb_options(read_tasks, "queries", "documents")
@verb_options(rate, "guideline VERSION", "batch N")
@shared_options.from_formats("pools pool", "queries queries", "documents documents")
@shared_options.seed
@own_options("output FILE.jsonl -o", kinds={"output": click.Path()})
@store_options.instead_of_files(pool="batch")
@add_judge_options
@click.pass_context
def rate_command(
    ctx: click.Context,
    /,
    pool: str,
    *,
    rater: str | None,
    seed: int,
    output: str | None = None,
    stored: StoredProject | RemoteProject | None,
    judge: Judge | None,
    **arguments: Any,
) -> None:
    """Rate POOL at the terminal, one document at a time, one key per grade.

    Every rating is on disk before the next document is shown. c: can't tell, s: skip, u: undo,
    space: more of a long document, q: quit; the same command continues later. Pasted text is
    ignored. With --llm a language model rates: answered pairs are not asked again, failed requests
    give no grade, and the exit code is 3 if pairs are left. In a store its ratings count once it is
    admitted: rankgate store model admit.

    \b
    rankgate rate pool.csv --queries queries.csv --documents docs.csv -o ann.jsonl --rater ann
    rankgate rate pool.csv --queries queries.csv --documents docs.csv -o llm.jsonl \\
        --llm MODEL --key-from API_KEY --prices 0.5 1.5 --ceiling 20
    rankgate rate first --project shop --store sqlite:///judging.db --rater ann
    rankgate rate first --project shop --store sqlite:///judging.db --llm MODEL --key-from API_KEY
    \f

    Options:
        output: The file of ratings; new ones are appended, and work continues where it ended. Needed
            without --project.
    """
    if stored is not None:
        if output is not None:
            problem = "-o is for files; with --project ratings go into the store."
            raise UsageError(problem, code="conflicting-options")
        if judge is not None:
            ctx.exit(_run_model_in_store(stored, pool, judge))
        _rate_in_store(stored, pool, rater)
        return
    if output is None:
        problem = "name a file for the ratings with -o, or a store with --project."
        raise UsageError(problem, code="missing-input")
    check_paths(input_paths(), output)
    check_suffix(output, "jsonl")
    if judge is not None:
        if not (arguments["queries"] and arguments["documents"]):
            raise UsageError(
                "a language model needs texts; name --queries and --documents.", code="missing-input"
            )
        with LLMRating(pool, output, judge, rater=rater or "", **arguments) as asking:
            ctx.exit(_run_model(asking))
    with Rating(pool, output, rater or getpass.getuser(), seed=seed, **arguments) as work:
        if work.cut:
            click.echo(_CUT_MESSAGE, err=True)
        rate_by_keys(work)
        click.echo(f"rated {work.counted_pairs} of {work.total}; the ratings are in {output}", err=True)


def _rate_in_store(project: StoredProject | RemoteProject, batch: str, rater: str | None) -> None:
    """Rate a batch of a store, or of a server, at the terminal."""
    from rankgate.store.stored_project import StoredProject

    work: StoreRating | RemoteRating
    if isinstance(project, StoredProject):
        from rankgate.judging.store.store_rating import StoreRating

        work = StoreRating(project, batch, rater or getpass.getuser())
    else:
        from rankgate.judging.store.remote_rating import RemoteRating

        if rater:
            problem = "with a server, the rater is the user of the token; leave --rater out."
            raise UsageError(problem, code="conflicting-options")
        work = RemoteRating(project, batch)
    with work:
        rate_by_keys(work)
        rated_count, total = work.done, work.total
    click.echo(f"rated {rated_count} of {total}; the ratings are in {project.place}", err=True)


def _run_model_in_store(project: StoredProject | RemoteProject, batch: str, judge: Judge) -> int:
    """Let a model rate a batch of a store; return the exit code."""
    from rankgate.judging.models.job_run import rate_batch
    from rankgate.store.stored_project import StoredProject

    if not isinstance(project, StoredProject):
        raise UsageError(
            "a server calls models itself, with its own keys; start the job on the page Models, or with "
            "rankgate.Client.start_model.",
            code="conflicting-options",
        )
    work = rate_batch(project, batch, judge)
    with TerminalProgress(work.open_tasks):
        result = work.run()
    print_to_stderr(render_result(result, "text"))
    return result.status


def _run_model(work: LLMRating) -> int:
    """Let a model rate a pool; return the exit code."""
    if work.cut:
        click.echo(_CUT_MESSAGE, err=True)
    with TerminalProgress(work.open_pairs):
        result = work.run()
    print_to_stderr(render_result(result, "text"))
    return result.status
