"""Every metric of the house, in the order in which they are listed."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from rankgate.metrics.average import AP, GMAP
from rankgate.metrics.average_recall import AR
from rankgate.metrics.average_reciprocal import ARR
from rankgate.metrics.blended import Q
from rankgate.metrics.bpref import Bpref, GMBpref
from rankgate.metrics.cascade import ERR, nERR
from rankgate.metrics.compatibility import Compat
from rankgate.metrics.counts import NumNonrelJudgedRet, NumQ, NumRel, NumRelRet, NumRet
from rankgate.metrics.dcg import CG, DCG, nDCG
from rankgate.metrics.experimental import BinG, G, Yaap
from rankgate.metrics.fallout import FallOut
from rankgate.metrics.fmeasure import F
from rankgate.metrics.grades import NCG, AvgGrade, Hits
from rankgate.metrics.holes import JudgedAt, NumUnjudged, Unjudged
from rankgate.metrics.inferred import infAP
from rankgate.metrics.interpolated import IPrec, IPrec11
from rankgate.metrics.labels import LRAP
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.metrics.declare import Metric

CATALOGUE: tuple[Metric, ...] = (
    nDCG,
    AP,
    RR,
    P,
    R,
    F,
    Success,
    Rprec,
    ERR,
    RBP,
    Bpref,
    JudgedAt,
    Unjudged,
    CG,
    DCG,
    NCG,
    Hits,
    AvgGrade,
    IPrec,
    IPrec11,
    RelP,
    RprecMult,
    AR,
    ARR,
    infAP,
    GMAP,
    GMBpref,
    RBPResid,
    nERR,
    Q,
    SDCG,
    Compat,
    Accuracy,
    LRAP,
    OPA,
    AUC,
    GAUC,
    RankingLoss,
    CoverageError,
    FallOut,
    nDCGRel,
    RnDCG,
    G,
    BinG,
    Yaap,
    Utility,
    SetP,
    SetR,
    SetF,
    SetRelP,
    SetAP,
    NumQ,
    NumRet,
    NumRel,
    NumRelRet,
    NumNonrelJudgedRet,
    NumUnjudged,
)

by_name: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in CATALOGUE})
"""The catalogue by canonical name."""
