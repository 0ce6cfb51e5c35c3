"""cwl_eval by itself: the five measurements of every user model, and their residuals."""

import sys
from pathlib import Path

# files of this folder have the packages' names
FOLDER = str(Path(__file__).parent)
sys.path.remove(FOLDER)
import numpy as np  # noqa: E402
from cwl.ruler import cwl_ruler as models  # noqa: E402
from cwl.ruler.ranking import Ranking  # noqa: E402

sys.path.insert(0, FOLDER)
from wire import read, tell  # noqa: E402

TOP = 3
MODELS = {
    "INST(T=2": models.INSTCWLMetric(2.0),
    "INSQ(T=1": models.INSQCWLMetric(1.0),
    "BPM(T=2": models.BPMCWLMetric(2.0, 5),
    "BPMD(T=2,hb=0.5,hc=0,median=0.3": models.BPMDCWLMetric(2, 5, 0.5, 0.5, 0.3),
    "IFT(by='goal',T=2,b1=0.9,R1=1": models.IFTGoalCWLMetric(2, 0.9, 1),
    "IFT(by='rate',A=0.2,b2=0.9,R2=1": models.IFTRateCWLMetric(0.2, 0.9, 1),
    "IFT(T=2,b1=0.9,R1=10,A=0.2,b2=0.9,R2=10": models.IFTGoalRateCWLMetric(
        2, 0.9, 10, 0.2, 0.9, 10
    ),
    "NERR8(": models.NERReq8CWLMetric(5),
    "NERR9(": models.NERReq9CWLMetric(5),
    "NERR10(p=0.8": models.NERReq10CWLMetric(0.8),
    "NERR11(T=2": models.NERReq11CWLMetric(2),
    "TBG(halflife=22": models.TBGCWLMetric(22),
    "U(L=10": models.UMeasureCWLMetric(10),
    "TrAP(": models.APCWLMetric(),
    "TrAP(weights='precision'": models.TrAPCWLMetric(),
    "CWL_P(": models.PrecisionCWLMetric(5),
    "CWL_RBP(p=0.8": models.RBPCWLMetric(0.8),
    "CWL_RR(": models.RRCWLMetric(),
    "CWL_SDCG(": models.NDCGCWLMetric(5),
}
CUT = ("BPM", "BPMD", "NERR8", "NERR9", "CWL_P", "CWL_SDCG")
MEASURES = {
    "EU": "expected_utility",
    "ETU": "expected_total_utility",
    "EC": "expected_cost",
    "ETC": "expected_total_cost",
    "ED": "expected_items",
}


def gain(grade: int) -> float:
    """A grade as a gain from 0 to 1."""
    return max(grade, 0) / TOP


def of_query(collection: int, query: str, grades: dict[str, int], ranking: dict[str, float]):
    """The measurements of one ranking, by every model."""
    judged = {document: gain(grade) for document, grade in grades.items() if grade >= 0}
    gains = np.array([judged.get(document, np.nan) for document in ranking])
    for name, model in MODELS.items():
        scored_ranking = Ranking(query, gains, np.array([np.nan] * len(gains)))
        scored_ranking.total_qrel_gain = sum(map(gain, grades.values()))
        scored_ranking.total_qrel_rels = float(sum(grade > 0 for grade in grades.values()))
        model.residuals = True
        model.measure(scored_ranking)
        start = name if name.endswith("(") else f"{name},"
        end = "@5" if name.partition("(")[0] in CUT else ""
        for short, long in MEASURES.items():
            for case, attribute in (("worst", long), ("residual", f"residual_{long}")):
                metric_name = f"{start}max_grade={TOP},measure='{short}',case='{case}'){end}"
                tell(collection, metric_name, lambda m=model, a=attribute: getattr(m, a), query)


for collection in read("listed"):
    for query, ranking in collection["run"].items():
        of_query(collection["id"], query, collection["qrels"][query], ranking)
