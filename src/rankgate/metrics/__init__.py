"""Metrics: pure NumPy kernels and their passports, one small file per family.

>>> from rankgate.metrics import nDCG
>>> str(nDCG(gain="exp") @ 10)
"nDCG(gain='exp')@10"
"""

from rankgate.metrics.average import AP, GMAP
from rankgate.metrics.average_recall import AR
from rankgate.metrics.average_reciprocal import ARR
from rankgate.metrics.blended import Q
from rankgate.metrics.bpref import Bpref, GMBpref
from rankgate.metrics.cascade import ERR, nERR
from rankgate.metrics.catalogue import CATALOGUE
from rankgate.metrics.compatibility import Compat
from rankgate.metrics.counts import NumNonrelJudgedRet, NumQ, NumRel, NumRelRet, NumRet
from rankgate.metrics.dcg import CG, DCG, nDCG
from rankgate.metrics.declare import Metric
from rankgate.metrics.experimental import BinG, G, Yaap
from rankgate.metrics.fallout import FallOut
from rankgate.metrics.fmeasure import F
from rankgate.metrics.grades import NCG, AvgGrade, Hits
from rankgate.metrics.holes import JudgedAt, NumUnjudged, Unjudged
from rankgate.metrics.inferred import infAP
from rankgate.metrics.interpolated import IPrec, IPrec11
from rankgate.metrics.labels import LRAP
from rankgate.metrics.names import parse
from rankgate.metrics.pairs import OPA
from rankgate.metrics.pairwise import Accuracy
from rankgate.metrics.precision import P, RelP, Rprec, RprecMult
from rankgate.metrics.prefixes import RnDCG, nDCGRel
from rankgate.metrics.rbp import RBP, RBPResid
from rankgate.metrics.recall import R, Success
from rankgate.metrics.reciprocal import RR
from rankgate.metrics.roc import AUC, GAUC, CoverageError, RankingLoss
from rankgate.metrics.scaled import SDCG
from rankgate.metrics.sets import SetAP, SetF, SetP, SetR, SetRelP
from rankgate.metrics.utility import Utility

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
