"""The API for plug-ins: one place to import from, and the list of extension points.

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

from rankgate.core.present.lazy_names import lazy_names

_HOMES = {
    "rankgate.core.declare.parameter": ["Cutoff", "Parameter", "Range"],
    "rankgate.core.declare.registries": ["API_VERSION", "using"],
    "rankgate.core.errors": ["InputError", "UsageError"],
    "rankgate.core.present.document_model": ["Chart", "Points", "Table", "Grid"],
    "rankgate.data.answers.engine_answers": ["Answer", "Failure"],
    "rankgate.data.file_contents": ["FileContents"],
    "rankgate.data.formats.format": ["Format", "Loss", "Note"],
    "rankgate.data.qrels": ["Qrels"],
    "rankgate.data.run": ["Run"],
    "rankgate.data.streams.source": ["InputFile"],
    "rankgate.decisions.gating.rule": ["Evidence", "Outcome", "Rule", "RuleKind"],
    "rankgate.engines.configuration": ["EngineKind"],
    "rankgate.engines.engine": ["Connection", "Engine", "Facts", "Query"],
    "rankgate.interface.extend.points": ["EXTENSION_POINTS", "ExtensionPoint"],
    "rankgate.measurement.metrics.custom": ["metric"],
    "rankgate.measurement.metrics.judged_block": ["Judged"],
    "rankgate.measurement.metrics.metric_declaration": ["View"],
    "rankgate.measurement.scoring.convention": ["Convention"],
    "rankgate.online.indicators.kpi": ["Kpi"],
    "rankgate.workspace.reports.report": ["ReportBlock"],
}
"""Names by their modules; `tests/typing/make.py` writes them for type checkers."""

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
