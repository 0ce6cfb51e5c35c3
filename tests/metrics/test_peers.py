"""Values that trec_eval itself gives for five small lists.

The table has the values of trec_eval 9.0.8 through pytrec_eval-terrier 0.5.11, to twelve places;
each list at rel 1 and at rel 2. Without relevant documents its value is 0; ours is undefined.
"""

from math import exp

import numpy as np
import pytest

from rankgate.measurement.metrics.judged_block import block
from rankgate.measurement.metrics.metric_name_parser import parse, parse_all

# Grades by rank (None: unjudged), and the grades of all judged documents.
LISTS = {
    "graded": ([3, None, 0, 2, 1, None, 0, -1, 2, None], [3, 3, 2, 2, 1, 1, 0, 0, 0, -1, -1]),
    "binary": ([0, 1, None, 1, 0, 0, None, 1], [1, 1, 1, 1, 1, 0, 0, 0, 0]),
    "late": ([None] * 6 + [0, 0, 0, 2] + [None] * 4 + [1], [2, 1, 1, 0, 0, 0]),
    "short": ([1], [3, 2, 2, 1, 1, 1, 1, 0]),
    "sampled": (
        [-1, 1, -1, None, 0, 1, -1, 2, 0, None, None, 1],
        [2, 1, 1, 1, 1, 1, 0, 0, 0, -1, -1, -1, -1],
    ),
}
CASES = [(name, rel) for name in LISTS for rel in (1, 2)]

