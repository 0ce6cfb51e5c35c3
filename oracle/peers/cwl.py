"""cwl_eval as ir_measures calls it: sorted, and missing queries count 0."""

import sys
from pathlib import Path

# a file of this folder has the package's name
FOLDER = str(Path(__file__).parent)
sys.path.remove(FOLDER)
import ir_measures  # noqa: E402

sys.path.insert(0, FOLDER)
from wire import read, tell  # noqa: E402

NAMES = ("P@1", "P@3", "P@10", "AP", "RR", "RBP(rel=1,p=0.5)", "RBP(rel=1,p=0.8)", "RBP(rel=2)")
NAMES = (*NAMES, "SDCG(max_rel=3)@3", "SDCG(max_rel=3)@10")


MEASURES = {ir_measures.parse_measure(name): name for name in NAMES}

for collection in read("plain"):
    qrels, run = collection["qrels"], collection["run"]
    result = ir_measures.cwl_eval.calc_aggregate(list(MEASURES), qrels, run)
    for measure, name in MEASURES.items():
        tell(collection["id"], name, lambda m=measure, t=result: t[m])
