"""Values of both systems under random grades of unjudged documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.decisions.unjudged.hole_figures import count_grade_sets, extreme_grades
from rankgate.decisions.unjudged.hole_model import model_holes
from rankgate.decisions.unjudged.hypothetical_grades import HypotheticalScorer
from rankgate.measurement.scoring.bounds import best_grade

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.collection import Selection
    from rankgate.data.comparison import ScoredRun
    from rankgate.measurement.evaluation.scored_system import Scorer

    Floats = NDArray[np.float64]

DRAWS = 200
"""The number of random sets of grades."""


@dataclass(frozen=True)
class DrawnValues:
    """One metric of both systems, for the queries with unjudged documents.

    Attributes:
        query_ids: those queries, H of them.
        holes: (H,) number of unjudged documents of each query.
        baseline, candidate: (H, S) values, each column under one set of drawn grades.
        extremes: (2, H, 4) values of both under the grades that could move the difference most:
            all against the candidate and all for it, with shared documents bad and best.
        pooled: (S,) true for sets in which unjudged documents are worse than similar judged ones.
    """

    query_ids: Sequence[str]
    holes: NDArray[np.int64]
    baseline: Floats
    candidate: Floats
    extremes: Floats
    pooled: NDArray[np.bool_]


def drawn_values(
    scorer: Scorer,
    baseline: ScoredRun,
    candidate: ScoredRun,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    selection: Selection = "unknown",
) -> dict[str, DrawnValues]:
    """Draw grades, and compute both systems' values by metric; empty without holes.

    Args:
        scorer: judgments, metrics, convention.
        baseline: a scored system; no run is opened.
        candidate: another.
        draws: the number of random sets of grades.
        seed: of the drawing.
        selection: how judged documents were chosen.
    """
    stage, hole_model = (
        HypotheticalScorer.of(scorer, baseline, candidate),
        model_holes(baseline, candidate),
    )
    table = hole_model.table
    if not stage.metrics or table.is_empty():
        return {}
    corner_grades = extreme_grades(table, best_grade(scorer.qrels))
    drawn_grades, pooled = hole_model.drawn(count_grade_sets(draws, len(table)), seed, selection)
    grades = np.concatenate([corner_grades, drawn_grades], axis=1)
    queries = table["query_id"].unique(maintain_order=True).to_list()
    values = stage.values(table, grades)
    counts = dict(table["query_id"].value_counts().iter_rows())
    holes = np.array([counts[query] for query in queries], np.int64)
    width = corner_grades.shape[1]
    drawn_columns = values[..., width:]
    return {
        label: DrawnValues(
            queries,
            holes,
            drawn_columns[0, j],
            drawn_columns[1, j],
            values[:, j, :, :width],
            pooled,
        )
        for j, (label, _) in enumerate(stage.metrics)
    }
