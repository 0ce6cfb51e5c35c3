"""The parameters of every metric, for type checkers; written by tests/typing/make.py."""

from collections.abc import Mapping
from typing import Literal

from rankgate.measurement.metrics.metric_catalogue import CATALOGUE as CATALOGUE
from rankgate.measurement.metrics.metric_declaration import Metric as Metric
from rankgate.measurement.metrics.metric_name_parser import parse as parse

class _AP(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        rel: float = ...,
        denominator: Literal["relevant", "reachable", "returned", "retrieved", "found", "ranks"] = ...,
        judged_only: bool = ...,
    ) -> _AP: ...
    def __matmul__(self, value: float) -> _AP: ...

AP: _AP

class _AR(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int = ...,
        rel: float = ...,
        over: Literal["ranks", "relevant"] = ...,
        judged_only: bool = ...,
    ) -> _AR: ...
    def __matmul__(self, value: float) -> _AR: ...

AR: _AR

class _ARR(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _ARR: ...
    def __matmul__(self, value: float) -> _ARR: ...

ARR: _ARR

class _AUC(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        ties: Literal["half", "lost"] = ...,
        over: Literal["known", "retrieved"] = ...,
        judged_only: bool = ...,
    ) -> _AUC: ...
    def __matmul__(self, value: float) -> _AUC: ...

AUC: _AUC

class _Accuracy(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _Accuracy: ...
    def __matmul__(self, value: float) -> _Accuracy: ...

Accuracy: _Accuracy

class _AvgGrade(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        gain: Literal["linear", "exp", "binary", "judged", "signed"] | tuple[tuple[float, float], ...] | Mapping[float, float] = ...,
        denominator: Literal["cutoff", "returned", "judged"] = ...,
        judged_only: bool = ...,
    ) -> _AvgGrade: ...
    def __matmul__(self, value: float) -> _AvgGrade: ...

AvgGrade: _AvgGrade

class _BinG(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _BinG: ...
    def __matmul__(self, value: float) -> _BinG: ...

BinG: _BinG

class _Bpref(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        negative: Literal["unjudged", "nonrelevant", "relevant"] = ...,
        unopposed: Literal["kept", "lost", "undefined"] = ...,
        over: Literal["least", "relevant", "nonrelevant", "relevant10"] = ...,
        judged_only: bool = ...,
    ) -> _Bpref: ...
    def __matmul__(self, value: float) -> _Bpref: ...

Bpref: _Bpref

class _CG(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        gain: Literal["linear", "exp", "binary", "judged", "signed"] | tuple[tuple[float, float], ...] | Mapping[float, float] = ...,
        judged_only: bool = ...,
    ) -> _CG: ...
    def __matmul__(self, value: float) -> _CG: ...

CG: _CG

class _Compat(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        p: float = ...,
        best: Literal["ideal", "endless"] = ...,
        judged_only: bool = ...,
    ) -> _Compat: ...
    def __matmul__(self, value: float) -> _Compat: ...

Compat: _Compat

class _CoverageError(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _CoverageError: ...
    def __matmul__(self, value: float) -> _CoverageError: ...

CoverageError: _CoverageError

class _DCG(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        gain: Literal["linear", "exp", "binary", "judged", "signed"] | tuple[tuple[float, float], ...] | Mapping[float, float] = ...,
        base: float = ...,
        discount: Literal["shifted", "original", "graded"] = ...,
        ties: Literal["broken", "averaged"] = ...,
        least: float = ...,
        judged_only: bool = ...,
    ) -> _DCG: ...
    def __matmul__(self, value: float) -> _DCG: ...

DCG: _DCG

class _ERR(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        max_grade: float = ...,
        decay: float = ...,
        unjudged: float = ...,
        gain: Literal["exp", "linear"] | tuple[tuple[float, float], ...] | Mapping[float, float] = ...,
        scale: Literal["fixed", "query"] = ...,
        judged_only: bool = ...,
    ) -> _ERR: ...
    def __matmul__(self, value: float) -> _ERR: ...

ERR: _ERR

class _F(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int = ...,
        beta: float = ...,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _F: ...
    def __matmul__(self, value: float) -> _F: ...

F: _F

class _FallOut(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _FallOut: ...
    def __matmul__(self, value: float) -> _FallOut: ...

FallOut: _FallOut

class _FullRecall(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int = ...,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _FullRecall: ...
    def __matmul__(self, value: float) -> _FullRecall: ...

FullRecall: _FullRecall

class _G(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        gain: Literal["linear", "exp", "binary", "judged", "signed"] | tuple[tuple[float, float], ...] | Mapping[float, float] = ...,
        levels: Literal["exact", "truncated"] = ...,
        judged_only: bool = ...,
    ) -> _G: ...
    def __matmul__(self, value: float) -> _G: ...

G: _G

class _GAUC(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        ties: Literal["half", "lost"] = ...,
        over: Literal["known", "retrieved"] = ...,
        by: Literal["relevant", "documents"] = ...,
        judged_only: bool = ...,
    ) -> _GAUC: ...
    def __matmul__(self, value: float) -> _GAUC: ...

GAUC: _GAUC

class _GMAP(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        rel: float = ...,
        denominator: Literal["relevant", "reachable", "returned", "retrieved", "found", "ranks"] = ...,
        judged_only: bool = ...,
    ) -> _GMAP: ...
    def __matmul__(self, value: float) -> _GMAP: ...

GMAP: _GMAP

class _GMBpref(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        negative: Literal["unjudged", "nonrelevant", "relevant"] = ...,
        unopposed: Literal["kept", "lost", "undefined"] = ...,
        over: Literal["least", "relevant", "nonrelevant", "relevant10"] = ...,
        judged_only: bool = ...,
    ) -> _GMBpref: ...
    def __matmul__(self, value: float) -> _GMBpref: ...

GMBpref: _GMBpref

class _Hits(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _Hits: ...
    def __matmul__(self, value: float) -> _Hits: ...

Hits: _Hits

class _IPrec(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        recall: float = ...,
        rel: float = ...,
        points: Literal["round", "ceil9"] = ...,
        judged_only: bool = ...,
    ) -> _IPrec: ...
    def __matmul__(self, value: float) -> _IPrec: ...

IPrec: _IPrec

class _IPrec11(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        points: Literal["round", "ceil9"] = ...,
        judged_only: bool = ...,
    ) -> _IPrec11: ...
    def __matmul__(self, value: float) -> _IPrec11: ...

IPrec11: _IPrec11

class _JudgedAt(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        negative: Literal["unjudged", "judged"] = ...,
        judged_only: bool = ...,
    ) -> _JudgedAt: ...
    def __matmul__(self, value: float) -> _JudgedAt: ...

JudgedAt: _JudgedAt

class _LRAP(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _LRAP: ...
    def __matmul__(self, value: float) -> _LRAP: ...

LRAP: _LRAP

class _NCG(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        gain: Literal["linear", "exp", "binary", "judged", "signed"] | tuple[tuple[float, float], ...] | Mapping[float, float] = ...,
        ideal: Literal["judged", "retrieved", "shown", "known", "counted"] = ...,
        depth: Literal["cutoff", "all", "returned"] = ...,
        judged_only: bool = ...,
    ) -> _NCG: ...
    def __matmul__(self, value: float) -> _NCG: ...

NCG: _NCG

class _NumNonrelJudgedRet(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _NumNonrelJudgedRet: ...
    def __matmul__(self, value: float) -> _NumNonrelJudgedRet: ...

NumNonrelJudgedRet: _NumNonrelJudgedRet

class _NumQ(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        judged_only: bool = ...,
    ) -> _NumQ: ...
    def __matmul__(self, value: float) -> _NumQ: ...

NumQ: _NumQ

class _NumRel(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _NumRel: ...
    def __matmul__(self, value: float) -> _NumRel: ...

NumRel: _NumRel

class _NumRelRet(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _NumRelRet: ...
    def __matmul__(self, value: float) -> _NumRelRet: ...

NumRelRet: _NumRelRet

class _NumRet(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        judged_only: bool = ...,
    ) -> _NumRet: ...
    def __matmul__(self, value: float) -> _NumRet: ...

NumRet: _NumRet

class _NumUnjudged(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        judged_only: bool = ...,
    ) -> _NumUnjudged: ...
    def __matmul__(self, value: float) -> _NumUnjudged: ...

NumUnjudged: _NumUnjudged

class _OPA(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        judged_only: bool = ...,
    ) -> _OPA: ...
    def __matmul__(self, value: float) -> _OPA: ...

OPA: _OPA

class _P(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int = ...,
        rel: float = ...,
        denominator: Literal["cutoff", "returned", "judged"] = ...,
        judged_only: bool = ...,
    ) -> _P: ...
    def __matmul__(self, value: float) -> _P: ...

P: _P

class _Q(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        rel: float = ...,
        beta: float = ...,
        gain: Literal["linear", "exp", "binary", "judged", "signed"] | tuple[tuple[float, float], ...] | Mapping[float, float] = ...,
        judged_only: bool = ...,
    ) -> _Q: ...
    def __matmul__(self, value: float) -> _Q: ...

Q: _Q

class _R(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int = ...,
        rel: float = ...,
        denominator: Literal["relevant", "reachable", "retrieved"] = ...,
        judged_only: bool = ...,
    ) -> _R: ...
    def __matmul__(self, value: float) -> _R: ...

R: _R

class _RBP(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        p: float = ...,
        rel: float = ...,
        gain: Literal["binary", "scaled", "linear", "exp"] | tuple[tuple[float, float], ...] | Mapping[float, float] = ...,
        cutoff: int | None = ...,
        max_grade: float | None = ...,
        ties: Literal["broken", "averaged"] = ...,
        horizon: int | None = ...,
        judged_only: bool = ...,
    ) -> _RBP: ...
    def __matmul__(self, value: float) -> _RBP: ...

RBP: _RBP

class _RBPResid(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        p: float = ...,
        tail: Literal["always", "holes"] = ...,
        cutoff: int | None = ...,
        judged_only: bool = ...,
    ) -> _RBPResid: ...
    def __matmul__(self, value: float) -> _RBPResid: ...

RBPResid: _RBPResid

class _RR(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        rel: float = ...,
        target: Literal["relevant", "highest", "best"] = ...,
        offset: int = ...,
        judged_only: bool = ...,
    ) -> _RR: ...
    def __matmul__(self, value: float) -> _RR: ...

RR: _RR

class _RankingLoss(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        over: Literal["known", "retrieved"] = ...,
        judged_only: bool = ...,
    ) -> _RankingLoss: ...
    def __matmul__(self, value: float) -> _RankingLoss: ...

RankingLoss: _RankingLoss

class _RelP(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int = ...,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _RelP: ...
    def __matmul__(self, value: float) -> _RelP: ...

RelP: _RelP

class _RnDCG(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        gain: Literal["linear", "exp", "binary", "judged", "signed"] | tuple[tuple[float, float], ...] | Mapping[float, float] = ...,
        levels: Literal["exact", "truncated"] = ...,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _RnDCG: ...
    def __matmul__(self, value: float) -> _RnDCG: ...

RnDCG: _RnDCG

class _Rprec(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        cutoff: int | None = ...,
        judged_only: bool = ...,
    ) -> _Rprec: ...
    def __matmul__(self, value: float) -> _Rprec: ...

Rprec: _Rprec

class _RprecMult(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        multiple: float = ...,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _RprecMult: ...
    def __matmul__(self, value: float) -> _RprecMult: ...

RprecMult: _RprecMult

class _SDCG(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int = ...,
        max_grade: float = ...,
        min_grade: float = ...,
        judged_only: bool = ...,
    ) -> _SDCG: ...
    def __matmul__(self, value: float) -> _SDCG: ...

SDCG: _SDCG

class _SetAP(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _SetAP: ...
    def __matmul__(self, value: float) -> _SetAP: ...

SetAP: _SetAP

class _SetF(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        beta: float = ...,
        rel: float = ...,
        weighing: Literal["squared", "plain"] = ...,
        judged_only: bool = ...,
    ) -> _SetF: ...
    def __matmul__(self, value: float) -> _SetF: ...

SetF: _SetF

class _SetP(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _SetP: ...
    def __matmul__(self, value: float) -> _SetP: ...

SetP: _SetP

class _SetR(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _SetR: ...
    def __matmul__(self, value: float) -> _SetR: ...

SetR: _SetR

class _SetRelP(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _SetRelP: ...
    def __matmul__(self, value: float) -> _SetRelP: ...

SetRelP: _SetRelP

class _Success(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int = ...,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _Success: ...
    def __matmul__(self, value: float) -> _Success: ...

Success: _Success

class _Unjudged(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int = ...,
        judged_only: bool = ...,
    ) -> _Unjudged: ...
    def __matmul__(self, value: float) -> _Unjudged: ...

Unjudged: _Unjudged

class _Utility(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        found: float = ...,
        noise: float = ...,
        missed: float = ...,
        avoided: float = ...,
        documents: float = ...,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _Utility: ...
    def __matmul__(self, value: float) -> _Utility: ...

Utility: _Utility

class _Yaap(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _Yaap: ...
    def __matmul__(self, value: float) -> _Yaap: ...

Yaap: _Yaap

class _infAP(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        rel: float = ...,
        judged_only: bool = ...,
    ) -> _infAP: ...
    def __matmul__(self, value: float) -> _infAP: ...

infAP: _infAP

class _nDCG(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        gain: Literal["linear", "exp", "binary", "judged", "signed"] | tuple[tuple[float, float], ...] | Mapping[float, float] = ...,
        discount: Literal["shifted", "original", "graded"] = ...,
        base: float = ...,
        ideal: Literal["judged", "retrieved", "shown", "known", "counted"] = ...,
        depth: Literal["cutoff", "all", "returned"] = ...,
        levels: Literal["exact", "truncated"] = ...,
        term_digits: int | None = ...,
        ties: Literal["broken", "averaged"] = ...,
        negative: Literal["taken", "refused"] = ...,
        single: Literal["taken", "refused"] = ...,
        least: float = ...,
        highest: float | None = ...,
        judged_only: bool = ...,
    ) -> _nDCG: ...
    def __matmul__(self, value: float) -> _nDCG: ...

nDCG: _nDCG

class _nDCGRel(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        gain: Literal["linear", "exp", "binary", "judged", "signed"] | tuple[tuple[float, float], ...] | Mapping[float, float] = ...,
        levels: Literal["exact", "truncated"] = ...,
        judged_only: bool = ...,
    ) -> _nDCGRel: ...
    def __matmul__(self, value: float) -> _nDCGRel: ...

nDCGRel: _nDCGRel

class _nERR(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
        cutoff: int | None = ...,
        max_grade: float = ...,
        gain: Literal["exp", "linear"] | tuple[tuple[float, float], ...] | Mapping[float, float] = ...,
        judged_only: bool = ...,
    ) -> _nERR: ...
    def __matmul__(self, value: float) -> _nERR: ...

nERR: _nERR
