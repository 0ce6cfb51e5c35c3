"""A parameter that is written has an effect under every convention, or is an error."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from math import log2

import numpy as np
import pytest

from rankgate.core.errors import UsageError
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.metrics.browsing import BROWSING_METRICS
from rankgate.measurement.metrics.graded.dcg import DCG
from rankgate.measurement.metrics.judged_block import block
from rankgate.measurement.metrics.lists import LIST_METRICS, Listed
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE, by_name
from rankgate.measurement.metrics.metric_name_parser import parse
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.measurement.scoring.convention_overrides import override_convention
from rankgate.metrics import RBP, RR, SDCG, nDCG
from support.wording import raises

MAP = ((0, 0.5), (1, 1.9), (2, 5), (3, 1.2))  # gains closer than 1, which trec_eval mixes up
QRELS = {"1": {"a": 3.0, "b": 1.0, "c": 2.0, "d": 0.0}, "2": {"a": 1.0, "x": 2.0}}
RUN = {"1": {"b": 4.0, "d": 3.0, "a": 2.0, "u": 1.0}, "2": {"y": 2.0, "x": 1.0}}

COMPANIONS = {
    ("Bpref", "over"): {"rel": 1},
    ("FullRecall", "cutoff"): {"rel": 3.0},
    ("GMBpref", "over"): {"rel": 1},
    ("IPrec", "points"): {"recall": 0.3},
    ("NCG", "depth"): {"cutoff": 2, "ideal": "judged"},
    ("RBP", "max_grade"): {"gain": "linear"},
    ("SetF", "weighing"): {"beta": 2.0},
    ("Utility", "documents"): {"avoided": 1.0},
    ("nDCG", "levels"): {"gain": MAP, "ideal": "judged"},
    ("nDCG", "depth"): {"cutoff": 2, "ideal": "judged"},
    **{(metric.name, "cost"): {"measure": "EC"} for metric in BROWSING_METRICS},
    **{(name, "levels"): {"gain": MAP} for name in ("G", "RnDCG", "nDCGRel")},
}
"""Values of other parameters with which the formula says that a parameter has an effect."""


def _block(seed, grades):
    """Rankings of 3 to 8 documents, some unjudged, some tied, with judged ones that are missed."""
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(60):
        ranked = [
            None if generator.random() < 0.2 else float(generator.choice(grades))
            for _ in range(generator.integers(3, 9))
        ]
        missed = generator.choice(grades, generator.integers(2, 5)).tolist()
        rows.append((ranked, [grade for grade in ranked if grade is not None] + missed))
    judged = block([ranked for ranked, _ in rows], [pool for _, pool in rows])
    padded = judged.rank == judged.rank.max()
    group = (judged.rank - 1) // 3 * 3 + 1
    ends = np.minimum(group + 2, judged.retrieved[:, None]).astype(np.int32)
    return replace(
        judged, first=np.where(padded, judged.rank, group), last=np.where(padded, judged.rank, ends)
    )


BLOCKS = (_block(0, [0, 0, 1, 2, 3]), _block(1, [-1, 0, 1, 1.5, 2, 3]), block([[1]]))
VALUES = {"int": (1, 2, 3, 4), "float": (0, 0.4, 0.5, 1, 1.5, 2, 3, 4, 6), "bool": (True, False)}
DEFAULTS = {
    metric: {
        str(convention.defaults(metric)): convention.defaults(metric) for convention in CONVENTIONS.values()
    }
    for metric in CATALOGUE
}
"""By metric all that conventions bind, each once."""


def _values(metric, defaults):
    """What every block gives, weights too; the code of an error where it is refused."""
    outcomes = []
    for judged in BLOCKS:
        try:
            weights = metric.weigh(judged, defaults)
            values = metric.compute(judged, defaults)
            outcomes.append((values.tobytes(), None if weights is None else weights.tobytes()))
        except ValueError as error:
            outcomes.append(error.code)
        except Exception as error:  # noqa: BLE001 - an error of the data, such as a grade too high
            outcomes.append(str(error))
    return tuple(outcomes)


@pytest.mark.parametrize(
    ("metric", "name"), [(metric, name) for metric in CATALOGUE for name in metric.parameters], ids=str
)
def test_a_parameter_has_an_effect_under_every_convention(metric, name):
    declared = metric.parameters[name]
    choices = declared.choices + ((MAP,) if declared.kind == "gain" else ())
    allowed = [v for v in VALUES.get(declared.kind, ()) if v in declared.range]
    required = {parameter: 0.5 if parameter == "recall" else 3 for parameter in metric.missing}
    fixed = metric(**{**required, **COMPANIONS.get((metric.name, name), {})})
    for defaults in DEFAULTS[metric].values():
        results = (_values(fixed(**{name: value}), defaults) for value in (choices or allowed))
        allowed_results = (
            result for result in results if result != ("contradicting-parameters",) * len(BLOCKS)
        )
        first = next(allowed_results)
        differs = any(result != first for result in allowed_results)
        assert differs, (str(fixed), name, defaults)


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (metric, name)
        for metric in CATALOGUE
        for name, declared in metric.parameters.items()
        if declared.only_with and (metric.name, name) != ("nDCG", "levels")  # of two others
    ],
    ids=str,
)
def test_a_parameter_decides_the_one_it_depends_on_or_both_are_named(metric, name):
    declared = metric.parameters[name]
    value = declared.choices[-1] if declared.choices else 3
    dependency, free = declared.only_with[0], metric.parameters[declared.only_with[0].other]
    for defaults in DEFAULTS[metric].values():
        written = metric(**{name: value})
        other_value = defaults.get(dependency.other, free.default)
        if other_value in dependency:
            expected = metric(**{name: value, dependency.other: other_value})
        elif dependency.decides is not None:
            expected = metric(**{name: value, dependency.other: dependency.decides})
        else:
            with raises("contradicting-parameters", UsageError):
                written.bound(defaults)
            continue
        assert _values(written, defaults) == _values(expected, defaults)
    unfit = next(choice for choice in free.choices if choice not in dependency)
    with raises("contradicting-parameters", UsageError):
        metric(**{name: value, dependency.other: unfit}).bound()


def mean(metric, convention="trec", qrels=QRELS, run=RUN):
    (label,) = [str(metric)]
    return evaluate(qrels, run, [metric], convention).runs[0].means[label]


def test_a_level_of_rbp_makes_its_gain_binary():
    for name in ("trec", "ranx"):
        expected = mean("RBP(rel=2,gain='binary')", name)
        assert mean("RBP(rel=2)", name) == expected != mean("RBP", name)
    with raises("contradicting-parameters", UsageError):
        mean("RBP(rel=2,gain='exp')")


def test_the_highest_grade_of_rbp_needs_graded_gains():
    with raises("contradicting-parameters", UsageError):
        mean("RBP(max_grade=3)", "trec")
    assert mean("RBP(max_grade=4)", "ranx") == pytest.approx(mean("RBP", "ranx") / 4)


def test_the_highest_grade_of_err_makes_the_scale_fixed():
    result = mean("ERR(max_grade=4)", "rankeval")
    assert result == mean("ERR(max_grade=4,scale='fixed')", "rankeval") != mean("ERR", "rankeval")


def test_a_graded_discount_is_averaged_over_ties():
    group = block([[3, 1, 0, 2]])
    first, last = np.array([[1, 1, 1, 4]], np.int32), np.array([[3, 3, 3, 4]], np.int32)
    tied = replace(group, first=first, last=last)
    orders = [[*order, 2] for order in permutations([3, 1, 0])]
    sums = [sum(g / log2(i * g + 1) for i, g in enumerate(order, 1) if g) for order in orders]
    actual = DCG(discount="graded", ties="averaged").compute(tied)
    assert actual == pytest.approx(np.mean(sums))


def test_the_least_grade_of_ndcg_counts_under_any_gain():
    judged = block([[1, 0, 2]])
    assert nDCG(gain="judged", least=2).compute(judged) == pytest.approx(1 / log2(4))
    mapped = nDCG(gain={0: 1, 1: 1, 2: 1}, least=2)
    assert mapped.compute(judged) == nDCG(gain="judged", least=2).compute(judged)


def test_truncated_levels_know_fractional_grades():
    judged = block([[2.5, 1, 0.5]])
    ideal = 3 + 2.5 / log2(3) + 0.5 / 2
    result = nDCG(gain={1: 3}, levels="truncated").compute(judged)
    assert result == pytest.approx((2.5 + 3 / log2(3) + 0.5 / 2) / ideal)


def test_judged_only_can_be_switched_off():
    convention = override_convention(CONVENTIONS["trec"], ["judged_only=true"])
    ranked = {"1": {"u": 3.0, "a": 2.0}}
    assert mean(RR, convention, {"1": {"a": 1}}, ranked) == 1
    assert mean(RR(judged_only=False), convention, {"1": {"a": 1}}, ranked) == 1 / 2


def test_names_of_tools_keep_what_is_written():
    assert CONVENTIONS["esci-code"].spelled("MRR@5") == "RR@5"
    assert parse(CONVENTIONS["lenskit"].spelled("RBP(p=0.5)")) == RBP(p=0.5)
    assert mean("RBP(p=0.5)", "lenskit") == mean(RBP(p=0.5), "lenskit")
    spelled = CONVENTIONS["ranx"].spelled
    assert parse(spelled("hits-l2")) == by_name["Hits"](rel=2)
    assert parse(spelled("dcg@3-l2")) == DCG(least=2) @ 3


LISTED = Listed(
    np.array([[0, 1, 2], [2, 1, 3]]),
    4,
    seen=np.array([9, 4, 2, 1]),
    people=9,
    relevant=np.array([[0, 2], [1, 3]]),
    categories=np.array([[1.0, 0], [0, 1], [1, 1], [0, 1]]),
    groups=np.array([0, 1, 1, 0]),
)


@pytest.mark.parametrize(
    "metric",
    [metric for metric in LIST_METRICS if "patience" in metric.parameters],
    ids=lambda metric: metric.name,
)
def test_patience_makes_the_weights_geometric(metric):
    result = metric(patience=0.9).value(LISTED)
    assert result == metric(patience=0.9, weight="geometric").value(LISTED)
    with raises("contradicting-parameters", UsageError):
        metric(patience=0.9, weight="log2").value(LISTED)
    assert metric(patience=0.9).under_convention({"weight": "log2"}).value(LISTED) == result


def test_what_no_parameter_depends_on_stays_as_it_is():
    assert SDCG.settled({"gain": "exp"}) == {"gain": "exp"}
