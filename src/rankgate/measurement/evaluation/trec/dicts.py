"""Evaluate rankings that are dictionaries, without making a table of them.

Only judged documents have to be placed, and a document's place is the number of scores above
its own. So the names of the other documents, by far the most, are never looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.data import read_qrels
from rankgate.data.rankings import Rankings
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.measurement.scoring.alignment.align import condensed
from rankgate.measurement.scoring.alignment.block import Block
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.alignment.mapping import align_mapping
from rankgate.measurement.scoring.mean import filled
from rankgate.measurement.scoring.plan import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.evaluation.trec.columns import Column
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring.alignment.align import Aligned

_HOW = CONVENTIONS["pytrec_eval"]


@dataclass(frozen=True)
class DictEvaluator:
    """Judgments ready to evaluate rankings, as trec_eval 9 does.

    Attributes:
        judgments: ``{query_id: {doc_id: grade}}``, at least one query, no query without grades.
        columns: what to compute.
        judged_only: documents without a judgment leave the rankings.
        index: the judgments as scoring wants them.
    """

    judgments: Mapping[str, Mapping[str, int]]
    columns: tuple[Column, ...]
    judged_only: bool
    index: JudgmentIndex

    @classmethod
    def of(
        cls,
        judgments: Mapping[str, Mapping[str, int]],
        columns: Sequence[Column],
        *,
        judged_only: bool = False,
    ) -> DictEvaluator:
        """Lay out judgments; raises InputError as `read_qrels` does."""
        index = JudgmentIndex.of(read_qrels(judgments))
        return cls(judgments, tuple(columns), judged_only, index)

    def evaluate(
        self, run: Mapping[str, Mapping[str, float]]
    ) -> tuple[list[str], list[NDArray[np.float64] | None]]:
        """The values of a run.

        Returns:
            The judged queries of the run, in its order, and for each column its values,
            ``(T,)``, or None where it has no numbers.
        """
        queries = [query for query in run if query in self.judgments]
        if not queries:
            return [], [None] * len(self.columns)
        rankings = Rankings.of({query: run[query] for query in queries}, "run", finite=False)
        aligned = align_mapping(rankings, self.index, _HOW.alignment)
        if self.judged_only:
            aligned = condensed(aligned)
        plain = [column.metrics if column.kind != "relstring" else () for column in self.columns]
        found = iter(self._values(aligned, [each for some in plain for each in some]))
        means = [np.mean([next(found) for _ in some], axis=0) if some else None for some in plain]
        return queries, means

    def _values(self, aligned: Aligned, metrics: Sequence[Metric]) -> list[NDArray[np.float64]]:
        """The values of each metric, in the order of the queries."""
        plan = Plan.of([(str(metric), metric) for metric in metrics], [_HOW])
        (jobs,), way = plan.jobs, plan.way(_HOW)
        part = plan.measure(Block(way, aligned, self.index)).parts[0]
        present, retrieved = aligned.present, aligned.retrieved
        return [
            filled(values.value, values.lacking, present=present, retrieved=retrieved, job=job)[0]
            for values, job in zip(part.values, jobs, strict=True)
        ]
