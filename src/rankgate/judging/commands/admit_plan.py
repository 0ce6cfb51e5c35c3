"""``rankgate admit-plan``: what people must judge to know how well a judge agrees."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import value_options, verb_options
from rankgate.core.console.output import print_result, print_summary
from rankgate.core.present.write import FORMS
from rankgate.judging.admission.admit_plan import admit_plan
from rankgate.judging.admission.judge_grades import JudgeGrades
from rankgate.judging.admission.plan_document import summary


@click.command("admit-plan")
@click.argument("judge", type=click.Path())
@click.argument("people", required=False, type=click.Path())
@verb_options(admit_plan, "width", "figure", "price", "minutes")
@value_options("judge", JudgeGrades, "asked", also={"judgments": "judge"})
@options.scale
@options.from_formats("judgments judge people")
@options.seed
@options.form(*FORMS)
@options.output
def command(
    judge: JudgeGrades, people: str | None, form: str, output: str | None, **arguments: Any
) -> None:
    """Plan which pairs of JUDGE people must judge, and what that costs.

    PEOPLE are grades of a pilot; without one, variances are the largest possible. The CSV is a
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
        print_summary([summary(result)])
