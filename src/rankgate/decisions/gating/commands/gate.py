"""``rankgate gate``: may the candidate replace the baseline?"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result
from rankgate.core.console.places import deliver, inputs, refuse_clashes
from rankgate.core.console.progress import Progress
from rankgate.core.console.recording import record_now
from rankgate.core.console.terminal import styled, width
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS as CHECK_FORMS
from rankgate.decisions.gating.documents.verdict import FORMS, render
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.self_check import self_check
from rankgate.measurement import metric_options, store_options
from rankgate.measurement.evaluation.commands.list_options import context, tasks

if TYPE_CHECKING:
    from rankgate.store.stored_project import StoredProject


@click.command("gate")
@click.argument("qrels", type=click.Path(), required=False)
@click.argument("baseline", type=click.Path(), required=False)
@click.argument("candidate", type=click.Path(), required=False)
@options_of(gate, "scores SCORES --scores", "direction METRIC=WORD --direction")
@options_of(gate, "policy FILE", "tags FILE")
@click.option(
    "--noise",
    multiple=True,
    type=click.Path(),
    metavar="RUN",
    help="Another run of the baseline's system, to measure noise; a smaller margin is refused. "
    "May be given several times.",
)
@context
@tasks
@click.option(
    "--record/--no-record",
    default=True,
    show_default=True,
    help="Record this evaluation in the log next to the saved baseline. Written out, --record also "
    "records it for rankgate history: in the folder RANKGATE_HISTORY, or in the RANKGATE_PROJECT "
    "of RANKGATE_STORE.",
)
@options_of(gate, "redraws")
@click.option(
    "--self-check",
    "checked",
    is_flag=True,
    help="Gate one system against itself instead: BASELINE, CANDIDATE and --noise are runs of the "
    "same system, or BASELINE is the TOML file of an engine and CANDIDATE its queries.",
)
@options_of(self_check, "snapshots N")
@options_of(gate, "columns NAME=COLUMN,...")
@options_of(gate, "sample random|FILE", "predicted QRELS", "predicted_saw QRELS|none|unknown")
@store_options.instead_of_files(
    qrels="judgments", baseline="baseline", candidate="run", noise="run"
)
@metric_options.metrics_from
@options.form(*FORMS)
@options.output
@click.option(
    "--also",
    multiple=True,
    metavar="FORM=FILE",
    help="Also write another format to a file, as in junit=gate.xml; may be given several times.",
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    qrels: str | None,
    baseline: str | None,
    candidate: str | None,
    form: str,
    output: str | None,
    also: tuple[str, ...],
    checked: bool,
    snapshots: int,
    stored: StoredProject | None,
    **chosen: Any,
) -> None:
    """Check CANDIDATE against BASELINE (a run or a saved baseline): pass, fail or inconclusive.

    Exits with 0 if it passes, 1 if it fails, 3 if these queries and judgments cannot tell, 2 if
    something is wrong with the input.

    \b
    rankgate gate qrels.txt old.run new.run
    rankgate gate qrels.txt main new.run --policy rankgate.toml --format markdown
    rankgate gate --scores old.eval --scores new.eval
    rankgate gate --scores table.csv old new
    rankgate gate qrels.txt main new.run --also junit=gate.xml --also html=gate.html
    rankgate gate gold bm25 dense --project shop --store sqlite:///judging.db
    rankgate gate --self-check qrels.txt one.run two.run --noise three.run
    rankgate gate --self-check qrels.txt engine.toml queries.tsv --snapshots 10
    """
    if checked:
        _self_check(ctx, _all((qrels, baseline, candidate)), (form, output), snapshots, chosen)
    if chosen["scores"]:  # then the words are names of systems
        qrels, baseline, candidate = _named(qrels, baseline, candidate)
    more = [_also(each) for each in also]
    for _, place in more:
        refuse_clashes(inputs(), place)
    with Progress(3) as progress:
        result = gate(qrels, baseline, candidate, on_progress=progress, **chosen)
    if ctx.get_parameter_source("record") is ParameterSource.COMMANDLINE and chosen["record"]:
        record_now(result)
    for name, place in more:  # before any verdict is printed: a full disk is an error
        deliver(render(result, name), place)
    deliver(styled(render(result, form, width(output)), form, output), output)
    if stored is not None and chosen["record"]:
        stored.add_result(result, summary={"verdict": result.verdict})
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if form == "github" and summary:
        with open(summary, "a", encoding="utf-8") as page:  # noqa: PTH123 - it is added to
            page.write(render(result, "markdown"))
    ctx.exit(result.status)


def _all(words: tuple[str | None, ...]) -> tuple[str, str, str]:
    """What a self-check takes.

    Raises:
        UsageError: something is not given.
    """
    one, two, three = words
    if one is None or two is None or three is None:
        raise UsageError(
            "--self-check takes judgments and two runs of a system, or an engine and its queries.",
            code="missing-input",
        )
    return one, two, three


def _self_check(
    ctx: click.Context,
    given: tuple[str, str, str],
    shown: tuple[str, str | None],
    snapshots: int,
    chosen: Mapping[str, Any],
) -> NoReturn:
    """Gate a system against itself, and exit."""
    qrels, baseline, candidate = given
    form, output = shown
    if form not in CHECK_FORMS:
        raise UsageError(
            f"a self-check has no format {form}; it has {', '.join(CHECK_FORMS)}.",
            code="conflicting-options",
        )
    if chosen["extra"] or chosen["scores"]:
        raise UsageError(
            "--self-check takes no metrics of your own and no scores.", code="conflicting-options"
        )
    options = {name: chosen[name] for name in ("policy", "tags", "context")}
    with Progress(snapshots * snapshots) as progress:
        if baseline.endswith(".toml"):
            result = self_check(
                qrels, baseline, queries=candidate, snapshots=snapshots,
                on_progress=progress, **options,
            )  # fmt: skip
        else:
            runs = [baseline, candidate, *chosen["noise"]]
            result = self_check(qrels, runs, on_progress=progress, **options)
    print_result(result, form, output)
    ctx.exit(result.status)


def _named(*words: str | None) -> tuple[None, str | None, str | None]:
    """The names of the baseline and the candidate in scores.

    Raises:
        UsageError: one name, or three.
    """
    named = [each for each in words if each is not None]
    if len(named) not in (0, 2):
        raise UsageError(
            "with --scores name the baseline and the candidate, or neither.", code="missing-input"
        )
    return (None, named[0], named[1]) if named else (None, None, None)


def _also(words: str) -> tuple[str, str]:
    form, equals, place = words.partition("=")
    if form not in FORMS or not equals or not place:
        raise UsageError(
            f"--also {words}: say FORM=FILE, the form one of {', '.join(FORMS)}.",
            code="invalid-syntax",
        )
    return form, place
