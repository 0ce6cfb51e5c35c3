"""Terminal output of commands: results, progress, colours, quiet mode and ``--record``."""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import option
from rankgate.core.console.shared_options import write_output
from rankgate.core.declare import Parameter
from rankgate.core.errors import UsageError, replace_controls
from rankgate.core.present.document_model import make_printable
from rankgate.core.present.lazy_names import load_upper
from rankgate.core.present.text_tables import WIDTH, wrap_line
from rankgate.core.present.write_results import FORMS, render_result, result_json
from rankgate.core.progress import progress

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command
    from rankgate.core.present.base_result import Result


def is_quiet() -> bool:
    """True if progress and summaries are left out (``--quiet``)."""
    return _is_set("quiet")


def uses_colours() -> bool:
    """True if colours may be used: not with ``--no-color`` or NO_COLOR, nor at a dumb terminal."""
    colours_disabled = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not (colours_disabled or _is_set("no_color"))


def _is_set(name: str) -> bool:
    """The value of a flag of the program; false if a command is called without the program."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().params.get(name))


_LEAST, _NARROW, _WIDE = 40, 80, 160

# GitHub and Azure run lines such as ::error:: and ##[error] in the output of a job as commands
_COMMAND = re.compile(r"(?m)^(\s*):(?=:)|(?<=#)#(?=\[|vso\[)")

# the first line, a heading, and a label at the beginning of a line, with two blanks behind it
_BARS = re.compile("█+|░+")
_LABEL = re.compile(r"^( *)(\S+(?: \S+)*?)(?=  )")


def output_width(output: str | None = None) -> int:
    """The columns that a text may take: a terminal's, between 40 and 160; elsewhere 80."""
    if output not in (None, "-") or not sys.stdout.isatty():
        return _NARROW
    return max(_LEAST, min(shutil.get_terminal_size((_NARROW, 24)).columns, _WIDE))


def style_output(text: str, form: str, output: str | None = None) -> str:
    """A text for people: without commands to a build server, coloured at a terminal.

    Args:
        text: the rendered text.
        form: its form; only ``text`` is for people.
        output: the file for the result, if not the terminal; a file has no colours.
    """
    if form != "text":
        return text
    text = replace_controls(remove_server_commands(text))
    is_plain = output not in (None, "-") or not sys.stdout.isatty()
    if is_plain or not uses_colours():
        return text
    return colour_text(text)


def remove_server_commands(text: str) -> str:
    r"""The same text without build-server commands that an id or a query could contain.

    >>> remove_server_commands("a::b\n::error::c\n##[error]d\n")
    'a::b\n�:error::c\n#�[error]d\n'
    """
    return _COMMAND.sub(lambda match: f"{match[1] or ''}�", text)


def colour_text(text: str) -> str:
    r"""The same text with a bold title and coloured labels and bars; the layout is unchanged.

    >>> colour_text("trec\nsource  a page\n")
    '\x1b[1mtrec\x1b[0m\n\x1b[36msource\x1b[0m  a page\n'
    """
    title, *lines = text.split("\n")
    return "\n".join([click.style(title, bold=True), *map(_colour_line, lines)])


def _colour_line(line: str) -> str:
    line_with_bars = _BARS.sub(
        lambda match: click.style(match[0], fg="blue" if match[0][0] == "█" else "yellow"), line
    )
    return _LABEL.sub(lambda match: match[1] + click.style(match[2], fg="cyan"), line_with_bars, count=1)


_CLEAR = "\r\x1b[K"
_FIRST_ESTIMATE = 5.0  # seconds: an estimate of less time is not useful
_MINUTE = 60


PROGRESS_VARIABLE = "RANKGATE_PROGRESS"
"""The environment variable that makes progress lines of a log without a terminal."""

_LOG_INTERVAL = 1.0
"""Seconds between two lines of progress in a log."""


