"""Descriptions agree with declarations."""

from rankgate.core.errors import UsageError
from rankgate.measurement.evaluation.metric_details import metric_details, metrics
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from rankgate.measurement.metrics.preference_metrics import PREFERENCE_METRICS
from rankgate.measurement.metrics.sequences.sequence_catalogue import SEQUENCE_METRICS
from rankgate.measurement.metrics.stratified_samples import SAMPLE_METRICS
from support.wording import raises

EVERY = (*CATALOGUE, *FACET_METRICS, *PREFERENCE_METRICS, *SAMPLE_METRICS, *LIST_METRICS, *SEQUENCE_METRICS)


def test_every_metric_has_one():
    assert [passport.name for passport in metrics().metrics] == [metric.name for metric in EVERY]
    for passport in metrics().metrics:
        assert passport.title
        assert passport.formula
        assert passport.source
        assert passport.sees
        assert passport.blind_to


def test_parameters_are_those_of_the_kernel():
    result = metric_details("precision@5")
    assert result.name == "P"
    (cutoff, rel, denominator) = result.parameters
    assert (cutoff.name, cutoff.required, cutoff.kind, cutoff.low) == ("cutoff", True, "int", 1)
    assert (rel.name, rel.default, rel.kind, rel.low) == ("rel", 1, "float", None)
    assert denominator.choices[0] == denominator.default == "cutoff"


def test_unbounded_is_none():
    assert (metric_details("utility").low, metric_details("utility").high) == (None, None)
    assert metric_details("nDCG").high == 1


def test_empties_in_words():
    trec = metric_details("IPrec").conventions["trec"]
    assert (trec["without_relevant"], trec["nothing_retrieved"]) == (0, "undefined")


def test_an_unknown_name():
    with raises("unknown-metric", UsageError):
        metric_details("nDGC")
