"""The command ``rankgate trec_eval``, which takes the options of trec_eval and prints its output.

Its arguments are trec_eval's, which click does not parse. Help and wrong arguments need no tables:
the modules that score are imported when the arguments are right.
"""

from __future__ import annotations

import getopt
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, get_args

import click

from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.measurement.evaluation.trec.trec_words import AbsentQueryError, Relevance, atol

_HELP = """\
Usage: rankgate trec_eval [--te9] [OPTIONS] QRELS RUN

Evaluate RUN (- is standard input) against QRELS and print what trec_eval prints.

  -h, --help                         Show this; with -m, also the metrics' descriptions.
  -v, --version                      Show the version.
  -q, --query_eval_wanted            Print the block of each query, then the summary.
  -n, --nosummary                    Leave the summary out.
  -m, --measure NAME[.PARAMETERS]    Compute this metric, such as ndcg_cut.5,10, or these:
                                     official (without -m), set, all_trec. Can be repeated.
  -c, --complete_rel_info_wanted     Queries that RUN lacks count, with 0.
  -l, --level_for_rel LEVEL          The smallest grade that counts as relevant; 1 without it.
  -J, --Judged_docs_only             Take unjudged documents out of the rankings first.
  -M, --Max_retrieved_per_topic MAX  Count only the first MAX documents of each query.
  -N, --Number_docs_in_coll COUNT    Documents in the collection, for the metric utility.
  -R, --Rel_info_format FORMAT       The format of QRELS: qrels, prefs (query group subgroup
                                     document level), qrels_prefs (grades as preferences) or
                                     qrels_jg (the second field is the group of judges). With
                                     prefs and qrels_prefs also -m prefs_compat.p=0.95, which
                                     trec_eval has not: likeness to the ideal of preferences.
  -Z, --Zscore MEANS                 Print z-scores; MEANS has lines of query, metric, mean and
                                     standard deviation among other runs.
  -T, --Results_format trec_results  The format of RUN; no other is read.
      --te9                          Compute as trec_eval 9 does: scores as 32-bit floats,
                                     its recall points; no rbp, rbp_resid, unj.
"""

_TE10, _TE9 = "10.0-rc3, as rankgate computes it", "9.0.8, as rankgate computes it"
_SHORT = "hvqm:cl:nJN:M:R:T:Z:"
_LONG = {
    "help": "h",
    "version": "v",
    "query_eval_wanted": "q",
    "measure=": "m",
    "complete_rel_info_wanted": "c",
    "level_for_rel=": "l",
    "nosummary": "n",
    "Judged_docs_only": "J",
    "Number_docs_in_coll=": "N",
    "Max_retrieved_per_topic=": "M",
    "Rel_info_format=": "R",
    "Results_format=": "T",
    "Zscore=": "Z",
    "te9": "te9",
}
_NUMBERS = {"l": "level", "M": "depth", "N": "documents"}
_SWITCHES = {"c": "complete", "J": "judged_only", "te9": "te9"}
_FORMATS = {"R": get_args(Relevance), "T": ("trec_results",)}
_CANNOT_CALCULATE, _NOTHING = 4, 7  # trec_eval's exit codes
_USAGE_CODES = frozenset({"wrong-arguments", "unknown-measure"})  # its exit code 1
_NO_SHARED_QUERY = "queries-differ"  # exit code 7
_INCALCULABLE_CODES = frozenset({"wrong-coefficients", "unsupported-metric"})  # exit code 4
_WITHOUT_RANKING = frozenset({"runid", "num_q"})  # values that need no documents
_MEASURE = re.compile(r"^-m ([^.:]+)")
_DOCUMENT = re.compile(r"^document '(.*?)' is (?:ranked|judged) twice")


@dataclass
class _Call:
    """The arguments of a call, grouped by kind."""

    flags: set[str] = field(default_factory=set)
    metrics: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)


class _Verbatim(click.Command):
    """A command with unparsed arguments, because trec_eval's rules differ from click's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["words"] = list(args)
        return []

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        return _HELP.rstrip()


@click.command("trec_eval", cls=_Verbatim, add_help_option=False)
def trec_eval_command(words: Sequence[str]) -> None:
    """Print what trec_eval prints, byte for byte.

    \b
    rankgate trec_eval -q -c -m ndcg_cut.5,10 qrels.txt bm25.run
    """
    try:
        evaluate(words)
    except AbsentQueryError as error:
        _exit_at_absent(error, _parse_call(words))
    except (InputError, UsageError) as error:
        _exit_with(error)


def evaluate(arguments: Sequence[str]) -> None:
    """Run one call of trec_eval; errors are raised."""
    call = _parse_call(arguments)
    if "v" in call.flags:
        click.echo(f"trec_eval version {_TE9 if 'te9' in call.options else _TE10}", err=True)
    elif "h" in call.flags:
        _print_help(call)
    else:
        qrels, run = _files(call)
        from rankgate.measurement.evaluation.trec.trec_eval import render, trec_eval

        try:
            result = trec_eval(qrels, run, call.metrics or ["official"], **call.options)
        except DuplicateError as error:
            _exit_at_duplicate(error, call)
        for piece in render(result, per_query="q" in call.flags, summary="n" not in call.flags):
            sys.stdout.write(piece)


def _exit_with(error: InputError | UsageError) -> NoReturn:
    """Exit with trec_eval's code (1, 2, 4 or 7), after its output line if there is one."""
    code = 1 if error.code in _USAGE_CODES else _NOTHING if error.code == _NO_SHARED_QUERY else 2
    if error.code in _INCALCULABLE_CODES and (measure := _MEASURE.match(str(error))):
        code = _CANNOT_CALCULATE
        click.echo(f"trec_eval: Can't calculate measure '{measure[1]}'", err=True)
    elif error.code == _NO_SHARED_QUERY:
        click.echo("trec_eval: No queries with both results and relevance info", err=True)
    elif isinstance(error, InputError) and error.source:
        click.echo(f"trec_eval: Quit in file '{error.source}'", err=True)
    click.echo(f"rankgate: {error}", err=True)
    raise click.exceptions.Exit(code)


