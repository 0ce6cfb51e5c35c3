"""One interval for queries, judgments and snapshots, in Python and at the command line."""

import json

import numpy as np
import pytest

from rankgate import compare, total_error
from rankgate.data.qrels import RepeatedJudgments
from rankgate.decisions.unjudged.total_error import TotalError
from rankgate.measurement.stats.mean_intervals import guarded_interval
from support.wording import raises

RNG = np.random.default_rng(21)
QUERIES, DOCS = 40, 12
GRADES = RNG.choice(4, (QUERIES, DOCS), p=[0.5, 0.25, 0.15, 0.1])


def _judged(noise, severity=0.0, share=1.0, *, rng):
    grades = np.clip(np.rint(GRADES + severity + rng.normal(0, noise, GRADES.shape)), 0, 3)
    return {
        f"q{q}": {f"d{d}": int(grades[q, d]) for d in range(DOCS) if rng.random() < share}
        for q in range(QUERIES)
    }


def _snapshot(scores, noise):
    noisy = scores + RNG.normal(0, noise, scores.shape)
    return {f"q{q}": {f"d{d}": float(noisy[q, d]) for d in range(DOCS)} for q in range(QUERIES)}


ANN, BOB, EVE = (_judged(noise, severity, rng=RNG) for noise, severity in ((0.3, 0), (0.6, 0.4), (0.6, -0.4)))
_OLD, _NEW = GRADES + RNG.normal(0, 2, GRADES.shape), GRADES + RNG.normal(0, 1.5, GRADES.shape)
OLD, NEW = [_snapshot(_OLD, 0.5) for _ in range(2)], [_snapshot(_NEW, 0.5) for _ in range(2)]


def test_the_interval_of_queries_alone_is_that_of_their_mean_over_repetitions():
    result = total_error([ANN, BOB], OLD[0], NEW[0], ["P@5"])
    deltas = [
        compare(qrels, OLD[0], NEW[0], ["P@5"]).queries.sort("query_id")["delta"].to_numpy()
        for qrels in (ANN, BOB)
    ]
    mean = np.mean(deltas, axis=0)
    row = result.metrics.row(0, named=True)
    assert row["delta"] == pytest.approx(mean.mean())
    assert row["naive_error"] == pytest.approx(mean.std(ddof=1) / QUERIES**0.5)
    assert row["low"] < row["naive_low"] < row["naive_high"] < row["high"]


def test_what_adds_nothing_leaves_the_interval_as_it_is():
    result = total_error([ANN, ANN], OLD[0], NEW[0], ["P@5"]).metrics.row(0, named=True)
    single = compare(ANN, OLD[0], NEW[0], ["P@5"]).queries["delta"].to_numpy()
    guarded = guarded_interval(single)
    assert (result["low"], result["high"]) == pytest.approx((guarded.low[0], guarded.high[0]))


def test_the_interval_for_correlated_biases_is_named():
    result = total_error([ANN, BOB, EVE], OLD[0], NEW[0], ["P@5"])
    texts = [notice.text for notice in result.notices if notice.code == "correlated-biases"]
    if not texts:  # raters add next to nothing here
        assert result.sources.filter(source="judgments")["share"].sum() < 0.05
    restored = TotalError.from_dict(json.loads(json.dumps(result.to_dict())))
    assert restored.notices == result.notices


def test_sources_add_up_and_say_what_to_add_first():
    result = total_error([ANN, BOB, EVE], OLD, NEW, ["nDCG@5"])
    assert result.facets == {"queries": QUERIES, "judgments": 3, "snapshots": 2}
    assert result.sources["share"].sum() == pytest.approx(1)
    assert result.next["less"].is_sorted(descending=True)
    assert result.next["facet"][0] == "queries"


