"""ir_measures with the provider that it chooses itself, query by query and on the whole."""

import sys
from pathlib import Path

# this file has the package's name
sys.path.remove(str(Path(__file__).parent))
import ir_measures

sys.path.insert(0, str(Path(__file__).parent))
from wire import read, tell

CUTS = ("AP", "nDCG", "P", "R", "RR", "Success", "Judged")
NAMES = [
    *(f"{name}@{k}" for name in CUTS for k in (1, 3, 10)),
    *("AP", "AP(rel=2)", "nDCG", "RR", "RR(rel=2)", "Bpref", "Rprec", "infAP", "NumRet"),
    *("SetP", "SetR", "SetF", "IPrec@0.5", "IPrec@0.2", "NumRel"),
    *("RBP(rel=1)", "RBP(rel=1,p=0.5)"),
    *("AP(judged_only=True)", "nDCG(judged_only=True)@3", "P(judged_only=True)@3"),
    *("Compat(p=0.8)", "Compat(p=0.8,normalize=False)", "SetAP", "SetP(relative=True)"),
    *("INST(max_rel=3)", "INSQ(T=2.0,max_rel=3)", "BPM(max_rel=3)@5", "NERR8(max_rel=3)@5"),
    *("NERR9(max_rel=3)@5", "NERR10(max_rel=3)", "NERR11(max_rel=3)", "SDCG(max_rel=3)@5"),
]
PERL = ["nDCG(dcg='exp-log2')@3", "nDCG(dcg='exp-log2')@10", "ERR@3", "ERR@10"]


def of_one_at_a_time() -> None:
    """The value of each collection as the tool averages it."""
    measures = {name: ir_measures.parse_measure(name) for name in NAMES}
    for collection in read("plain"):
        qrels, run = collection["qrels"], collection["run"]
        try:
            result = ir_measures.calc_aggregate(measures.values(), qrels, run)
        except Exception:  # noqa: BLE001 - found out one by one
            result = None
        for name, measure in measures.items():
            if result is not None and measure in result:
                tell(collection["id"], name, lambda m=measure, t=result: t[m])
            else:
                call = lambda m=measure, q=qrels, r=run: ir_measures.calc_aggregate([m], q, r)[m]  # noqa: E731
                tell(collection["id"], name, call)


def of_all_at_once() -> None:
    """What is computed by a program: one call for all queries of all collections."""
    qrels, run = {}, {}
    for collection in read("shared"):
        for query, ranking in collection["run"].items():
            key = str(collection["id"] * 10 + int(query))
            qrels[key], run[key] = collection["qrels"][query], ranking
    measures = {ir_measures.parse_measure(name): name for name in PERL}
    for metric in ir_measures.iter_calc(list(measures), qrels, run):
        number, query = divmod(int(metric.query_id), 10)
        tell(number, measures[metric.measure], lambda v=metric.value: v, str(query))


of_one_at_a_time()
of_all_at_once()
