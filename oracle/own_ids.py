"""What BEIR and MTEB compute where queries are documents of the corpus, as in ArguAna and Quora.

``python oracle/own_ids.py > tests/golden/own_ids.json``, in an environment of its own with
beir 2.2.0 and mteb 2.26.24 (both ``--no-deps``), pytrec_eval-terrier 0.5.11, numpy and tqdm.
"""

import importlib.util
import json
import random
import sys
import types
from importlib.metadata import distribution, version
from pathlib import Path

CUTOFFS = (1, 3, 10)


def inputs(seed=42):
    """Judgments and a run in which most queries find themselves first."""
    draw = random.Random(seed)
    ids = [f"d{number}" for number in range(30)]
    qrels, run = {}, {}
    for query in ids[:12]:
        other_ids = [id_ for id_ in ids if id_ != query]
        qrels[query] = {id_: draw.choice([0, 1, 1, 2]) for id_ in draw.sample(other_ids, 5)}
        ranked = draw.sample(other_ids, 12)
        run[query] = {id_: round(12 - rank + draw.random(), 4) for rank, id_ in enumerate(ranked)}
        if draw.random() < 0.8:
            run[query][query] = 20.0
    run[ids[0]] = {ids[0]: 20.0}  # nothing is left of its ranking
    return qrels, run


def copied(run):
    """A copy of a run, as both packages take documents out of the caller's."""
    return {query: dict(row) for query, row in run.items()}


def beir(qrels, run, *, drop):
    """The means of BEIR."""
    from beir.retrieval.evaluation import EvaluateRetrieval

    results = copied(run)
    tables = EvaluateRetrieval.evaluate(qrels, results, CUTOFFS, ignore_identical_ids=drop)
    custom = [
        EvaluateRetrieval.evaluate_custom(qrels, results, CUTOFFS, metric=name)
        for name in ("mrr", "recall_cap", "accuracy")
    ]
    return {name: value for table in (*tables, *custom) for name, value in table.items()}


def mteb(qrels, run, *, drop):
    """The means of MTEB, whose evaluator is loaded without the models around it."""
    results = copied(run)
    if drop:  # as `RetrievalEvaluator.evaluate` does for tasks with ignore_identical_ids
        for query, row in results.items():
            row.pop(query, None)
    module = _without_models()
    scores = module.calculate_retrieval_scores(results, qrels, list(CUTOFFS))
    return {
        **scores.ndcg,
        **scores.map,
        **scores.recall,
        **scores.precision,
        **scores.mrr,
        **scores.hit_rate,
    }


def _without_models():
    folder = Path(distribution("mteb").locate_file("mteb"))
    for name in ("mteb", "mteb._evaluators", "mteb.types"):
        package = types.ModuleType(name)
        package.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
        package.__getattr__ = lambda _: types.SimpleNamespace
        sys.modules[name] = package
    path = folder / "_evaluators" / "retrieval_metrics.py"
    spec = importlib.util.spec_from_file_location("mteb._evaluators.retrieval_metrics", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    qrels, run = inputs()
    values = {
        f"{tool.__name__} {version(tool.__name__)} {word}": tool(qrels, run, drop=drop)
        for tool in (beir, mteb)
        for word, drop in (("dropped", True), ("kept", False))
    }
    sys.stdout.write(json.dumps({"qrels": qrels, "run": run, "values": values}, indent=1) + "\n")
