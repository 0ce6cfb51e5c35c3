"""Values with all unjudged documents irrelevant, and with all of them best."""

from __future__ import annotations

from dataclasses import replace
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from rankgate.measurement.scoring import CONVENTIONS
from support.strategies import fewer_examples

# a is best, b and c are judged, u is not; b and u are tied, and u goes first
QRELS = {"1": {"a": 3.0, "b": 0.0, "c": 1.0}, "2": {"x": 1.0}}
RUN = {"1": {"a": 9.0, "b": 8.0, "u": 8.0, "c": 7.0}}


def ends(metric, how="trec", qrels=QRELS, run=RUN, row=0):
    scores = evaluate(qrels, run, [metric], how, bounds=True).runs[0]
    return (
        scores.all_irrelevant.values[metric][row],
        scores.values[metric][row],
        scores.all_best.values[metric][row],
    )


def test_precision():
    assert ends("P@3") == (1 / 3, 1 / 3, 2 / 3)


def test_ndcg_has_its_ideal_raised_too():
    low = 3 / (3 + 1 / log2(3))
    high = (3 + 3 / log2(3)) / (3 + 3 / log2(3) + 1 / log2(4))
    assert ends("nDCG@3") == pytest.approx((low, low, high), rel=1e-15)


def test_documents_behind_the_cutoff_stay_as_they_are():
    assert ends("nDCG@1") == (1, 1, 1)


def test_average_precision_can_lose():
    qrels, run = {"q": {"a": 1.0, "b": 0.0}}, {"q": {"a": 3.0, "b": 2.0, "u": 1.0}}
    assert ends("AP", qrels=qrels, run=run) == pytest.approx((1, 1, (1 + 2 / 3) / 2))


def test_rbp_is_bounded_by_its_residual():
    rbp, residual = "RBP(p=0.5,gain='binary')@3", "RBPResid(p=0.5)@3"
    residual_value = evaluate(QRELS, RUN, [residual]).runs[0].values[residual][0]
    assert residual_value == 1 - 0.5 * (1 + 0.25)
    assert ends(rbp) == (0.5, 0.5, 0.5 + residual_value)


def test_bpref_ignores_the_unjudged_and_its_bounds_do_not():
    # c has one of one irrelevant documents above it, or two of two; u is found before b
    assert ends("Bpref") == pytest.approx((1 / 2, 1 / 2, 2 / 3))


def test_a_negative_grade_is_unjudged_too():
    qrels = {"1": {**QRELS["1"], "u": -1.0}}
    assert ends("P@3", qrels=qrels) == (1 / 3, 1 / 3, 2 / 3)


def test_a_missing_query_stays_0():
    for metric in ("P@3", "RBP(p=0.5)", "nDCG"):
        assert ends(metric, row=1) == (0, 0, 0)


def test_the_mean_is_that_of_the_values():
    scores = evaluate(QRELS, RUN, ["P@3", "RBP@3"], bounds=True).runs[0]
    for side in (scores.low, scores.high):
        for metric, values in side.values.items():
            assert side.means[metric] == np.mean(values)


def test_metrics_of_the_holes_have_none():
    scores = evaluate(QRELS, RUN, ["Judged@3", "P@3"], bounds=True).runs[0]
    assert set(scores.low.values) == set(scores.high.values) == {"P@3"}


def test_nothing_is_there_unasked():
    scores = evaluate(QRELS, RUN, ["P@3"]).runs[0]
    assert scores.low is None
    assert scores.high is None


def test_a_file_whose_lines_are_mixed(tmp_path):
    path = tmp_path / "mixed.run"
    path.write_text("1 Q0 c 1 7 t\n2 Q0 v 1 1 t\n1 Q0 u 1 8 t\n1 Q0 a 1 9 t\n1 Q0 b 1 8 t\n")
    assert ends("P@3", run=path) == (1 / 3, 1 / 3, 2 / 3)
    assert ends("P@3", run=path, row=1) == (0, 0, 1 / 3)


NAMES = [
    *("nDCG@2", "nDCG", "AP", "AP@3", "RR@2", "P(denominator='judged')@3", "Bpref", "R@2"),
    *("infAP", "ERR(max_grade=3)@3", "nDCG(gain='signed',ideal='known')@3", "GAUC", "Hits@2"),
]
WAYS = {
    "trec": CONVENTIONS["trec"],
    "ascending": replace(CONVENTIONS["trec"], ties="doc_id_asc"),
    "deep": replace(CONVENTIONS["trec"], depth=2),
    "condensed": replace(CONVENTIONS["trec"], judged_only=True),
    "some": replace(CONVENTIONS["trec"], above=1.0, absent=2.0),
    "left out": replace(CONVENTIONS["trec"], missing="leave_out", without_relevant=None),
}
DOCS = "abcdefg"


@st.composite
def collections(draw):
    grades = st.sampled_from([-2, -1, 0, 1, 2, 3])
    qrels = {
        query: draw(st.dictionaries(st.sampled_from(DOCS), grades, max_size=5)) | {"y": 1} for query in "12"
    }
    scores = st.sampled_from([0.5, 1.0, 2.0, 3.0, 4.0])
    run = {"1": draw(st.dictionaries(st.sampled_from(DOCS), scores, max_size=7)) | {"z": 3.5}}
    if draw(st.booleans()):
        run["2"] = draw(st.dictionaries(st.sampled_from(DOCS), scores, min_size=1, max_size=7))
    return qrels, run


