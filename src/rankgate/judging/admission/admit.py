"""Check whether a judge agrees with people well enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.present.codec import Named
from rankgate.core.progress import step
from rankgate.data.collection import Collection
from rankgate.judging.admission.admission import JudgeAdmission
from rankgate.judging.admission.attacked import attacks_on
from rankgate.judging.admission.bias import bias_of
from rankgate.judging.admission.demands import AGREEMENT, Demands, demanded, impartial, withstood
from rankgate.judging.admission.judged_pairs import judged_pairs, named_pairs, ratings_of
from rankgate.judging.admission.lineage import FAMILIES, Lineage, family_bias
from rankgate.judging.admission.order import TOP, systems_of
from rankgate.judging.admission.repeated_grades import grade_components
from rankgate.judging.agreement.figures import agreements
from rankgate.judging.agreement.grade_alarms import stray
from rankgate.judging.agreement.rated_pairs import rated_pairs
from rankgate.judging.rating.pool_tasks import pool_of

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.data.inputs import QrelsLike, RatingsLike
    from rankgate.judging.admission.order import OrderedSystems
    from rankgate.judging.rating.pool_tasks import PoolLike
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

METRICS = ("nDCG@10",)
"""Metrics under which the order of systems is compared when none is named."""

DEMANDS = Demands()
"""What a judge must show by default."""


def admit(
    people: Collection | QrelsLike,
    judge: Collection | QrelsLike,
    runs: Sequence[Any] = (),
    metrics: str | Metric | Sequence[str | Metric] = METRICS,
    convention: str | Convention = "trec",
    *,
    demands: Demands = DEMANDS,
    asked: PoolLike | None = None,
    attacked: Sequence[RatingsLike] = (),
    lineage: Lineage | Mapping[str, Sequence[str]] | str | Path | None = None,
    repeated: Sequence[RatingsLike] = (),
    top: Annotated[int, Range(2)] = TOP,
    resamples: int = 2000,
    seed: int = 0,
) -> JudgeAdmission:
    """Check whether a judge, a language model or clicks, agrees with people well enough.

    Both are compared on the pairs that both judged. A pair that people graded and the judge did
    not counts as unanswered, and a judge that answers too few is refused. Runs are scored by the
    common pairs alone, once with people's grades and once with the judge's, so that nothing but
    the grades differs. Pairs of one query are not independent: intervals resample queries, and
    fewer than 15 queries decide nothing.

    Args:
        people: judgments by people, or a `Collection` of them, by whose columns runs are read too:
            a path, a frame, ``{query: {doc: grade}}``. A grade of the judge outside of their scale,
            as ``read_qrels(path, scale="0..4")`` states it, is not an answer.
        judge: judgments by the judge, or a `Collection` of them.
        runs: systems whose order is compared; three or more.
        metrics: under which it is.
        convention: by which they are scored.
        demands: what the judge must show.
        asked: the pool that the judge was asked about, drawn before it answered, such as that of
            admit-plan; without it, every pair that people graded. Where it leaves out pairs that
            people graded, the result says how many: a judge whose pairs were named after it
            answered is measured where it is right.
        attacked: ratings by the judge of the same pairs under attack, as rate --attack writes.
        lineage: which model family the judge, the systems and the writers of queries and documents
            come from: a TOML file with [families], or {family: [members]}; members are judge,
            queries, corpus and names of runs.
        repeated: the judge's grades by what was varied, as ``model:A,prompt:1=FILE``; every level
            goes with every level of the others. Shows what each adds to the variance of grades.
        top: the best systems by people whose order is compared too (tau@k); with no more systems
            than that it says nothing new and is left out.
        resamples: replicates of the intervals of agreement.
        seed: of the replicates.

    Raises:
        InputError: data that cannot be read; no pair that both judged; a lineage that contradicts
            itself, or lacks a system.
        UsageError: unknown names; repetitions that are not crossed.

    >>> people = {f"q{i}": {"a": i % 3, "b": i % 2} for i in range(60)}
    >>> admit(people, people).verdict
    'pass'
    """
    collection = Collection.of(people)
    ours, theirs = collection.qrels(), Collection.of(judge).qrels()
    graded_on = ours.scale
    pool = None if asked is None else pool_of(asked)
    both, answers = judged_pairs(ours, theirs, graded_on, pool)
    step("agreement")
    found = agreements(rated_pairs(ratings_of(both), graded_on), samples=resamples, seed=seed)
    systems = systems_of(both, collection.run_source(list(runs)), metrics, convention, top)
    families, cautions = _families(lineage, systems, demands.family)
    bias, queries = bias_of(both), both["query_id"].n_unique()
    coefficient = found.coefficients[AGREEMENT]
    attacks = attacks_on(theirs, attacked)
    return JudgeAdmission(
        people=Named(ours.name, ours.sha256),
        judge=Named(theirs.name, theirs.sha256),
        pairs=len(both),
        queries=queries,
        answers=answers,
        demands=(
            *demanded(answers, queries, coefficient, bias, orders=systems.orders, asked=demands),
            *(withstood(row, demands.raised) for row in attacks.iter_rows(named=True)),
            *(impartial(row, demands.family) for row in families.iter_rows(named=True)),
        ),
        coefficients=found.coefficients,
        bias=bias,
        systems=systems.table,
        orders=systems.orders,
        asked=demands,
        convention=systems.convention,
        resamples=resamples,
        seed=seed,
        cautions=(
            *systems.cautions,
            *(alarm.what for alarm in stray(found)),
            *cautions,
            *named_pairs(ours, answers),
        ),
        attacks=attacks,
        families=families,
        components=grade_components(repeated),
    )


def _families(
    lineage: Lineage | Mapping[str, Sequence[str]] | str | Path | None,
    systems: OrderedSystems,
    limit: float,
) -> tuple[pl.DataFrame, list[str]]:
    """What the judge gives systems of the same family, and cautions.

    Raises:
        InputError: a lineage that contradicts itself, or lacks a system.
        UsageError: no runs, and no writer of queries or documents.
    """
    if lineage is None:
        return pl.DataFrame(schema=FAMILIES), []
    known = Lineage.of(lineage)
    if not systems.names and known.names_writers:
        return pl.DataFrame(schema=FAMILIES), known.cautions(np.zeros(0, np.bool_))
    if not systems.names:
        problem = "a lineage needs runs, some of them of the judge's family; name them."
        raise UsageError(problem, code="missing-input")
    own = known.own(systems.names)
    return family_bias(systems.values, known, own, limit), known.cautions(own)
