"""The commands of gating: ``rankgate policy``, ``rankgate baseline`` and ``rankgate gate``."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import click

from rankgate.core.console import shared_options, terminal_output
from rankgate.core.console.declared_options import own_options, verb_options
from rankgate.core.console.option_types import (
    BASELINE_OR_FILE,
    SAVED_BASELINE,
    SYSTEM_OR_FILE,
    FullHelpGroup,
    SectionedCommand,
)
from rankgate.core.console.shared_options import backend_options, check_paths, input_paths, write_output
from rankgate.core.console.terminal_output import (
    TerminalProgress,
    output_width,
    print_result,
    prints_to_stdout,
    record_if_requested,
    send_figures,
    style_output,
    with_record_option,
)
from rankgate.core.declare import Range
from rankgate.core.errors import UsageError, replace_controls
from rankgate.core.present import write_results
from rankgate.core.present.lazy_names import load_name
from rankgate.core.present.markup_tables import escape_markdown
from rankgate.core.present.text_tables import WIDTH
from rankgate.core.present.write_results import FORMS
from rankgate.data.formats import registry
from rankgate.data.score_parts import Need
from rankgate.decisions.comparison import commands as comparing
from rankgate.decisions.gating.charged_tests import missing_account
from rankgate.decisions.gating.gate import gate, with_noise
from rankgate.decisions.gating.policy import parse_policy, policy
from rankgate.decisions.gating.policy_keys import policy_keys
from rankgate.decisions.gating.saved import saved_baselines as service
from rankgate.decisions.gating.saved.holdout_account import find_account, open_account
from rankgate.decisions.gating.self_check import self_check
from rankgate.decisions.gating.verdict_document import VERDICT_FORMS, render, statement
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection
from rankgate.measurement.evaluation.scores import Scores
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgate.core.console.option_types import Command
    from rankgate.core.present.base_result import Result
    from rankgate.data.collection import Collection
    from rankgate.decisions.gating.verdict import Verdict
    from rankgate.measurement.scoring import Convention
    from rankgate.store.stored_project import StoredProject


@click.command("policy")
@shared_options.paths("[file]")
@shared_options.form(*FORMS, "schema")
@shared_options.output
def policy_command(file: str | None, form: str, output: str | None) -> None:
    """Check the policy FILE and show what it demands; without FILE, show every key.

    \b
    rankgate policy
    rankgate policy rankgate.toml
    rankgate policy --format schema -o rankgate.schema.json
    """
    if file is not None:
        print_result(policy(file), "json" if form == "schema" else form, output)
    elif form == "schema":
        write_output(write_results.to_json(dict(policy_keys().schema)), output)
    else:
        print_result(policy_keys(), form, output)


@click.group("baseline", cls=FullHelpGroup)
def baseline_command() -> None:
    """Save baselines as plain files in rankgate/baselines, to be committed.

    \b
    rankgate baseline save main qrels.txt main.run -m nDCG@10 -m RR@10
    rankgate baseline refresh main qrels.txt new.run
    rankgate baseline noise main qrels.txt main-again.run
    rankgate baseline list
    """


@baseline_command.command("save", cls=SectionedCommand)
@click.argument("name", type=SAVED_BASELINE)
@shared_options.qrels
@shared_options.run
@metric_options.metrics_option(
    "A metric to keep in addition to those of the policy; may be given several times. Without it: "
    f"{', '.join(DEFAULT_METRICS)}."
)
@metric_options.convention
@verb_options(service.save, "depth", "force")
@of_collection("run")
def save(
    name: str,
    collection: Collection,
    run: str,
    metrics: tuple[str, ...],
    convention: Convention,
    **options: Any,
) -> None:
    """Score RUN and save it as the baseline NAME."""
    result = service.save(name, collection, run, metrics, convention, **options)
    print_result(service.SavedBaselines.from_baselines(result), "text")


@baseline_command.command("refresh", cls=SectionedCommand)
@click.argument("name", type=SAVED_BASELINE)
@shared_options.qrels
@shared_options.run
@of_collection("run")
def refresh(name: str, collection: Collection, run: str) -> None:
    """Replace the baseline NAME by RUN, with the same metrics, convention and depth.

    For CI on the main branch, after a change was merged.
    """
    print_result(service.SavedBaselines.from_baselines(service.refresh(name, collection, run)), "text")


@baseline_command.command("noise", cls=SectionedCommand)
@click.argument("name", type=SAVED_BASELINE)
@shared_options.qrels
@shared_options.runs
@of_collection("runs")
def noise(name: str, collection: Collection, runs: tuple[str, ...]) -> None:
    """Measure noise: the differences of repeated RUNs from the baseline NAME."""
    print_result(service.SavedBaselines.from_baselines(service.measure_noise(name, collection, runs)), "text")


@baseline_command.command("show")
@click.argument("name", type=SAVED_BASELINE)
@prints_to_stdout
def show(name: str) -> Result:
    """Show the baseline NAME and the log of its uses."""
    return service.SavedBaselines.from_baselines(service.find_baseline(name))


@baseline_command.command("list")
@prints_to_stdout
def listed() -> Result:
    """List all saved baselines."""
    return service.SavedBaselines.from_baselines(*service.list_baselines())


@click.group("account", cls=FullHelpGroup)
def account_command() -> None:
    """Keep the account of held-out queries, which an optimiser's candidates spend.

    \b
    rankgate account open --tests 1000
    rankgate account show
    """


@account_command.command("open")
@verb_options(open_account, "tests N", "alpha A")
@prints_to_stdout
def open_command(**options: Any) -> Result:
    """Open the account of this folder; from then on the gate charges each candidate to its queries."""
    return open_account(**options)


@account_command.command("show")
@prints_to_stdout
def show_account() -> Result:
    """Show the sets of queries of the account, their tests, and how many are left."""
    account = find_account(Path())
    if account is None:
        raise UsageError(f"{missing_account().reason}.", code="no-account")
    return account.summary()


def _complete_inputs(function: Command) -> Command:
    """Find what is not named in the folder; without judgments, show what changed and exit with 3."""

    @functools.wraps(function)
    def with_inputs(*args: Any, qrels: Any, baseline: Any, candidate: Any, **options: Any) -> object:
        is_open = candidate is None and not any(options[name] for name in ("scores", "project", "checked"))
        if is_open:
            qrels, baseline, candidate = _found_inputs(qrels, baseline, options)
        return function(*args, qrels=qrels, baseline=baseline, candidate=candidate, **options)

    return with_inputs


def _found_inputs(first: str | None, second: str | None, options: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Judgments, baseline and candidate of a folder, or the arguments as they were.

    Raises:
        InputError: a file that cannot be read.
        UsageError: the folder lacks something, or only a person knows it.
        Exit: there are no judgments, and what changed was shown.
    """
    from rankgate.decisions.gating.own_inputs import complete_inputs, refuse_engine
    from rankgate.decisions.gating.question_commands import ask, is_terminal
    from rankgate.decisions.reproduction.unlabelled_runs import show_if_runs, show_runs

    paths = [str(path) for path in (first, second) if path is not None]
    refuse_engine(paths)
    if not show_if_runs(paths, "gate", options):
        if second is not None or not Path(first or ".").is_dir():
            return first, second, None
        inputs = complete_inputs(first or ".", ask if is_terminal() else None)
        if len(inputs) == 3:  # judgments, and two systems
            return inputs
        show_runs(inputs, "gate", options)
    raise click.exceptions.Exit(3)


