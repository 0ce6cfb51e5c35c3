"""Every built-in metric, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from rankgate.metrics.browsing import BROWSING_METRICS
from rankgate.metrics.graded.blended import Q
from rankgate.metrics.graded.cascade import ERR, nERR
from rankgate.metrics.graded.compatibility import Compat
from rankgate.metrics.graded.cumulative_utility import NCUguBR, NCUguP, NCUrbBR, NCUrbP
from rankgate.metrics.graded.dcg import CG, DCG, nDCG
from rankgate.metrics.graded.grades import NCG, AvgGrade, Hits
from rankgate.metrics.graded.one_document import O, PMeasure, PPlus
from rankgate.metrics.graded.prefixes import RnDCG, nDCGRel
from rankgate.metrics.graded.rbp import RBP, RBPResid
from rankgate.metrics.graded.scaled import SDCG
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

if TYPE_CHECKING:
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
    O,
    PMeasure,
    PPlus,
    NCUguP,
    NCUguBR,
    NCUrbP,
    NCUrbBR,
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
    *BROWSING_METRICS,
)

by_name: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in CATALOGUE})
"""The catalogue by canonical name."""
