"""Commands of ``rankgate online`` that read logs and report user behaviour."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import option, own_options, value_options, verb_options
from rankgate.core.console.option_types import WRITABLE, DefiningCommand
from rankgate.core.console.shared_options import backend_options, check_paths, input_paths, write_output
from rankgate.core.console.terminal_output import print_result, prints, prints_to_stdout, with_figures_options
from rankgate.core.declare import Parameter
from rankgate.core.errors import UsageError
from rankgate.core.present.write_results import FORMS
from rankgate.data.spark_tables import is_on_spark
from rankgate.measurement import metric_options
from rankgate.online.commands.log_options import events_argument, events_options, kpi_option
from rankgate.online.events.diagnosis import doctor
from rankgate.online.events.event_sql import Privacy
from rankgate.online.events.event_table import SLICES
from rankgate.online.events.ingest import ingest
from rankgate.online.events.log_files import PRESETS
from rankgate.online.indicators.kpi_catalogue import KPIS
from rankgate.online.indicators.kpi_table import kpi
from rankgate.online.users.intent_diversity import intents
from rankgate.online.users.personalization_impact import personalization
from rankgate.online.users.satisfaction import weeks
from rankgate.online.users.shown_lists import lists

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.online.events.events import Events


@click.command("ingest")
@shared_options.paths("logs... LOG...")
@own_options("folder FOLDER -o --output", kinds={"folder": click.Path(file_okay=False)})
@verb_options(ingest, "mapping", "rank_base")
@shared_options.from_formats("logs logs")
@value_options("privacy", Privacy, "queries", "users", "min_users N")
@prints_to_stdout
def ingest_command(logs: tuple[str, ...], folder: str, **arguments: Any) -> Result:
    """Read LOGs into a folder of events, one Parquet file for each LOG.

    A LOG is a file of User Behavior Insights (JSON lines, CSV, Parquet, also .gz), or any other
    with --mapping FILE.toml. Unreadable lines are counted.

    \b
    rankgate online ingest ubi.ndjson -o events
    rankgate online ingest 2026-01-*.csv -o events --mapping log.toml
    rankgate online ingest ubi.ndjson -o events --queries frequent --users hash
    \f

    Options:
        folder: The folder of the events; files that are in it are not read again.
    """
    return ingest(logs, folder, **arguments)


@click.command("map")
@shared_options.paths("log LOG")
@shared_options.output
@own_options("preset", choices={"preset": PRESETS})
@own_options("columns FIELD=COLUMN --column", "kinds ACTION=KIND --kind", "time_format")
def map_command(
    log: str,
    *,
    output: str | None,
    preset: str | None = None,
    columns: tuple[str, ...] = (),
    kinds: tuple[str, ...] = (),
    time_format: str = "",
) -> None:
    """Write the mapping of a LOG with columns of its own, for --mapping.

    Names and values suggest each line, with its first values as a comment. What they leave open is
    asked on a terminal; elsewhere it is an error that names the option. Check each line before use.

    \b
    rankgate online map visits.csv -o log.toml
    rankgate online map visits.csv --column query=term --kind open_detail=click -o log.toml
    rankgate online kpi visits.csv --mapping log.toml
    \f

    Options:
        preset: The product that wrote the log; recognized by its columns by default.
        columns: The column of a field, as in query=search_term; may be given several times.
        kinds: The kind of an action, as in open_detail=click; may be given several times.
        time_format: The format of times, as in '%d.%m.%Y %H:%M:%S'.
    """
    from rankgate.online.events.mapping_draft import draft_mapping

    check_paths((log,), output)
    ask = _ask if sys.stdin.isatty() and sys.stderr.isatty() else None
    text = draft_mapping(
        log,
        preset=preset,
        columns=_read_pairs("column", columns),
        kinds=_read_pairs("kind", kinds),
        time_format=time_format,
        ask=ask,
    )
    write_output(text, output)


def _ask(question: str, choices: Sequence[str], default: str) -> str:
    answer: str = click.prompt(question, default=default or None, type=click.Choice(choices), err=True)
    return answer


def _read_pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for text, (name, _, value) in zip(texts, pairs, strict=True):
        if not name or not value:
            raise UsageError(f"--{option} {text!r} is not NAME=VALUE.", code="invalid-syntax")
    return {name: value for name, _, value in pairs}


@click.command("doctor")
@events_argument
@verb_options(doctor, "split")
@events_options()
@prints
def doctor_command(events: Events, split: Mapping[str, float] | None) -> Result:
    """Find faults in a log, and the KPIs that they make wrong.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs.

    \b
    rankgate online doctor ubi.ndjson
    rankgate online doctor events --split old=0.9 --split new=0.1
    """
    return doctor(events, split=split)


_BY = Parameter(
    "by",
    "texts",
    f"What divides the log: {', '.join(SLICES)}, or a dimension of the mapping such as country; band is the "
    "frequency of the query; may be given several times.",
    ("day",),
)


@click.command(
    "kpi",
    cls=DefiningCommand,
    definitions={"KPIs": [(indicator.name, indicator.title) for indicator in KPIS.values()]},
)
@events_argument
@own_options("names KPI -k --kpi")
@option(_BY, metavar="DIMENSION", multiple=True)
@events_options(goals=True, figures=True)
@with_figures_options
@shared_options.form(*FORMS)
@shared_options.output
@backend_options
@click.pass_context
def kpi_command(
    ctx: click.Context,
    /,
    events: Events,
    *,
    names: tuple[str, ...] = (),
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Compute KPIs of a log, after a check for faults.

    EVENTS is a folder that rankgate online ingest made, a table of events, files of logs, or a
    table of a database (shop.duckdb:visits, postgresql://USER@HOST/DATABASE#TABLE). A KPI that a
    fault of the log makes wrong is not given; exit code 3: none is left. On Spark and in PostgreSQL
    there is no check for faults.

    \b
    rankgate online kpi events --by day --by band
    rankgate online kpi ubi.ndjson -k search_ctr -k abandonment_rate --format json
    rankgate online kpi events --by position -o kpi.html
    \f

    Options:
        names: A KPI such as search_ctr; may be given several times. Without it all.
    """
    result = kpi(events, names, checks=not is_on_spark(events.log), **arguments)
    print_result(result, form, output)
    ctx.exit(result.status)