def completed(qrels, run, how, cutoff, grade):
    """The judgments, with a grade for all unjudged documents down to a cutoff."""
    result = {query: dict(grades) for query, grades in qrels.items()}
    for query, scores in run.items():
        docs = [
            doc
            for doc, score in scores.items()
            if (how.above is None or score > how.above) and score != how.absent
        ]
        docs.sort(reverse=how.ties == "doc_id_desc")
        docs.sort(key=lambda doc, scores=scores: -scores[doc])
        for doc in docs[: how.depth][:cutoff]:
            if result[query].get(doc, -1) < 0:
                result[query][doc] = grade
    return result


def cutoff_of(name):
    return int(name.split("@")[1]) if "@" in name else None


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cutoff", [None, 2, 3])
@fewer_examples(6)
@given(collections())
def test_bounds_are_the_values_by_completed_judgments(way, cutoff, collection):
    qrels, run = collection
    convention, names = WAYS[way], [name for name in NAMES if cutoff_of(name) == cutoff]
    scores = evaluate(qrels, run, names, convention, bounds=True).runs[0]
    best_grade = max(grade for grades in qrels.values() for grade in grades.values())
    for side, grade in ((scores.all_irrelevant, 0), (scores.all_best, best_grade)):
        expected = evaluate(completed(qrels, run, convention, cutoff, grade), run, names, convention).runs[0]
        for name in names:
            np.testing.assert_array_equal(side.values[name], expected.values[name], name)
            np.testing.assert_equal(side.means[name], expected.means[name], name)


def test_many_queries_in_any_order_of_lines(tmp_path):
    """Runs in order, out of order, and with the lines of queries mixed, have the same bounds."""
    rng = np.random.default_rng(7)
    qrels = {f"q{i:02}": {f"d{j}": int(rng.integers(-1, 3)) for j in range(5)} for i in range(40)}
    lines = [(query, f"d{j}", rng.random()) for query in qrels for j in rng.permutation(12)[:9]]
    sorted_lines = sorted(lines, key=lambda line: (line[0], -line[2]))
    mixed = [lines[i] for i in rng.permutation(len(lines))]
    run_scores = []
    for rows in (sorted_lines, lines, mixed):
        path = tmp_path / f"{len(run_scores)}.run"
        path.write_text("".join(f"{q} Q0 {d} 1 {s!r} t\n" for q, d, s in rows))
        run_scores.append(evaluate(qrels, path, ["nDCG@3", "AP", "RBP@4"], bounds=True).runs[0])
    for other_scores in run_scores[1:]:
        assert other_scores.low.means == run_scores[0].low.means
        assert other_scores.high.means == run_scores[0].high.means
    assert run_scores[0].low.means != run_scores[0].high.means


def _at(metric):
    """A metric with and without a cutoff, if it takes cutoffs."""
    if metric.at == "cutoff":
        return [metric @ 3] + ([] if metric.missing else [metric])
    return [metric @ 0.3] if metric.missing else [metric]


BOUNDED = [metric for metric in CATALOGUE if metric.bounds]
EVERY = [variant for m in BOUNDED for variant in _at(m)]


def some_collection(rng):
    """Judgments with holes and a ranking of one query, without ties, which tools order freely."""
    docs = [f"d{i}" for i in range(9)]
    judged = zip(rng.permutation(docs)[:5], rng.integers(-1, 4, 5), strict=True)
    grades = {doc: int(grade) for doc, grade in judged} | {"y": int(rng.integers(4))}
    return grades, rng.permutation(docs)[:6].tolist()


def completions(grades, ranked, cutoff, rng):
    """The judgments with grades for the holes down to a cutoff: 0, the best, and by chance."""
    holes = [doc for doc in ranked[:cutoff] if grades.get(doc, -1) < 0]
    best_grade = max(1, *grades.values())
    for fill in (0, best_grade, *rng.integers(0, best_grade + 1, (8, len(holes)))):
        yield grades | dict(zip(holes, np.broadcast_to(fill, len(holes)).tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.explore
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["trec", "ir_measures", "beir"])
def test_no_completion_leaves_the_bounds(name, seed, thorough):
    """Exact bounds are attained; safe ones enclose. Each completion is a query."""
    rng = np.random.default_rng(seed)
    defined_metrics = set()
    for _ in range(6 if thorough else 3):
        grades, ranked = some_collection(rng)
        run = {doc: 9.0 - i for i, doc in enumerate(ranked)}
        scores = evaluate({"q": grades}, {"q": run}, EVERY, name, bounds=True).runs[0]
        for cutoff in (3, None):
            metrics = [m for m in EVERY if dict(m.given).get("cutoff") == cutoff]
            bounded_metrics = [m for m in metrics if str(m) in scores.low.values]
            filled = completions(grades, ranked, cutoff, rng)
            full = {f"q{i}": completion for i, completion in enumerate(filled)}
            full_values = evaluate(full, dict.fromkeys(full, run), bounded_metrics, name).runs[0].values
            for metric in bounded_metrics:
                values = full_values[str(metric)]
                low, high = (e.values[str(metric)][0] for e in (scores.low, scores.high))
                assert np.nanmin(values, initial=np.inf) >= low - 1e-12 or np.isnan(low), metric
                assert np.nanmax(values, initial=-np.inf) <= high + 1e-12 or np.isnan(high), metric
                if np.isfinite([low, high]).all() and not np.isnan(values).all():
                    defined_metrics.add(str(metric))
                if metric.bounds == "exact" and not np.isnan(values).any():
                    ends = values.min(), values.max()
                    assert ends == pytest.approx((low, high), abs=1e-12), metric
    assert len(defined_metrics) > 20


def test_values_of_now_lie_within():
    scores = evaluate(QRELS, RUN, ["nDCG@3", "AP", "Accuracy"], bounds=True).runs[0]
    assert "Accuracy" not in scores.low.values  # not known how to bound it
    assert scores.low.means.keys() == {"nDCG@3", "AP"}
    for label, low in scores.low.means.items():
        assert low <= scores.means[label] <= scores.high.means[label]
