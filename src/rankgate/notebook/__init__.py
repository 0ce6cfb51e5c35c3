"""The verbs for Python: each calls one service and returns its result, ready to be looked at."""

from rankgate.notebook.conversion import Conversion, convert
from rankgate.notebook.verbs import Evaluation, Explanation, evaluate, explain

__all__ = ["Conversion", "Evaluation", "Explanation", "convert", "evaluate", "explain"]
