"""Values under sets of grades equal those of `evaluate` with these grades in the judgments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rankgate import Collection, evaluate, holes, read_run
from rankgate.decisions.unjudged.hole_model import model_holes
from rankgate.decisions.unjudged.hypothetical_grades import HypotheticalScorer
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.scoring.presets import CONVENTIONS

METRICS = ["nDCG@5", "P@3", "RR@5"]


def collection(seed: int):
    """Judgments with a third of the documents, some below 0, and two runs of different length."""
    rng = np.random.default_rng(seed)
    qrels, runs = {}, ({}, {})
    for number in range(8):
        query = f"q{number}"
        judged = rng.permutation(15)[:6]
        qrels[query] = {f"d{doc}": int(rng.integers(-1, 4)) for doc in judged}
        qrels[query]["d99"] = 2
        for run, share in zip(runs, (1.0, 0.8), strict=True):
            if rng.random() < share:
                docs = rng.permutation(15)[: rng.integers(1, 6)]
                run[query] = {f"d{doc}": 9.0 - rank for rank, doc in enumerate(docs)}
    return qrels, runs


@pytest.mark.parametrize("convention", ["trec", "torchmetrics", "pytrec_eval", "judged only"])
@pytest.mark.parametrize("seed", [1, 2])
def test_values_are_those_of_judgments_with_these_grades(convention, seed):
    qrels, runs = collection(seed)
    if convention == "judged only":
        convention = replace(CONVENTIONS["trec"], judged_only=True)
    scorer = Scorer.from_metrics(qrels, METRICS, convention, depth=5)
    systems = [scorer.scored(read_run(run, name)) for run, name in zip(runs, "ab", strict=True)]
    table = model_holes(*systems).table
    # a column twice and one grade that is no other's: equal sets share their values
    grades = np.random.default_rng(seed).integers(0, 4, (len(table), 5)).astype(float)
    grades[:, 3] = grades[:, 1]
    grades[:, 4] = 0.5
    values = HypotheticalScorer.from_systems(scorer, *systems).values(table, grades)
    queries = table["query_id"].unique(maintain_order=True).to_list()
    assert queries
    for number, column in enumerate(grades.T):
        full = {query: {d: g for d, g in docs.items() if g >= 0} for query, docs in qrels.items()}
        for query, doc, grade in zip(table["query_id"], table["doc_id"], column, strict=True):
            full[query][doc] = float(grade)
        for system, run in enumerate(runs):
            result = evaluate(full, {"run": run}, METRICS, convention=convention)
            expected = result.values.filter(pl.col("query_id").is_in(queries))
            for metric_index, metric in enumerate(METRICS):
                row = dict(
                    expected.filter(pl.col("metric") == metric).select("query_id", "value").iter_rows()
                )
                expected_values = [row.get(query) or 0.0 for query in queries]
                assert values[system, metric_index, :, number].tolist() == expected_values


def test_no_hole_gives_no_query():
    qrels = {"q": {"a": 1, "b": 0}}
    scorer = Scorer.from_metrics(qrels, METRICS, "trec", depth=5)
    systems = [scorer.scored(read_run({"q": {"a": 2.0, "b": 1.0}}, name)) for name in "ab"]
    table = model_holes(*systems).table
    assert HypotheticalScorer.from_systems(scorer, *systems).values(table, np.zeros((0, 4))).shape == (
        2,
        3,
        0,
        4,
    )


def test_figures_of_a_slice_are_those_of_its_queries_alone():
    qrels, runs = collection(3)
    tags = {query: "even" if int(query[1]) % 2 == 0 else "odd" for query in qrels}
    table = pl.DataFrame({"query_id": list(tags), "parity": list(tags.values()), "text": list(tags)})
    shop = Collection(qrels, tags=table)
    slices = holes(shop, *runs, METRICS, depth=5).slices
    assert slices["tag"].unique().to_list() == ["parity"]  # a text is no slice
    for value in ("even", "odd"):
        subset = [{q: docs for q, docs in t.items() if tags[q] == value} for t in (qrels, *runs)]
        subset_metrics = holes(*subset, METRICS, depth=5).metrics
        slice_rows = slices.filter(pl.col("value") == value)
        assert slice_rows["metric"].to_list() == METRICS
        for name in ("n", "delta", "worst", "best"):
            assert slice_rows[name].to_list() == pytest.approx(subset_metrics[name].to_list())
