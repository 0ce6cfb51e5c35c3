"""Startup of commands: limits of memory, options of all commands, help without their modules.

Under a memory limit, the user gets one clear error instead of a library's crash dump. Polars and
NumPy end the process when the system refuses them memory or threads, often after lines of their own
on standard error. If a limit is set (``ulimit -v``), a second process runs the command, with as few
threads as that takes, and the first one watches it.

The options of all commands may be before or behind a command's name.

The modules of most commands import NumPy and Polars, which takes longer than everything else that
help and usage errors need; both are made from ``commands.json``, which describes the commands.
`docs/_pages/described_commands.py` writes the file from the commands; a test proves that the file
matches the commands.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from math import isfinite
from mmap import mmap
from pathlib import Path
from typing import Any, NoReturn

import click

from rankgate.core.console.option_types import (
    AliasedChoice,
    DefiningCommand,
    FullHelpGroup,
    RenamedOption,
    SectionedCommand,
    SectionOption,
)
from rankgate.core.errors import NO_MEMORY

_LARGEST = (1 << 63) - 1  # what 64 bits hold


class _Limited(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A type of numbers that fit 64 bits: whole ones as a signed integer, others finite."""

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:  # noqa: ANN401 - as of click
        number: int | float = super().convert(value, param, context)
        if isinstance(number, float) and not isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, context)
        if isinstance(number, int) and abs(number) > _LARGEST:
            self.fail(f"a number of {len(str(number))} digits; the largest is {_LARGEST}.", param, context)
        return number


class _WholeNumber(_Limited, click.types.IntParamType):
    pass


class _WholeNumberRange(_Limited, click.IntRange):
    pass


class _FiniteNumber(_Limited, click.types.FloatParamType):
    pass


class _FiniteRange(_Limited, click.FloatRange):
    pass


_MANY_CHOICES = 12  # more of them are not listed in an error


class _NearestChoice(click.Choice):  # type: ignore[type-arg]  # generic since click 8.2
    """A choice of names; the error about another one names the nearest instead of all of many."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - as of click
        if len(self.choices) <= _MANY_CHOICES or not self.case_sensitive or value in self.choices:
            return super().convert(value, param, ctx)
        from difflib import get_close_matches  # imported here: few commands are misspelt

        nearest = get_close_matches(value, self.choices, 3) or self.choices[:_MANY_CHOICES]
        problem = f"{value!r} is not a choice; did you mean {', '.join(nearest)}?"
        if Path(value).exists():
            problem = f"{value!r} is a file, where a name such as {self.choices[0]} is needed first."
        raise click.BadParameter(problem, ctx, param)


_TYPES: Mapping[str, Callable[..., click.ParamType[Any]]] = {
    "AliasedChoice": AliasedChoice,
    "BoolParamType": lambda: click.BOOL,
    "Choice": _NearestChoice,
    "FloatParamType": _FiniteNumber,
    "FloatRange": _FiniteRange,
    "IntParamType": _WholeNumber,
    "IntRange": _WholeNumberRange,
    "Path": click.Path,
    "StringParamType": lambda: click.STRING,
}
_CLASSES: Mapping[str, Callable[..., click.Command]] = {
    "Command": click.Command,
    "DefiningCommand": DefiningCommand,
    "FullHelpGroup": FullHelpGroup,
    "SectionedCommand": SectionedCommand,
}


class CheckedCommand(click.Command):
    """A command that is loaded only if its arguments are valid.

    Args:
        described: the same command without callbacks.
        load: imports the command.
    """

    def __init__(self, described: click.Command, load: Callable[[], click.Command]) -> None:
        super().__init__(described.name)
        self._described = described
        self._load = load

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Write help or raise a usage error, else return the context of the loaded command."""
        try:
            with self._described.make_context(info_name, list(args), parent, **extra) as context:
                context.command.invoke(context)  # for groups: checks the arguments of subcommands
        except _NotDescribedError:
            pass
        return self._load().make_context(info_name, args, parent, **extra)


def described_command(name: str) -> click.Command | None:
    """The command without callbacks; None if the file does not describe the command."""
    lines = resources.files(__package__).joinpath("commands.json").read_text("utf-8").splitlines()
    prefix = f'"{name}": '
    line = next((line for line in lines if line.startswith(prefix)), None)
    return None if line is None else _command(name, json.loads(line[len(prefix) :].rstrip(",")))


def _command(name: str, description: Mapping[str, Any]) -> click.Command:
    attributes = dict(description)
    make_command = _CLASSES[attributes.pop("class")]
    if "commands" in attributes:
        subcommands = attributes["commands"].items()
        attributes["commands"] = {path: _command(path, entry) for path, entry in subcommands}
    return make_command(name, **attributes | {"params": [*map(_parameter, attributes["params"])]})


def _parameter(description: Mapping[str, Any]) -> click.Parameter:
    attributes = dict(description)
    declarations = attributes.pop("declarations")
    type_name, *type_arguments = attributes.pop("type")
    if attributes.pop("callback", False):
        attributes["callback"] = _ask_command
    attributes["type"] = (
        _TYPES[type_name](**dict(*type_arguments))
        if type_name in _TYPES
        else _NotDescribedType(*type_arguments)
    )
    if attributes.pop("renamed", False):
        return RenamedOption(declarations, **attributes)
    if not declarations[0].startswith("-"):
        return click.Argument(declarations, **attributes)
    return SectionOption(declarations, **{"section": "Options", **attributes})


