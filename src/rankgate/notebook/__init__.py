"""The verbs for Python: each calls one service and returns its result, ready to be looked at."""

from rankgate.notebook.accumulation import Accumulator
from rankgate.notebook.admission import Admitted, admit
from rankgate.notebook.advising import Advice, advise
from rankgate.notebook.blindness import Blindness, blindspots
from rankgate.notebook.card import Scorecard, scorecard
from rankgate.notebook.comparison import Comparisons, compare
from rankgate.notebook.conversion import Conversion, convert
from rankgate.notebook.description import Descriptions, describe
from rankgate.notebook.evaluation import Evaluation, evaluate
from rankgate.notebook.explanation import Explanation, explain
from rankgate.notebook.gating import Verdict, gate
from rankgate.notebook.hidden import Hidden, holes
from rankgate.notebook.model_rating import Asked, Judge, Prices, rate
from rankgate.notebook.pipeline import Pipeline, stages
from rankgate.notebook.plotting import plot
from rankgate.notebook.pooling import Pool, Reusability, pool, reusability
from rankgate.notebook.ratings import Agreed, Collected, Resolved, agree, collect, resolve, sheets
from rankgate.notebook.reconciliation import Bridge, Finding, Reconciliation, reconcile
from rankgate.notebook.rules import Convention, Conventions, convention, conventions
from rankgate.notebook.splitting import Split, split
from rankgate.notebook.validation import Validation, validate

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
    "Judge",
    "Pipeline",
    "Pool",
    "Prices",
    "Reconciliation",
    "Resolved",
    "Reusability",
    "Scorecard",
    "Split",
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
    "gate",
    "holes",
    "plot",
    "pool",
    "rate",
    "reconcile",
    "resolve",
    "reusability",
    "scorecard",
    "sheets",
    "split",
    "stages",
    "validate",
]
