"""Score a run: a plan, measured on a source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.plan import Plan
from rankgate.measurement.scoring.sources import RunSource, measure

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.data.scores import RunScores
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring.convention import Convention


def score(
    qrels: Qrels | JudgmentIndex,
    run: Run,
    metrics: Sequence[tuple[str, Metric]],
    how: Convention,
    *,
    strict: bool = True,
) -> RunScores:
    """Values of metrics for every judged query, and their means.

    Right for any set of whole queries: the values of parts are those of the whole, bit for bit.

    Args:
        qrels: judgments, or their index where several runs are scored.
        run: the rankings.
        metrics: each with the label that results carry.
        how: the convention.
        strict: whether it is an error that no judged query is in the run.

    Raises:
        InputError: as ``Run.batches``; when no judged query is in the run; where the convention
            refuses missing or unknown queries.
    """
    index = qrels if isinstance(qrels, JudgmentIndex) else JudgmentIndex.of(qrels)
    source = RunSource(run, index)
    return measure(Plan.of(metrics, [how]), source).score(0, source, strict=strict)
