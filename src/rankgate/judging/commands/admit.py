"""``rankgate admit``: check whether a judge agrees with people well enough."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import value_options, verb_options
from rankgate.core.console.output import print_result
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.present.write import FORMS
from rankgate.data import read_qrels
from rankgate.data.collection import Collection
from rankgate.judging.admission.admit import METRICS, admit
from rankgate.judging.admission.demands import Demands
from rankgate.judging.admission.judge_grades import JudgeGrades
from rankgate.measurement import metric_options


@click.command("admit")
@click.argument("people", type=click.Path())
@click.argument("judge", type=click.Path())
@click.argument("runs", nargs=-1, type=click.Path())
@metric_options.metrics_option(
    "A metric to order RUNS by; may be given several times.", METRICS, shown=True
)
@metric_options.convention
@options.scale
@options.from_formats("judgments people judge", "runs runs")
@value_options(
    "judge",
    JudgeGrades,
    *("asked", "attacked FILE", "repeated FACET:LEVEL,...=FILE"),
    also={"judgments": "judge"},
)
@verb_options(admit, "lineage FILE", "top")
@value_options("demands", Demands)
@options.form(*FORMS)
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    /,
    people: str,
    judge: JudgeGrades,
    runs: tuple[str, ...],
    scale: str | None,
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
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
        result = admit(collection, judge, runs, **arguments)
    print_result(result, form, output)
    ctx.exit(result.status)
