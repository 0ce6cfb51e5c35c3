"""``rankgate rate``: a person at the terminal, or a language model, rates a pool."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_to_stderr
from rankgate.core.console.places import check_paths, input_paths
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.errors import UsageError
from rankgate.core.present.suffixes import check_suffix
from rankgate.core.present.write import render_result
from rankgate.judging.commands import llm_options
from rankgate.judging.commands.rating_keys import rate_by_keys
from rankgate.judging.llm.rate import LLMRating, rate
from rankgate.judging.rating.pool_tasks import read_tasks
from rankgate.judging.rating.terminal import Rating
from rankgate.measurement import store_options

if TYPE_CHECKING:
    from rankgate.judging.llm.judge import Judge
    from rankgate.judging.store.remote_rating import RemoteRating
    from rankgate.judging.store.store_rating import StoreRating
    from rankgate.store.client.remote_project import RemoteProject
    from rankgate.store.stored_project import StoredProject

_CUT_MESSAGE = "an unfinished line at the end of the file was cut off"


@click.command("rate")
@click.argument("pool", type=click.Path())
@verb_options(rate, "rater NAME", "scale SCALE")
@verb_options(read_tasks, "queries", "documents")
@verb_options(rate, "guideline VERSION", "batch N")
@options.from_formats("pools pool", "queries queries", "documents documents")
@options.seed
@click.option(
    "-o",
    "--output",
    metavar="FILE.jsonl",
    type=click.Path(),
    help="The file of ratings; new ones are appended, and work continues where it ended. Needed "
    "without --project.",
)
@store_options.instead_of_files(pool="batch")
@llm_options.add_judge_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    pool: str,
    rater: str | None,
    seed: int,
    output: str | None,
    stored: StoredProject | RemoteProject | None,
    judge: Judge | None,
    **arguments: Any,
) -> None:
    """Rate POOL at the terminal, one document at a time, one key per grade.

    Every rating is on disk before the next document is shown. c: can't tell, s: skip, u: undo,
    space: more of a long document, q: quit; the same command continues later. Pasted text is
    ignored. With --llm a language model rates: answered pairs are not asked again, failed requests
    give no grade, and the exit code is 3 if pairs are left. In a store its ratings count once it is
    admitted: rankgate store model admit.

    \b
    rankgate rate pool.csv --queries queries.csv --documents docs.csv -o ann.jsonl --rater ann
    rankgate rate pool.csv --queries queries.csv --documents docs.csv -o llm.jsonl \\
        --llm MODEL --key-from API_KEY --prices 0.5 1.5 --ceiling 20
    rankgate rate first --project shop --store sqlite:///judging.db --rater ann
    rankgate rate first --project shop --store sqlite:///judging.db --llm MODEL --key-from API_KEY
    """
    if stored is not None:
        if output is not None:
            problem = "-o is for files; with --project ratings go into the store."
            raise UsageError(problem, code="conflicting-options")
        if judge is not None:
            ctx.exit(_run_model_in_store(stored, pool, judge))
        _rate_in_store(stored, pool, rater)
        return
    if output is None:
        problem = "name a file for the ratings with -o, or a store with --project."
        raise UsageError(problem, code="missing-input")
    check_paths(input_paths(), output)
    check_suffix(output, "jsonl")
    if judge is not None:
        if not (arguments["queries"] and arguments["documents"]):
            raise UsageError(
                "a language model needs texts; name --queries and --documents.",
                code="missing-input",
            )
        with LLMRating(pool, output, judge, rater=rater or "", **arguments) as asking:
            ctx.exit(_run_model(asking))
    with Rating(pool, output, rater or getpass.getuser(), seed=seed, **arguments) as work:
        if work.cut:
            click.echo(_CUT_MESSAGE, err=True)
        rate_by_keys(work)
        click.echo(f"rated {work.done} of {work.total}; the ratings are in {output}", err=True)


def _rate_in_store(project: StoredProject | RemoteProject, batch: str, rater: str | None) -> None:
    """Rate a batch of a store, or of a server, at the terminal."""
    from rankgate.store.stored_project import StoredProject

    work: StoreRating | RemoteRating
    if isinstance(project, StoredProject):
        from rankgate.judging.store.store_rating import StoreRating

        work = StoreRating(project, batch, rater or getpass.getuser())
    else:
        from rankgate.judging.store.remote_rating import RemoteRating

        if rater:
            problem = "a server's rater is the user whose token it is; leave --rater out."
            raise UsageError(problem, code="conflicting-options")
        work = RemoteRating(project, batch)
    with work:
        rate_by_keys(work)
        rated_count, total = work.done, work.total
    click.echo(f"rated {rated_count} of {total}; the ratings are in {project.place}", err=True)


def _run_model_in_store(project: StoredProject | RemoteProject, batch: str, judge: Judge) -> int:
    """Have a model rate a batch of a store; return the exit code."""
    from rankgate.judging.models.rate_batch import rate_batch
    from rankgate.store.stored_project import StoredProject

    if not isinstance(project, StoredProject):
        raise UsageError(
            "a server asks models itself, with keys of its own; start it on the page Models, or by "
            "rankgate.Client.start_model.",
            code="conflicting-options",
        )
    work = rate_batch(project, batch, judge)
    with TerminalProgress(work.left):
        result = work.run()
    print_to_stderr(render_result(result, "text"))
    return result.status


def _run_model(work: LLMRating) -> int:
    """Have the model rate; return the exit code."""
    if work.cut:
        click.echo(_CUT_MESSAGE, err=True)
    with TerminalProgress(work.left):
        result = work.run()
    print_to_stderr(render_result(result, "text"))
    return result.status