def _exit_at_duplicate(error: DuplicateError, call: _Call) -> NoReturn:
    """Exit with trec_eval's output and code if a document is repeated for a query."""
    from rankgate.measurement.evaluation.trec.trec_columns import parse_columns

    relevance = call.options.get("relevance", "qrels")
    requested_columns = parse_columns(
        call.metrics or ["official"], te9="te9" in call.options, relevance=relevance
    )
    first = next((column.name for column in requested_columns if column.name not in _WITHOUT_RANKING), "")
    if duplicate_match := _DOCUMENT.search(error.problem):
        click.echo(f"trec_eval.form_res_rels: duplicate docs {duplicate_match[1]}", err=True)
    click.echo(f"trec_eval: Can't calculate measure '{first}'", err=True)
    click.echo(f"rankgate: {error}", err=True)
    raise click.exceptions.Exit(_CANNOT_CALCULATE)


def _exit_at_absent(error: AbsentQueryError, call: _Call) -> NoReturn:
    """Exit like trec_eval 10 if the run lacks a query: after the output for earlier queries."""
    from rankgate.measurement.evaluation.trec.trec_eval import render

    for piece in render(error.before, per_query="q" in call.flags, summary=False):
        sys.stdout.write(piece)
    click.echo(f"trec_eval: result qid '{error.query_id}' not found in qrels", err=True)
    click.echo(f"rankgate: {error}", err=True)
    raise click.exceptions.Exit(_CANNOT_CALCULATE)


def _parse_call(arguments: Sequence[str]) -> _Call:
    """Parse the arguments of a call, by the rules of GNU's getopt.

    Raises:
        UsageError: trec_eval does not have the option, or it is not supported here.
    """
    try:
        pairs, files = getopt.gnu_getopt(list(arguments), _SHORT, list(_LONG))
    except getopt.GetoptError as error:
        raise UsageError(f"trec_eval: {error.msg}; -h lists the options.", code="wrong-arguments") from None
    call = _Call(files=files)
    long = {f"--{name.rstrip('=')}": letter for name, letter in _LONG.items()}
    for option, value in pairs:
        letter = long.get(option, option.lstrip("-"))
        if letter == "m":
            call.metrics.append(value)
        elif letter in _FORMATS:
            if value not in _FORMATS[letter]:
                formats = ", ".join(_FORMATS[letter])
                raise UsageError(
                    f"trec_eval: -{letter} {value}: no such format; known: {formats}.", code="invalid-syntax"
                )
            if letter == "R":
                call.options["relevance"] = value
        elif letter == "Z":
            call.options["zscores"] = value
        elif letter in _NUMBERS:
            call.options[_NUMBERS[letter]] = _parse_count(letter, value)
        elif letter in _SWITCHES:
            call.options[_SWITCHES[letter]] = True
        else:
            call.flags.add(letter)
    return call


def _parse_count(letter: str, value: str) -> int:
    number = atol(value)
    if number < 0:
        raise UsageError(
            f"trec_eval: -{letter} {value}: a whole number of 0 or more is needed.", code="not-a-whole-number"
        )
    return number


def _files(call: _Call) -> tuple[str, str]:
    if len(call.files) != len(("QRELS", "RUN")):
        file_count = count_noun(len(call.files), "file")
        raise UsageError(
            f"trec_eval: {file_count}, expected QRELS and RUN; -h lists the options.", code="wrong-arguments"
        )
    qrels, run = call.files
    return qrels, run


def _print_help(call: _Call) -> None:
    """Print the help, and the details of the given metrics."""
    click.echo(_HELP, nl=False)
    if not call.metrics:
        return
    from rankgate.measurement.evaluation.metric_details import metric_details
    from rankgate.measurement.evaluation.trec.trec_columns import parse_columns

    relevance = call.options.get("relevance", "qrels")
    named_columns = parse_columns(call.metrics, te9="te9" in call.options, relevance=relevance)
    for name in dict.fromkeys(column.name for column in named_columns if column.metrics):
        if name != "relstring":
            click.echo("\n" + f"{metric_details(name)}\n", nl=False)
