"""What rankgate does: one verb a file, plain values in, a frozen result out."""

from rankgate.metrics.plugins import from_file as metrics_from
from rankgate.scoring import Convention
from rankgate.services.conventions import (
    AxisFacts,
    Choice,
    ConventionFacts,
    axis_facts,
    chosen_convention,
    convention_facts,
    conventions,
    refuse_mixed,
)
from rankgate.services.convert import PARTS as CONVERT_PARTS
from rankgate.services.convert import Conversion, convert
from rankgate.services.evaluate import DEFAULT_METRICS, Evaluation, evaluate
from rankgate.services.explain import DEPTH, explain
from rankgate.services.explanation import Explanation, IdealRow, Other, Row, Sum
from rankgate.services.formats import FormatFacts, format_facts
from rankgate.services.passports import ParameterFacts, Passport, passport, passports
from rankgate.services.reconcile import Bridge, Group, Reconciliation, Refusal, bridge, reconcile
from rankgate.services.reported import Finding, Fit, reported
from rankgate.services.walk import Step

__all__ = [
    "CONVERT_PARTS",
    "DEFAULT_METRICS",
    "DEPTH",
    "AxisFacts",
    "Bridge",
    "Choice",
    "Convention",
    "ConventionFacts",
    "Conversion",
    "Evaluation",
    "Explanation",
    "Finding",
    "Fit",
    "FormatFacts",
    "Group",
    "IdealRow",
    "Other",
    "ParameterFacts",
    "Passport",
    "Reconciliation",
    "Refusal",
    "Row",
    "Step",
    "Sum",
    "axis_facts",
    "bridge",
    "chosen_convention",
    "convention_facts",
    "conventions",
    "convert",
    "evaluate",
    "explain",
    "format_facts",
    "metrics_from",
    "passport",
    "passports",
    "reconcile",
    "refuse_mixed",
    "reported",
]
