"""pyNTCIREVAL with gains of 1, 3 and 7: lists as they are."""

from pyNTCIREVAL import Labeler
from pyNTCIREVAL.metrics import (
    AP,
    ERR,
    RBP,
    MSnDCG,
    NCUguBR,
    NCUguP,
    NCUrbBR,
    NCUrbP,
    OMeasure,
    PMeasure,
    PPlusMeasure,
    QMeasure,
    nDCG,
    nERR,
)
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
METRICS |= {f"nDCG(logb=4.0, cutoff={k})": call(nDCG, 4.0, k) for k in (3, 10)}
METRICS |= {"OMeasure(beta=1.0)": call(OMeasure, 1.0), "PMeasure(beta=0.5)": call(PMeasure, 0.5)}
METRICS |= {"PPlusMeasure(beta=1.0)": call(PPlusMeasure, 1.0)}
METRICS |= {"NCUguP(stops=grades)": call(NCUguP, GAINS)}
METRICS |= {"NCUguBR(stops=grades, beta=0.5)": call(NCUguBR, GAINS, 0.5)}
METRICS |= {"NCUrbP(gamma=0.7)": call(NCUrbP, 0.7)}
METRICS |= {"NCUrbBR(gamma=0.7, beta=1.0)": call(NCUrbBR, 0.7, 1.0)}
METRICS |= {"RBP(p=0.8)": call(RBP, 0.8), "RBP(p=0.5)": call(RBP, 0.5)}

by_query("listed", METRICS)
