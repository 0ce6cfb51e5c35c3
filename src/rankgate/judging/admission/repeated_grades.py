"""Variance components of a judge's grades by prompt, model, temperature and repetition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data import read_qrels
from rankgate.data.repeated import RepeatedJudgments
from rankgate.judging.standing import PAIR
from rankgate.measurement.stats.facets import facets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PAIRS = "pairs"
"""The facet of queries and documents: what a judge should distinguish."""

COMPONENTS = {"source": pl.String, "levels": pl.Int64, "variance": pl.Float64, "share": pl.Float64}


def grade_components(repeated: Sequence[Any]) -> pl.DataFrame:
    """The components of the variance of one grade, by the facets that were repeated.

    A grade is the mean plus an effect of the pair, of each facet and of their interactions, all at
    random; their variances are those of the analysis of variance of a crossed design
    (`stats.facets`). Pairs that all sets graded count.

    Args:
        repeated: grades by label, as ``model:A,prompt:1=FILE``; every level of a facet goes with
            every level of the others. Empty gives an empty table.

    Returns:
        ``source`` (pairs, a facet, or several that interact), ``levels`` (of one facet),
        ``variance`` (of one grade, not below 0), ``share`` (of all of them); the largest first.

    Raises:
        InputError: data that cannot be read; fewer than two pairs that all sets graded.
        UsageError: labels of other facets, a combination that is missing; nothing repeated.
    """
    if not repeated:
        return pl.DataFrame(schema=COMPONENTS)
    repetitions = RepeatedJudgments.of(list(repeated))
    sizes = {name: len(levels) for name, levels in repetitions.facets.items() if len(levels) > 1}
    if not sizes:
        problem = "one set of grades repeats nothing; give two or more, each with its label."
        raise UsageError(problem, code="invalid-design")
    values = _crossed_grades(repetitions, tuple(sizes.values()))
    components = facets(values)
    names = (PAIRS, *sizes)
    # shares are of the variance of the mean: one level of each facet has as much times its levels
    variances = [
        float(share) * float(np.prod([components.sizes[axis] for axis in effect]))
        for effect, share in zip(components.effects, components.shares, strict=True)
    ]
    total = sum(variances)
    rows = [
        (
            " × ".join(names[axis] for axis in effect),
            components.sizes[effect[0]] if len(effect) == 1 else None,
            variance,
            variance / total if total else 0.0,
        )
        for effect, variance in zip(components.effects, variances, strict=True)
    ]
    rows.sort(key=lambda row: -row[2])
    return pl.DataFrame(rows, schema=COMPONENTS, orient="row")


def _crossed_grades(repetitions: RepeatedJudgments, sizes: tuple[int, ...]) -> Floats:
    """(pairs, levels of each facet) the grades of the pairs that all sets graded."""
    combinations = sorted(
        repetitions.qrels,
        key=lambda combination: [
            levels.index(level)
            for levels, level in zip(repetitions.facets.values(), combination, strict=True)
        ],
    )
    table = pl.DataFrame()
    for number, combination in enumerate(combinations):
        qrels = read_qrels(repetitions.qrels[combination])
        grades = qrels.table.filter(pl.col("grade") >= 0)
        set_grades = grades.select(*PAIR, pl.col("grade").alias(str(number)))
        table = table.join(set_grades, on=PAIR, maintain_order="left") if number else set_grades
        if len(table) < 2:
            problem = "fewer than two pairs are graded in all repetitions; grade the same pairs."
            raise InputError(problem, source=qrels.place.label, code="no-common-pairs")
    return table.drop(PAIR).to_numpy().astype(np.float64).reshape(len(table), *sizes)
