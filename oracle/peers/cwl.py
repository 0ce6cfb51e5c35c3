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
NAMES = (*NAMES, "SDCG(max_rel=3)@3", "SDCG(max_rel=3)@10", "SDCG(dcg='log2',max_rel=2)@5")
NAMES = (*NAMES, "INST(max_rel=3)", "INST(T=2.0,max_rel=2)", "INSQ(T=1.5,max_rel=3)")
NAMES = (*NAMES, "BPM(max_rel=3)@5", "BPM(T=2.0,max_rel=3)@10", "NERR8(max_rel=3)@5")
NAMES = (*NAMES, "NERR9(max_rel=3)@5", "NERR10(max_rel=3)", "NERR10(p=0.5,max_rel=3)")
NAMES = (*NAMES, "NERR11(max_rel=3)", "NERR11(T=2.0,min_rel=1,max_rel=3)")


MEASURES = {ir_measures.parse_measure(name): name for name in NAMES}

for collection in read("plain"):
    qrels, run = collection["qrels"], collection["run"]
    result = ir_measures.cwl_eval.calc_aggregate(list(MEASURES), qrels, run)
    for measure, name in MEASURES.items():
        tell(collection["id"], name, lambda m=measure, t=result: t[m])
