# The names of this module, for type checkers; written by tests/typing/make.py.

from rankgate.interface.extend import API_VERSION as API_VERSION
from rankgate.interface.extend import Answer as Answer
from rankgate.interface.extend import Chart as Chart
from rankgate.interface.extend import Connection as Connection
from rankgate.interface.extend import Convention as Convention
from rankgate.interface.extend import Cutoff as Cutoff
from rankgate.interface.extend import EXTENSION_POINTS as EXTENSION_POINTS
from rankgate.interface.extend import Engine as Engine
from rankgate.interface.extend import EngineKind as EngineKind
from rankgate.interface.extend import Evidence as Evidence
from rankgate.interface.extend import ExtensionPoint as ExtensionPoint
from rankgate.interface.extend import Facts as Facts
from rankgate.interface.extend import Failure as Failure
from rankgate.interface.extend import FileContents as FileContents
from rankgate.interface.extend import Format as Format
from rankgate.interface.extend import Grid as Grid
from rankgate.interface.extend import InputError as InputError
from rankgate.interface.extend import InputFile as InputFile
from rankgate.interface.extend import Judged as Judged
from rankgate.interface.extend import Kpi as Kpi
from rankgate.interface.extend import Loss as Loss
from rankgate.interface.extend import Note as Note
from rankgate.interface.extend import Outcome as Outcome
from rankgate.interface.extend import Parameter as Parameter
from rankgate.interface.extend import Points as Points
from rankgate.interface.extend import Qrels as Qrels
from rankgate.interface.extend import Query as Query
from rankgate.interface.extend import Range as Range
from rankgate.interface.extend import ReportBlock as ReportBlock
from rankgate.interface.extend import Rule as Rule
from rankgate.interface.extend import RuleKind as RuleKind
from rankgate.interface.extend import Run as Run
from rankgate.interface.extend import Table as Table
from rankgate.interface.extend import UsageError as UsageError
from rankgate.interface.extend import View as View
from rankgate.interface.extend import metric as metric
from rankgate.interface.extend import using as using

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
