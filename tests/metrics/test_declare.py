"""Descriptions: binding, printing, refusing, computing."""

import pickle
from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
import pytest

from rankgate.core.arrays import Floats
from rankgate.core.declare import Parameter, Range
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.graded.dcg import nDCG
from rankgate.measurement.metrics.graded.rank_biased import RBP
from rankgate.measurement.metrics.judged_block import Judged, block
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE, by_name
from rankgate.measurement.metrics.metric_declaration import Metric
from rankgate.measurement.metrics.ranking.average_precision import AP, IPrec
from rankgate.measurement.metrics.ranking.precision_recall_metrics import P
from support.wording import raises


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (nDCG, "nDCG"),
        (nDCG @ 10, "nDCG@10"),
        (nDCG(gain="exp") @ 10, "nDCG(gain='exp')@10"),
        (nDCG(gain={1: 1, 2: 3.0, 3: 0.5}), "nDCG(gain={1:1,2:3,3:0.5})"),
        (nDCG(cutoff=10), "nDCG@10"),
        (AP(judged_only=True, rel=2) @ 100, "AP(rel=2,judged_only=True)@100"),
        (AP(denominator="found", rel=2), "AP(rel=2,denominator='found')"),
        (AP(rel=2.0), "AP(rel=2)"),
        (AP(rel=1.5), "AP(rel=1.5)"),
        (IPrec @ 0.1, "IPrec@0.1"),
        (IPrec @ 1, "IPrec@1.0"),
        (RBP(p=0.8, rel=1), "RBP(p=0.8,rel=1)"),
        (P(rel=np.int64(2)) @ np.int64(5), "P(rel=2)@5"),
    ],
)
def test_the_name_says_what_is_bound_in_the_order_of_the_signature(metric, name):
    assert str(metric) == name


def test_binding_makes_a_new_value_and_leaves_the_old():
    bound = nDCG(gain="exp") @ 10
    assert nDCG.given == ()
    assert bound.given == (("cutoff", 10), ("gain", "exp"))
    assert bound @ 5 == nDCG(gain="exp", cutoff=5)
    assert {bound: 1}[nDCG(cutoff=10)(gain="exp")] == 1
    assert pickle.loads(pickle.dumps(bound)) == bound  # noqa: S301 our own bytes


REFUSED = [
    (lambda: nDCG(gain="cube"), "invalid-parameter"),
    (lambda: nDCG(gain={}), "invalid-parameter"),
    (lambda: nDCG(gain={1: float("inf")}), "invalid-parameter"),
    (lambda: nDCG(gain={"a": 1}), "invalid-parameter"),
    (lambda: nDCG(gain=((1, 2, 3),)), "invalid-parameter"),
    (lambda: nDCG(ideal="all"), "invalid-parameter"),
    (lambda: nDCG(gian="exp"), "unknown-parameter"),
    (lambda: AP(xyz=1), "unknown-parameter"),
    (lambda: nDCG @ 0, "invalid-parameter"),
    (lambda: nDCG @ 2.5, "invalid-parameter"),
    (lambda: nDCG @ True, "invalid-parameter"),
    (lambda: IPrec @ 1.5, "invalid-parameter"),
    (lambda: IPrec @ float("nan"), "invalid-parameter"),
    (lambda: RBP(p="0.8"), "invalid-parameter"),
    (lambda: AP(rel=float("inf")), "invalid-parameter"),
    (lambda: AP(judged_only=1), "invalid-parameter"),
    (lambda: by_name["SetP"] @ 5, "unexpected-cutoff"),
]


@pytest.mark.parametrize(("build", "code"), REFUSED)
def test_what_does_not_fit_is_refused_in_one_sentence(build, code):
    with raises(code, UsageError):
        build()


