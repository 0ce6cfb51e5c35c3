"""``judged_only=True`` of any metric is its value for lists without the unjudged documents."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from rankgate.measurement.metrics.metric_declaration import RANKING
from rankgate.measurement.metrics.preference_metrics import PREFERENCE_METRICS
from rankgate.measurement.metrics.stratified_samples import SAMPLE_METRICS

RNG = np.random.default_rng(0)
DOCS = [f"d{i}" for i in range(30)]
QRELS = {
    str(t): {str(d): int(RNG.integers(0, 4)) for d in RNG.choice(DOCS, 12, replace=False)} for t in range(4)
}
RUN = {str(t): {str(d): 100.0 - i for i, d in enumerate(RNG.permutation(DOCS))} for t in range(4)}
CONDENSED = {t: {d: s for d, s in run.items() if d in QRELS[t]} for t, run in RUN.items()}
ANSWERED = pl.DataFrame(
    [(t, d, g, str(int(d[1:]) % 3)) for t, grades in QRELS.items() for d, g in grades.items()],
    schema=["query_id", "doc_id", "grade", "subtopic"],
    orient="row",
)
RANKINGS = [metric for metric in CATALOGUE if metric.view == RANKING]


@pytest.mark.parametrize("metric", [*RANKINGS, *FACET_METRICS, *PREFERENCE_METRICS, *SAMPLE_METRICS], ids=str)
def test_a_metric_of_condensed_lists(metric):
    qrels = ANSWERED if metric in FACET_METRICS else QRELS
    complete_metric = metric(**{name: 0.5 if name == "recall" else 3 for name in metric.missing})
    condensed_mean = evaluate(qrels, RUN, [complete_metric(judged_only=True)]).means.row(0)[1]
    assert condensed_mean == pytest.approx(
        evaluate(qrels, CONDENSED, [complete_metric]).means.row(0)[1], nan_ok=True
    )