@click.command("gate", cls=SectionedCommand)
@click.argument("qrels", type=SYSTEM_OR_FILE, required=False)
@click.argument("baseline", type=BASELINE_OR_FILE, required=False)
@click.argument("candidate", type=SYSTEM_OR_FILE, required=False)
@comparing.score_options
@metric_options.metrics_option(
    "A metric to gate on instead of the rules of a policy: the first may lose no more than 0.02, the "
    "others warn. May be given several times."
)
@verb_options(gate, "policy FILE")
@own_options("noise RUN")
@verb_options(gate, "log")
@with_record_option
@verb_options(gate, "redraws")
@own_options("checked --self-check")
@verb_options(self_check, "snapshots N")
@metric_options.metrics_from
@shared_options.form(*VERDICT_FORMS)
@shared_options.output
@own_options("also FORM=FILE", "comment NAME", "refresh_after DAYS", "details", "open_page --open")
@_complete_inputs
@comparing.system_names("baseline", "candidate")
@of_collection("baseline", "candidate", further=("noise",), saved=("baseline",), stored=True)
@comparing.reported_scores
@click.pass_context
@backend_options
def gate_command(
    ctx: click.Context,
    /,
    collection: Collection | Scores,
    baseline: Any,
    candidate: Any,
    *,
    form: str,
    output: str | None,
    also: tuple[str, ...] = (),
    comment: str | None = None,
    refresh_after: Annotated[int, Range(0)] = 30,
    checked: bool = False,
    details: bool = False,
    open_page: bool = False,
    snapshots: int,
    stored: StoredProject | None,
    noise: tuple[Any, ...] = (),
    metrics: tuple[str, ...],
    **options_of_gate: Any,
) -> None:
    """Check CANDIDATE against BASELINE (a run or a saved baseline): pass, fail or inconclusive.

    Without arguments it looks for judgments and runs in the folder, and asks which run is the
    baseline. Two runs without judgments show what changed, and what to judge.

    Exits with 0 if it passes, 1 if it fails, 3 if queries and judgments are not enough for a
    decision, 2 if the input is wrong.

    \b
    rankgate gate qrels.txt old.run new.run
    rankgate gate qrels.txt old.run new.run -m nDCG@4 -m RR
    rankgate gate qrels.txt main new.run --policy rankgate.toml --format markdown
    rankgate gate --scores old.eval --scores new.eval
    rankgate gate --scores table.csv old new
    rankgate gate qrels.txt main new.run --also junit=gate.xml --also html=gate.html
    rankgate gate qrels.txt main new.run --comment ranking --also intoto=gate.intoto.json
    rankgate gate gold bm25 dense --project shop --store sqlite:///judging.db
    rankgate gate --self-check qrels.txt one.run two.run --noise three.run
    rankgate gate --self-check qrels.txt engine.toml queries.tsv --snapshots 10
    \f

    Options:
        noise: Another run of the baseline's system, to measure noise; a smaller margin is refused.
        checked: Gate one system against itself instead: BASELINE, CANDIDATE and --noise are runs of
            the same system, or BASELINE is the TOML file of an engine and CANDIDATE its queries.
        also: Also write another format to a file, as in junit=gate.xml, or send the figures, without
            queries and documents, as OpenTelemetry metrics of a service to
            OTEL_EXPORTER_OTLP_ENDPOINT: otlp=SERVICE; may be given several times.
        comment: Keep one comment of this name on the pull request up to date, in a job of GitHub
            (GITHUB_TOKEN) or GitLab (GITLAB_TOKEN). It does not change the exit code.
        refresh_after: The comment warns of a saved baseline that is older.
        details: Show methods, hashes, the reasons of all rules and more losses, in text and Markdown.
        open_page: Open the verdict as a page in the browser too.
    """
    if metrics:
        if options_of_gate["policy"] or checked:
            raise UsageError(
                "-m is for a gate without --policy and --self-check; write its metrics into the rules.",
                code="conflicting-options",
            )
        options_of_gate["policy"] = metrics
    if checked:
        runs = (baseline, candidate, *noise)
        _self_check(ctx, collection, runs, (form, output), snapshots, options_of_gate["policy"])
    if stored is not None and not options_of_gate["policy"] and stored.policy:
        options_of_gate["policy"] = parse_policy(stored.policy, f"the policy of the project {stored.name}")
    if noise:
        if isinstance(collection, Scores):
            raise collection.supply.error("--noise", Need("repeats"))
        baseline = with_noise(collection, baseline, noise)
    services = [name.removeprefix(_OTLP) for name in also if name.startswith(_OTLP)]
    names_and_paths = [_parse_also(name) for name in also if not name.startswith(_OTLP)]
    _check_outputs(names_and_paths, comment)
    with TerminalProgress(3):
        result = gate(collection, baseline, candidate, **options_of_gate)
    record_if_requested(result)
    of_comment = (comment, dict(names_and_paths).get("html", ""), refresh_after)
    rendered = partial(_rendered, result, str(candidate), of_comment, details=details)
    for name, path in names_and_paths:  # before any verdict is printed: a full disk is an error
        write_output(rendered(name), path)
    write_output(style_output(rendered(form, output_width(output)), form, output), output)
    if open_page:
        terminal_output.open_page(rendered("html"))
    if stored is not None and options_of_gate["log"]:
        stored.add_result(result, summary={"verdict": result.verdict})
    _send(result, services)
    _publish(rendered, has_comment=comment is not None, has_summary=form == "github")
    ctx.exit(result.status)


