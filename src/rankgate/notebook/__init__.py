"""The verbs for Python: each calls one service and returns its result, ready to be looked at."""

from rankgate.notebook.verbs import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
