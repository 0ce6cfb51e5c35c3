"""The documented examples of ranx and ir_measures, run with either library or our layer over it.

With the libraries installed, ``python tests/compat/documented.py > tests/compat/documented.json``
stores their output; printed with ranx 0.3.21 and ir_measures 0.4.3.
"""

from __future__ import annotations

import json
import math
import random
import sys
from importlib import import_module

QRELS = {"q_1": {"d_12": 5, "d_25": 3}, "q_2": {"d_11": 6, "d_22": 1}}
RUN = {
    "q_1": {"d_12": 0.9, "d_23": 0.8, "d_25": 0.7, "d_36": 0.6, "d_32": 0.5, "d_35": 0.4},
    "q_2": {"d_12": 0.9, "d_11": 0.8, "d_25": 0.7, "d_36": 0.6, "d_22": 0.5, "d_35": 0.4},
}
METRICS = (
    *("hits@5", "hit_rate@3", "precision@5", "recall@5", "f1@5", "r-precision", "bpref"),
    *("rbp.95", "mrr", "map@5", "map@5-l2", "dcg@5", "dcg_burges@5", "ndcg@5", "ndcg_burges@5"),
)
FUSIONS = (
    *((name, {}) for name in ("min", "max", "med", "sum", "anz", "mnz", "isr", "bordafuse")),
    *(("gmnz", {"gamma": 0.5}), ("rrf", {"k": 10}), ("rbc", {"phi": 0.7})),
    *(("log_isr", {}), ("logn_isr", {"sigma": 0.1}), ("wsum", {"weights": [0.5, 0.3, 0.2]})),
)
NORMS = ("min-max", "min-max-inverted", "max", "sum", "zmuv", "rank")
TEXT_QRELS = "Q0 0 D0 0\nQ0 0 D1 1\nQ1 0 D0 0\nQ1 0 D3 2\n"
TEXT_RUN = "Q0 0 D0 0 1.2 x\nQ0 0 D1 1 1.0 x\nQ1 0 D3 0 3.6 x\nQ1 0 D0 1 2.4 x\n"
MEASURES = (
    *("nDCG@10", "P@5", "P(rel=2)@5", "Judged@10", "AP", "AP(rel=2)", "RR", "RR@10", "Rprec"),
    *("Bpref", "R@10", "Success@5", "SetP", "SetR", "SetF", "IPrec@0.1", "NumQ", "NumRel", "ERR@10"),
)


def world(seed):
    """Judgments of 20 queries, and three runs without ties."""
    rng = random.Random(seed)
    queries = [f"{i:02}" for i in range(20)]
    documents = [f"d{i}" for i in range(15)]
    qrels = {q: {d: rng.randint(0, 3) for d in rng.sample(documents, 8)} | {"d0": 2} for q in queries}
    runs = [
        {q: {d: rng.random() + 0.2 * i * qrels[q].get(d, 0) for d in documents} for q in queries}
        for i in range(3)
    ]
    return qrels, runs


def of_ranx(ranx):
    """What ranx computes in its documentation, and more of the same."""
    qrels, run = ranx.Qrels(QRELS), ranx.Run(RUN)
    results = {
        "one": ranx.evaluate(qrels, run, "ndcg@5"),
        "several": ranx.evaluate(qrels, run, ["map@5", "mrr"]),
        "means in the run": dict(run.mean_scores),
        "scores in the run": {name: dict(by_query) for name, by_query in run.scores.items()},
    }
    grades, tables = world(1)
    judged = ranx.Qrels(grades)
    runs = [ranx.Run(table, name=f"model_{i}") for i, table in enumerate(tables, 1)]
    results["metrics"] = {name: ranx.evaluate(judged, runs[0], name) for name in METRICS}
    results["queries"] = ranx.evaluate(judged, runs[0], "ndcg@5", return_mean=False).tolist()
    results["deviation"] = ranx.evaluate(judged, runs[0], ["mrr", "map"], return_std=True)
    report = ranx.compare(judged, runs, ["map@100", "mrr@100", "ndcg@10"], max_p=0.01)
    results["compare"] = report.to_dict()
    results["table"] = "\n".join(" ".join(line.split()) for line in str(report).splitlines()[2:])
    for name, params in FUSIONS:
        merged = ranx.fuse(runs, norm="min-max", method=name, params=params)
        results[f"fuse {name}"] = first(merged)
    for norm in NORMS:
        merged = ranx.fuse(runs, norm=norm, method="sum")
        results[f"norm {norm}"] = first(merged)
    merged = ranx.fuse(runs, norm="min-max-inverted", method="rrf")
    results["inverted ranks"] = first(merged)
    partial = ranx.Run({q: tables[0][q] for q in list(grades)[:10]} | {"other": {"d0": 1.0}})
    results["comparable"] = ranx.evaluate(judged, partial, "map", make_comparable=True)
    return plain(results)


def first(merged):
    """The fused scores of one query by document: many are equal, so that no order is compared."""
    return dict(sorted(merged.to_dict()["00"].items()))


def of_ir_measures(library):
    """What ir_measures computes in its documentation, and more of the same."""
    measures = [library.parse_measure(name) for name in MEASURES]
    qrels = list(library.read_trec_qrels(TEXT_QRELS))
    run = list(library.read_trec_run(TEXT_RUN))
    grades, tables = world(2)
    evaluator = library.evaluator(measures, grades)
    single = library.nDCG @ 10
    results = {
        "aggregate": named(library.calc_aggregate(measures[:-1], qrels, run)),
        "queries": sorted(
            [metric.query_id, str(metric.measure), metric.value]
            for metric in library.iter_calc([library.nDCG @ 10, library.P(rel=2) @ 5], qrels, run)
        ),
        "written": [str(library.AP), str(library.AP(rel=2)), str(single), str(library.P(rel=2) @ 10)],
        "trec": [str(measure) for measure in library.parse_trec_measure("P")],
        "dicts": [named(evaluator.calc_aggregate(table)) for table in tables],
        "object": single.calc_aggregate(grades, tables[0]),
        "calc": named(library.calc([library.AP], grades, tables[1]).aggregated),
    }
    return plain(results)


def named(values):
    """Values by the name of their measure."""
    return {str(measure): value for measure, value in values.items()}


def plain(value):
    """As JSON holds it."""
    if isinstance(value, dict):
        return {str(key): plain(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return [plain(element) for element in value]
    if isinstance(value, str | int) or value is None:
        return value
    number = float(value)
    return number if math.isfinite(number) else str(number)


if __name__ == "__main__":
    printed = {
        "ranx": of_ranx(import_module("ranx")),
        "ir_measures": of_ir_measures(import_module("ir_measures")),
    }
    json.dump(printed, sys.stdout, indent=1)
