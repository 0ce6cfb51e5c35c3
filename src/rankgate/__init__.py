"""rankgate says whether a ranking got better, with a number you can defend.

>>> import rankgate
>>> qrels = {"jaguar speed": {"cat": 3, "car": 1, "boat": 0}}
>>> run = {"jaguar speed": {"car": 9.1, "cat": 7.4, "boat": 2.2}}
>>> rankgate.evaluate(qrels, run, ["nDCG@10", "RR"]).means.row(0)
('run1', 0.7967075809905066, 1.0)

The verbs have the names of the commands: ``evaluate``, ``explain``, ``reconcile``, ``compare``,
``gate`` and more. ``read_qrels``, ``read_run`` and ``from_arrays`` read what they take;
``metric`` makes a metric of a function, ``convention`` rules of one's own. Metrics are in
``rankgate.metrics`` by name: ``nDCG(gain="exp") @ 10``. Everything is imported when it is first
used, so that a command loads only what it needs.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankgate.data import read_qrels, read_run
    from rankgate.data.arrays import from_arrays
    from rankgate.data.matrices import Lists, Matrix
    from rankgate.errors import InputError, RankgateError, UsageError
    from rankgate.metrics.custom import metric
    from rankgate.notebook import (
        Accumulator,
        Admitted,
        Advice,
        Agreed,
        Asked,
        Blindness,
        Bridge,
        Collected,
        Comparisons,
        Convention,
        Conventions,
        Conversion,
        Descriptions,
        Evaluation,
        Explanation,
        Finding,
        Hidden,
        Judge,
        Pipeline,
        Pool,
        Prices,
        Reconciliation,
        Resolved,
        Reusability,
        Scorecard,
        Split,
        Validation,
        Verdict,
        admit,
        advise,
        agree,
        blindspots,
        collect,
        compare,
        convention,
        conventions,
        convert,
        describe,
        evaluate,
        explain,
        gate,
        holes,
        plot,
        pool,
        rate,
        reconcile,
        resolve,
        reusability,
        scorecard,
        sheets,
        split,
        stages,
        validate,
    )

__all__ = [
    "Accumulator",
    "Admitted",
    "Advice",
    "Agreed",
    "Asked",
    "Blindness",
    "Bridge",
    "Collected",
    "Comparisons",
    "Convention",
    "Conventions",
    "Conversion",
    "Descriptions",
    "Evaluation",
    "Explanation",
    "Finding",
    "Hidden",
    "InputError",
    "Judge",
    "Lists",
    "Matrix",
    "Pipeline",
    "Pool",
    "Prices",
    "RankgateError",
    "Reconciliation",
    "Resolved",
    "Reusability",
    "Scorecard",
    "Split",
    "UsageError",
    "Validation",
    "Verdict",
    "admit",
    "advise",
    "agree",
    "blindspots",
    "collect",
    "compare",
    "convention",
    "conventions",
    "convert",
    "describe",
    "evaluate",
    "explain",
    "from_arrays",
    "gate",
    "holes",
    "metric",
    "plot",
    "pool",
    "rate",
    "read_qrels",
    "read_run",
    "reconcile",
    "resolve",
    "reusability",
    "scorecard",
    "sheets",
    "split",
    "stages",
    "validate",
]

_HOMES = {
    "Accumulator": "rankgate.notebook",
    "Lists": "rankgate.data.matrices",
    "Matrix": "rankgate.data.matrices",
    "Asked": "rankgate.notebook",
    "Judge": "rankgate.notebook",
    "Prices": "rankgate.notebook",
    "rate": "rankgate.notebook",
    "Agreed": "rankgate.notebook",
    "Collected": "rankgate.notebook",
    "Pool": "rankgate.notebook",
    "Resolved": "rankgate.notebook",
    "Reusability": "rankgate.notebook",
    "agree": "rankgate.notebook",
    "collect": "rankgate.notebook",
    "plot": "rankgate.notebook",
    "pool": "rankgate.notebook",
    "resolve": "rankgate.notebook",
    "reusability": "rankgate.notebook",
    "sheets": "rankgate.notebook",
    "Advice": "rankgate.notebook",
    "advise": "rankgate.notebook",
    "Pipeline": "rankgate.notebook",
    "stages": "rankgate.notebook",
    "Admitted": "rankgate.notebook",
    "admit": "rankgate.notebook",
    "Descriptions": "rankgate.notebook",
    "Validation": "rankgate.notebook",
    "describe": "rankgate.notebook",
    "validate": "rankgate.notebook",
    "Bridge": "rankgate.notebook",
    "Finding": "rankgate.notebook",
    "Reconciliation": "rankgate.notebook",
    "reconcile": "rankgate.notebook",
    "Split": "rankgate.notebook",
    "split": "rankgate.notebook",
    "Scorecard": "rankgate.notebook",
    "scorecard": "rankgate.notebook",
    "Convention": "rankgate.notebook",
    "Conventions": "rankgate.notebook",
    "convention": "rankgate.notebook",
    "conventions": "rankgate.notebook",
    "holes": "rankgate.notebook",
    "gate": "rankgate.notebook",
    "blindspots": "rankgate.notebook",
    "Verdict": "rankgate.notebook",
    "Hidden": "rankgate.notebook",
    "Blindness": "rankgate.notebook",
    "Comparisons": "rankgate.notebook",
    "compare": "rankgate.notebook",
    "Conversion": "rankgate.notebook",
    "convert": "rankgate.notebook",
    "Evaluation": "rankgate.notebook",
    "Explanation": "rankgate.notebook",
    "evaluate": "rankgate.notebook",
    "explain": "rankgate.notebook",
    "metric": "rankgate.metrics.custom",
    "from_arrays": "rankgate.data.arrays",
    "read_qrels": "rankgate.data",
    "read_run": "rankgate.data",
    "InputError": "rankgate.errors",
    "RankgateError": "rankgate.errors",
    "UsageError": "rankgate.errors",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name is of
    if name not in _HOMES:
        raise AttributeError(f"module 'rankgate' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__


class _Face(ModuleType):
    """A verb keeps its name where a room has the same: ``rankgate.gate`` is the verb.

    Python would bind the package ``rankgate.gate`` to that name when it is first imported.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face
