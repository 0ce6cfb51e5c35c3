"""Check whether a judge agrees with people well enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.present.codec import InputHash
from rankgate.core.progress import step
from rankgate.data.collection import Collection
from rankgate.judging.admission.admission import JudgeAdmission
from rankgate.judging.admission.attacked import attacks_on
from rankgate.judging.admission.bias import bias_of
from rankgate.judging.admission.demands import (
    AGREEMENT,
    Demands,
    check_attack,
    check_demands,
    check_family,
)
from rankgate.judging.admission.judge_grades import JudgeGrades
from rankgate.judging.admission.judged_pairs import as_ratings, asked_pairs_caution, judged_pairs
from rankgate.judging.admission.lineage import FAMILIES, Lineage, family_bias
from rankgate.judging.admission.order import TOP, order_systems
from rankgate.judging.admission.repeated_grades import grade_components
from rankgate.judging.agreement.figures import agreements
from rankgate.judging.agreement.grade_alarms import few_difference_alarms, stray_alarms
from rankgate.judging.agreement.rated_pairs import rated_pairs

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.data.inputs import QrelsLike
    from rankgate.judging.admission.judge_grades import JudgeGradesLike
    from rankgate.judging.admission.order import OrderedSystems
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

METRICS = ("nDCG@10",)
"""The default metrics under which the order of systems is compared."""

DEMANDS = Demands()
"""The default requirements of a judge."""


def admit(
    people: Collection | QrelsLike,
    judge: JudgeGradesLike,
    runs: Sequence[Any] = (),
    metrics: str | Metric | Sequence[str | Metric] = METRICS,
    convention: str | Convention = "trec",
    *,
    demands: Demands = DEMANDS,
    lineage: Lineage | Mapping[str, Sequence[str]] | str | Path | None = None,
    top: Annotated[int, Range(2)] = TOP,
) -> JudgeAdmission:
    """Check whether a judge, a language model or clicks, agrees with people well enough.

    Both are compared on the pairs that both judged. A pair that people graded and the judge did
    not counts as unanswered, and a judge that answers too few is refused. Runs are scored by the
    common pairs alone, once with people's grades and once with the judge's, so that nothing but
    the grades differs. Pairs of one query are not independent: intervals leave out one query
    at a time, and fewer than 15 queries decide nothing.

    Args:
        people: judgments by people, or a `Collection` of them, by whose columns runs are read too:
            a path, a frame, ``{query: {doc: grade}}``. A grade of the judge outside of their scale,
            as ``read_qrels(path, scale="0..4")`` states it, is not an answer.
        judge: judgments by the judge, or `JudgeGrades`, which say what it was asked, and have its
            grades under attack and its repetitions.
        runs: systems whose order is compared; three or more.
        metrics: under which it is.
        convention: by which they are scored.
        demands: what the judge must show.
        lineage: which model family the judge, the systems and the writers of queries and documents
            come from: a TOML file with [families], or {family: [members]}; members are judge,
            queries, corpus and names of runs.
        top: the best systems by people whose order is compared too (tau@k); with no more systems
            than that it says nothing new and is left out.

    Raises:
        InputError: data that cannot be read; no pair that both judged; a lineage that contradicts
            itself, or lacks a system.
        UsageError: unknown names; repetitions of one set of grades.

    >>> people = {f"q{i}": {"a": i % 3, "b": i % 2} for i in range(60)}
    >>> admit(people, people).verdict
    'pass'
    """
    collection = Collection.of(people)
    grades = JudgeGrades.of(judge)
    people_qrels, judge_qrels = collection.qrels(), grades.qrels()
    graded_on = people_qrels.scale
    common_pairs, answers = judged_pairs(people_qrels, judge_qrels, graded_on, grades.pool())
    step("agreement")
    figures = agreements(rated_pairs(as_ratings(common_pairs), graded_on))
    systems = order_systems(
        common_pairs, collection.run_source(list(runs)), metrics, convention, top
    )
    families, cautions = _families(lineage, systems, demands.family)
    bias, queries = bias_of(common_pairs), common_pairs["query_id"].n_unique()
    coefficient = figures.coefficients[AGREEMENT]
    attacks = attacks_on(judge_qrels, grades.attacked)
    return JudgeAdmission(
        people=InputHash(people_qrels.name, people_qrels.sha256),
        judge=InputHash(judge_qrels.name, judge_qrels.sha256),
        pairs=len(common_pairs),
        queries=queries,
        answers=answers,
        demands=(
            *check_demands(
                answers, queries, coefficient, bias, orders=systems.orders, asked=demands
            ),
            *(check_attack(row, demands.raised) for row in attacks.iter_rows(named=True)),
            *(check_family(row, demands.family) for row in families.iter_rows(named=True)),
        ),
        coefficients=figures.coefficients,
        bias=bias,
        systems=systems.table,
        orders=systems.orders,
        asked=demands,
        convention=systems.convention,
        cautions=(
            *systems.cautions,
            *(alarm.what for alarm in (*stray_alarms(figures), *few_difference_alarms(figures))),
            *cautions,
            *asked_pairs_caution(people_qrels, answers),
        ),
        attacks=attacks,
        families=families,
        components=grade_components(grades.repeated),
    )


def _families(
    lineage: Lineage | Mapping[str, Sequence[str]] | str | Path | None,
    systems: OrderedSystems,
    limit: float,
) -> tuple[pl.DataFrame, list[str]]:
    """The judge's advantage for systems of its own family, and cautions.

    Raises:
        InputError: a lineage that contradicts itself, or lacks a system.
        UsageError: no runs, and no writer of queries or documents.
    """
    if lineage is None:
        return pl.DataFrame(schema=FAMILIES), []
    parsed_lineage = Lineage.of(lineage)
    if not systems.names and parsed_lineage.names_writers:
        return pl.DataFrame(schema=FAMILIES), parsed_lineage.cautions(np.zeros(0, np.bool_))
    if not systems.names:
        problem = "a lineage needs runs, some of them of the judge's family; name them."
        raise UsageError(problem, code="missing-input")
    is_own_family = parsed_lineage.own(systems.names)
    return family_bias(
        systems.values, parsed_lineage, is_own_family, limit
    ), parsed_lineage.cautions(is_own_family)
