"""pytrec_eval-terrier: every measure that it has, query by query."""

import pytrec_eval
from wire import read, tell

MEASURES = set(pytrec_eval.supported_measures) - {"relstring", "runid"}

for collection in read("plain"):
    evaluator = pytrec_eval.RelevanceEvaluator(collection["qrels"], MEASURES)
    result = evaluator.evaluate(collection["run"])
    for query, values in result.items():
        for name, value in values.items():
            if not name.startswith("gm_"):  # of one query it gives the logarithm
                tell(collection["id"], name, lambda value=value: value, query)
    for name in next(iter(result.values())):
        column = [values[name] for values in result.values()]
        tell(
            collection["id"],
            name,
            lambda n=name, c=column: pytrec_eval.compute_aggregated_measure(n, c),
        )
