"""Evaluate rankings that are dictionaries, without making a table of them.

Only judged documents need a rank, and the rank of a document is the number of higher scores plus
one. So the names of unjudged documents, which are most documents, are never read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.data import read_qrels
from rankgate.data.run import Rankings
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.measurement.scoring.alignment.aligned_run import without_unjudged
from rankgate.measurement.scoring.alignment.dict_alignment import align_mapping
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.kernel_inputs import Block
from rankgate.measurement.scoring.scoring_job import fill_undefined
from rankgate.measurement.scoring.scoring_plan import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.evaluation.trec.trec_columns import Column
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring.alignment.aligned_run import JudgedRanks


_CONVENTION = CONVENTIONS["pytrec_eval"]


@dataclass(frozen=True)
class DictEvaluator:
    """Judgments that are indexed to evaluate rankings as trec_eval 9 does.

    Attributes:
        judgments: ``{query_id: {doc_id: grade}}``, at least one query, no query without grades.
        columns: the columns to compute.
        judged_only: True to remove documents without a judgment from the rankings.
        index: the index of the judgments.
    """

    judgments: Mapping[str, Mapping[str, int]]
    columns: tuple[Column, ...]
    judged_only: bool
    index: JudgmentIndex

    @classmethod
    def from_judgments(
        cls,
        judgments: Mapping[str, Mapping[str, int]],
        columns: Sequence[Column],
        *,
        judged_only: bool = False,
    ) -> DictEvaluator:
        """Index judgments; raises the InputError of `read_qrels`."""
        index = JudgmentIndex.from_judgments(read_qrels(judgments))
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
        rankings = Rankings.from_dict({query: run[query] for query in queries}, "run", finite=False)
        aligned = align_mapping(rankings, self.index, _CONVENTION.alignment)
        if self.judged_only:
            aligned = without_unjudged(aligned)
        plain = [column.metrics if column.kind != "relstring" else () for column in self.columns]
        values = iter(self._values(aligned, [metric for group in plain for metric in group]))
        means = [np.mean([next(values) for _ in group], axis=0) if group else None for group in plain]
        return queries, means

    def _values(self, aligned: JudgedRanks, metrics: Sequence[Metric]) -> list[NDArray[np.float64]]:
        """The values of each metric, in the order of the queries."""
        plan = Plan.from_conventions([(str(metric), metric) for metric in metrics], [_CONVENTION])
        (jobs,), mode = plan.jobs, plan.ranking_mode(_CONVENTION)
        block_values = plan.measure(Block(mode, aligned, self.index)).parts[0]
        present, retrieved = aligned.present, aligned.retrieved
        return [
            fill_undefined(values.value, values.lacking, present=present, retrieved=retrieved, job=job)[0]
            for values, job in zip(block_values.values, jobs, strict=True)
        ]