_OTLP = "otlp="
_COMMENT = "rankgate.decisions.gating.verdict_comment"


def _check_outputs(names_and_paths: Sequence[tuple[str, str]], comment: str | None) -> None:
    """Refuse files and the name of a comment that cannot be written, before any work."""
    for _, path in names_and_paths:
        check_paths(input_paths(), path)
    if comment is not None:
        load_name(f"{_COMMENT}:marker")(comment)


def _rendered(
    result: Verdict,
    candidate: str,
    of_comment: tuple[str | None, str, int],
    form: str,
    width: int = WIDTH,
    *,
    details: bool,
) -> str:
    """The verdict in a form, with what the command knows beside it: files, and settings of the comment."""
    if form == "comment":
        body: str = load_name(f"{_COMMENT}:comment_body")(result, *of_comment)
        return body
    if form == "intoto":
        return statement(result, _read_files(result), registry.without_format(candidate))
    return render(result, form, width, details=details)


def _send(result: Verdict, services: Sequence[str]) -> None:
    """Send the figures of each service; a failure does not change the exit code of the verdict."""
    for service_name in services:
        try:
            send_figures(result, service_name)
        except UsageError as error:
            click.echo(replace_controls(f"rankgate: {error}"), err=True)


def _publish(rendered: Callable[[str], str], *, has_comment: bool, has_summary: bool) -> None:
    """Post the comment, and write GitHub's summary of the step; it has the comment that nobody took."""
    text = ""
    if has_comment:
        from rankgate.decisions.gating.pull_requests import keep_comment

        body = rendered("comment")
        try:
            keep_comment(body)
        except UsageError as error:
            click.echo(replace_controls(f"rankgate: {error}"), err=True)
            text = f"{body}\n{escape_markdown(str(error))}\n"
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path and (text or has_summary):
        with open(path, "a", encoding="utf-8") as summary:  # noqa: PTH123 - the file has earlier summaries
            summary.write(text or rendered("markdown"))


