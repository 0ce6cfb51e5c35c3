"""Metrics: pure NumPy kernels and their declarations, one small file per family.

>>> from rankgate.metrics import nDCG
>>> str(nDCG(gain="exp") @ 10)
"nDCG(gain='exp')@10"
"""

from rankgate.metrics.catalogue import CATALOGUE
from rankgate.metrics.declare import Metric
from rankgate.metrics.graded.blended import Q
from rankgate.metrics.graded.cascade import ERR, nERR
from rankgate.metrics.graded.compatibility import Compat
from rankgate.metrics.graded.dcg import CG, DCG, nDCG
from rankgate.metrics.graded.grades import NCG, AvgGrade, Hits
from rankgate.metrics.graded.prefixes import RnDCG, nDCGRel
from rankgate.metrics.graded.rbp import RBP, RBPResid
from rankgate.metrics.graded.scaled import SDCG
from rankgate.metrics.names import parse
from rankgate.metrics.ranking.average import AP, GMAP
from rankgate.metrics.ranking.average_recall import AR
from rankgate.metrics.ranking.average_reciprocal import ARR
from rankgate.metrics.ranking.bpref import Bpref, GMBpref
from rankgate.metrics.ranking.counts import NumNonrelJudgedRet, NumQ, NumRel, NumRelRet, NumRet
from rankgate.metrics.ranking.experimental import BinG, G, Yaap
from rankgate.metrics.ranking.fallout import FallOut
from rankgate.metrics.ranking.fmeasure import F
from rankgate.metrics.ranking.holes import JudgedAt, NumUnjudged, Unjudged
from rankgate.metrics.ranking.inferred import infAP
from rankgate.metrics.ranking.interpolated import IPrec, IPrec11
from rankgate.metrics.ranking.labels import LRAP
from rankgate.metrics.ranking.pairs import OPA
from rankgate.metrics.ranking.pairwise import Accuracy
from rankgate.metrics.ranking.precision import P, RelP, Rprec, RprecMult
from rankgate.metrics.ranking.recall import R, Success
from rankgate.metrics.ranking.reciprocal import RR
from rankgate.metrics.ranking.roc import AUC, GAUC, CoverageError, RankingLoss
from rankgate.metrics.ranking.sets import SetAP, SetF, SetP, SetR, SetRelP
from rankgate.metrics.ranking.utility import Utility

__all__ = [
    "AP",
    "AR",
    "ARR",
    "AUC",
    "CATALOGUE",
    "CG",
    "DCG",
    "ERR",
    "GAUC",
    "GMAP",
    "LRAP",
    "NCG",
    "OPA",
    "RBP",
    "RR",
    "SDCG",
    "Accuracy",
    "AvgGrade",
    "BinG",
    "Bpref",
    "Compat",
    "CoverageError",
    "F",
    "FallOut",
    "G",
    "GMBpref",
    "Hits",
    "IPrec",
    "IPrec11",
    "JudgedAt",
    "Metric",
    "NumNonrelJudgedRet",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "NumUnjudged",
    "P",
    "Q",
    "R",
    "RBPResid",
    "RankingLoss",
    "RelP",
    "RnDCG",
    "Rprec",
    "RprecMult",
    "SetAP",
    "SetF",
    "SetP",
    "SetR",
    "SetRelP",
    "Success",
    "Unjudged",
    "Utility",
    "Yaap",
    "infAP",
    "nDCG",
    "nDCGRel",
    "nERR",
    "parse",
]
