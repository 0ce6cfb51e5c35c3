"""The verbs for Python: each calls one service and returns its result, ready to be looked at."""

from rankgate.notebook.blindness import Blindness, blindspots
from rankgate.notebook.comparison import Comparisons, compare
from rankgate.notebook.conversion import Conversion, convert
from rankgate.notebook.gating import Verdict, gate
from rankgate.notebook.hidden import Hidden, holes
from rankgate.notebook.verbs import Evaluation, Explanation, evaluate, explain

__all__ = [
    "Blindness",
    "Comparisons",
    "Conversion",
    "Evaluation",
    "Explanation",
    "Hidden",
    "Verdict",
    "blindspots",
    "compare",
    "convert",
    "evaluate",
    "explain",
    "gate",
    "holes",
]
