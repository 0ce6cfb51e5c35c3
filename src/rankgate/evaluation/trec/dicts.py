"""Evaluate rankings that are dictionaries, without making a table of them.

Only judged documents have to be placed, and a document's place is the number of scores above
its own. So the names of the other documents, by far the most, are never looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgate.data import read_qrels
from rankgate.data.rankings import Rankings
from rankgate.scoring import CONVENTIONS
from rankgate.scoring.alignment.align import condensed
from rankgate.scoring.alignment.block import Block, Way
from rankgate.scoring.alignment.judgments import JudgmentIndex
from rankgate.scoring.alignment.mapping import align_mapping
from rankgate.scoring.job import Job
from rankgate.scoring.kernels import computed
from rankgate.scoring.mean import filled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.evaluation.trec.columns import Column
    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention
    from rankgate.scoring.alignment.align import Aligned


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
        how = CONVENTIONS["pytrec_eval"]
        queries = [query for query in run if query in self.judgments]
        if not queries:
            return [], [None] * len(self.columns)
        rankings = Rankings.of({query: run[query] for query in queries}, "run", finite=False)
        aligned = align_mapping(rankings, self.index, how.alignment)
        if self.judged_only:
            aligned = condensed(aligned)
        plain = [column.metrics if column.kind != "relstring" else () for column in self.columns]
        found = iter(_computed(aligned, self.index, [m for some in plain for m in some], how))
        means = [np.mean([next(found) for _ in some], axis=0) if some else None for some in plain]
        return queries, means


def _computed(
    aligned: Aligned, index: JudgmentIndex, metrics: Sequence[Metric], how: Convention
) -> list[NDArray[np.float64]]:
    """The values of each metric, in the order of the queries."""
    jobs = [Job.of(str(metric), metric, how) for metric in metrics]
    block = Block(Way(how.duplicates, how.alignment), aligned, index)
    present, retrieved = aligned.present, aligned.retrieved
    return [
        filled(values.value, values.lacking, present=present, retrieved=retrieved, job=job)[0]
        for values, job in zip(computed(block, jobs), jobs, strict=True)
    ]
