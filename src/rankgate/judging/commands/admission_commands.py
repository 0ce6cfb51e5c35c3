"""The commands ``admit`` and ``admit-plan``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import value_options, verb_options
from rankgate.core.console.terminal_output import TerminalProgress, print_result, print_summary, prints
from rankgate.core.present.write_results import FORMS
from rankgate.data import read_qrels
from rankgate.data.collection import Collection
from rankgate.judging.admission.admit import METRICS, admit
from rankgate.judging.admission.admit_plan import admit_plan
from rankgate.judging.admission.judged_pairs import JudgeGrades
from rankgate.judging.admission.requirements import Demands
from rankgate.measurement import metric_options

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result


@click.command("admit")
@shared_options.paths("people", "judge", "[runs...]")
@metric_options.metrics_option("A metric to order RUNS by; may be given several times.", METRICS, shown=True)
@metric_options.convention
@shared_options.scale
@shared_options.from_formats("judgments people judge", "runs runs")
@value_options(
    "judge",
    JudgeGrades,
    *("asked", "attacked FILE", "repeated FACET:LEVEL,...=FILE"),
    also={"judgments": "judge"},
)
@verb_options(admit, "lineage FILE", "top")
@value_options("demands", Demands)
@prints
def admit_command(
    people: str, judge: JudgeGrades, runs: tuple[str, ...], scale: str | None, **arguments: Any
) -> Result:
    """Check whether JUDGE, a language model or clicks, agrees with PEOPLE well enough.

    A pair that people graded and the judge did not counts against it. With three RUNS or more the
    order of these systems by both is compared too. Exits with 0 if the judge is admitted, 1 if it
    is refused, 3 if these pairs cannot decide.

    \b
    rankgate admit people.txt llm.txt
    rankgate admit people.txt llm.txt a.run b.run c.run -m nDCG@10 --tau 0.9
    rankgate admit people.txt llm.txt --attacked keywords.jsonl --attacked instruction.jsonl
    rankgate admit people.txt llm.txt a.run b.run c.run --lineage families.toml
    rankgate admit people.txt llm.txt --repeated prompt:1=one.txt --repeated prompt:2=two.txt
    rankgate admit people.txt llm.txt --format json -o admission.json
    """
    with TerminalProgress(len(runs) + 1):
        people_qrels = read_qrels(Collection.of(people).judgments_source, scale=scale)
        collection = replace(Collection.of(people), judgments=people_qrels, grades={})
        return admit(collection, judge, runs, **arguments)


@click.command("admit-plan")
@shared_options.paths("judge", "[people]")
@verb_options(admit_plan, "width", "figure", "price", "minutes")
@value_options("judge", JudgeGrades, "asked", also={"judgments": "judge"})
@shared_options.scale
@shared_options.from_formats("judgments judge people")
@shared_options.seed
@shared_options.form(*FORMS)
@shared_options.output
def admit_plan_command(
    judge: JudgeGrades, people: str | None, form: str, output: str | None, **arguments: Any
) -> None:
    """Plan the pairs of JUDGE that people must judge, with the cost.

    PEOPLE are grades of a pilot; without a pilot, variances are the largest possible. The CSV is a
    pool, for rankgate sheet and rankgate rate; judge it, and run this again with its grades to see
    the width that is reached.

    \b
    rankgate admit-plan llm.txt --width .05 --price 0.40
    rankgate admit-plan llm.txt pilot.txt --width .05 -o pool.csv
    rankgate admit-plan llm.txt pilot.txt --figure alpha --width .1 --minutes 1.5
    """
    result = admit_plan(judge, people, **arguments)
    print_result(result, form, output)
    if output:
        print_summary([result.headline])
