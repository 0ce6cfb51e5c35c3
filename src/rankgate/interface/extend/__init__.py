"""What plug-ins are written with: one place to import from, and the list of extension points.

>>> from rankgate import extend
>>> extend.API_VERSION
1
>>> [point.name for point in extend.EXTENSION_POINTS][:3]
['metric', 'convention', 'format']

A plug-in is a package with entry points, or a Python file that is named with ``--plugin``. It
declares objects of the classes here; names, parameters and help are found everywhere from then on.
The names in ``__all__`` and their signatures belong to the version of the extension points: a
change that a plug-in could notice makes it `API_VERSION` + 1. Everything is imported when it is
first used, so that a plug-in loads only what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankgate.interface.extend.points import EXTENSION_POINTS, ExtensionPoint

if TYPE_CHECKING:
    from rankgate.core.declare.parameter import Cutoff, Parameter, Range
    from rankgate.core.declare.plugins import API_VERSION, using
    from rankgate.core.errors import InputError, UsageError
    from rankgate.core.present.document import Chart, Points, Table
    from rankgate.core.present.grid import Grid
    from rankgate.data.contents import FileContents
    from rankgate.data.formats.format import Format, Loss, Note
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Outcome, Rule, RuleKind
    from rankgate.engines.catalogue import EngineKind
    from rankgate.engines.engine import Answer, Connection, Engine, Facts, Query
    from rankgate.engines.failure import Failure
    from rankgate.measurement.metrics.custom import metric
    from rankgate.measurement.metrics.judged import Judged
    from rankgate.measurement.metrics.views import View
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.online.indicators.kpi import Kpi
    from rankgate.workspace.reports.report_block import ReportBlock

_HOMES = {
    "API_VERSION": "rankgate.core.declare.plugins",
    "Answer": "rankgate.engines.engine",
    "Chart": "rankgate.core.present.document",
    "Connection": "rankgate.engines.engine",
    "Convention": "rankgate.measurement.scoring.convention",
    "Cutoff": "rankgate.core.declare.parameter",
    "Engine": "rankgate.engines.engine",
    "EngineKind": "rankgate.engines.catalogue",
    "Evidence": "rankgate.decisions.gating.evidence",
    "Facts": "rankgate.engines.engine",
    "Failure": "rankgate.engines.failure",
    "FileContents": "rankgate.data.contents",
    "Format": "rankgate.data.formats.format",
    "Grid": "rankgate.core.present.grid",
    "InputError": "rankgate.core.errors",
    "InputFile": "rankgate.data.streams.source",
    "Judged": "rankgate.measurement.metrics.judged",
    "Kpi": "rankgate.online.indicators.kpi",
    "Loss": "rankgate.data.formats.format",
    "Note": "rankgate.data.formats.format",
    "Outcome": "rankgate.decisions.gating.rule",
    "Parameter": "rankgate.core.declare.parameter",
    "Points": "rankgate.core.present.document",
    "Qrels": "rankgate.data.qrels",
    "Query": "rankgate.engines.engine",
    "Range": "rankgate.core.declare.parameter",
    "ReportBlock": "rankgate.workspace.reports.report_block",
    "Rule": "rankgate.decisions.gating.rule",
    "RuleKind": "rankgate.decisions.gating.rule",
    "Run": "rankgate.data.run",
    "Table": "rankgate.core.present.document",
    "UsageError": "rankgate.core.errors",
    "View": "rankgate.measurement.metrics.views",
    "metric": "rankgate.measurement.metrics.custom",
    "using": "rankgate.core.declare.plugins",
}

__all__ = [
    "API_VERSION",
    "EXTENSION_POINTS",
    "Answer",
    "Chart",
    "Connection",
    "Convention",
    "Cutoff",
    "Engine",
    "EngineKind",
    "Evidence",
    "ExtensionPoint",
    "Facts",
    "Failure",
    "FileContents",
    "Format",
    "Grid",
    "InputError",
    "InputFile",
    "Judged",
    "Kpi",
    "Loss",
    "Note",
    "Outcome",
    "Parameter",
    "Points",
    "Qrels",
    "Query",
    "Range",
    "ReportBlock",
    "Rule",
    "RuleKind",
    "Run",
    "Table",
    "UsageError",
    "View",
    "metric",
    "using",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - each name has its own type
    if name not in _HOMES:
        raise AttributeError(f"module 'rankgate.extend' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
