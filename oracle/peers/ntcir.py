"""pyNTCIREVAL with gains of 1, 3 and 7: lists as they are."""

from pyNTCIREVAL import Labeler
from pyNTCIREVAL.metrics import AP, ERR, RBP, MSnDCG, QMeasure, nDCG, nERR
from wire import by_query

GAINS = [1, 3, 7]


def call(metric, *words):
    """A metric of the package, for one ranking."""

    def of(grades, ranking):
        labeler = Labeler(grades)
        counts = labeler.compute_per_level_doc_num(len(GAINS) + 1)
        return metric(counts, GAINS, *words).compute(labeler.label(list(ranking)))

    return of


METRICS = {"ERR": call(ERR), "AP": call(AP)}
METRICS |= {f"AP(cutoff={k})": call(AP, k) for k in (1, 3, 10)}
METRICS |= {f"nDCG(logb=2.0, cutoff={k})": call(nDCG, 2.0, k) for k in (1, 3, 10)}
METRICS |= {f"MSnDCG(cutoff={k})": call(MSnDCG, k) for k in (1, 3, 10)}
METRICS |= {f"nERR(cutoff={k})": call(nERR, k) for k in (1, 3, 10)}
METRICS |= {f"QMeasure(beta=1.0, cutoff={k})": call(QMeasure, 1.0, k) for k in (1, 3, 10)}
METRICS |= {"RBP(p=0.8)": call(RBP, 0.8), "RBP(p=0.5)": call(RBP, 0.5)}

by_query("listed", METRICS)