# fmt: off
TREC_EVAL = {
    "11pt_avg": (
        0.440404040404, 0.469696969697, 0.295454545455, 0, 0.09696969697,
        0.1, 0.181818181818, 0, 0.257575757576, 0.125,
    ),
    "G": (
        0.391629276241, 0.391629276241, 0.297427388136, 0.297427388136, 0.208521919361,
        0.208521919361, 0.045454545455, 0.045454545455, 0.26709307957, 0.26709307957,
    ),
    "Rndcg": (
        0.599607731707, 0.599607731707, 0.413551180761, 0, 0.088166531756,
        0.088166531756, 0.223704688917, 0.223704688917, 0.222660835549, 0.222660835549,
    ),
    "Rprec": (
        0.5, 0.5, 0.4, 0, 0,
        0, 0.142857142857, 0, 0.333333333333, 0,
    ),
    "Rprec_mult_0.60": (
        0.5, 0.333333333333, 0.333333333333, 0, 0,
        0, 0.2, 0, 0.25, 0,
    ),
    "Rprec_mult_1.40": (
        0.444444444444, 0.333333333333, 0.285714285714, 0, 0,
        0, 0.1, 0, 0.333333333333, 0,
    ),
    "binG": (
        0.392701197851, 0.458333333333, 0.297427388136, 0, 0.181674283709,
        0.289064826318, 0.142857142857, 0, 0.279169957263, 0.315464876786,
    ),
    "bpref": (
        0.444444444444, 0.5, 0.35, 0, 0,
        0, 0.142857142857, 0, 0.444444444444, 0,
    ),
    "gm_map": (
        -0.857847136004, -0.78015855755, -1.290984181316, -11.51292546497, -2.553899521275,
        -2.302585092994, -1.945910149055, -11.51292546497, -1.358895386932, -2.07944154168,
    ),
    "infAP": (
        0.435185029631, 0.469444511111, 0.27500104998, 0, 0.077778222219,
        0.100000999993, 0.142857142857, 0, 0.393055372223, 0.125002499983,
    ),
    "iprec_at_recall_0.30": (
        0.6, 0.5, 0.5, 0, 0.133333333333,
        0.1, 0, 0, 0.375, 0.125,
    ),
    "iprec_at_recall_0.80": (
        0, 0, 0, 0, 0,
        0.1, 0, 0, 0, 0.125,
    ),
    "map": (
        0.424074074074, 0.458333333333, 0.275, 0, 0.077777777778,
        0.1, 0.142857142857, 0, 0.256944444444, 0.125,
    ),
    "map_cut_5": (
        0.35, 0.375, 0.2, 0, 0,
        0, 0.142857142857, 0, 0.083333333333, 0,
    ),
    "ndcg": (
        0.646943442975, 0.646943442975, 0.467047746944, 0.467047746944, 0.264499595269,
        0.264499595269, 0.147733850061, 0.147733850061, 0.438664629138, 0.438664629138,
    ),
    "ndcg_cut_5": (
        0.594903905389, 0.594903905389, 0.360054614577, 0.360054614577, 0,
        0, 0.164490217846, 0.164490217846, 0.159791385595, 0.159791385595,
    ),
    "ndcg_rel": (
        0.684572617156, 0.684572617156, 0.440485194616, 0.440485194616, 0.237883433332,
        0.237883433332, 0.174248061957, 0.174248061957, 0.360168484009, 0.360168484009,
    ),
    "num_nonrel_judged_ret": (
        2, 3, 3, 6, 3,
        4, 0, 1, 2, 5,
    ),
    "P_5": (
        0.6, 0.4, 0.4, 0, 0,
        0, 0.2, 0, 0.2, 0,
    ),
    "recall_5": (
        0.5, 0.5, 0.4, 0, 0,
        0, 0.142857142857, 0, 0.166666666667, 0,
    ),
    "recip_rank": (
        1, 1, 0.5, 0, 0.1,
        0.1, 1, 0, 0.5, 0.125,
    ),
    "relative_P_5": (
        0.6, 0.5, 0.4, 0, 0,
        0, 0.2, 0, 0.2, 0,
    ),
    "set_F": (
        0.5, 0.428571428571, 0.461538461538, 0, 0.222222222222,
        0.125, 0.25, 0, 0.444444444444, 0.153846153846,
    ),
    "set_P": (
        0.4, 0.3, 0.375, 0, 0.133333333333,
        0.066666666667, 1, 0, 0.333333333333, 0.083333333333,
    ),
    "set_map": (
        0.266666666667, 0.225, 0.225, 0, 0.088888888889,
        0.066666666667, 0.142857142857, 0, 0.222222222222, 0.083333333333,
    ),
    "set_recall": (
        0.666666666667, 0.75, 0.6, 0, 0.666666666667,
        1, 0.142857142857, 0, 0.666666666667, 1,
    ),
    "set_relative_P": (
        0.666666666667, 0.75, 0.6, 0, 0.666666666667,
        1, 1, 0, 0.666666666667, 1,
    ),
    "success_1": (
        1, 1, 0, 0, 0,
        0, 1, 0, 0, 0,
    ),
    "utility": (
        -2, -4, -2, -8, -11,
        -13, 1, -1, -4, -10,
    ),
}
# fmt: on


def at(metric, rel):
    return metric(rel=rel) if "rel" in metric.parameters else metric


@pytest.mark.parametrize("name", TREC_EVAL)
def test_our_values_are_those_of_trec_eval_9(name):
    ((_, metric),) = parse_all(name)
    for (case, rel), expected in zip(CASES, TREC_EVAL[name], strict=True):
        ranking, pool = LISTS[case]
        judged = block([ranking], ideal=[pool])
        (value,) = np.nan_to_num(at(metric, rel).compute(judged, {"points": "ceil9"}))
        if metric.aggregate == "geometric":  # it prints the logarithm of a query
            expected, value = exp(expected), max(value, 1e-5)  # noqa: PLW2901
        assert value == pytest.approx(expected, abs=1e-11), (case, rel)


