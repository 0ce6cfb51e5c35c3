# The names of this module, for type checkers; written by tests/typing/make.py.

from rankgate.core.declare.parameter import Cutoff as Cutoff
from rankgate.core.declare.parameter import Parameter as Parameter
from rankgate.core.declare.parameter import Range as Range
from rankgate.core.declare.registries import API_VERSION as API_VERSION
from rankgate.core.declare.registries import using as using
from rankgate.core.errors import InputError as InputError
from rankgate.core.errors import UsageError as UsageError
from rankgate.core.present.document_model import Chart as Chart
from rankgate.core.present.document_model import Grid as Grid
from rankgate.core.present.document_model import Points as Points
from rankgate.core.present.document_model import Table as Table
from rankgate.data.answers.engine_answers import Answer as Answer
from rankgate.data.answers.engine_answers import Failure as Failure
from rankgate.data.file_contents import FileContents as FileContents
from rankgate.data.formats.format import Format as Format
from rankgate.data.formats.format import Loss as Loss
from rankgate.data.formats.format import Note as Note
from rankgate.data.qrels import Qrels as Qrels
from rankgate.data.run import Run as Run
from rankgate.data.streams.source import InputFile as InputFile
from rankgate.decisions.gating.rule import Evidence as Evidence
from rankgate.decisions.gating.rule import Outcome as Outcome
from rankgate.decisions.gating.rule import Rule as Rule
from rankgate.decisions.gating.rule import RuleKind as RuleKind
from rankgate.engines.configuration import EngineKind as EngineKind
from rankgate.engines.engine import Connection as Connection
from rankgate.engines.engine import Engine as Engine
from rankgate.engines.engine import Facts as Facts
from rankgate.engines.engine import Query as Query
from rankgate.interface.extend.points import EXTENSION_POINTS as EXTENSION_POINTS
from rankgate.interface.extend.points import ExtensionPoint as ExtensionPoint
from rankgate.measurement.metrics.custom import metric as metric
from rankgate.measurement.metrics.judged_block import Judged as Judged
from rankgate.measurement.metrics.metric_declaration import View as View
from rankgate.measurement.scoring.convention import Convention as Convention
from rankgate.online.indicators.kpi import Kpi as Kpi
from rankgate.workspace.reports.report import ReportBlock as ReportBlock

__all__ = [
    "API_VERSION",
    "Answer",
    "Chart",
    "Connection",
    "Convention",
    "Cutoff",
    "EXTENSION_POINTS",
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
