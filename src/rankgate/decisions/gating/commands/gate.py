"""``rankgate gate``: may the candidate replace the baseline?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NoReturn

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.name_types import BASELINE_OR_FILE, SYSTEM_OR_FILE
from rankgate.core.console.output import print_result
from rankgate.core.console.places import check_paths, input_paths, write_output
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.recording import record_if_requested, with_record_option
from rankgate.core.console.sections import SectionedCommand
from rankgate.core.console.terminal import output_width, style_output
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS as CHECK_FORMS
from rankgate.data.parts import Need
from rankgate.decisions.comparison.commands import options as comparing
from rankgate.decisions.comparison.scores.systems import VALUE_SUPPLY
from rankgate.decisions.gating.documents.verdict import FORMS, render
from rankgate.decisions.gating.gate import gate, with_noise
from rankgate.decisions.gating.self_check import self_check
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection
from rankgate.measurement.evaluation.scores import Scores

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.store.stored_project import StoredProject


@click.command("gate", cls=SectionedCommand)
@click.argument("qrels", type=SYSTEM_OR_FILE, required=False)
@click.argument("baseline", type=BASELINE_OR_FILE, required=False)
@click.argument("candidate", type=SYSTEM_OR_FILE, required=False)
@comparing.score_options
@verb_options(gate, "policy FILE")
@click.option(
    "--noise",
    multiple=True,
    type=click.Path(),
    metavar="RUN",
    help="Another run of the baseline's system, to measure noise; a smaller margin is refused. "
    "May be given several times.",
)
@click.option(
    "--log/--no-log",
    default=True,
    show_default=True,
    help="Add this evaluation to the log next to the saved baseline.",
)
@with_record_option
@verb_options(gate, "redraws")
@click.option(
    "--self-check",
    "checked",
    is_flag=True,
    help="Gate one system against itself instead: BASELINE, CANDIDATE and --noise are runs of the "
    "same system, or BASELINE is the TOML file of an engine and CANDIDATE its queries.",
)
@verb_options(self_check, "snapshots N")
@metric_options.metrics_from
@options.form(*FORMS)
@options.output
@click.option(
    "--also",
    multiple=True,
    metavar="FORM=FILE",
    help="Also write another format to a file, as in junit=gate.xml; may be given several times.",
)
@comparing.system_names("baseline", "candidate")
@of_collection("baseline", "candidate", further=("noise",), saved=("baseline",), stored=True)
@comparing.reported_scores
@click.pass_context
def command(
    ctx: click.Context,
    /,
    collection: Collection | Scores,
    baseline: Any,
    candidate: Any,
    form: str,
    output: str | None,
    also: tuple[str, ...],
    checked: bool,
    snapshots: int,
    stored: StoredProject | None,
    noise: tuple[Any, ...],
    **options_of_gate: Any,
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
        runs = (baseline, candidate, *noise)
        _self_check(ctx, collection, runs, (form, output), snapshots, options_of_gate["policy"])
    if isinstance(collection, Scores):
        VALUE_SUPPLY.require("--noise", [Need("repeats")] if noise else [])
    elif noise:
        baseline = with_noise(collection, baseline, noise)
    names_and_paths = [_parse_also(name_and_path) for name_and_path in also]
    for _, path in names_and_paths:
        check_paths(input_paths(), path)
    with TerminalProgress(3):
        result = gate(collection, baseline, candidate, **options_of_gate)
    record_if_requested(result)
    for name, path in names_and_paths:  # before any verdict is printed: a full disk is an error
        write_output(render(result, name), path)
    write_output(style_output(render(result, form, output_width(output)), form, output), output)
    if stored is not None and options_of_gate["log"]:
        stored.add_result(result, summary={"verdict": result.verdict})
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if form == "github" and summary:
        with open(summary, "a", encoding="utf-8") as page:  # noqa: PTH123 - the file has earlier summaries
            page.write(render(result, "markdown"))
    ctx.exit(result.status)


def _self_check(
    ctx: click.Context,
    collection: Collection | Scores,
    runs: tuple[Any, ...],
    form_and_output: tuple[str, str | None],
    snapshots: int,
    policy: str | None,
) -> NoReturn:
    """Gate a system against itself, and exit.

    Raises:
        UsageError: a form that it does not have; scores; something is not given.
    """
    form, output = form_and_output
    if form not in CHECK_FORMS:
        raise UsageError(
            f"a self-check has no format {form}; it has {', '.join(CHECK_FORMS)}.",
            code="conflicting-options",
        )
    if isinstance(collection, Scores):
        raise VALUE_SUPPLY.error("--self-check", Need("lists"))
    baseline, candidate, *_ = runs
    if collection.judgments is None or baseline is None or candidate is None:
        raise UsageError(
            "--self-check takes judgments and two runs of a system, or an engine and its queries.",
            code="missing-input",
        )
    with TerminalProgress(snapshots * snapshots):
        if str(baseline).endswith(".toml"):
            result = self_check(
                collection, baseline, policy, queries=candidate, snapshots=snapshots
            )
        else:
            result = self_check(collection, runs, policy)
    print_result(result, form, output)
    ctx.exit(result.status)


def _parse_also(argument: str) -> tuple[str, str]:
    form, equals, path = argument.partition("=")
    if form not in FORMS or not equals or not path:
        raise UsageError(
            f"--also {argument}: say FORM=FILE, the form one of {', '.join(FORMS)}.",
            code="invalid-syntax",
        )
    return form, path
