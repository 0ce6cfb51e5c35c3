"""The commands ``rankgate advise``, ``rankgate blindspots`` and ``rankgate next``."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import option, own_options, value_options, verb_options
from rankgate.core.console.option_types import TEST, DefiningCommand, SectionedCommand
from rankgate.core.console.shared_options import repeat_arguments, write_output
from rankgate.core.console.terminal_output import TerminalProgress, output_width, print_result, prints
from rankgate.core.declare import Parameter, Range
from rankgate.core.errors import UsageError
from rankgate.core.present.write_results import FORMS
from rankgate.decisions.advice.advice_inputs import MARGIN, STAGES, TASKS, PlannedJudgments
from rankgate.decisions.advice.advise import advise, largest_cutoff
from rankgate.decisions.advice.blind_spots import blindspots
from rankgate.decisions.advice.settle import settle
from rankgate.decisions.comparison import commands as comparing
from rankgate.decisions.comparison.inference import Test
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import COLLECTION_NAMES, of_collection
from rankgate.measurement.evaluation.scored_system import DEPTH as DEPTH_OF_HOLES

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command
    from rankgate.core.present.base_result import Result
    from rankgate.data.collection import Collection
    from rankgate.decisions.advice.advise import Advice


_POLICY = "rankgate.toml"


def _add_grades_to_plan(function: Command) -> Command:
    """Read ``--grades N`` as the number of planned grades, and other texts as the collection's."""

    @functools.wraps(function)
    def with_plan(*args: Any, plan: PlannedJudgments, grades: tuple[str, ...], **options: Any) -> object:
        counts = [text for text in grades if text.isdecimal()]
        if counts:
            plan = replace(plan, grades=int(counts[-1]))
        labels = tuple(text for text in grades if text not in counts)
        return function(*args, plan=plan, grades=labels, **options)

    return with_plan


def _add_test_options(function: Command) -> Command:
    """Add ``--margin``, ``--alpha`` and ``--power``, and pass them to the command as ``test``."""

    @functools.wraps(function)
    def with_test(*args: Any, margin: float, alpha: float, power: float, **options: Any) -> object:
        return function(*args, test=Test(margin=margin, level=1 - alpha, power=power), **options)

    share, loss = Range(0, 1, exclusive=True), Range(0, exclusive=True)
    command: Command = with_test
    for declared in (
        Parameter("power", "float", "The probability of a correct pass.", Test.power, range=share),
        Parameter("alpha", "float", "The probability of a false pass.", 0.05, range=share),
        Parameter("margin", "float", "The loss that the gate allows.", MARGIN, range=loss),
    ):
        command = option(declared, section=TEST)(command)
    return command


