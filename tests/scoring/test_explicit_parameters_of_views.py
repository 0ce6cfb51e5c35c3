"""A parameter that is written has an effect: metrics of subtopics, preferences and samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankgate.measurement.metrics.facet_input import block
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.preference_input import Preferred
from rankgate.measurement.metrics.preference_input import block as preferred
from rankgate.measurement.metrics.preference_metrics import PREFERENCE_METRICS
from rankgate.measurement.metrics.stratified_samples import SAMPLE_METRICS, SampledPool
from rankgate.measurement.scoring import CONVENTIONS

RNG = np.random.default_rng(20250917)


def _answers():
    """The grades of a document for four subtopics."""
    return {int(s): float(RNG.integers(1, 4)) for s in RNG.choice(4, RNG.integers(0, 4), replace=False)}


def _faceted():
    rows = [[_answers() for _ in range(8)] for _ in range(20)]
    missed = [[_answers() for _ in range(4)] for _ in rows]
    judged = block(rows, [[*row, *missed_row] for row, missed_row in zip(rows, missed, strict=True)])
    return replace(judged, weights=RNG.random((len(rows), judged.grades.shape[-1])))


def _preferred():
    queries = []
    for _ in range(20):
        levels = RNG.integers(0, 4, 8).astype(float)
        queries += preferred([levels], int(RNG.integers(2, 8))).queries
    return Preferred(tuple(queries))


def _pools():
    pools = []
    for _ in range(20):
        stratum, sampled_mask = RNG.integers(0, 2, 12), RNG.random(12) < 0.6
        grade = np.where(sampled_mask, RNG.integers(0, 4, 12), -1).astype(float)
        rank = np.where(RNG.random(12) < 0.8, RNG.permutation(12) + 1.0, np.inf)
        pools.append(SampledPool(rank, grade, stratum, np.full(12, np.nan)))
    return pools


SEEN = {
    **dict.fromkeys(FACET_METRICS, _faceted()),
    **dict.fromkeys(PREFERENCE_METRICS, _preferred()),
    **dict.fromkeys(SAMPLE_METRICS, _pools()),
}
VALUES = {"int": (1, 2, 3, 5), "float": (0, 0.3, 0.5, 0.8, 1, 2, 3), "text": ("RR", "nDCG@3", "P@2")}


@pytest.mark.parametrize(
    ("metric", "name"), [(metric, name) for metric in SEEN for name in metric.parameters], ids=str
)
def test_a_parameter_has_an_effect_under_every_convention(metric, name):
    declared = metric.parameters[name]
    allowed = declared.choices or VALUES[declared.kind]
    if declared.kind != "text":
        allowed = [value for value in allowed if declared.choices or value in declared.range]
    fixed = metric @ 3 if metric.at in metric.missing else metric
    for defaults in {
        str(convention.defaults(metric)): convention.defaults(metric) for convention in CONVENTIONS.values()
    }.values():
        results = {fixed(**{name: value}).compute(SEEN[metric], defaults).tobytes() for value in allowed}
        assert len(results) > 1, (str(fixed), name, defaults)
