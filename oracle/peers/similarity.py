"""repro_eval and scipy on pairs of runs: orders of documents, and the reproduction of values."""

import json
import sys
from pathlib import Path

# files of this folder have the names of packages
FOLDER = str(Path(__file__).parent)
sys.path.remove(FOLDER)
import pytrec_eval  # noqa: E402
from repro_eval.measure.document_order import KTU  # noqa: E402
from repro_eval.measure.effectiveness import RMSE  # noqa: E402
from repro_eval.measure.overall_effects import DRI, ER  # noqa: E402
from scipy.stats import kendalltau, spearmanr  # noqa: E402

sys.path.insert(0, FOLDER)
from wire import tell  # noqa: E402

MEASURE = "map"


def of_query(number: int, query: str, first: dict[str, float], second: dict[str, float]) -> None:
    """The likeness of two rankings."""
    common = [document for document in first if document in second]
    first_scores, second_scores = [first[d] for d in common], [second[d] for d in common]
    tell(number, "tau-b", lambda: kendalltau(first_scores, second_scores).statistic, query)
    tell(number, "Spearman", lambda: spearmanr(first_scores, second_scores).statistic, query)
    if len(first) == len(second):
        pair = {query: first}, {query: second}
        tell(number, "KTU", lambda: KTU(*pair, per_topic=True)[query], query)


def of_values(case: dict) -> None:
    """How well values are reproduced."""
    evaluator = pytrec_eval.RelevanceEvaluator(case["qrels"], {MEASURE})
    scores = {name: evaluator.evaluate(run) for name, run in case["runs"].items()}
    first, second, base, replicated_base = (
        scores[name] for name in ("first", "second", "base", "other")
    )
    tell(case["id"], "rmse", lambda: RMSE(first, second)[MEASURE])
    tell(case["id"], "effect_ratio", lambda: ER(first, base, second, replicated_base)[MEASURE])
    tell(case["id"], "delta_ri", lambda: DRI(first, base, second, replicated_base)[MEASURE])


for case in json.loads(Path(sys.argv[1]).read_text()):
    for query in case["qrels"]:
        of_query(case["id"], query, case["runs"]["first"][query], case["runs"]["second"][query])
    of_values(case)
