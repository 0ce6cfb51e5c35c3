"""Arguments and options that commands share: a name means the same in all of them.

Options of metrics and conventions are in `rankgate.measurement.metric_options`, those of a store in
`rankgate.measurement.store_options`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rankgate.core.console.name_types import FORMAT
from rankgate.core.console.places import check_paths, input_paths
from rankgate.core.console.sections import COLLECTION, OUTPUT, SectionOption
from rankgate.core.present.resolve import load_upper
from rankgate.core.target import suffix_of

if TYPE_CHECKING:
    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class RenamedOption(click.Option):
    """An option that was called ``--set``, which is accepted but not listed in the help."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Add the option under both names."""
        super().add_to_parser(parser, ctx)
        parser.add_option(obj=self, opts=["--set"], dest=self.name, action="append")


qrels = click.argument("qrels", type=click.Path())
runs = click.argument("runs", type=click.Path(), nargs=-1, required=True, metavar="RUN...")
run = click.argument("run", type=click.Path())


def parameters(help_text: str) -> Decorator:
    """``--parameter NAME=VALUE`` of what a command chose by name."""
    return click.option(
        "--parameter",
        "parameters",
        cls=RenamedOption,
        multiple=True,
        metavar="NAME=VALUE",
        help=help_text,
    )


seed = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The seed of the random numbers.",
)
resamples = click.option(
    "--resamples",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="The number of resamples for an interval.",
)
scale = click.option(
    "--scale",
    metavar="SCALE",
    help="The rating scale: binary, graded (0 to 3), detail (1 to 10), a range such "
    "as 0..4, or a list such as 0,1,10,100.",
)
from_option = click.option(
    "--from",
    "from_",
    metavar="FORMAT",
    type=FORMAT,
    help="The format of the input; detected without it (see rankgate formats).",
)


def from_formats(*inputs: str, flag: str = "--from") -> Decorator:
    """``--from FORMAT`` of the files that a command reads.

    A format that holds runs alone is that of the runs, one that holds judgments alone that of the
    judgments. Files whose format is named, as in ``FORMAT:PATH``, keep theirs.

    Args:
        inputs: what files hold, and the arguments that name such files, as in ``"runs old new"``;
            judgments, runs, ratings, queries, documents, or tables, logs, pools and sheets, which
            are in any format of tables.
        flag: the option, where ``--from`` is another one of the command.
    """
    arguments: dict[str, list[str]] = {}
    for spec in inputs:
        content, *names = spec.split()
        arguments.setdefault(content, []).extend(names)
    *first_kinds, last_kind = arguments
    contents = f"{', '.join(first_kinds)} and {last_kind}" if first_kinds else last_kind
    restriction = ", of those that it can hold" if first_kinds else ""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def named(*args: Any, from_format: str | None, **values: Any) -> Any:
            if from_format is not None:
                paths = {
                    content: {name: values[name] for name in names if name in values}
                    for content, names in arguments.items()
                }
                values |= load_upper("paths_in_format")(from_format, paths)
            return function(*args, **values)

        return click.option(
            flag,
            "from_format",
            metavar="FORMAT",
            type=FORMAT,
            help=f"The format of the {contents}{restriction}; detected without it (see rankgate "
            "formats). FORMAT:PATH names that of one file.",
        )(named)

    return decorate


def table_columns(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--columns`` and ``--grades`` of files that are tables, as a collection states them."""

    @functools.wraps(function)
    def read(*args: Any, grades: tuple[str, ...], **options: Any) -> Any:
        from rankgate.core.console.pairs import parse_labelled_numbers

        return function(*args, grades=parse_labelled_numbers(grades, "--grades"), **options)

    labels = click.option(
        "--grades",
        cls=SectionOption,
        section=COLLECTION,
        multiple=True,
        metavar="LABEL=GRADE,...",
        help="The grade of each label, where judgments hold labels, as in Exact=3,Partial=1. "
        "May be given several times.",
    )
    columns = click.option(
        "--columns",
        cls=SectionOption,
        section=COLLECTION,
        metavar="NAME=COLUMN,...",
        help="The columns of files that have no usual name, as in "
        "query=search_term,doc=sku,grade=final_rating; grades of several raters side by side are "
        "grade=ann+bob or grade=rater_*.",
    )
    return columns(labels(read))


as_kind = click.option(
    "--as",
    "as_",
    type=click.Choice(["qrels", "run"]),
    help="Read the input as judgments or as a run, if it could be either.",
)


def output(function: Callable[..., Any]) -> Callable[..., Any]:
    """``-o``, which may be none of the files that the command reads."""

    @functools.wraps(function)
    def checked(*args: Any, output: str | None, **options: Any) -> Any:
        check_paths(input_paths(), output)
        return function(*args, output=output, **options)

    output_option = click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=click.Path(),
        help="Write to FILE instead of standard output; a failed write leaves no partial file.",
        cls=SectionOption,
        section=OUTPUT,
    )
    return output_option(checked)


def form(*forms: str) -> Decorator:
    """``--format`` with the forms of a command, the default first.

    Without it the suffix of the output's name decides.
    """

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        option_names = {option.name for option in getattr(function, "__click_params__", ())}
        by_suffix = "; by default inferred from the suffix of FILE"
        format_option = click.option(
            "--format",
            "form",
            type=click.Choice(forms),
            default=forms[0],
            show_default=True,
            help=f"The output format{by_suffix if option_names & {'output', 'target'} else ''}.",
            cls=SectionOption,
            section=OUTPUT,
        )

        @functools.wraps(function)
        def chosen(*args: Any, form: str, **options: Any) -> Any:
            output_path = options.get("output") or "-"
            source = click.get_current_context().get_parameter_source("form")
            if suffix_of(output_path) and source is not ParameterSource.COMMANDLINE:
                from rankgate.core.present.suffixes import find_form

                form = find_form(output_path, forms, ", or give --format")
            return function(*args, form=form, **options)

        return format_option(chosen)

    return decorated
