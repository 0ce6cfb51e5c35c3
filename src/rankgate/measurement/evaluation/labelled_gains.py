"""The other value of nDCG where judgments are labels: gains of the grades, or 2^grade - 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.measurement.scoring.run_sources import score

if TYPE_CHECKING:
    from rankgate.data.run import Run
    from rankgate.data.run_scores import RunScores
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex

_LEAST_DIFFERENCE = 5e-5  # what the four digits of a table show


def with_other_gain(
    judgments: JudgmentIndex,
    run: Run,
    metrics: Sequence[tuple[str, Metric]],
    rules: Convention,
    scores: RunScores,
) -> RunScores:
    """The same scores with a caution if nDCG takes the grades of labels as gains.

    Labels have no numbers of their own. Pages on product search, whose labels are those of ESCI,
    compute nDCG with gains of 2^grade - 1, trec_eval with the grades.
    """
    gained = [(label, metric) for label, metric in metrics if metric.name == "nDCG" and "gain=" not in label]
    if not gained or rules.parameters.get("nDCG", {}).get("gain", "linear") != "linear":
        return scores
    other_means = score(judgments, run, gained, chosen_convention("esci")).means
    texts = [
        f"{label} is {other_means[label]:.4f} instead of {scores.means[label]:.4f}"
        for label, _ in gained
        if abs(other_means[label] - scores.means[label]) >= _LEAST_DIFFERENCE
    ]
    if not texts:
        return scores
    text = (
        f"{rules.name} takes the grades of labels as gains; with 2^grade - 1 (--convention esci) "
        f"{', '.join(texts)}."
    )
    cautions = {**scores.counts.cautions, "gains-of-labels": text}
    return replace(scores, counts=replace(scores.counts, cautions=cautions))
