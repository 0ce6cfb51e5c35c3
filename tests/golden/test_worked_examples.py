"""The worked examples of the documents that asked for this."""

from __future__ import annotations

import csv
from math import log, log2
from pathlib import Path

import pytest

from rankgate.data.collection import Collection, Items
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.splits import SplitPlan
from rankgate.interface.demo.demo_build import MOVIES_QRELS, MOVIES_RUN
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.recommenders.scorecard import scorecard
from rankgate.recommenders.splitting import split

HEADPHONES = {"headphones": {"sony": 3, "jbl": 2, "stand": 1, "unseen": 3}}
SHOWN = {"headphones": {"sony": 3.0, "jbl": 2.0, "stand": 1.0}}


def of(qrels, run, metric):
    return evaluate(qrels, run, metric).runs[0].means[metric]


def test_gains_discounts_and_the_ideal():
    dcg = 7 / log2(2) + 3 / log2(3) + 1 / log2(4)
    ideal = 7 / log2(2) + 7 / log2(3) + 3 / log2(4)
    linear = (3 + 2 / log2(3) + 1 / 2) / (3 + 3 / log2(3) + 2 / 2)
    assert (round(dcg, 3), round(ideal, 3)) == (9.393, 12.917)  # the document cuts to 12.916
    assert of(HEADPHONES, SHOWN, "DCG(gain='exp')@3") == pytest.approx(dcg, abs=1e-12)
    assert of(HEADPHONES, SHOWN, "nDCG(gain='exp')@3") == pytest.approx(dcg / ideal, abs=1e-12)
    assert of(HEADPHONES, SHOWN, "nDCG(dcg='exp-log2')@3") == pytest.approx(0.727, abs=5e-4)
    assert of(HEADPHONES, SHOWN, "nDCG@3") == pytest.approx(linear, abs=1e-12)
    assert round(linear, 3) == 0.808


def test_the_first_relevant_result():
    qrels = {query: {"good": 1} for query in ("headphones", "treats", "hub")}
    run = {
        "headphones": {"good": 3.0, "x": 2.0},
        "treats": {"x": 3.0, "y": 2.0, "good": 1.0},
        "hub": {"good": 1.0},
    }
    assert of(qrels, run, "MRR@10") == pytest.approx((1 + 1 / 3 + 1) / 3)
    assert of(qrels, run, "MRR@10") == pytest.approx(0.778, abs=5e-4)


def test_six_of_eight_relevant_documents():
    qrels = {"q": {f"d{i}": 1 for i in range(8)}}
    run = {"q": {f"d{i}": -float(i) for i in range(6)} | {"other": -9.0}}
    assert of(qrels, run, "Recall@100") == 0.75


def test_the_guide_s_movies_with_its_loop_mended(demo_folder):
    metrics = ["MRR@1", "MRR@3", "MRR@5"]
    runs = demo_folder / MOVIES_QRELS, demo_folder / MOVIES_RUN
    means = evaluate(*runs, metrics).runs[0].means
    assert [round(means[metric], 4) for metric in metrics] == [0.4, 0.5, 0.59]


def test_the_note_s_numbers_from_a_raw_log():
    """Every formula of the note, and the usual one next to it, written out over the log itself."""
    example = Path(__file__).parents[2] / "examples" / "impressions"
    worth = {"impression": 0, "click": 1, "save": 3}
    truth = {}
    with (example / "log.csv").open() as lines:
        for row in csv.DictReader(lines):
            if row["time"] >= "2026-03-02":
                query_grades = truth.setdefault(row["query"], {})
                item = row["content"]
                query_grades[item] = max(query_grades.get(item, 0), worth[row["event"]])
    lists = {}
    for line in (example / "model.run").read_text().splitlines():
        query, _, item, *_ = line.split()
        lists.setdefault(query, []).append(item)
    note, usual = [], []
    for query, grades in truth.items():
        gains = [grades.get(item, 0) for item in lists[query]]
        hits = [gain > 0 for gain in gains]
        relevant_count = sum(grade > 0 for grade in grades.values())
        precise = [sum(hits[:k]) / k for k in range(1, 6)]
        mean_precision = sum(precise) / 5
        if not relevant_count:
            note.append((None, mean_precision, None, None))
            usual.append((0, 0, 0, 0))
            continue
        first = hits.index(True) + 1
        best_grades = sorted(grades.values(), reverse=True)[:5]
        exp, linear = (
            sum(g(x) / log(k + 1) for k, x in enumerate(gains, 1))
            / sum(g(x) / log(k + 1) for k, x in enumerate(best_grades, 1))
            for g in (lambda x: 2**x - 1, lambda x: x)
        )
        note.append((sum(hits) / relevant_count, mean_precision, 1 / (1 + first), exp))
        average = sum(p for p, hit in zip(precise, hits, strict=True) if hit) / relevant_count
        usual.append((sum(hits) / relevant_count, average, 1 / first, linear))
    rule = Truth(worth, grades="value")
    parts = split(example / "log.csv", SplitPlan(cut="2026-03-02"), rule, candidates="all")
    judgments = parts.folds[0].judgments
    names = ["Recall@5", "MAP@5", "MRR", "NDCG@5"]
    for convention, rows in (("note", note), ("trec", usual)):
        result = evaluate(judgments, example / "model.run", names, convention).runs[0].means
        for name, values in zip(names, zip(*rows, strict=True), strict=True):
            defined = [value for value in values if value is not None]
            assert result[name] == pytest.approx(sum(defined) / len(defined), abs=1e-12), convention
    items = example / "contents.csv"
    card = scorecard(
        Collection(judgments, items=Items(items)), example / "model.run", ["Coverage@5"], "note", resamples=5
    )
    distinct = {item for ranking in lists.values() for item in ranking[:5]}
    assert card.figures["value"][0] == pytest.approx(len(distinct) / 12)