class _NotDescribedError(Exception):
    """A value that only the loaded command can check."""


class _NotDescribedType(click.ParamType):  # type: ignore[type-arg]
    """A parameter type that only the command itself defines."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, *_: object) -> NoReturn:
        raise _NotDescribedError


def _ask_command(*_: object) -> NoReturn:
    """Take the place of a parameter's callback."""
    raise _NotDescribedError


_WATCHED_VARIABLE = "RANKGATE_WATCHED"
_OUT_OF_MEMORY_SIGNS = (
    NO_MEMORY.encode(),
    b"memory allocation",
    b"MemoryError",
    b"ImportError",  # NumPy cannot be mapped into memory
    b"start new thread",
    b"thread creation failed",
    b"failed to map segment",
    b"binary is missing",
    b"Resource temporarily",
    b"PanicException",
    b"internal error: SyntaxError",  # what the parser says without memory, of a module that is not compiled
    b"internal error: SystemError",  # C code without memory that raised no exception
)
_GATE_FAILED = 101  # for 1, with which OpenBLAS ends a process that gets no memory
_TAIL_BYTES = 1 << 16  # bytes at the end of standard error that are kept
_OPENBLAS_BYTES = 96 << 20  # its library and its buffer
_SMALL_LIMIT = 4 << 30  # below this limit the stacks and arenas of many threads take a large part of memory
# Polars' allocator starts background threads and repeats its error if it cannot
_ALLOCATOR = {"_RJEM_MALLOC_CONF": "background_thread:false"}
_ONE_THREAD = {
    "_RJEM_MALLOC_CONF": "background_thread:false,narenas:1",
    "MALLOC_ARENA_MAX": "1",
    "POLARS_MAX_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def run_watched() -> int | None:
    """Run this command in a watched process; None without a limit, or in the watched process.

    Returns:
        The exit code of the process; 2 if it ended for lack of memory.
    """
    limit = _address_limit()
    if limit is None:
        return None
    if _WATCHED_VARIABLE in os.environ:
        sys.meta_path.insert(0, _MemoryCheck)
        return None
    import subprocess  # imported here: most commands run without a limit
    import tempfile

    command = [sys.executable, "-m", "rankgate", *sys.argv[1:]]
    with tempfile.TemporaryFile() as errors:
        settings = (_ONE_THREAD if limit < _SMALL_LIMIT else _ALLOCATOR) | {_WATCHED_VARIABLE: "1"}
        process = subprocess.Popen(command, stderr=errors, env=settings | os.environ)
        while True:
            try:
                status = process.wait()
                break
            except KeyboardInterrupt:  # the watched command gets the signal too, and ends
                continue
        errors.seek(0, os.SEEK_END)
        errors.seek(max(errors.tell() - _TAIL_BYTES, 0))
        error_output = errors.read()
    is_out_of_memory = any(sign in error_output for sign in _OUT_OF_MEMORY_SIGNS)
    if status == 0 or (status > 1 and not is_out_of_memory):
        sys.stderr.buffer.write(error_output)
        return 1 if status == _GATE_FAILED else status
    sys.stderr.write(
        f"rankgate: {NO_MEMORY}: {limit >> 20:,} MB are allowed (ulimit -v); allow more, or split the "
        "files.\n"
    )
    return 2


def watched_status(status: int) -> int:
    """The exit code for a process that watches this one, which tells a failed gate from a library's exit."""
    return _GATE_FAILED if status == 1 and _WATCHED_VARIABLE in os.environ else status


class _MemoryCheck:
    """A finder of no module; it raises a MemoryError if there is no room for NumPy or SciPy.

    OpenBLAS asks for a buffer when it is loaded. Without memory some versions of it try again forever.
    """

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name.startswith(("numpy.", "scipy.")):
            try:
                mmap(-1, _OPENBLAS_BYTES).close()
            except OSError:
                raise MemoryError from None


def _address_limit() -> int | None:
    """The bytes that this process may address; None without a limit."""
    try:
        import resource
    except ImportError:
        return None
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


OPTIONS_WITH_VALUE = ("--plugin",)
FLAGS = ("--quiet", "--verbose", "--no-color")


def move_global_options_first(arguments: Sequence[str]) -> list[str]:
    """Return the words of a call with the options of all commands first.

    >>> move_global_options_first(["eval", "qrels.txt", "--plugin", "mine.py", "a.run"])
    ['--plugin', 'mine.py', 'eval', 'qrels.txt', 'a.run']
    >>> move_global_options_first(["eval", "--", "--plugin", "a.run"])
    ['eval', '--', '--plugin', 'a.run']
    """
    global_options, remaining = [], []
    iterator = iter(arguments)
    for word in iterator:
        if word == "--":
            remaining += [word, *iterator]
        elif word in FLAGS or word.startswith(tuple(f"{name}=" for name in OPTIONS_WITH_VALUE)):
            global_options.append(word)
        elif word in OPTIONS_WITH_VALUE:
            global_options += [word, *_next_word(iterator)]
        else:
            remaining.append(word)
    return global_options + remaining


def _next_word(iterator: Iterator[str]) -> list[str]:
    """The value of an option; if it is missing, click reports the error."""
    return [word for word in [next(iterator, None)] if word is not None]
