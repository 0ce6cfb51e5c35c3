"""Metrics: pure NumPy kernels and their declarations, one small file per family.

>>> from rankgate.metrics import nDCG
>>> str(nDCG(gain="exp") @ 10)
"nDCG(gain='exp')@10"
"""

from rankgate.measurement.metrics.catalogue import CATALOGUE
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.graded.blended import Q
from rankgate.measurement.metrics.graded.cascade import ERR, nERR
from rankgate.measurement.metrics.graded.compatibility import Compat
from rankgate.measurement.metrics.graded.dcg import CG, DCG, nDCG
from rankgate.measurement.metrics.graded.grades import NCG, AvgGrade, Hits
from rankgate.measurement.metrics.graded.prefixes import RnDCG, nDCGRel
from rankgate.measurement.metrics.graded.rbp import RBP, RBPResid
from rankgate.measurement.metrics.graded.scaled import SDCG
from rankgate.measurement.metrics.names import parse
from rankgate.measurement.metrics.ranking.average import AP, GMAP
from rankgate.measurement.metrics.ranking.average_recall import AR
from rankgate.measurement.metrics.ranking.average_reciprocal import ARR
from rankgate.measurement.metrics.ranking.bpref import Bpref, GMBpref
from rankgate.measurement.metrics.ranking.counts import (
    NumNonrelJudgedRet,
    NumQ,
    NumRel,
    NumRelRet,
    NumRet,
)
from rankgate.measurement.metrics.ranking.experimental import BinG, G, Yaap
from rankgate.measurement.metrics.ranking.fallout import FallOut
from rankgate.measurement.metrics.ranking.fmeasure import F
from rankgate.measurement.metrics.ranking.holes import JudgedAt, NumUnjudged, Unjudged
from rankgate.measurement.metrics.ranking.inferred import infAP
from rankgate.measurement.metrics.ranking.interpolated import IPrec, IPrec11
from rankgate.measurement.metrics.ranking.labels import LRAP
from rankgate.measurement.metrics.ranking.pairs import OPA
from rankgate.measurement.metrics.ranking.pairwise import Accuracy
from rankgate.measurement.metrics.ranking.precision import P, RelP, Rprec, RprecMult
from rankgate.measurement.metrics.ranking.recall import R, Success
from rankgate.measurement.metrics.ranking.reciprocal import RR
from rankgate.measurement.metrics.ranking.roc import AUC, GAUC, CoverageError, RankingLoss
from rankgate.measurement.metrics.ranking.sets import SetAP, SetF, SetP, SetR, SetRelP
from rankgate.measurement.metrics.ranking.utility import Utility

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