@click.command("advise", cls=DefiningCommand, definitions={"Tasks": TASKS.items(), "Stages": STAGES.items()})
@shared_options.paths("[qrels]", "[runs...] [RUN]...")
@own_options("task TASK", "stage STAGE", choices={"task": TASKS, "stage": STAGES})
@verb_options(advise, "page", "depth")
@value_options("plan", PlannedJudgments, "queries", "complete")
@metric_options.convention
@_add_test_options
@shared_options.form(*FORMS, "policy")
@shared_options.output
@_add_grades_to_plan
@of_collection("runs")
def advise_command(
    collection: Collection,
    runs: tuple[str, ...],
    *,
    task: str = "explore",
    stage: str = "final",
    plan: PlannedJudgments,
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Recommend metrics for your data: which should decide, which to monitor, which to report.

    Without QRELS, --grades N is the number of grades that judgments will have; 2 for yes and no.

    RUNs show which differences your queries can detect: the first is the baseline, the others
    should differ from it as much as your changes do. Without QRELS, say how many queries there will
    be. Every rule names its source.

    \b
    rankgate advise qrels.txt old.run new.run --task find-one
    rankgate advise qrels.txt bm25.run dense.run --stage retrieval --depth 200
    rankgate advise qrels.txt old.run new.run --format policy -o rankgate.toml
    rankgate advise --queries 50 --task recommend --grades 2
    \f

    Options:
        task: The task of users (see Tasks below).
        stage: The stage of the list (see Stages below).
    """
    context = click.get_current_context()
    if collection.stated() and plan != PlannedJudgments():
        raise UsageError(
            "judgments show how many queries and grades there are, and runs how complete they are; leave "
            "these options out.",
            code="conflicting-options",
        )
    source = collection if collection.stated() else plan
    with TerminalProgress(len(runs) + 1):
        advice = advise(source, list(runs), task=task, stage=stage, **settings)
    if form == "policy":
        write_output(advice.policy, output)
        return
    if form == "json":
        print_result(advice, form, output)
        return
    qrels = context.params["qrels"]
    paths = (qrels, *context.params["runs"]) if qrels else ()
    commands = _next_commands(advice, paths, context)
    print_result(advice, form, output, commands=commands, columns=output_width(output))


def _next_commands(advice: Advice, paths: tuple[str, ...], context: click.Context) -> list[list[str]]:
    """Commands to run next, with their arguments; none if the inputs are not files."""
    if not paths or "-" in paths:
        return []
    rules = repeat_arguments(context, ("convention", "overrides", *COLLECTION_NAMES))
    decisive_metrics = [choice.metric for choice in advice.choices if choice.role in {"gate", "watch"}]
    all_metrics = [choice.metric for choice in advice.choices]
    commands = []
    if len(paths) == 2:  # judgments and one run
        commands.append(["eval", *paths, *_metric_arguments(all_metrics), *rules])
    elif len(paths) > 2:
        pair = paths[:3]
        if advice.facts.complete != 1 and advice.answers.task != "recommend":
            deepest_cutoff = largest_cutoff(decisive_metrics)
            depth = ["--depth", str(deepest_cutoff)] if deepest_cutoff > DEPTH_OF_HOLES else []
            commands.append(["holes", *pair, *_metric_arguments(decisive_metrics), *depth, *rules])
        commands += [
            ["compare", *paths, *_metric_arguments(decisive_metrics), *rules],
            ["advise", *repeat_arguments(context), "--format", "policy", "-o", _POLICY],
            ["gate", *pair, *repeat_arguments(context, COLLECTION_NAMES), "--policy", _POLICY],
        ]
    else:
        commands.append(["advise", *repeat_arguments(context), "--format", "policy", "-o", _POLICY])
    return [["rankgate", *arguments] for arguments in commands]


def _metric_arguments(names: list[str]) -> list[str]:
    return [argument for name in names for argument in ("-m", name)]


@click.command("blindspots", cls=SectionedCommand)
@shared_options.qrels
@shared_options.paths("baseline", "[candidate]")
@metric_options.metrics
@metric_options.metrics_from
@metric_options.convention
@verb_options(blindspots, "depth", "page")
@prints
@of_collection("baseline", "candidate")
def blindspots_command(
    collection: Collection, baseline: str, candidate: str | None, **settings: Any
) -> Result:
    """Find what the metrics do not see of the change from BASELINE to CANDIDATE.

    Without CANDIDATE only the profile is made: what the metrics would see of typical changes
    to BASELINE.

    \b
    rankgate blindspots qrels.txt old.run new.run -m RR -m nDCG@10
    rankgate blindspots qrels.txt old.run -m RR@10
    """
    with TerminalProgress(3):
        return blindspots(collection, baseline, candidate, **settings)


def _add_people_options(function: Command) -> Command:
    """Pass ``--people`` as the collection's judgments, and ``--budget`` as one of the prices."""

    @functools.wraps(function)
    def with_judgments(
        *args: Any, people: str | None, prices: tuple[str, ...], budget: int | None, **options: Any
    ) -> object:
        if budget is not None:
            prices = (*prices, f"budget={budget}")
        return function(*args, qrels=people, prices=prices, **options)

    return with_judgments


_PEOPLE = Parameter(
    "people", "path", "People's judgments of all documents drawn so far; none for the first batch."
)
_BUDGET = Parameter("budget", "int", "The most documents in a batch that people judge.", range=Range(1))


@click.command("next", cls=SectionedCommand)
@shared_options.paths("baseline", "candidate")
@option(_PEOPLE, metavar="QRELS")
@verb_options(settle, "metric METRIC -m")
@metric_options.convention
@verb_options(settle, "looks")
@option(_BUDGET)
@own_options("prices NAME=NUMBER --price", "save_sample FILE", "save_batch FILE")
@value_options("test", Test, "level", "power", "seed", section=TEST)
@comparing.loss_margin("A loss that does not matter; 0 compares which system is better.")
@prints
@_add_people_options
@of_collection("baseline", "candidate")
def next_command(
    collection: Collection,
    baseline: str,
    candidate: str,
    *,
    prices: tuple[str, ...] = (),
    save_sample: str | None = None,
    save_batch: str | None = None,
    **settings: Any,
) -> Result:
    """Select the documents to judge next, by people or a model, to decide a comparison.

    Each batch is a random sample with known chances, so that estimates keep no bias. Prices decide
    between more documents and more queries for people, and more queries for the model.

    \b
    rankgate next old.run new.run --predicted model.qrels --save-sample sample.csv \\
        --save-batch batch.csv
    rankgate next old.run new.run --predicted model.qrels --people people.qrels \\
        --sample sample.csv --save-sample sample2.csv --price human=0.5 --price query=3
    \f

    Options:
        prices: The cost of a document judged by people (human=1) or by a model (model=0.01), and of
            a query that people start to judge (query=0); may be given several times.
        save_sample: Write the sample to FILE: compare --sample and gate --sample take it.
        save_batch: Write the documents to judge next to FILE, and who judges each: sheet and rate
            take it.
    """
    with TerminalProgress(3):
        result = settle(collection, baseline, candidate, prices=prices, **settings)
    if save_sample:
        write_output(result.sample.write_csv(), save_sample)
    if save_batch:
        pool = result.batch.rename({"gain": "gain_per_price"})  # readers take a column "gain" for grades
        write_output(pool.write_csv(), save_batch)
    return result
