"""``rankgate advise``: recommend metrics and a gate policy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.again import repeat_arguments
from rankgate.core.console.declared_options import value_options, verb_options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result
from rankgate.core.console.places import write_output
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.sections import TEST, SectionOption
from rankgate.core.console.terminal import output_width
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS
from rankgate.decisions.advice.advise import advise, largest_cutoff
from rankgate.decisions.advice.facts import MARGIN, STAGES, TASKS, PlannedJudgments
from rankgate.decisions.comparison.inference import Test
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import COLLECTION_NAMES, of_collection
from rankgate.measurement.evaluation.scored_system import DEPTH as DEPTH_OF_HOLES

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.decisions.advice.advice import Advice

_POLICY = "rankgate.toml"


def _add_grades_to_plan(function: Callable[..., Any]) -> Callable[..., Any]:
    """Read ``--grades N`` as the number of planned grades, and other texts as the collection's."""

    @functools.wraps(function)
    def with_plan(
        *args: Any, plan: PlannedJudgments, grades: tuple[str, ...], **options: Any
    ) -> object:
        counts = [text for text in grades if text.isdecimal()]
        if counts:
            plan = replace(plan, grades=int(counts[-1]))
        labels = tuple(text for text in grades if text not in counts)
        return function(*args, plan=plan, grades=labels, **options)

    return with_plan


def _add_test_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--margin``, ``--alpha`` and ``--power``, and pass them to the command as ``test``."""

    @functools.wraps(function)
    def with_test(*args: Any, margin: float, alpha: float, power: float, **options: Any) -> object:
        return function(*args, test=Test(margin=margin, level=1 - alpha, power=power), **options)

    number = functools.partial(click.option, cls=SectionOption, section=TEST, show_default=True)
    share = click.FloatRange(0, 1, min_open=True, max_open=True)
    loss = click.FloatRange(0, min_open=True)
    with_power = number(
        "--power", type=share, default=Test.power, help="The chance of a correct pass."
    )(with_test)
    with_alpha = number("--alpha", type=share, default=0.05, help="The chance of a false pass.")(
        with_power
    )
    return number("--margin", type=loss, default=MARGIN, help="The loss that the gate allows.")(
        with_alpha
    )


@click.command(
    "advise",
    cls=DefiningCommand,
    definitions={"Tasks": TASKS.items(), "Stages": STAGES.items()},
)
@click.argument("qrels", type=click.Path(), required=False)
@click.argument("runs", type=click.Path(), nargs=-1, metavar="[RUN]...")
@click.option(
    "--task",
    type=click.Choice(list(TASKS)),
    default="explore",
    show_default=True,
    metavar="TASK",
    help="What users want from a list (see Tasks below).",
)
@click.option(
    "--stage",
    type=click.Choice(list(STAGES)),
    default="final",
    show_default=True,
    metavar="STAGE",
    help="What happens to the list next (see Stages below).",
)
@verb_options(advise, "page", "depth")
@value_options("plan", PlannedJudgments, "queries", "complete")
@metric_options.convention
@_add_test_options
@options.form(*FORMS, "policy")
@options.output
@_add_grades_to_plan
@of_collection("runs")
def command(
    collection: Collection,
    runs: tuple[str, ...],
    *,
    plan: PlannedJudgments,
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Recommend metrics for your data: which should decide, which to monitor, which to report.

    Without QRELS, --grades N says how many grades judgments will have; 2 for yes and no.

    RUNs show which differences your queries can detect: the first is the baseline, the others
    should differ from it as much as your changes do. Without QRELS, say how many queries there will
    be. Every rule names its source.

    \b
    rankgate advise qrels.txt old.run new.run --task find-one
    rankgate advise qrels.txt bm25.run dense.run --stage retrieval --depth 200
    rankgate advise qrels.txt old.run new.run --format policy -o rankgate.toml
    rankgate advise --queries 50 --task recommend --grades 2
    """
    context = click.get_current_context()
    if collection.stated() and plan != PlannedJudgments():
        raise UsageError(
            "judgments tell how many queries and grades there are, and runs how complete they "
            "are; leave these answers out.",
            code="conflicting-options",
        )
    with TerminalProgress(len(runs) + 1):
        advice = advise(collection if collection.stated() else plan, list(runs), **settings)
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


def _next_commands(
    advice: Advice, paths: tuple[str, ...], context: click.Context
) -> list[list[str]]:
    """Commands to run next, with their arguments; none if the inputs are not files."""
    if not paths or "-" in paths:
        return []
    rules = repeat_arguments(context, ("convention", "overrides", *COLLECTION_NAMES))
    decisive_metrics = [
        choice.metric for choice in advice.choices if choice.role in {"gate", "watch"}
    ]
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
