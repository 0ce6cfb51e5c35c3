"""What rankgate does: one verb a file, plain values in, a frozen result out."""

from rankgate.services.evaluate import DEFAULT_METRICS, Evaluation, evaluate
from rankgate.services.passports import ParameterFacts, Passport, passport, passports

__all__ = [
    "DEFAULT_METRICS",
    "Evaluation",
    "ParameterFacts",
    "Passport",
    "evaluate",
    "passport",
    "passports",
]
