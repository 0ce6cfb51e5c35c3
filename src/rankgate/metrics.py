"""Metrics by name: ``from rankgate.metrics import nDCG``.

>>> from rankgate.metrics import nDCG
>>> str(nDCG(gain="exp") @ 10)
"nDCG(gain='exp')@10"

A metric is loaded when it is first named. Their types are in ``metrics.pyi``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rankgate.measurement.metrics.built_in import MODULE_OF_METRIC

_HOMES = {home.partition(":")[2]: home.partition(":")[0] for home in MODULE_OF_METRIC.values()} | {
    "CATALOGUE": "metric_catalogue",
    "Metric": "metric_declaration",
    "parse": "metric_name_parser",
}

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
    "FullRecall",
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


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a metric, or what metrics are read with
    if name not in __all__:
        raise AttributeError(f"module 'rankgate.metrics' has no attribute '{name}'")
    return getattr(import_module(f"rankgate.measurement.metrics.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
