"""Names of metrics as cwl_eval writes them, ``INSTCWLMetric(2.0)``, and what they are here."""

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
class _Class:
    """A class of cwl_eval: its parameters in order, with defaults (None: required)."""

    label: str
    goes_on: Continuation
    parameters: Mapping[str, float | None]
    translate: Callable[[dict[str, Any]], dict[str, Any]] = dict


def _same(**names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Values under our names for parameters."""
    return lambda given: {ours: given[theirs] for theirs, ours in names.items()}


_GOAL, _RATE = {"T": None, "b1": None, "R1": None}, {"A": None, "b2": None, "R2": None}
_CLASSES: Mapping[str, _Class] = {
    "PrecisionCWLMetric": _Class("P@{k}", fixed.precision, {"k": 10}, _same(k="cutoff")),
    "RBPCWLMetric": _Class("RBP@{theta}", fixed.rank_biased, {"theta": 0.9}, _same(theta="p")),
    "NDCGCWLMetric": _Class("NDCG-k@{k}", fixed.scaled_dcg, {"k": None}, _same(k="cutoff")),
    "RRCWLMetric": _Class("RR", fixed.reciprocal_rank, {}),
    "APCWLMetric": _Class("AP", fixed.truncated_ap, {}),
    "TrAPCWLMetric": _Class("TrAP", fixed.truncated_ap, {}, lambda _: {"weights": "precision"}),
    "INSTCWLMetric": _Class("INST-T={T}", adaptive.inst, {"T": 1.0}),
    "INSQCWLMetric": _Class("INSQ-T={T}", adaptive.insq, {"T": 1.0}),
    "BPMCWLMetric": _Class(
        "BPM-Static-T={T}-K={K}", adaptive.bejewelled, {"T": 1.0, "K": 10}, _same(T="T", K="cutoff")
    ),
    "BPMDCWLMetric": _Class(
        "BPM-Dynamic-T={T}-K={K}-hb={hb}-hc={hc}",
        adaptive.dynamic_bejewelled,
        {"T": 1, "K": 10, "hb": 1.0, "hc": 1.0, "gain_med": 0.5},
        # there K never changes, whatever hc is
        lambda v: {"T": v["T"], "cutoff": v["K"], "hb": v["hb"], "hc": 0, "median": v["gain_med"]},
    ),
    "IFTGoalCWLMetric": _Class(
        "IFT-C1-T={T}-b1={b1}-R1={R1}", adaptive.foraging, _GOAL, lambda v: {**v, "by": "goal"}
    ),
    "IFTRateCWLMetric": _Class(
        "IFT-C2-A={A}-b2={b2}-R2={R2}", adaptive.foraging, _RATE, lambda v: {**v, "by": "rate"}
    ),
    "IFTGoalRateCWLMetric": _Class(
        "IFT-C1-C2-T={T}-b1={b1}-R1={R1}-A={A}-b2={b2}-R2={R2}", adaptive.foraging, _GOAL | _RATE
    ),
    "NERReq8CWLMetric": _Class("NERR-EQ8@k={k}", nearly.truncated, {"k": None}, _same(k="cutoff")),
    "NERReq9CWLMetric": _Class("NERR-EQ9@k={k}", nearly.discounted, {"k": None}, _same(k="cutoff")),
    "NERReq10CWLMetric": _Class(
        "NERR-EQ10@phi={phi}", nearly.persistent, {"phi": 0.9}, _same(phi="p")
    ),
    "NERReq11CWLMetric": _Class("NERR-EQ11@T={T}", nearly.aiming, {"T": 1.0}),
    "TBGCWLMetric": _Class("TBG-H@{halflife} ", fixed.time_biased, {"halflife": 224}),
    "UMeasureCWLMetric": _Class("U-L@{L} ", fixed.u_measure, {"L": 1000}),
    "NPVCWLMetric": _Class("NPV-r@{rate}", fixed.net_present_value, {"rate": 0.1}),
    "SETCWLMetric": _Class(
        "SET-k@{k}-b@{beta}", fixed.economic, {"beta": 0.5, "k": 10}, _same(beta="beta", k="cutoff")
    ),
}

DEFAULTS = (
    *(f"PrecisionCWLMetric({k})" for k in (1, 2, 3, 4, 5, 10)),
    *(f"RBPCWLMetric({p})" for p in (0.2, 0.4, 0.8)),
    *("NDCGCWLMetric(5)", "NDCGCWLMetric(10)", "RRCWLMetric()", "APCWLMetric()"),
    *(f"INSTCWLMetric({t})" for t in (1.0, 2.0, 3.0)),
)
"""The metrics of cwl_eval without a file of metrics."""


def named(text: str, *, source: str = "", line: int | None = None) -> CwlMetric:
    """The metric of a name with values in parentheses, in cwl_eval's order.

    Raises:
        InputError: an unknown class, or values that do not fit it.
    """
    match = _CALL.fullmatch(text.strip())
    found = _CLASSES.get(match[1]) if match else None
    words = [word.strip() for word in match[2].split(",") if word.strip()] if match else []
    try:
        numbers = [float(word) if "." in word else int(word) for word in words]
    except ValueError:
        numbers, found = [], None
    if found is None or len(numbers) > len(found.parameters):
        raise InputError(
            f"{text.strip()!r} is not a metric; write one such as INSTCWLMetric(2.0); "
            f"known: {', '.join(_CLASSES)}.",
            source=source,
            line=line,
            code="unknown-metric",
        )
    given = dict(zip(found.parameters, numbers, strict=False))
    values = {**found.parameters, **given}
    if lacking := [name for name, value in values.items() if value is None]:
        raise InputError(
            f"{text.strip()!r} needs a value for {lacking[0]}.",
            source=source,
            line=line,
            code="incomplete-metric",
        )
    return CwlMetric(found.label.format(**values), found.goes_on, found.translate(values))
