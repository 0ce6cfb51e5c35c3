"""``rankgate report``: one page for everybody who has to be told."""

from __future__ import annotations

import shlex

import click

from rankgate import services
from rankgate.cli import comparing, options
from rankgate.cli.places import deliver, refuse_clashes
from rankgate.cli.progress import Progress
from rankgate.report.page import WORST, page
from rankgate.services.compare import Rules
from rankgate.services.dossier import dossier
from rankgate.services.paired import Way

_WORDS = "rankgate.report.words"


class _Remembered(click.Command):
    """A command that remembers how it was called, for the page to say."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = tuple(args)
        return super().parse_args(ctx, args)


@click.command("report", cls=_Remembered)
@options.qrels
@click.argument("baseline", type=click.Path())
@click.argument("candidates", type=click.Path(), nargs=-1, required=True, metavar="CANDIDATE...")
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="METRIC",
    help="A metric such as nDCG@10; may be given several times. Without it those of the policy, "
    f"else {', '.join(services.DEFAULT_METRICS)}.",
)
@options.metrics_from
@options.convention
@click.option("--gate", "gated", is_flag=True, help="With the verdict of the project's policy.")
@click.option(
    "--policy", type=click.Path(), metavar="FILE", help="With the verdict of this policy."
)
@click.option(
    "--queries", type=click.Path(), metavar="FILE", help="A file with the texts of queries."
)
@click.option(
    "--documents",
    type=click.Path(),
    metavar="FILE",
    help="A file with fields of documents, such as titles.",
)
@comparing.unequal
@comparing.depth
@click.option(
    "--worst",
    type=click.IntRange(min=0),
    default=WORST,
    show_default=True,
    help="How many of the worst queries are shown with both lists.",
)
@comparing.resamples
@options.seed
@options.output
@click.pass_context
def command(  # noqa: PLR0917 - click passes them by name
    ctx: click.Context,
    qrels: str,
    baseline: str,
    candidates: tuple[str, ...],
    metrics: tuple[str, ...],
    metrics_from: str | None,
    convention: services.Convention,
    gated: bool,  # noqa: FBT001 - a flag of the command line
    policy: str | None,
    queries: str | None,
    documents: str | None,
    unequal: str,
    depth: int,
    worst: int,
    resamples: int,
    seed: int,
    output: str | None,
) -> None:
    """Write one HTML page on CANDIDATE against BASELINE, which needs no network to be read.

    \b
    rankgate report qrels.txt old.run new.run -o report.html
    rankgate report qrels.txt old.run new.run --policy rankgate.toml --documents titles.jsonl -o r.html
    """  # noqa: D301, E501 - click needs the character that \b makes; a command is one line
    beside = tuple(each for each in (policy, queries, documents, metrics_from) if each)
    refuse_clashes((qrels, baseline, *candidates, *beside), output)
    rules = Rules(Way(resamples=resamples, seed=seed), unequal=unequal)
    with Progress(2 + len(candidates)) as progress:
        told = dossier(
            qrels, baseline, list(candidates), metrics, convention, gated=gated, policy=policy,
            rules=rules, depth=depth, queries=queries, documents=documents,
            extra=services.metrics_from(metrics_from), again=_again(ctx), on_progress=progress,
        )  # fmt: skip
    deliver(page(told, worst), output)


def _again(ctx: click.Context) -> str:
    """The words of this call."""
    return shlex.join(["rankgate", "report", *ctx.meta[_WORDS]])
