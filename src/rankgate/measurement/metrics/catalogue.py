"""Every built-in metric, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from rankgate.measurement.metrics.browsing import BROWSING_METRICS
from rankgate.measurement.metrics.graded.blended import Q
from rankgate.measurement.metrics.graded.cascade import ERR, nERR
from rankgate.measurement.metrics.graded.compatibility import Compat
from rankgate.measurement.metrics.graded.cumulative_utility import NCUguBR, NCUguP, NCUrbBR, NCUrbP
from rankgate.measurement.metrics.graded.dcg import CG, DCG, nDCG
from rankgate.measurement.metrics.graded.grades import NCG, AvgGrade, Hits
from rankgate.measurement.metrics.graded.one_document import O, PMeasure, PPlus
from rankgate.measurement.metrics.graded.prefixes import RnDCG, nDCGRel
from rankgate.measurement.metrics.graded.rbp import RBP, RBPResid
from rankgate.measurement.metrics.graded.scaled import SDCG
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

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric

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
