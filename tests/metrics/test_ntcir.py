"""NTCIR's metrics have the values of pyNTCIREVAL, on lists and on condensed lists."""

import json
from pathlib import Path

import pytest

from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.metrics.judged_block import block
from rankgate.measurement.metrics.metric_name_parser import parse

CASES = json.loads((Path(__file__).parent / "ntcireval.json").read_text())


@pytest.mark.parametrize("name", CASES["values"])
def test_values_are_those_of_pyntcireval(name):
    for (grades, pool), values in zip(CASES["rankings"], CASES["values"][name], strict=True):
        lists = (grades, [grade for grade in grades if grade is not None])
        ours = [parse(name).compute(block([ranking], [pool]))[0] for ranking in lists]
        assert ours == pytest.approx(values, abs=1e-12)


def test_judged_only_makes_condensed_lists():
    qrels = {"q": {"a": 1, "b": 3}}
    run = {"q": {"x": 4.0, "a": 3.0, "y": 2.0, "b": 1.0}}
    condensed = {"q": {"a": 3.0, "b": 1.0}}
    names = ["O", "PMeasure", "PPlus", "NCUguP", "NCUrbBR", "Q"]
    short = [f"{name}(judged_only=True)" for name in names]
    condensed_values = evaluate(qrels, run, short).means.row(0)[1:]
    assert condensed_values == evaluate(qrels, condensed, names).means.row(0)[1:]
    assert condensed_values != evaluate(qrels, run, names).means.row(0)[1:]