def test_unjudged_documents_are_a_source():
    rng = np.random.default_rng(1)
    judgments = [_judged(0.3, share=0.8, rng=rng) for _ in range(2)]
    result = total_error(judgments, OLD[0], NEW[0], ["P@5", "AP"])
    without_holes = total_error(judgments, OLD[0], NEW[0], ["P@5"], holes=False)
    assert "unjudged documents" in result.sources["source"].to_list()
    assert "unjudged documents" not in without_holes.sources["source"].to_list()
    assert result.without_holes == ("AP",)


def test_judgments_by_label_are_crossed():
    by_label = {
        "judge:A,prompt:1": ANN,
        "judge:A,prompt:2": BOB,
        "judge:B,prompt:1": EVE,
        "judge:B,prompt:2": _judged(0.4, rng=np.random.default_rng(2)),
    }
    result = total_error(by_label, OLD[0], NEW[0], ["P@5"])
    assert result.facets == {"queries": QUERIES, "judge": 2, "prompt": 2}
    assert "judge × prompt" in " ".join(result.sources["source"])


def test_unjudged_documents_widen_the_interval_of_a_single_set_of_judgments():
    judged_part = {q: {d: g for d, g in docs.items() if int(d[1:]) % 4} for q, docs in ANN.items()}
    result = total_error(judged_part, OLD[0], NEW[0], ["P@5"])
    row = result.metrics.row(0, named=True)
    assert row["high"] - row["low"] > row["naive_high"] - row["naive_low"]
    assert set(result.sources["source"]) == {"queries", "unjudged documents"}
    full_delta = compare(ANN, OLD[0], NEW[0], ["P@5"]).metrics["delta"][0]
    assert row["low"] < full_delta < row["high"]
    with raises("invalid-design"):
        total_error(judged_part, OLD[0], NEW[0], ["P@5"], holes=False)


def test_it_makes_the_round_trip():
    result = total_error([ANN, BOB], OLD[0], NEW[0], ["P@5"])
    restored = TotalError.from_dict(json.loads(json.dumps(result.to_dict())))
    assert restored.metrics.equals(result.metrics)
    assert restored.facets == result.facets


@pytest.mark.parametrize(
    ("qrels", "old", "new", "code"),
    [
        ([ANN], OLD[0], NEW[0], "invalid-design"),
        ([ANN, BOB], OLD, NEW[0], "invalid-design"),
        (
            {"judge:A,prompt:1": ANN, "judge:A,prompt:2": BOB, "judge:B,prompt:1": EVE},
            OLD[0],
            NEW[0],
            "invalid-design",
        ),
        ({"judge:A": ANN, "prompt:1": BOB}, OLD[0], NEW[0], "invalid-design"),
        ({"judge:": ANN, "judge:B": BOB}, OLD[0], NEW[0], "invalid-syntax"),
        ({"judge:A": ANN, "judge: A": BOB, "judge:B,": BOB}, OLD[0], NEW[0], "invalid-syntax"),
    ],
)
def test_designs_that_are_none(qrels, old, new, code):
    with raises(code):
        total_error(qrels, old, new, ["P@5"])


def test_the_same_level_twice_is_refused():
    with raises("invalid-design"):
        RepeatedJudgments.from_judgments(["judge:A=a.qrels", "judge:A=b.qrels"])


def test_at_the_command_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, qrels in (("ann.qrels", ANN), ("bob.qrels", BOB)):
        lines = [f"{q} 0 {d} {grade}\n" for q, docs in qrels.items() for d, grade in docs.items()]
        (tmp_path / name).write_text("".join(lines))
    for name, scores in (("old.run", OLD[0]), ("new.run", NEW[0])):
        lines = [f"{q} Q0 {d} 1 {score} x\n" for q, docs in scores.items() for d, score in docs.items()]
        (tmp_path / name).write_text("".join(lines))
    runs = ("--baseline", "old.run", "--candidate", "new.run", "-m", "P@5")
    result = run("total-error", "judge:ann=ann.qrels", "judge:bob=bob.qrels", *runs)
    assert result.code == 0
    assert "2 judge" in result.out
    assert run("total-error", "ann.qrels", *runs).code == 2
    assert run("total-error", "ann.qrels", "none.qrels", *runs).code == 2
