"""Arguments and options that commands share: inputs, outputs, backends, repetition.

A name means the same in all commands. Options of metrics and conventions are in
`rankgate.measurement.metric_options`, those of a store in
`rankgate.measurement.store_options`.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankgate.core.console.declared_options import option, parse_labelled_numbers
from rankgate.core.console.option_types import COLLECTION, OUTPUT, RenamedOption
from rankgate.core.declare import Parameter, Range
from rankgate.core.errors import UsageError
from rankgate.core.output_files import suffix_of
from rankgate.core.present.lazy_names import load_upper

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command, Decorator


_CHUNK_SIZE = 1 << 15


def input_paths() -> tuple[str, ...]:
    """The files that the running command reads: the values of its parameters that are paths."""
    context = click.get_current_context()
    paths: list[str] = []
    for parameter in context.command.params:
        if (
            isinstance(parameter.type, click.Path)
            and not parameter.type.writable
            and parameter.name != "output"
        ):
            value = context.params[str(parameter.name)]
            paths += value if isinstance(value, tuple) else [value] if value else []
    return tuple(paths)


def check_paths(inputs: Sequence[str], output: str | None = None) -> None:
    """Check that standard input is read once, and that the output is writable and not an input.

    An input may be ``NAME:PATH``, where the name is of a format.

    Raises:
        UsageError: options that conflict, with the remedy.
    """
    paths = [load_upper("path_of_input")(source) for source in inputs]
    if paths.count("-") > 1:
        raise UsageError(
            "'-' is given for two inputs, but standard input can be read only once; name a file.",
            code="stdin-twice",
        )
    if output in (None, "-"):
        return
    target = Path(str(output))
    if target.is_dir():
        raise UsageError(f"{output}: a folder, where a file is to be written.", code="cannot-write")
    if not target.parent.is_dir():
        raise UsageError(
            f"{output}: there is no folder {target.parent}; create it first.", code="cannot-write"
        )
    for path in paths:
        if target.exists() and Path(path).exists() and target.samefile(path):
            raise UsageError(f"{output}: would replace an input; name another file.", code="output-is-input")


def write_output(text: str | bytes | Iterator[str], output: str | None = None) -> None:
    """Write a result to standard output, or to a file that is replaced in one step.

    Args:
        text: words, or pieces of them; or the bytes of a picture.
        output: a file; None and ``-`` are standard output.

    Raises:
        UsageError: the file cannot be written.
    """
    if output in (None, "-"):
        # in pieces, as an unbuffered stream reports a closed reader only at the next write
        for piece in (text,) if isinstance(text, str | bytes) else text:
            for begin in range(0, len(piece), _CHUNK_SIZE):
                click.echo(piece[begin : begin + _CHUNK_SIZE], nl=False, color=True)  # ids keep their escapes
        return
    from rankgate.core.output_files import save_file

    save_file(str(output), text)


def paths(*specs: str) -> Decorator:
    """Arguments that are files: a name, and optionally what the help calls it, as in ``"log LOG"``.

    ``[name]`` may be left out, ``name...`` takes several.
    """

    def decorate(function: Command) -> Command:
        for spec in reversed(specs):
            name, _, metavar = spec.partition(" ")
            count = -1 if "..." in name else 1
            function = click.argument(
                name.strip("[]."),
                type=click.Path(),
                nargs=count,
                required="[" not in name,
                metavar=metavar or None,
            )(function)
        return function

    return decorate


qrels, run, runs = paths("qrels"), paths("run"), paths("runs... RUN...")


def parameters(help_text: str) -> Decorator:
    """``--parameter NAME=VALUE`` for the object that a command chose by name."""
    return click.option(
        "--parameter", "parameters", cls=RenamedOption, multiple=True, metavar="NAME=VALUE", help=help_text
    )


seed = option(Parameter("seed", "int", "The seed of the random numbers.", 0, range=Range(0)))
SCALE_HELP = (
    "The rating scale: binary, graded (0 to 3), detail (1 to 10), a range such as 0..4, or a list such as "
    "0,1,10,100."
)
scale = option(Parameter("scale", help=SCALE_HELP), metavar="SCALE")
from_option = option(
    Parameter("from_", help="The format of the input; detected without it (see rankgate formats)."),
    metavar="FORMAT",
)


def from_formats(*inputs: str, flag: str = "--from") -> Decorator:
    """``--from FORMAT`` of the files that a command reads.

    A format that holds only runs applies to the runs, and a format that holds only judgments
    applies to the judgments. Files with an explicit format, as in ``FORMAT:PATH``, keep it.

    Args:
        inputs: the contents of files, and the arguments that name such files, as in ``"runs old
            new"``; judgments, runs, ratings, queries, documents, or tables, logs, pools and sheets,
            which are in any format of tables.
        flag: the name of the option, if the command does not call it ``--from``.
    """
    arguments: dict[str, list[str]] = {}
    for spec in inputs:
        content, *names = spec.split()
        arguments.setdefault(content, []).extend(names)
    *first_kinds, last_kind = arguments
    contents = f"{', '.join(first_kinds)} and {last_kind}" if first_kinds else last_kind
    restriction = ", if it can hold them" if first_kinds else ""

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def with_formats(*args: Any, from_format: str | None, **values: Any) -> object:
            if from_format is not None:
                paths = {
                    content: {name: values[name] for name in names if name in values}
                    for content, names in arguments.items()
                }
                values |= load_upper("paths_in_format")(from_format, paths)
            return function(*args, **values)

        help_ = (
            f"The format of the {contents}{restriction}; detected without it (see rankgate formats). "
            "FORMAT:PATH names that of one file."
        )
        return option(Parameter("from_format", help=help_), flag, metavar="FORMAT")(with_formats)

    return decorate


def table_columns(function: Command) -> Command:
    """``--columns`` and ``--grades`` for files that are tables, as in a collection file."""

    @functools.wraps(function)
    def read(*args: Any, grades: tuple[str, ...], **options: Any) -> object:
        return function(*args, grades=parse_labelled_numbers(grades, "--grades"), **options)

    labels = Parameter(
        "grades",
        help="The grade of each label, where judgments hold labels, as in Exact=3,Partial=1.",
        default=(),
    )
    columns = Parameter(
        "columns",
        help="The columns of files that have no usual name, as in "
        "query=search_term,doc=sku,grade=final_rating; grades of several raters side by side are "
        "grade=ann+bob or grade=rater_*.",
    )
    with_labels = option(labels, metavar="LABEL=GRADE,...", multiple=True, section=COLLECTION)(read)
    return option(columns, metavar="NAME=COLUMN,...", section=COLLECTION)(with_labels)


as_kind = option(
    Parameter(
        "as_",
        "choice",
        "Read the input as judgments or as a run, if it could be either.",
        choices=("qrels", "run"),
    )
)


def output(function: Command) -> Command:
    """``-o``; it must not be one of the files that the command reads."""

    @functools.wraps(function)
    def checked(*args: Any, output: str | None, **options: Any) -> object:
        check_paths(input_paths(), output)
        return function(*args, output=output, **options)

    help_ = "Write to FILE instead of standard output; a failed write leaves no partial file."
    return option(Parameter("output", help=help_), "-o", metavar="FILE", section=OUTPUT)(checked)


def form(*forms: str) -> Decorator:
    """``--format`` with the forms of a command, the default first.

    Without the option, the suffix of the output's name decides.
    """

    def decorated(function: Command) -> Command:
        option_names = {option.name for option in getattr(function, "__click_params__", ())}
        by_suffix = "; by default inferred from the suffix of FILE"
        help_ = f"The output format{by_suffix if option_names & {'output', 'target'} else ''}."
        declared = Parameter("form", "choice", help_, forms[0], choices=forms)

        @functools.wraps(function)
        def with_options(*args: Any, form: str, **options: Any) -> object:
            output_path = options.get("output") or "-"
            source = click.get_current_context().get_parameter_source("form")
            if suffix_of(output_path) and source is not ParameterSource.COMMANDLINE:
                from rankgate.core.output_files import find_form

                form = find_form(output_path, forms, ", or give --format")
            return function(*args, form=form, **options)

        return option(declared, "--format", section=OUTPUT)(with_options)

    return decorated


_BACKEND = Parameter(
    "backend",
    "choice",
    "Run on this machine, or on Apache Spark (needs Java and rankgate[spark]).",
    "local",
    choices=("local", "spark"),
)
_MASTER = Parameter(
    "master",
    help="The Spark master, such as local[4] or spark://host:7077; by default that of spark-submit, or all "
    "cores of this machine.",
)


def backend_options(function: Command) -> Command:
    """``--backend`` and ``--master`` of a command.

    With ``--backend spark`` the command is called with tables on Spark instead of its files, which
    the hook ``on_spark`` makes; its verb measures them there.
    """

    @functools.wraps(function)
    def with_options(*args: Any, backend: str, master: str | None, **options: Any) -> object:
        if backend == "spark":
            with load_upper("on_spark")(master, options) as tables:
                return function(*args, **tables)
        if master is not None:
            problem = "--master needs --backend spark; give both or neither."
            raise UsageError(problem, code="unused-option")
        return function(*args, **options)

    return option(_BACKEND)(option(_MASTER, metavar="URL")(with_options))


_OMITTED_OPTIONS = ("form", "output")


def repeat_arguments(context: click.Context, only: Collection[str] = ()) -> list[str]:
    """The arguments and options of the running command, without ``--format`` and ``--output``.

    Args:
        context: the context of the command.
        only: names of options; empty is everything.
    """
    arguments: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        is_repeated = name in only if only else name not in _OMITTED_OPTIONS
        if not is_repeated or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        texts = [str(raw_value) for raw_value in (value if isinstance(value, tuple) else (value,))]
        if isinstance(parameter, click.Argument):
            arguments += texts
        elif getattr(parameter, "is_flag", False):
            arguments.append(parameter.opts[-1])
        else:
            arguments += [argument for text in texts for argument in (parameter.opts[-1], text)]
    return arguments
