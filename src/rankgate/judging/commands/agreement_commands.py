"""The commands ``agree``, ``resolve`` and ``gold``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options, verb_options
from rankgate.core.console.option_types import WRITABLE, DefiningCommand, FullHelpGroup
from rankgate.core.console.shared_options import write_output
from rankgate.core.console.terminal_output import TerminalProgress, print_result, print_summary, prints
from rankgate.core.errors import UsageError
from rankgate.core.output_files import check_suffix, replace_file
from rankgate.core.present.number_formats import count_noun
from rankgate.core.present.write_results import FORMS
from rankgate.data.column_map import map_columns
from rankgate.judging.agreement.agree import agree
from rankgate.judging.agreement.rater_resampling import resample_raters
from rankgate.judging.gold_check import check_gold, draw_gold
from rankgate.judging.resolution.resolve import as_pool, origin_json, resolve, rules, trec
from rankgate.measurement import metric_options, store_options

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.store.stored_project import StoredProject


@click.command("agree")
@shared_options.paths("ratings", "[baseline]", "[candidate]")
@metric_options.metrics_option(
    "A metric to compare BASELINE and CANDIDATE; may be given several times.", ("nDCG@10",), shown=True
)
@metric_options.convention
@verb_options(resample_raters, "rule", "draws")
@shared_options.seed
@verb_options(agree, "scale SCALE", "columns NAME=COLUMN,...")
@store_options.instead_of_files(ratings="ratings", baseline="run", candidate="run")
@shared_options.from_option
@shared_options.form(*FORMS)
@shared_options.output
def agree_command(
    ratings: str,
    baseline: str | None,
    candidate: str | None,
    stored: StoredProject | None,  # noqa: ARG001 - it is only read
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Measure the agreement of the raters in RATINGS, and report alarms.

    RATINGS has one row per rating: query, document, rater, grade. Corrections are later rows.
    With two runs it also reports how often another set of raters would have reversed their
    comparison.

    \b
    rankgate agree ratings.csv
    rankgate agree book.json --scale 0..3 --format json
    rankgate agree ratings.csv old.run new.run -m nDCG@10
    rankgate agree all --project shop --store sqlite:///judging.db
    """
    if baseline and not candidate:
        raise UsageError(
            "a comparison takes two runs: rankgate agree RATINGS BASELINE CANDIDATE.", code="missing-input"
        )
    resampling = {name: arguments.pop(name) for name in ("metrics", "rule", "draws", "seed")}
    convention = arguments.pop("convention")
    mapped_ratings = map_columns(ratings, arguments.pop("columns"), "ratings")
    result = agree(mapped_ratings, **arguments)
    if baseline and candidate:
        resampling |= {"how": convention, "from_": arguments["from_"]}
        with TerminalProgress(resampling["draws"]):
            effect = resample_raters(mapped_ratings, baseline, candidate, **resampling)
        result = replace(result, effect=effect)
    print_result(result, form, output)


@click.command(
    "resolve", cls=DefiningCommand, definitions={"Rules": [(rule.name, rule.title) for rule in rules()]}
)
@shared_options.paths("ratings")
@verb_options(resolve, "rule", choices={"rule": [rule.name for rule in rules()]})
@shared_options.parameters("A parameter of the rule, as in adjudicator=ann or expected=yes.")
@verb_options(resolve, "transform NAME|FILE", "scale SCALE", "slots N", "sample", "rest FILE")
@own_options("unresolved FILE", kinds={"unresolved": WRITABLE})
@verb_options(resolve, "columns NAME=COLUMN,...")
@store_options.instead_of_files(ratings="counted")
@store_options.save_as("Keep the judgments in the project under this name.")
@shared_options.from_option
@shared_options.form("trec", "csv", "json")
@shared_options.output
def resolve_command(
    ratings: str,
    *,
    unresolved: str | None = None,
    stored: StoredProject | None,
    save_as: str | None,
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Combine RATINGS into judgments: one grade per query and document, by a named rule.

    RATINGS has one row per rating: query, document, rater, grade; an empty grade means that the
    rater could not tell. The judgments go to standard output or to -o FILE, together with
    FILE.meta.json, which records how they were made; a summary is printed on standard error.

    \b
    rankgate resolve ratings.csv -o qrels.txt
    rankgate resolve ratings.csv --rule mean --transform graded-to-detail -o qrels.csv
    rankgate resolve ratings.csv --sample sample.csv --rest rest.qrels -o qrels.txt
    rankgate resolve ratings.csv --rule unanimous --unresolved differ.csv -o agreed.txt
    rankgate resolve book.json --rule adjudicated --parameter adjudicator=ann -o qrels.txt
    rankgate resolve all --project shop --save-as gold
    \f

    Options:
        unresolved: Write the pairs without a judgment as a pool (csv), to be rated again or
            adjudicated.
    """
    check_suffix(unresolved, "csv")
    result = resolve(ratings, **arguments)
    if stored is not None and save_as is not None and result.qrels is not None:
        stored.add_judgments(result.qrels, save_as)
    if form == "trec":
        write_output(trec(result), output)
    else:
        print_result(result, form, output)
    if output not in (None, "-"):
        write_output(origin_json(result), f"{output}.meta.json")
    if unresolved:
        write_output(as_pool(result), unresolved)
    print_summary([result.headline, *result.unused, *(f"! {caution}" for caution in result.cautions)])


@click.group("gold", cls=FullHelpGroup)
def gold_command() -> None:
    """Check gold labels: draw pairs for a blind rating, then report which labels are wrong."""


@gold_command.command("draw")
@shared_options.paths("gold")
@verb_options(draw_gold, "pairs")
@shared_options.from_formats("judgments gold")
@shared_options.seed
@own_options("output FILE.csv -o", kinds={"output": click.Path()})
def draw_gold_command(gold: str, pairs: int, seed: int, output: str) -> None:
    """Draw a random sample of the pairs in GOLD, for raters.

    \b
    rankgate gold draw qrels.txt --pairs 200 -o blind.csv
    rankgate sheet blind.csv --raters ann,bob,eve -o sheets
    \f

    Options:
        output: The pool: pairs in random order, without their grades.
    """
    sample = draw_gold(gold, pairs, seed=seed)
    with replace_file(output) as file:
        sample.write_csv(file)
    click.echo(f"{count_noun(len(sample), 'pair is', 'pairs are')} in {output}", err=True)


@gold_command.command("check")
@shared_options.paths("gold", "ratings", "[runs...]")
@metric_options.metrics_option("A metric of RUNS; may be given several times.", ("nDCG@10",), shown=True)
@metric_options.convention
@verb_options(check_gold, "majority", "fewest")
@shared_options.from_formats("judgments gold", "ratings ratings", "runs runs")
@prints
def check(gold: str, ratings: str, runs: tuple[str, ...], **arguments: Any) -> Result:
    """Check the labels of GOLD by RATINGS of people who have not seen them.

    A label is wrong where raters agree on another grade, and ambiguous where they do not agree.
    With RUNS their means are also computed with the wrong labels replaced.

    \b
    rankgate gold check qrels.txt blind.jsonl
    rankgate gold check qrels.txt blind.jsonl old.run new.run -m nDCG@10
    """
    return check_gold(gold, ratings, runs, **arguments)