class TerminalProgress:
    """One line on standard error that names the current step; silent outside of a terminal.

    It shows the steps that are reported inside ``with Progress(total):``. After some seconds it
    has an estimate of the time that is left, as if all steps took the same time.

    Args:
        total: the number of steps; a single step is not shown.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        dumb = os.environ.get("TERM") == "dumb"  # such a terminal prints escape sequences as text
        self.watched = total > 1 and sys.stderr.isatty() and not dumb and not is_quiet()
        self.logged = total > 1 and not self.watched and PROGRESS_VARIABLE in os.environ
        self._began = self._logged_at = time.monotonic()
        self._reporting: AbstractContextManager[None] = progress(self)

    def __call__(self, name: str) -> None:
        """Report that the next step begins."""
        self.done += 1
        if self.watched:
            time_left = format_time_left(time.monotonic() - self._began, self.done - 1, self.total)
            line = f"{_CLEAR}{self.done}/{self.total} {name}{time_left}"
            click.echo(line, err=True, nl=False)
        elif self.logged and time.monotonic() > self._logged_at + _LOG_INTERVAL:
            self._logged_at = time.monotonic()
            click.echo(f"step {self.done} of {self.total}", err=True)

    def __enter__(self) -> Self:
        self._reporting.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._reporting.__exit__(None, None, None)
        if self.watched and self.done:
            click.echo(_CLEAR, err=True, nl=False)


def format_time_left(seconds: float, steps_done: int, total: int) -> str:
    """Text for the remaining time at the end of a line; empty without an estimate.

    >>> (format_time_left(30, 1, 4), format_time_left(20, 1, 19), format_time_left(5, 1, 2))
    (', about 90 s left', ', about 6 min left', ', about 5 s left')
    >>> (format_time_left(4.9, 1, 4), format_time_left(20, 0, 4))
    ('', '')
    """
    if steps_done < 1 or seconds < _FIRST_ESTIMATE:
        return ""
    seconds_left = seconds / steps_done * (total - steps_done)
    if seconds_left > 2 * _MINUTE:
        return f", about {seconds_left / _MINUTE:.0f} min left"
    return f", about {seconds_left:.0f} s left"


_RECORD_KEY = "rankgate.record"
_RECORD = Parameter(
    "record",
    "bool",
    "Record the result for rankgate history, in the folder RANKGATE_HISTORY, or in the RANKGATE_PROJECT of "
    "RANKGATE_STORE.",
    default=False,
)


def with_record_option(function: Command) -> Command:
    """``--record`` of a command that prints a result with figures."""

    @functools.wraps(function)
    def noted(*args: Any, record: bool, **options: Any) -> object:
        click.get_current_context().meta[_RECORD_KEY] = record
        return function(*args, **options)

    return option(_RECORD)(noted)


_SERVICES_KEY = "rankgate-services"
_ALSO = Parameter(
    "also",
    "texts",
    "Send the figures, without queries and documents, as OpenTelemetry metrics of this service to "
    "OTEL_EXPORTER_OTLP_ENDPOINT.",
    (),
)


def with_figures_options(function: Command) -> Command:
    """``--record``, and ``--also otlp=SERVICE``, of a command that prints a result with figures."""

    @functools.wraps(function)
    def noted(*args: Any, also: tuple[str, ...], **options: Any) -> object:
        click.get_current_context().meta[_SERVICES_KEY] = [_read_service(text) for text in also]
        return function(*args, **options)

    return with_record_option(option(_ALSO, metavar="otlp=SERVICE", multiple=True)(noted))


def _read_service(text: str) -> str:
    form, _, service = text.partition("=")
    if form != "otlp" or not service:
        problem = f"--also {text}: write otlp=SERVICE, the name of the service that the figures are of."
        raise UsageError(problem, code="invalid-syntax")
    return service


def send_figures(result: Result, service: str) -> None:
    """Send the figures of a result as OpenTelemetry metrics."""
    load_upper("send_figures")(result, service)


def record_if_requested(result: Result) -> None:
    """Record the result of the running command, if ``--record`` was given.

    Raises:
        UsageError: no place is named; it cannot be written.
    """
    context = click.get_current_context(silent=True)
    if context is not None and context.meta.get(_RECORD_KEY):
        record_now(result)


def record_now(result: Result) -> None:
    """Record the result of the running command, and print its location."""
    record = load_upper("record")(result, click.get_current_context().params)
    if record is not None:
        for line in str(record).splitlines()[:1]:
            click.echo(line, err=True)
        for notice in record.notices:
            click.echo(f"warning: {notice.text}", err=True)


def print_result(result: Result, form: str, output: str | None = None, **options: Any) -> None:
    """Print a result, or write it to a file in one step.

    Args:
        result: the result of the verb.
        form: one of ``present.write.FORMS``.
        output: a file; None and ``-`` are standard output.
        options: as the result's ``document`` takes them (``to_dict`` for JSON).

    Raises:
        UsageError: the file cannot be written, or the figures cannot be sent.
    """
    record_if_requested(result)
    if form == "json":
        write_output(result_json(result, options), output)
    else:
        text = render_result(result, form, output_width(output), **options)
        write_output(style_output(text, form, output), output)
    context = click.get_current_context(silent=True)
    for service in context.meta.get(_SERVICES_KEY, ()) if context is not None else ():
        send_figures(result, service)


def prints(function: Command) -> Command:
    """``--format`` and ``-o``; prints the result that the command returns, and exits with its status."""

    @functools.wraps(function)
    def printed(*args: Any, form: str, output: str | None, **options: Any) -> None:
        _print_and_exit(function(*args, **options), form, output)

    return shared_options.form(*FORMS)(shared_options.output(printed))


def prints_to_stdout(function: Command) -> Command:
    """``--format``; prints the result that the command returns, and exits with its status."""

    @functools.wraps(function)
    def printed(*args: Any, form: str, **options: Any) -> None:
        _print_and_exit(function(*args, **options), form)

    return shared_options.form(*FORMS)(printed)


def _print_and_exit(result: Any, form: str, output: str | None = None) -> None:
    print_result(result, form, output)
    if status := getattr(result, "status", 0):
        click.get_current_context().exit(status)


def print_summary(lines: Iterable[str]) -> None:
    """Print sentences for people on standard error.

    Args:
        lines: a paragraph each; the result itself goes to standard output or to a file.
    """
    if is_quiet():
        return
    for line in lines:
        print_to_stderr("\n".join(wrap_line(make_printable(line), WIDTH)) + "\n")


def print_to_stderr(text: str) -> None:
    """Print a text for people on standard error, without commands to a build server."""
    click.echo(remove_server_commands(text), nl=False, err=True)


def open_page(page: str) -> None:
    """Write a page to a temporary file that only the user can read, and open it in the browser.

    The address is printed, also for machines without a browser. Without a terminal nobody is there to
    look, and no browser is opened.

    Args:
        page: HTML that loads nothing.
    """
    import webbrowser  # imported here: few commands show pages
    from tempfile import NamedTemporaryFile

    with NamedTemporaryFile("w", encoding="utf-8", prefix="rankgate-", suffix=".html", delete=False) as file:
        file.write(page)
    address = Path(file.name).as_uri()
    is_open = sys.stderr.isatty() and webbrowser.open(address)
    click.echo(f"page: {address}" + ("" if is_open else " (not opened; open it in a browser)"), err=True)
