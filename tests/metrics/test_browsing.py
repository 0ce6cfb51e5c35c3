"""Metrics of the C/W/L framework: cwl_eval's values, models of a user's own, refusals."""

import json
from pathlib import Path

import numpy as np
import pytest

import rankgate
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.browsing import BROWSING_METRICS
from rankgate.measurement.metrics.judged_block import block
from rankgate.measurement.metrics.metric_name_parser import parse

CASES = json.loads((Path(__file__).parent / "cwl_eval.json").read_text())
MEASURES = ("EU", "ETU", "EC", "ETC", "ED")
GRADES = [4, None, 2, 0, 4]


@pytest.mark.parametrize("name", CASES["values"])
def test_values_and_residuals_are_those_of_cwl_eval(name):
    for (grades, pool), rows in zip(CASES["rankings"], CASES["values"][name], strict=True):
        judged = block([grades], [pool])
        for case, peer_values in zip(("worst", "residual"), rows, strict=True):
            rankgate_values = [
                parse(name)(max_grade=3, measure=measure, case=case).compute(judged)[0]
                for measure in MEASURES
            ]
            assert rankgate_values == pytest.approx(peer_values, rel=1e-9, abs=1e-9)


def test_the_best_case_is_the_worst_and_the_residual():
    judged = block([GRADES])
    for metric in (
        browsing_metric @ 3 if browsing_metric.missing else browsing_metric
        for browsing_metric in BROWSING_METRICS
    ):
        worst, best_value, residual = (
            metric(case=case).compute(judged)[0] for case in ("worst", "best", "residual")
        )
        assert worst + residual == pytest.approx(best_value)


def test_names_of_ir_measures_are_read():
    assert parse("INST(T=2.0,max_rel=3)") == parse("INST(T=2,max_grade=3)")
    assert parse("NERR8(max_rel=3)@10") == parse("NERR8(max_grade=3)@10")


@pytest.mark.parametrize(
    "changed",
    [
        "INST(T=2) INST",
        "INSQ(T=2) INSQ",
        "BPM(T=2)@3 BPM@3",
        "BPM@4 BPM@2",
        "BPMD(hb=0,T=1.2)@6 BPMD(T=1.2)@6",
        "BPMD(hc=5,T=9,measure='ED')@2 BPMD(hc=0,T=9,measure='ED')@2",
        "BPMD(median=0,T=1.2)@3 BPMD(T=1.2)@3",
        "BPMD(T=2)@3 BPMD@3",
        "IFT(T=1) IFT",
        "IFT(b1=9) IFT",
        "IFT(R1=1) IFT",
        "IFT(A=0.9) IFT",
        "IFT(b2=9) IFT",
        "IFT(R2=1) IFT",
        "IFT(by='goal') IFT",
        "NERR8@1 NERR8@3",
        "NERR9@1 NERR9@3",
        "NERR10(p=0.5) NERR10",
        "NERR11(T=3) NERR11",
        "TBG(halflife=2) TBG",
        "U(L=4) U",
        "TrAP(weights='precision') TrAP",
        "NPV(rate=1) NPV",
        "SET(beta=0.1)@4 SET@4",
        "INST(max_grade=3) INST",
        "INST(min_grade=1) INST",
        "INST(horizon=3) INST",
        "U(cost=300) U",
        "INST(measure='ETU') INST",
        "INST(case='best') INST",
    ],
)
def test_a_parameter_changes_the_value(changed):
    judged = block([GRADES, [1, 1, 0, None, 3, 2]], [[4, 2, 0, 4, 2], [1, 1, 0, 3, 2]])
    first, second = (parse(name).compute(judged) for name in changed.split())
    assert not np.allclose(first, second)


def test_a_model_of_ones_own_is_a_metric():
    def half(seen, *, chance: float = 0.5):
        """Users who go on with a chance."""
        return np.full(seen.gain.shape, chance)

    metric = rankgate.user_model("half", half)
    qrels, run = {"q": {"a": 1, "c": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    metrics = [metric(max_grade=1), metric(max_grade=1, chance=0.8), "RBP(p=0.5)", "RBP(p=0.8)"]
    row = rankgate.evaluate(qrels, run, metrics).means.row(0)[1:]
    assert row[:2] == pytest.approx(row[2:])
    assert str(metric(chance=0.8)) == "half(chance=0.8)"


@pytest.mark.parametrize(
    ("chance", "code"),
    [
        (1.5, "continuation-outside-range"),
        (-0.1, "continuation-outside-range"),
        (np.nan, "continuation-outside-range"),
        (1.0, "endless-continuation"),
        (np.ones(7) / 2, "function-value"),
    ],
)
def test_a_chance_outside_the_range_and_one_without_end_are_refused(chance, code):
    metric = rankgate.user_model("own", lambda seen: chance * np.ones(1))  # noqa: ARG005
    with pytest.raises(UsageError) as error:
        metric.compute(block([GRADES]))
    assert error.value.code == code


def test_a_scale_without_width_is_refused():
    with pytest.raises(UsageError) as error:
        parse("INST(min_grade=4)").compute(block([GRADES]))
    assert error.value.code == "contradicting-parameters"


def test_less_cost_is_better():
    assert not parse("INST(measure='EC')").higher_is_better
    assert parse("INST(measure='ETU')").higher_is_better


def test_a_parameter_without_an_annotation_is_bound():
    halved = rankgate.user_model("halved", lambda seen, *, q=0.5: np.full(seen.gain.shape, q))
    judged = block([[1, 0, 1]])
    assert halved(q=0.8, max_grade=1).compute(judged)[0] == pytest.approx(0.2 * (1 + 0.64))
    assert halved(max_grade=1).compute(judged)[0] == pytest.approx(0.5 * (1 + 0.25))
