"""``rankgate advise``: recommend metrics and a gate policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.again import again
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result
from rankgate.core.console.places import deliver
from rankgate.core.console.progress import Progress
from rankgate.core.console.terminal import width
from rankgate.core.present.write import FORMS
from rankgate.decisions.advice.advise import advise, deepest
from rankgate.decisions.advice.facts import STAGES, TASKS
from rankgate.measurement import metric_options
from rankgate.measurement.evaluation.scored_system import DEPTH as DEPTH_OF_HOLES

if TYPE_CHECKING:
    from rankgate.decisions.advice.advice import Advice

_POLICY = "rankgate.toml"


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
@options_of(advise, "page", "depth", "margin", "alpha", "power", "queries", "grades", "complete")
@metric_options.convention
@options.form(*FORMS, "policy")
@options.output
def command(
    qrels: str | None, runs: tuple[str, ...], form: str, output: str | None, **chosen: Any
) -> None:
    """Recommend metrics for your data: to gate on, to watch and to report.

    RUNs show which differences your queries can detect: the first is the baseline, the others
    should differ from it as much as your changes do. Without QRELS, say how many queries there will
    be. Every rule names its source.

    \b
    rankgate advise qrels.txt old.run new.run --task find-one
    rankgate advise qrels.txt bm25.run dense.run --stage retrieval --depth 200
    rankgate advise qrels.txt old.run new.run --format policy -o rankgate.toml
    rankgate advise --queries 50 --task recommend --grades 2
    """
    places = (qrels, *runs) if qrels else ()
    with Progress(len(runs) + 1):
        advice = advise(qrels, list(runs), **chosen)
    if form == "policy":
        deliver(advice.policy, output)
        return
    if form == "json":
        print_result(advice, form, output)
        return
    commands = _commands(advice, places, click.get_current_context())
    print_result(advice, form, output, commands=commands, columns=width(output))


def _commands(advice: Advice, places: tuple[str, ...], context: click.Context) -> list[list[str]]:
    """What to run next, as it can be run; nothing without files to name."""
    if not places or "-" in places:
        return []
    rules = again(context, ("convention", "overrides"))
    chosen = [each.metric for each in advice.choices if each.role in {"gate", "watch"}]
    every = [each.metric for each in advice.choices]
    found = []
    if len(places) == 2:  # judgments and one run
        found.append(["eval", *places, *_metrics(every), *rules])
    elif len(places) > 2:
        pair = places[:3]
        if advice.facts.complete != 1 and advice.answers.task != "recommend":
            deep = deepest(chosen)
            depth = ["--depth", str(deep)] if deep > DEPTH_OF_HOLES else []
            found.append(["holes", *pair, *_metrics(chosen), *depth, *rules])
        found += [
            ["compare", *places, *_metrics(chosen), *rules],
            ["advise", *again(context), "--format", "policy", "-o", _POLICY],
            ["gate", *pair, "--policy", _POLICY],
        ]
    else:
        found.append(["advise", *again(context), "--format", "policy", "-o", _POLICY])
    return [["rankgate", *words] for words in found]


def _metrics(names: list[str]) -> list[str]:
    return [word for name in names for word in ("-m", name)]
