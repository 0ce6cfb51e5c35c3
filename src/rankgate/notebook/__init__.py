"""The verbs for Python: each calls one service and returns its result, ready to be looked at."""

from rankgate.notebook.comparison import Comparisons, compare
from rankgate.notebook.conversion import Conversion, convert
from rankgate.notebook.verbs import Evaluation, Explanation, evaluate, explain

__all__ = [
    "Comparisons",
    "Conversion",
    "Evaluation",
    "Explanation",
    "compare",
    "convert",
    "evaluate",
    "explain",
]
