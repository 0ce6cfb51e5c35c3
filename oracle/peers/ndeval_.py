"""ndeval as pyndeval builds it, called by ir_measures: judgments by subtopic."""

import sys
from pathlib import Path

# files of this folder have the packages' names
FOLDER = str(Path(__file__).parent)
sys.path.remove(FOLDER)
import ir_measures  # noqa: E402
from ir_measures.util import Qrel, ScoredDoc  # noqa: E402

sys.path.insert(0, FOLDER)
from wire import read, tell  # noqa: E402

NAMES = (
    *(f"{name}@{k}" for name in ("ERR_IA", "nERR_IA", "P_IA", "StRecall") for k in (5, 10, 20)),
    *(f"{name}@{k}" for name in ("alpha_DCG", "alpha_nDCG") for k in (5, 10, 20)),
    *(f"{name}(alpha=0.3)@10" for name in ("alpha_DCG", "alpha_nDCG")),
    *(f"{name}(rel=2)@10" for name in ("ERR_IA", "nERR_IA", "P_IA", "StRecall", "alpha_nDCG")),
    *("NRBP", "nNRBP", "AP_IA", "AP_IA(rel=2)", "NRBP(alpha=0.7,beta=0.8)", "NRBP(rel=2)"),
    *("nNRBP(alpha=0.7,beta=0.8)",),
)
MEASURES = {ir_measures.parse_measure(name): name for name in NAMES}
GROUPS: dict[str, list] = {}  # it gives values of one level, alpha and beta at a time
for measure in MEASURES:
    given = {name: value for name, value in measure.params.items() if name != "cutoff"}
    GROUPS.setdefault(str(given), []).append(measure)

for collection in read("faceted"):
    qrels = [
        Qrel(query, document, grade, subtopic)
        for query, document, subtopic, grade in collection["rows"]
    ]
    run = [
        ScoredDoc(query, document, score)
        for query, ranking in collection["run"].items()
        for document, score in ranking.items()
    ]
    for measures in GROUPS.values():
        for found in ir_measures.pyndeval.iter_calc(measures, qrels, run):
            value = lambda v=found.value: v  # noqa: E731
            tell(collection["id"], MEASURES[found.measure], value, found.query_id)
