"""Names of metrics as cwl_eval writes them, ``INSTCWLMetric(2.0)``, with our metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.browsing import adaptive, fixed, nearly

if TYPE_CHECKING:
    from rankgate.measurement.metrics.browsing.declare import Continuation

_CALL = re.compile(r"(\w+)\(([^()]*)\)")


@dataclass(frozen=True)
class CwlMetric:
    """A metric as cwl_eval has it: its printed name, the continuation function and its values."""

    label: str
    goes_on: Continuation
    values: Mapping[str, Any]


@dataclass(frozen=True)
class _MetricClass:
    """A class of cwl_eval: its parameters in order, with defaults (None: required)."""

    label: str
    goes_on: Continuation
    parameters: Mapping[str, float | None]
    translate: Callable[[dict[str, Any]], dict[str, Any]] = dict


def _renaming(**names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Make a function that renames parameters to ours."""
    return lambda arguments: {name: arguments[tool_name] for tool_name, name in names.items()}


_GOAL, _RATE = {"T": None, "b1": None, "R1": None}, {"A": None, "b2": None, "R2": None}
_CLASSES: Mapping[str, _MetricClass] = {
    "PrecisionCWLMetric": _MetricClass("P@{k}", fixed.precision, {"k": 10}, _renaming(k="cutoff")),
    "RBPCWLMetric": _MetricClass(
        "RBP@{theta}", fixed.rank_biased, {"theta": 0.9}, _renaming(theta="p")
    ),
    "NDCGCWLMetric": _MetricClass(
        "NDCG-k@{k}", fixed.scaled_dcg, {"k": None}, _renaming(k="cutoff")
    ),
    "RRCWLMetric": _MetricClass("RR", fixed.reciprocal_rank, {}),
    "APCWLMetric": _MetricClass("AP", fixed.truncated_ap, {}),
    "TrAPCWLMetric": _MetricClass(
        "TrAP", fixed.truncated_ap, {}, lambda _: {"weights": "precision"}
    ),
    "INSTCWLMetric": _MetricClass("INST-T={T}", adaptive.inst, {"T": 1.0}),
    "INSQCWLMetric": _MetricClass("INSQ-T={T}", adaptive.insq, {"T": 1.0}),
    "BPMCWLMetric": _MetricClass(
        "BPM-Static-T={T}-K={K}",
        adaptive.bejewelled,
        {"T": 1.0, "K": 10},
        _renaming(T="T", K="cutoff"),
    ),
    "BPMDCWLMetric": _MetricClass(
        "BPM-Dynamic-T={T}-K={K}-hb={hb}-hc={hc}",
        adaptive.dynamic_bejewelled,
        {"T": 1, "K": 10, "hb": 1.0, "hc": 1.0, "gain_med": 0.5},
        # there K never changes, whatever hc is
        lambda v: {"T": v["T"], "cutoff": v["K"], "hb": v["hb"], "hc": 0, "median": v["gain_med"]},
    ),
    "IFTGoalCWLMetric": _MetricClass(
        "IFT-C1-T={T}-b1={b1}-R1={R1}", adaptive.foraging, _GOAL, lambda v: {**v, "by": "goal"}
    ),
    "IFTRateCWLMetric": _MetricClass(
        "IFT-C2-A={A}-b2={b2}-R2={R2}", adaptive.foraging, _RATE, lambda v: {**v, "by": "rate"}
    ),
    "IFTGoalRateCWLMetric": _MetricClass(
        "IFT-C1-C2-T={T}-b1={b1}-R1={R1}-A={A}-b2={b2}-R2={R2}", adaptive.foraging, _GOAL | _RATE
    ),
    "NERReq8CWLMetric": _MetricClass(
        "NERR-EQ8@k={k}", nearly.truncated, {"k": None}, _renaming(k="cutoff")
    ),
    "NERReq9CWLMetric": _MetricClass(
        "NERR-EQ9@k={k}", nearly.discounted, {"k": None}, _renaming(k="cutoff")
    ),
    "NERReq10CWLMetric": _MetricClass(
        "NERR-EQ10@phi={phi}", nearly.persistent, {"phi": 0.9}, _renaming(phi="p")
    ),
    "NERReq11CWLMetric": _MetricClass("NERR-EQ11@T={T}", nearly.aiming, {"T": 1.0}),
    "TBGCWLMetric": _MetricClass("TBG-H@{halflife} ", fixed.time_biased, {"halflife": 224}),
    "UMeasureCWLMetric": _MetricClass("U-L@{L} ", fixed.u_measure, {"L": 1000}),
    "NPVCWLMetric": _MetricClass("NPV-r@{rate}", fixed.net_present_value, {"rate": 0.1}),
    "SETCWLMetric": _MetricClass(
        "SET-k@{k}-b@{beta}",
        fixed.economic,
        {"beta": 0.5, "k": 10},
        _renaming(beta="beta", k="cutoff"),
    ),
}

DEFAULTS = (
    *(f"PrecisionCWLMetric({k})" for k in (1, 2, 3, 4, 5, 10)),
    *(f"RBPCWLMetric({p})" for p in (0.2, 0.4, 0.8)),
    *("NDCGCWLMetric(5)", "NDCGCWLMetric(10)", "RRCWLMetric()", "APCWLMetric()"),
    *(f"INSTCWLMetric({t})" for t in (1.0, 2.0, 3.0)),
)
"""The metrics of cwl_eval without a file of metrics."""


def parse_metric(text: str, *, source: str = "", line: int | None = None) -> CwlMetric:
    """The metric of a name with values in parentheses, in cwl_eval's order.

    Raises:
        InputError: an unknown class, or values that do not fit it.
    """
    match = _CALL.fullmatch(text.strip())
    metric_class = _CLASSES.get(match[1]) if match else None
    texts = [word.strip() for word in match[2].split(",") if word.strip()] if match else []
    try:
        numbers = [float(word) if "." in word else int(word) for word in texts]
    except ValueError:
        numbers, metric_class = [], None
    if metric_class is None or len(numbers) > len(metric_class.parameters):
        raise InputError(
            f"{text.strip()!r} is not a metric; write one such as INSTCWLMetric(2.0); "
            f"known: {', '.join(_CLASSES)}.",
            source=source,
            line=line,
            code="unknown-metric",
        )
    bound = dict(zip(metric_class.parameters, numbers, strict=False))
    values = {**metric_class.parameters, **bound}
    if missing := [name for name, value in values.items() if value is None]:
        raise InputError(
            f"{text.strip()!r} needs a value for {missing[0]}.",
            source=source,
            line=line,
            code="incomplete-metric",
        )
    return CwlMetric(
        metric_class.label.format(**values), metric_class.goes_on, metric_class.translate(values)
    )