@click.command("weeks")
@events_argument
@kpi_option
@verb_options(weeks, "qrels")
@metric_options.metrics_option(
    "A ranking metric to correlate with KPIs; may be given several times. Without it nDCG@10."
)
@events_options("judgments qrels", goals=True, figures=True)
@prints
def weeks_command(events: Events, **arguments: Any) -> Result:
    """Follow users over weeks: KPIs, users that come back, novelty, ranking metrics.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs.

    \b
    rankgate online weeks events
    rankgate online weeks events --qrels clicks.csv -m nDCG@10 -o weeks.html
    """
    return weeks(events, **arguments)


@click.command("intents")
@events_argument
@verb_options(intents, "min_users N")
@events_options()
@prints
def intents_command(events: Events, **arguments: Any) -> Result:
    """Measure for each query how much the clicks of different users differ.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs.

    \b
    rankgate online intents events
    rankgate online intents ubi.ndjson --min-users 20 -o intents.html
    """
    return intents(events, **arguments)


@click.command("personalization")
@events_argument
@verb_options(personalization, "control VARIANT")
@kpi_option
@verb_options(personalization, "groups FILE", "ranks N")
@events_options(goals=True, figures=True)
@prints
def personalization_command(events: Events, **arguments: Any) -> Result:
    """Compare personal lists with lists that are the same for all users, by group of users.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs.

    \b
    rankgate online personalization events --control old
    rankgate online personalization events --control old --groups users.csv -k search_ctr
    """
    return personalization(events, **arguments)


@click.command("lists")
@events_argument
@own_options("target RUN -o --output", kinds={"target": WRITABLE})
@verb_options(lists, "to FORMAT", "choose", "variant", "ranks N", "name")
@events_options()
@prints_to_stdout
def lists_command(events: Events, target: str, **arguments: Any) -> Result:
    """Write the lists that users were shown as a run.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs. Query
    ids are the texts of queries, as in the judgments that rankgate online judgments writes.

    \b
    rankgate online lists events -o shown.csv
    rankgate online lists events --variant new --choose latest -o new.csv
    rankgate eval clicks.csv shown.csv -m nDCG@10
    \f

    Options:
        target: Write the run to RUN.
    """
    check_paths(input_paths(), target)
    return lists(events, output=target, **arguments)