def test_parameters_are_read_from_the_signature():
    assert list(AP.parameters) == ["cutoff", "rel", "denominator"]
    cutoff = Parameter("cutoff", "int", AP.parameters["cutoff"].help, range=Range(1), optional=True)
    assert AP.parameters["cutoff"] == cutoff
    assert cutoff.help == "k; without it the whole list counts."
    assert (AP.parameters["rel"].default, AP.parameters["rel"].kind) == (1, "float")
    parameter = AP.parameters["denominator"]
    assert (parameter.kind, parameter.default) == ("choice", "relevant")
    choices = ("relevant", "reachable", "returned", "retrieved", "found", "ranks")
    assert parameter.choices == choices
    assert nDCG.parameters["gain"].kind == "gain"
    assert P.parameters["cutoff"].required
    assert not AP.parameters["cutoff"].required


def test_rel_and_judged_only_are_known_to_the_metric():
    assert (AP.rel, AP(rel=2).rel, nDCG.rel) == (1, 2, None)
    assert (AP.judged_only, AP(judged_only=True).judged_only) == (False, True)


def test_a_convention_binds_below_the_metric_and_only_what_the_kernel_takes():
    judged = block([[3, 2, 1]], ideal=[[3, 3, 2]])
    exp = nDCG(gain="exp").compute(judged)
    defaults = {"gain": "exp", "points": "round", "p": 0.5}
    assert nDCG.compute(judged, defaults) == exp
    assert nDCG(gain="linear").compute(judged, defaults) == nDCG.compute(judged) != exp
    assert (P @ 2).compute(judged) == P.compute(judged, {"cutoff": 2})
    assert nDCG(judged_only=True).compute(judged) == nDCG.compute(judged)


def test_a_required_parameter_that_is_missing_is_asked_for():
    with raises("incomplete-metric", UsageError):
        P.compute(block([[1]]))
    with raises("incomplete-metric", UsageError):
        IPrec.compute(block([[1]]))


def _share(
    judged: Judged,
    *,
    depth: Annotated[int, Range(1, 3)],
    way: Literal["a", "b"] | None = None,
    odds: Mapping[float, float] | None = None,
    flag: bool = False,
    note: object = None,  # noqa: ARG001 any value may be declared
) -> Floats:
    return np.full(len(judged.rank), depth + flag + (way == "b") + len(odds or ()))


def test_a_users_function_becomes_a_metric_by_the_same_declaration():
    user_metric = Metric("Mine", _share, at="depth", high=None)
    bound = user_metric(way="b", flag=True, note=("x",), odds={1: 2}) @ 3
    assert str(user_metric(flag=True, way="a") @ 2) == "Mine(way='a',flag=True)@2"
    assert bound.compute(block([[1]])) == 3 + 1 + 1 + 1
    with raises("invalid-parameter", UsageError):
        user_metric @ 4
    with raises("invalid-parameter", UsageError):
        user_metric(note=[])
    with raises("incomplete-metric", UsageError):
        Metric("Mine", _share).compute(block([[1]]))


def test_a_kernel_whose_annotations_cannot_be_read_is_refused():
    def kernel(judged, *, rel: "Nowhere" = 1):  # noqa: F821
        return judged, rel

    with raises("invalid-metric-function", UsageError):
        _ = Metric("Mine", kernel).parameters


@pytest.mark.parametrize("metric", CATALOGUE, ids=lambda metric: metric.name)
def test_every_passport_is_filled_in(metric):
    for text in (metric.title, metric.formula, metric.source, metric.sees, metric.blind_to):
        assert text.strip() == text != ""
    assert metric.title.endswith(".")
    assert metric.name in metric.formula
    assert metric.at is None or metric.at in metric.parameters
    assert metric.kernel.__doc__


def test_names_are_one_metrics_alone():
    names = [name for metric in CATALOGUE for name in (metric.name, *metric.aliases)]
    assert len(names) == len(set(names))
    trec = [name for metric in CATALOGUE for name in metric.trec]
    assert len(trec) == len(set(trec))
