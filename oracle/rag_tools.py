"""What evaluators of agents' memory and of retrieval-augmented generation compute, query by query.

``python oracle/rag_tools.py NAME > NAME.json`` with NAME ``azure`` (azure-ai-evaluation 1.18.10),
``llama_index`` (llama-index-core 0.14.25) or ``longmemeval`` (its published formulas, as no package
has them); ``join`` puts the files of a folder together as ``tests/golden/rag_tools.json``. MTEB's
values are those of ``own_ids.py``.
"""

import json
import math
import random
import sys
from importlib.metadata import version
from pathlib import Path

CUTOFFS = (1, 3, 5)


def inputs(seed=7):
    """Judgments with labels from 0 to 4, and rankings, half of them with equal scores in order."""
    draw = random.Random(seed)
    ids = [f"d{number}" for number in range(12)]
    qrels, run = {}, {}
    for number in range(14):
        judged = draw.sample(ids, draw.randint(2, 7))
        qrels[f"q{number}"] = {id_: draw.choice([0, 0, 1, 2, 3, 4]) for id_ in judged}
        qrels[f"q{number}"][judged[0]] = draw.choice([1, 2, 4])  # something is relevant
        ranked = draw.sample(ids, draw.randint(1, 8))
        step = 2 if number % 2 else 1
        run[f"q{number}"] = {id_: 10.0 - rank // step for rank, id_ in enumerate(ranked)}
    return qrels, run


def azure(qrels, run):
    """DocumentRetrievalEvaluator, one query at a time."""
    from azure.ai.evaluation import DocumentRetrievalEvaluator

    evaluator = DocumentRetrievalEvaluator(ground_truth_label_min=0, ground_truth_label_max=4)
    names = ("ndcg@3", "xdcg@3", "fidelity", "holes")
    values = {}
    for query, grades in qrels.items():
        result = evaluator(
            retrieval_ground_truth=[
                {"document_id": id_, "query_relevance_label": grade} for id_, grade in grades.items()
            ],
            retrieved_documents=[
                {"document_id": id_, "relevance_score": score} for id_, score in run[query].items()
            ],
        )
        figures = result.get("document_retrieval_properties", result)
        values[query] = {name: figures[name] for name in names}
    return values


def llama_index(qrels, run):
    """The retrieval metrics, on the first k documents."""
    from llama_index.core.evaluation.retrieval.metrics import METRIC_REGISTRY

    values = {}
    for query, grades in qrels.items():
        expected = [id_ for id_, grade in grades.items() if grade > 0]
        values[query] = {
            f"{name}@{k}": METRIC_REGISTRY[name]()
            .compute(query, expected_ids=expected, retrieved_ids=list(run[query])[:k])
            .score
            for name in ("hit_rate", "mrr", "precision", "recall", "ap", "ndcg")
            for k in CUTOFFS
        }
    return values


def longmemeval(qrels, run):
    """Any, all and nDCG of src/retrieval/eval_utils.py in xiaowu0162/LongMemEval, written anew."""

    def dcg(gains):
        return sum(gain / max(1.0, math.log2(rank)) for rank, gain in enumerate(gains, 1))

    values = {}
    for query, grades in qrels.items():
        evidence = {id_ for id_, grade in grades.items() if grade > 0}
        values[query] = {}
        for k in CUTOFFS:
            first = list(run[query])[:k]
            ideal = dcg([1.0] * min(k, len(evidence)))
            values[query] |= {
                f"recall_any@{k}": float(any(id_ in first for id_ in evidence)),
                f"recall_all@{k}": float(all(id_ in first for id_ in evidence)),
                f"ndcg_any@{k}": dcg([float(id_ in evidence) for id_ in first]) / ideal,
            }
    return values


PACKAGES = {"azure": "azure-ai-evaluation", "llama_index": "llama-index-core", "longmemeval": None}


if __name__ == "__main__":
    qrels, run = inputs()
    if sys.argv[1] == "join":
        parts = {name: json.loads(Path(sys.argv[2], f"{name}.json").read_text()) for name in PACKAGES}
        sys.stdout.write(json.dumps({"qrels": qrels, "run": run, "tools": parts}) + "\n")
    else:
        name = sys.argv[1]
        package = PACKAGES[name]
        found = {"version": version(package) if package else "", "values": globals()[name](qrels, run)}
        sys.stdout.write(json.dumps(found) + "\n")
