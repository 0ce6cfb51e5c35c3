"""The verbs for Python: each calls one service and returns its result, ready to be looked at."""

from rankgate.notebook.blindness import Blindness, blindspots
from rankgate.notebook.comparison import Comparisons, compare
from rankgate.notebook.conversion import Conversion, convert
from rankgate.notebook.evaluation import Evaluation, evaluate
from rankgate.notebook.explanation import Explanation, explain
from rankgate.notebook.gating import Verdict, gate
from rankgate.notebook.hidden import Hidden, holes
from rankgate.notebook.reconciliation import Bridge, Finding, Reconciliation, reconcile
from rankgate.notebook.rules import Convention, Conventions, convention, conventions

__all__ = [
    "Blindness",
    "Bridge",
    "Comparisons",
    "Convention",
    "Conventions",
    "Conversion",
    "Evaluation",
    "Explanation",
    "Finding",
    "Hidden",
    "Reconciliation",
    "Verdict",
    "blindspots",
    "compare",
    "convention",
    "conventions",
    "convert",
    "evaluate",
    "explain",
    "gate",
    "holes",
    "reconcile",
]
