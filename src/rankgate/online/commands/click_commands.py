"""Commands of ``rankgate online`` on clicks: judgments, simulation, replay, policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options, value_options, verb_options
from rankgate.core.console.option_types import WRITABLE, DefiningCommand
from rankgate.core.console.shared_options import backend_options, check_paths, input_paths
from rankgate.core.console.terminal_output import print_result, prints, prints_to_stdout
from rankgate.core.present.write_results import FORMS
from rankgate.online.clicks.click_models import MODELS
from rankgate.online.clicks.judge_clicks import OPENSEARCH, Grading, judgments
from rankgate.online.clicks.simulate import simulate
from rankgate.online.clicks.simulated_users import USERS
from rankgate.online.commands.log_options import events_argument, events_options
from rankgate.online.off_policy.estimators import ESTIMATORS
from rankgate.online.off_policy.evaluate_policy import ope
from rankgate.online.off_policy.replay import replay

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.online.events.events import Events


def _parse_number_list(_ctx: click.Context, _option: click.Parameter, text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers, as in 0.2,0.5") from None


@click.command(
    "judgments",
    cls=DefiningCommand,
    definitions={"Models": [(model.name, model.title) for model in MODELS.values()]},
)
@events_argument
@own_options("target QRELS -o --output", "to FORMAT", kinds={"target": WRITABLE})
@verb_options(
    judgments,
    "model",
    "models MODEL",
    "ranks N",
    choices={"model": ["auto", *MODELS, OPENSEARCH], "models": list(MODELS)},
)
@value_options("grading", Grading, "grades", also={"cuts": "cuts", "min_examined": "min_examined"})
@click.option(
    "--cuts",
    default="0.25,0.5,0.75",
    show_default=True,
    metavar="X,X,...",
    callback=_parse_number_list,
    help="Where grades begin: the first gives grade 1, the second grade 2, and so on.",
)
@verb_options(Grading, "min_examined N")
@verb_options(
    judgments,
    "prior N",
    "no_click",
    "held_out SHARE",
    "human",
    "resamples N",
    "seed",
    choices={"no_click": ["drop", "all_examined"]},
)
@events_options("judgments human")
@shared_options.form(*FORMS)
@backend_options
@click.pass_context
def judgments_command(
    ctx: click.Context,
    /,
    events: Events,
    *,
    target: str | None = None,
    to: str | None = None,
    form: str,
    **arguments: Any,
) -> None:
    """Make judgments from clicks, by a click model.

    EVENTS is a folder that rankgate online ingest made, a table of events, files of logs, or click
    counts in Parquet. Query ids are the texts of the queries. Exit code 3: the log has too
    little for the model, and no judgments are written.

    \b
    rankgate online judgments events
    rankgate online judgments ubi.ndjson --model sdbn -o qrels.csv
    rankgate online judgments events --grades quantiles --min-examined 50 -o qrels.csv
    \f

    Options:
        target: Write the judgments to QRELS; the estimates are printed.
        to: The format of QRELS; by the suffix of its name without it.
    """
    check_paths(input_paths(), target)
    result = judgments(events, **arguments)
    if target and not result.status:
        result.write(target, to)
    print_result(result, form)
    ctx.exit(result.status)


@click.command(
    "simulate",
    cls=DefiningCommand,
    definitions={"Models of users": [(user.name, user.title) for user in USERS.values()]},
)
@shared_options.paths("[qrels]", "[runs...] [RUN...]")
@own_options("target FILE.parquet -o --output", kinds={"target": WRITABLE})
@verb_options(
    simulate,
    "user",
    "learned_from EVENTS",
    "model",
    "searches N",
    "ranks N",
    "seed",
    choices={"user": list(USERS), "model": list(MODELS)},
)
@events_options("judgments qrels", "runs runs", log="learned_from")
@prints_to_stdout
def simulate_command(
    qrels: str | None, runs: tuple[str, ...], *, target: str | None = None, **arguments: Any
) -> Result:
    """Simulate clicks of users on the lists of RUNs, or by a click model learned from a log.

    With several RUNs each search is answered by one of them at random, which is its variant. The
    true rates are printed next to the simulated ones.

    \b
    rankgate online simulate qrels.txt old.run new.run -o events.parquet
    rankgate online simulate qrels.txt new.run --user informational --searches 50000
    rankgate online simulate --learned-from events --model pbm -o more.parquet
    \f

    Options:
        target: Write the events to FILE.parquet.
    """
    check_paths(input_paths(), target)
    return simulate(qrels, runs, output=target, **arguments)


def _parse_prices(_ctx: click.Context, _option: click.Parameter, text: str | None) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(",")) if text else ()
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers, as in 1,0.6,0.4") from None


@click.command("replay")
@shared_options.run
@events_argument
@verb_options(replay, "k N -k", "model")
@click.option(
    "--examination",
    metavar="X,X,...",
    callback=_parse_prices,
    help=("The probability that users look at each rank, relative to the first; estimated without it."),
)
@verb_options(replay, "min_support SHARE", "resamples N", "level", "seed")
@events_options("runs run")
@prints
def replay_command(run: str, events: Events, **arguments: Any) -> Result:
    """Score the candidate RUN on logged clicks, before a user sees it.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs. Query
    ids in RUN are the texts of the queries. Exit code 3: the log shows too little
    of the candidate, or it is unknown how often ranks are looked at.

    \b
    rankgate online replay new.run events
    rankgate online replay new.run ubi.ndjson -k 5 --format json
    """
    return replay(run, events, **arguments)


@click.command(
    "ope",
    cls=DefiningCommand,
    definitions={"Estimators": [(estimator.name, estimator.title) for estimator in ESTIMATORS.values()]},
)
@shared_options.paths("log")
@own_options("target POLICY")
@verb_options(ope, "estimators ESTIMATOR --estimator", choices={"estimators": list(ESTIMATORS)})
@own_options("columns NAME=COLUMN,...")
@verb_options(ope, "clip", "min_ess N", "max_unsupported SHARE", "level")
@shared_options.from_formats("logs log")
@prints
def ope_command(log: str, *, target: str, columns: tuple[str, ...] = (), **arguments: Any) -> Result:
    """Estimate what another policy would have earned, from a LOG with propensities.

    LOG is a table with a row for each decision: action, reward, propensity; with slates a row for
    each slot, with slate and position. Exit code 3: the log cannot answer.

    \b
    rankgate online ope log.csv --target uniform
    rankgate online ope log.csv --target new_policy --columns reward=bought
    rankgate online ope slates.parquet --target new.csv --estimator rips
    \f

    Options:
        target: The policy: uniform over the actions of LOG, or over N as uniform:N; a column of LOG
            with its probability of the logged action; or a file of action, probability and perhaps
            position.
        columns: Column names of LOG and of the target's table: reward=bought,action=offer.
    """
    return ope(log, target, columns=columns, **arguments)