def _read_files(result: Verdict) -> list[str]:
    """The files behind a verdict: those of the command line, its policy and its saved baseline."""
    baseline = str(service.FOLDER / f"{result.saved[0]}.json") if result.saved else ""
    paths = map(registry.without_format, input_paths())
    return [path for path in dict.fromkeys([*paths, result.policy, baseline]) if Path(path).is_file()]


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
    if form not in FORMS:
        raise UsageError(
            f"a self-check has no format {form}; it has {', '.join(FORMS)}.", code="conflicting-options"
        )
    if isinstance(collection, Scores):
        raise collection.supply.error("--self-check", Need("lists"))
    baseline, candidate, *_ = runs
    if collection.judgments is None or baseline is None or candidate is None:
        raise UsageError(
            "--self-check takes judgments and two runs of a system, or an engine and its queries.",
            code="missing-input",
        )
    with TerminalProgress(snapshots * snapshots):
        if str(baseline).endswith(".toml"):
            result = self_check(collection, baseline, policy, queries=candidate, snapshots=snapshots)
        else:
            result = self_check(collection, runs, policy)
    print_result(result, form, output)
    ctx.exit(result.status)


def _parse_also(argument: str) -> tuple[str, str]:
    form, equals, path = argument.partition("=")
    if form not in VERDICT_FORMS or not equals or not path:
        raise UsageError(
            f"--also {argument}: write FORM=FILE, of {', '.join(VERDICT_FORMS)}, or otlp=SERVICE.",
            code="invalid-syntax",
        )
    return form, path