# What trec_eval 10.0-rc3 has or does anew, with %.17g in place of its %6.4f.
TREC_EVAL_10 = [
    ("rbp.p=0.5", [1, 0], [1, 0], 0.5),
    ("rbp.p=0.5", [3, 1], [3, 1], 0.5833333333333334),
    ("rbp.p=0.5", [3, 1], [3, 1, 0], 0.5833333333333334),
    ("rbp", [None, 1, None], [1], 0.08999999999999998),
    ("rbp_resid.p=0.5", [1, 0], [1, 0], 0.0),
    ("unj.10", [1, 0], [1, 0], 0.0),
    ("unj.10", [None, 1], [1, 0], 0.1),
    ("iprec_at_recall.0.3", [None, 1, 1], [1, 1, 1], 0.6666666666666666),
    ("iprec_at_recall.0.8", [None, 1, 1], [1, 1, 1], 0.6666666666666666),
    ("iprec_at_recall.0.3", [1, None, None, None, 1], [1, 1, 1, 1], 1.0),
    ("iprec_at_recall.0.6", [1, None, None, None, 1], [1, 1, 1, 1], 0.4),
    ("iprec_at_recall.0.8", [1, None, None, None, 1], [1, 1, 1, 1], 0.0),
    ("11pt_avg", [None, 1, 1], [1, 1, 1], 0.5454545454545454),
    ("11pt_avg", [1, None, None, None, 1], [1, 1, 1, 1], 0.4727272727272727),
    ("set_F.2", [1, 0, 0], [1, 0, 0], 0.6000000000000001),
]


@pytest.mark.parametrize(("name", "ranking", "pool", "expected"), TREC_EVAL_10)
def test_our_values_are_those_of_trec_eval_10(name, ranking, pool, expected):
    ((_, metric),) = parse_all(name)
    (value,) = metric.compute(block([ranking], ideal=[pool]))
    assert value == pytest.approx(expected, abs=1e-14)


# The ESCI example, p1=3 p2=2 p3=1 retrieved and p4=3 not, as these tools print it.
ESCI = block([[3, 2, 1]], ideal=[[3, 3, 2, 1]])
OTHERS = [
    ("nDCG@3", 0.8081, "trec_eval, pytrec_eval, ir_measures 0.4.3, ranx 0.3.21"),
    ("nDCG(dcg='exp-log2')@3", 0.7272, "ir_measures 0.4.3 (gdeval), ranx ndcg_burges, rax 0.4.0"),
    ("nDCG(discount='original')@3", 0.7754, "pyNTCIREVAL 0.0.3, LensKit 2025.8.1"),
    ("nDCG", 0.7530, "trec_eval ndcg, uncut"),
    ("nDCG(gains={1:1,2:3,3:7})", 0.7037, "trec_eval ndcg.1=1,2=3,3=7"),
    ("ERR(max_grade=3)", 0.9017, "Quepid's scorer on a scale to 3"),
    ("DCG(gain='exp',base=2.718281828459045)", 13.551, "recommenders 1.2.1, natural logarithm"),
]


@pytest.mark.parametrize(("name", "expected", "tool"), OTHERS)
def test_other_tools_on_the_esci_example(name, expected, tool):
    assert parse(name).compute(ESCI)[0] == pytest.approx(expected, abs=1e-4), tool


# Relevant a, b and c; ranking a, x, b, c; k = 2: four tools, four average precisions.
@pytest.mark.parametrize(
    ("denominator", "expected", "tools"),
    [
        ("relevant", 1 / 3, "trec_eval, pytrec_eval, ir_measures, ranx, trectools, rax"),
        ("reachable", 1 / 2, "rexmex, RecBole, pyNTCIREVAL, recommenders map_at_k"),
        ("returned", 1 / 2, "LensKit, rankeval"),
        ("ranks", 3 / 4, "elliot: the mean of P@1 and P@2"),
        ("found", 1.0, "recmetrics, torchmetrics"),
    ],
)
def test_average_precisions_of_one_name(denominator, expected, tools):
    judged = block([[1, None, 1, 1]])
    metric = parse("AP@2")(denominator=denominator)
    assert metric.compute(judged)[0] == pytest.approx(expected), tools
