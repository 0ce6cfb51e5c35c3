"""What holds for every metric on every block."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.measurement.metrics.judged_block import PAD, block
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from rankgate.measurement.metrics.metric_name_parser import parse

BOUND = """
IPrec@0.4 IPrec(points='ceil9')@0.4 IPrec11(points='ceil9') P(rel=0)@2 R(rel=2)@2
P(denominator='judged')@4 P(denominator='returned')@4 R(denominator='reachable')@2
AP@3 AP(denominator='found')@3 AP(denominator='ranks') AP(denominator='ranks')@4
AP(denominator='returned') AP(rel=0) RR(rel=2)@4
nDCG@2 nDCG(gain='exp') nDCG(gain={0:1,1:3,2:0.5}) nDCG(gain={0:1,1:3,2:0.5})@3
nDCG(gain={1:0.9},levels='truncated') nDCG(ideal='retrieved')@3 nDCG(depth='all')@2
nDCG(depth='returned')@5 nDCG(discount='original') DCG(gain={0:2}) DCG(base=10)@3
CG@2 CG(gain={0:2}) nDCGRel(gain='exp') RnDCG(gain={0:1}) G(gain={2:0.3})
ERR@2 ERR(decay=0.18)@2 RBP@2 RBP(gain='linear') RBP(gain='scaled',p=0.5) RBPResid@3 Judged@2
RBPResid(tail='holes') SetF(beta=2) F(beta=0.5)@4 Bpref(rel=2) Unjudged@4
RBP(gain={0:1,2:5},max_grade=3) RBP(ties='averaged',p=0.5)@3 RBP(horizon=4) ERR(gain={0:1})@3
nERR@2 nERR(gain='linear') Q(beta=0.5)@3 Q(gain={0:1,1:3}) SDCG(min_grade=1)@2 Accuracy@2
Compat(best='endless') Compat(p=0.5) Bpref(negative='relevant') Bpref(negative='nonrelevant')
AUC(ties='lost') AUC(over='retrieved') AUC(rel=2) GAUC(by='documents') RankingLoss(rel=2)
CoverageError(rel=2) NCG@2 NCG(gain={0:1,1:3}) NCG(ideal='shown')@3 Hits@2 AvgGrade@2
AvgGrade(denominator='judged')@3 AvgGrade(denominator='returned',gain='exp')@4
Bpref(unopposed='lost') Judged(negative='judged')@2 SetF(beta=2,weighing='plain')
"""
METRICS = [
    *[metric if not metric.missing else metric @ 1 for metric in CATALOGUE],
    *[parse(name) for name in BOUND.split()],
]

judged_grades = st.sampled_from([-1, 0, 1, 2, 3, 0.3, 1.7])


@st.composite
def rankings(draw):
    """A ranking, and the grades of all judged documents, also of documents not retrieved."""
    ranking = draw(st.lists(st.none() | judged_grades, max_size=9))
    missed = draw(st.lists(judged_grades, max_size=4))
    return ranking, [grade for grade in ranking if grade is not None] + missed


def blocked(queries):
    return block([ranking for ranking, _ in queries], [pool for _, pool in queries])


def widened(judged, columns, more):
    """The same block with more padding."""

    def wide(cells, width, value):
        return np.pad(cells, ((0, 0), (0, width)), constant_values=value)

    return replace(
        judged,
        rank=wide(judged.rank, columns, PAD),
        grade=wide(judged.grade, columns, 0),
        known=wide(judged.known, columns, False),  # noqa: FBT003 the value of the padding
        first=wide(judged.first, columns, PAD),
        last=wide(judged.last, columns, PAD),
        ideal=wide(judged.ideal, more, 0),
    )


@given(st.lists(rankings(), min_size=1, max_size=4), st.integers(0, 300), st.integers(0, 300))
def test_padding_moves_no_bit(queries, columns, more):
    judged = blocked(queries)
    padded = widened(judged, columns, more)
    for metric in METRICS:
        assert metric.compute(judged).tobytes() == metric.compute(padded).tobytes(), str(metric)


@given(st.lists(rankings(), min_size=2, max_size=5), st.data())
def test_the_parts_of_a_block_have_the_values_of_the_whole(queries, data):
    cut_point = data.draw(st.integers(1, len(queries) - 1))
    full_block, parts = (blocked(queries), [blocked(queries[:cut_point]), blocked(queries[cut_point:])])
    for metric in METRICS:
        values = np.concatenate([metric.compute(sub_block) for sub_block in parts])
        assert values.tobytes() == metric.compute(full_block).tobytes(), str(metric)


def _bound_holds(metric):
    """A poorer ideal than all judged documents can be surpassed, and R by hits not in it."""
    may_exceed = "levels" in dict(metric.given) or ("negative", "relevant") in metric.given
    return metric.high is not None and not may_exceed


@given(st.lists(rankings(), min_size=1, max_size=4))
def test_a_value_is_one_float_a_query_within_its_bounds(queries):
    judged = blocked(queries)
    cells_before = [np.copy(cells) for cells in (judged.rank, judged.grade, judged.ideal)]
    for metric in METRICS:
        value = metric.compute(judged)
        assert (value.dtype, value.shape) == (np.float64, (len(queries),)), str(metric)
        defined = value[~np.isnan(value)]
        assert (defined >= metric.low).all(), str(metric)
        assert not _bound_holds(metric) or (defined <= metric.high + 1e-12).all(), str(metric)
    cells_after = (judged.rank, judged.grade, judged.ideal)
    assert all(map(np.array_equal, cells_before, cells_after))  # a kernel changes nothing it is given


@given(st.lists(rankings(), min_size=1, max_size=4), st.sampled_from([0, 1, 2.5, 3]))
def test_imputed_grades_leave_every_value_finite_or_undefined(queries, imputed):
    holes = [[grade is None for grade in ranking] for ranking, _ in queries]
    full = [[imputed if g is None else g for g in ranking] for ranking, _ in queries]
    judged = block(full, ideal=[pool for _, pool in queries])
    known_cells = judged.known.copy()
    for t, row in enumerate(holes):
        known_cells[t, : len(row)] &= ~np.array(row, dtype=bool)
    judged = replace(judged, known=known_cells)
    for metric in METRICS:
        assert not np.isinf(metric.compute(judged)).any(), str(metric)


PERFECT = (
    "nDCG nDCG@3 nDCG(gain='exp')@2 nDCG(gain={1:5,2:1})@9 nDCG(discount='original') AP RR Rprec Bpref infAP "
    "IPrec@0.7 IPrec11 SetR SetRelP nDCGRel RnDCG G BinG RelP@3 Success@1 GMAP RelP@2 NCG NCG@2 "
    "NCG(gain='exp')@3 R(denominator='reachable')@2 AP(denominator='reachable')@2 AP(denominator='found')@2 "
    "R@9"
)


@pytest.mark.parametrize("name", PERFECT.split())
@given(pool=st.lists(st.sampled_from([0, 1, 2, 3]), max_size=8), tail=st.integers(0, 4))
def test_the_ideal_ranking_scores_one(name, pool, tail):
    metric = parse(name)
    worth = {1: 5, 2: 1} if "{1:5" in name else {}
    ideal_ranking = sorted([3, *pool], key=lambda grade: worth.get(grade, grade), reverse=True)
    value = metric.compute(block([[*ideal_ranking, *[None] * tail]], ideal=[ideal_ranking]))
    assert value == pytest.approx(1, abs=2e-5 if name == "infAP" else 1e-12)


@pytest.mark.parametrize("name", ["R", "Success", "RR", "AP", "DCG", "CG", "ERR", "RBP"])
@given(rankings(), st.integers(1, 9))
def test_a_deeper_cutoff_never_lowers_what_only_adds(name, query, cutoff):
    judged = blocked([query])
    shallow, deep = ((parse(name) @ k).compute(judged) for k in (cutoff, cutoff + 1))
    assert np.isnan(shallow) or shallow <= deep + 1e-15


PROMOTED = (
    "nDCG nDCG@3 AP RR ERR RBP P@3 R@3 Bpref Rprec IPrec@0.5 BinG nDCG(gain='exp')@2 NCG@3 AUC GAUC Hits@2 "
    "AvgGrade@2"
)


@pytest.mark.parametrize("name", PROMOTED.split())
@given(
    st.lists(st.sampled_from([0, 1, 2, 3]), min_size=2, max_size=9),
    st.lists(st.sampled_from([0, 1, 2, 3]), max_size=3),
    st.data(),
)
def test_a_better_document_moved_up_never_lowers_a_value(name, ranking, missed, data):
    position = data.draw(st.integers(0, len(ranking) - 2))
    swapped = list(ranking)
    swapped[position : position + 2] = sorted(ranking[position : position + 2], reverse=True)
    pools = [ranking + missed] * 2
    old_value, new_value = parse(name).compute(block([ranking, swapped], ideal=pools))
    assert np.isnan(old_value) or old_value <= new_value + 1e-12


def test_g_alone_can_fall_when_a_better_document_moves_up():
    old_value, new_value = parse("G").compute(block([[1, 1, 2, 3], [1, 1, 3, 2]]))
    assert old_value == pytest.approx((1 / 2 + 1 / np.log2(5) + 2 / 2 + 3 / 1) / 7)
    assert new_value == pytest.approx((1 / 2 + 1 / np.log2(5) + 3 / np.log2(3) + 2 / 1) / 7)
    assert new_value < old_value


def _naive_ap(ranking, pool):
    relevant = sum(grade >= 1 for grade in pool)
    hits, added = 0, 0.0
    for rank, grade in enumerate(ranking, start=1):
        if grade is not None and grade >= 1:
            hits += 1
            added += hits / rank
    return added / relevant if relevant else np.nan


@given(st.lists(rankings(), min_size=1, max_size=4))
def test_average_precision_is_that_of_a_loop(queries):
    expected = [_naive_ap(*query) for query in queries]
    assert parse("AP").compute(blocked(queries)).tolist() == pytest.approx(expected, nan_ok=True)


def _naive_err(ranking, top):
    value, reached = 0.0, 1.0
    for rank, grade in enumerate(ranking, start=1):
        satisfied = (2 ** max(grade or 0, 0) - 1) / 2**top
        value, reached = value + reached * satisfied / rank, reached * (1 - satisfied)
    return value


@given(st.lists(rankings(), min_size=1, max_size=4))
def test_expected_reciprocal_rank_is_that_of_a_loop(queries):
    err = functools.partial(_naive_err, top=4)
    expected = [err(ranking) for ranking, _ in queries]
    assert parse("ERR").compute(blocked(queries)).tolist() == pytest.approx(expected)
