"""The command ``rankgate compare``, and the options of commands that compare systems.

The options are those of the commands that compare systems query by query. ``rankgate compare``
shows differences between systems, with intervals and tests.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import option, own_options, value_options, verb_options
from rankgate.core.console.option_types import SYSTEM_OR_FILE, TEST, SectionedCommand
from rankgate.core.console.shared_options import backend_options, write_output
from rankgate.core.console.terminal_output import (
    TerminalProgress,
    output_width,
    print_result,
    style_output,
    with_figures_options,
)
from rankgate.core.declare import Parameter, Range
from rankgate.core.errors import UsageError
from rankgate.core.present.document_forms import render_text
from rankgate.core.present.write_results import FORMS
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.data_set_paths import (
    find_data_sets,
    listed_names,
    system_names_of,
    with_data_set,
)
from rankgate.decisions.comparison.data_sets import compare_data_sets
from rankgate.decisions.comparison.documents.comparison_document import WORST, query_document
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.reported_systems import stated_metrics
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection, seeds_of
from rankgate.measurement.evaluation.scored_system import DEPTH
from rankgate.measurement.evaluation.scores import Scores, refuse_with_scores

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command, Decorator
    from rankgate.data.collection import Collection
    from rankgate.decisions.comparison.comparison import Comparisons


test = value_options("test", Test, section=TEST)
"""The options of `Test`; the command gets one."""


def loss_margin(help_text: str) -> Decorator:
    """Add ``--margin``, a loss that does not matter, 0 by default; it is set in ``test``."""

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def with_margin(*args: Any, test: Test, margin: float, **options: Any) -> object:
            return function(*args, test=replace(test, margin=margin or None), **options)

        margin = Parameter("margin", "float", help_text, 0.0, range=Range(0))
        return option(margin, section=TEST)(with_margin)

    return decorate


def score_options(function: Command) -> Command:
    """Add ``--scores`` and ``--direction``: values of another tool, not judgments and runs."""
    tables = Parameter(
        "scores",
        "path",
        "Values of each query that another tool computed, instead of judgments and runs: files of "
        "trec_eval -q, ir_measures, pytrec_eval, ranx, rankgate eval (on Spark too), or tables with a column "
        "for each system; the arguments are then names of systems.",
        (),
    )
    directions = Parameter(
        "directions",
        "texts",
        "The better direction (higher or lower) of a metric in --scores that is not in rankgate.",
        (),
    )
    with_directions = option(directions, "--direction", metavar="METRIC=WORD", multiple=True)(function)
    return option(tables, metavar="SCORES", multiple=True)(with_directions)


def system_names(*systems: str) -> Decorator:
    """Read the arguments, with QRELS, as names of systems if ``--scores`` is given.

    Args:
        systems: the arguments that are systems; the last one may take several.
    """

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def with_names(*args: Any, qrels: Any, scores: tuple[str, ...], **options: Any) -> object:
            if scores:
                arguments = [qrels]
                for name in systems:
                    value = options[name]
                    arguments += value if isinstance(value, tuple) else [value]
                names = [argument for argument in arguments if argument is not None]
                takes_several = isinstance(options[systems[-1]], tuple)
                if not takes_several and len(names) not in (0, len(systems)):
                    raise UsageError(
                        "with --scores name the baseline and the candidate, or neither.", code="missing-input"
                    )
                for name in systems:
                    if isinstance(options[name], tuple):
                        options[name] = tuple(names)
                    else:
                        options[name], names = (names[0] if names else None), names[1:]
                qrels = None
            return function(*args, qrels=qrels, scores=scores, **options)

        return with_names

    return decorate


def reported_scores(function: Command) -> Command:
    """Pass the scores of ``--scores``, if given, to the command as ``collection``."""

    @functools.wraps(function)
    def with_scores(
        *args: Any,
        collection: Collection,
        scores: tuple[str, ...],
        directions: tuple[str, ...],
        **options: Any,
    ) -> object:
        values: Collection | Scores = collection
        if scores:
            values = _read_scores(collection, scores, directions)
        elif directions:
            raise UsageError("--direction is for --scores; give them too.", code="conflicting-options")
        return function(*args, collection=values, **options)

    return with_scores


def _read_scores(collection: Collection, tables: tuple[str, ...], directions: tuple[str, ...]) -> Scores:
    """Read the values of files, with the tags and the sample that options state.

    Raises:
        UsageError: an option of a collection that values do not take.
    """
    from rankgate.core.console.declared_options import parse_pairs
    from rankgate.decisions.comparison.reported_systems import read_scores

    refuse_with_scores(*sorted(set(collection.stated()) - {"tags", "sample", "columns"}))
    return read_scores(
        *tables,
        directions=parse_pairs(directions, "--direction", str),
        tags=collection.tags,
        sample=collection.sample,
    )


def _show_unlabelled(function: Command) -> Command:
    """Show what changed between two runs, where no judgments are given."""

    @functools.wraps(function)
    def with_labels(*args: Any, qrels: Any, baseline: Any, candidates: Any, **options: Any) -> object:
        if qrels and baseline and not candidates and not (options["scores"] or options["project"]):
            from rankgate.decisions.reproduction.unlabelled_runs import show_if_runs

            if show_if_runs([str(qrels), str(baseline)], "compare", options):
                return None
        return function(*args, qrels=qrels, baseline=baseline, candidates=candidates, **options)

    return with_labels


def _over_data_sets(function: Command) -> Command:
    """Compare over data sets, if ``--data-sets`` is given: those of ``--scores``, or those of paths."""

    @functools.wraps(function)
    def with_data_sets(
        *args: Any, data_sets: bool, only: tuple[str, ...], missing: str, **options: Any
    ) -> object:
        uses_paths = data_sets and not options["scores"]
        stated = {
            "--only": bool(only) and not data_sets,
            "--missing": missing != "refuse" and not options["scores"],
        }
        if name := next((name for name, is_stated in stated.items() if is_stated), ""):
            problem = f"{name} is for --data-sets{' with --scores' if uses_paths else ''}; leave it out."
            raise UsageError(problem, code="conflicting-options")
        if uses_paths:
            _compare_paths(function, args, options, only)
            return None
        selection = {"only": listed_names(only), "missing": missing} if data_sets else None
        return function(*args, data_sets=selection, **options)

    return with_data_sets


def _compare_paths(
    function: Command, args: tuple[Any, ...], options: dict[str, Any], only: tuple[str, ...]
) -> None:
    """Compare on each data set, whose name stands in the paths, and print all together."""
    paths = {name: options[name] for name in ("qrels", "baseline", "candidates")}
    runs = [paths["baseline"], *paths["candidates"]]
    comparisons: dict[str, Any] = {}
    for name in find_data_sets(paths["qrels"], runs, only):
        named_paths = {key: with_data_set(path, name) for key, path in paths.items()}
        systems = {"systems": system_names_of(runs)}
        comparisons[name] = function(*args, data_sets=systems, **{**options, **named_paths})
    print_result(compare_data_sets(comparisons, test=options["test"]), options["form"], options["output"])


_DATA_SETS = Parameter(
    "data_sets",
    "bool",
    "Compare over data sets: the ranks that systems may have, and which cannot be told apart. Rows of "
    "--scores are data sets, or {data_set} in QRELS, BASELINE and CANDIDATE is the name of each.",
    default=False,
)


@click.command("compare", cls=SectionedCommand)
@click.argument("qrels", type=SYSTEM_OR_FILE, required=False)
@click.argument("baseline", type=SYSTEM_OR_FILE, required=False)
@click.argument("candidates", type=SYSTEM_OR_FILE, nargs=-1, metavar="[CANDIDATE...]")
@score_options
@metric_options.metrics
@metric_options.metrics_from
@metric_options.convention
@test
@verb_options(compare, "slices TAG --slice", "depth")
@own_options("query_id ID --query", "worst", "pairs", "tables", "lists")
@option(_DATA_SETS)
@verb_options(compare_data_sets, "only NAME", "missing")
@with_figures_options
@shared_options.form(*FORMS)
@shared_options.output
@_over_data_sets
@_show_unlabelled
@system_names("baseline", "candidates")
@of_collection("baseline", "candidates")
@seeds_of("baseline", "candidates")
@reported_scores
@backend_options
def compare_command(
    collection: Collection | Scores,
    baseline: str | None,
    candidates: tuple[str, ...],
    *,
    query_id: str | None = None,
    worst: Annotated[int, Range(0)] = WORST,
    pairs: bool = False,
    tables: Literal["one", "all"] = "one",
    lists: bool = False,
    data_sets: dict[str, Any] | None,
    form: str,
    output: str | None,
    **settings: Any,
) -> Comparisons | None:
    """Compare each CANDIDATE run with the BASELINE, query by query.

    Two runs without judgments show what changed, and what to judge.

    \b
    rankgate compare qrels.txt old.run new.run -m nDCG@10 -m RR
    rankgate compare qrels.txt old.run new.run --query q17
    rankgate compare qrels.txt old.run a.run b.run c.run --test randomization --correction maxt
    rankgate compare qrels.txt old.run new.run --tags tags.csv --slice intent
    rankgate compare qrels.txt old.run new.run --wanted 0.02 --power 0.9
    rankgate compare --scores old.eval --scores new.eval -m nDCG@10
    rankgate compare --scores table.csv -m nDCG@10 bm25 dense
    rankgate compare test.qrels.csv popular.run knn.run -m nDCG@10 -m Coverage@10 --items books.csv
    rankgate compare test.qrels.csv knn.run bpr.seed1.run bpr.seed2.run bpr.seed3.run --seeds .seed
    rankgate compare --data-sets "beir/{data_set}/qrels.txt" "old/{data_set}.run" "new/{data_set}.run"
    rankgate compare --data-sets --scores mteb/results --missing systems
    \f

    Options:
        query_id: Show both ranked lists of one query side by side.
        worst: The number of worst queries to show for each metric.
        pairs: For several candidates, also show each against the baseline, and every pair of systems.
        tables: The tables of --format latex: the one of systems and metrics, or all.
        lists: With --format json: add both ranked lists of every query.
    """
    if lists and form != "json":
        raise UsageError(
            "--lists is for --format json; one query's lists are shown by --query.",
            code="conflicting-options",
        )
    if query_id is not None and (len(candidates) > 1 or form != "text"):
        raise UsageError(
            "--query shows one candidate as text; leave out the others and --format.",
            code="conflicting-options",
        )
    if data_sets is not None and query_id is not None:
        raise UsageError("--query is for one data set; leave out --data-sets.", code="conflicting-options")
    if data_sets is not None and isinstance(collection, Scores):
        _print_data_sets(collection, [baseline, *candidates], data_sets, settings, form, output)
        return None
    with TerminalProgress(2 * len(candidates) + 2):  # each is scored, then compared
        runs: Any = baseline
        if data_sets is not None and len(data_sets["systems"]) == 1 + len(
            candidates
        ):  # else seeds of systems
            runs = dict(zip(data_sets["systems"], (baseline, *candidates), strict=True))
            candidates = ()
        result = compare(collection, runs, list(candidates), **settings)
    if data_sets is not None:
        return result
    if query_id is not None:
        rendered = render_text(query_document(result.only, query_id), output_width(output))
        write_output(style_output(rendered, form, output), output)
    elif form == "json":
        print_result(result, form, output, lists=lists)
    else:
        print_result(
            result, form, output, worst=worst, pairs=pairs, one_table=form == "latex" and tables == "one"
        )
    return None


def _print_data_sets(
    scores: Scores,
    systems: list[str | None],
    data_sets: dict[str, Any],
    settings: dict[str, Any],
    form: str,
    output: str | None,
) -> None:
    """Compare systems over the data sets that are the rows of scores."""
    names = [name for name in systems if name is not None]
    metrics, rules = stated_metrics(settings["metrics"]), settings["test"]
    unused = {"slices": settings["slices"], "depth": settings["depth"] != DEPTH}
    if name := next((name for name, is_stated in unused.items() if is_stated), ""):
        raise UsageError(f"{name} is for queries; leave it out with --data-sets.", code="conflicting-options")
    print_result(compare_data_sets(scores, names, metrics, **data_sets, test=rules), form, output)
