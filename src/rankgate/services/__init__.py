"""What rankgate does: one verb a file, plain values in, a frozen result out."""

from rankgate.metrics.plugins import from_file as metrics_from
from rankgate.services.evaluate import DEFAULT_METRICS, Evaluation, evaluate
from rankgate.services.explain import DEPTH, explain
from rankgate.services.explanation import Explanation, IdealRow, Other, Row, Sum
from rankgate.services.passports import ParameterFacts, Passport, passport, passports

__all__ = [
    "DEFAULT_METRICS",
    "DEPTH",
    "Evaluation",
    "Explanation",
    "IdealRow",
    "Other",
    "ParameterFacts",
    "Passport",
    "Row",
    "Sum",
    "evaluate",
    "explain",
    "metrics_from",
    "passport",
    "passports",
]
