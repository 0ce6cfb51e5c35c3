"""Evaluate a run as cwl_eval does, with its names of metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.streams.source import open_source
from rankgate.data.text.text_values import decode_utf8
from rankgate.measurement.metrics.browsing import browsing_metrics
from rankgate.measurement.metrics.browsing.browsing_model import (
    Browsed,
    ContinuationModel,
    checked_continuation,
    measured_value,
)

if TYPE_CHECKING:
    from pathlib import Path

    from rankgate.measurement.metrics.browsing.browsing_model import Continuation


_CALL = re.compile(r"(\w+)\(([^()]*)\)")


@dataclass(frozen=True)
class CwlMetric:
    """A metric of cwl_eval: its printed name, the continuation function and its values."""

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
    "PrecisionCWLMetric": _MetricClass("P@{k}", browsing_metrics.precision, {"k": 10}, _renaming(k="cutoff")),
    "RBPCWLMetric": _MetricClass(
        "RBP@{theta}", browsing_metrics.rank_biased, {"theta": 0.9}, _renaming(theta="p")
    ),
    "NDCGCWLMetric": _MetricClass(
        "NDCG-k@{k}", browsing_metrics.scaled_dcg, {"k": None}, _renaming(k="cutoff")
    ),
    "RRCWLMetric": _MetricClass("RR", browsing_metrics.reciprocal_rank, {}),
    "APCWLMetric": _MetricClass("AP", browsing_metrics.truncated_ap, {}),
    "TrAPCWLMetric": _MetricClass(
        "TrAP", browsing_metrics.truncated_ap, {}, lambda _: {"weights": "precision"}
    ),
    "INSTCWLMetric": _MetricClass("INST-T={T}", browsing_metrics.inst, {"T": 1.0}),
    "INSQCWLMetric": _MetricClass("INSQ-T={T}", browsing_metrics.insq, {"T": 1.0}),
    "BPMCWLMetric": _MetricClass(
        "BPM-Static-T={T}-K={K}",
        browsing_metrics.bejewelled,
        {"T": 1.0, "K": 10},
        _renaming(T="T", K="cutoff"),
    ),
    "BPMDCWLMetric": _MetricClass(
        "BPM-Dynamic-T={T}-K={K}-hb={hb}-hc={hc}",
        browsing_metrics.dynamic_bejewelled,
        {"T": 1, "K": 10, "hb": 1.0, "hc": 1.0, "gain_med": 0.5},
        # in this class K never changes, for any hc
        lambda v: {"T": v["T"], "cutoff": v["K"], "hb": v["hb"], "hc": 0, "median": v["gain_med"]},
    ),
    "IFTGoalCWLMetric": _MetricClass(
        "IFT-C1-T={T}-b1={b1}-R1={R1}", browsing_metrics.foraging, _GOAL, lambda v: {**v, "by": "goal"}
    ),
    "IFTRateCWLMetric": _MetricClass(
        "IFT-C2-A={A}-b2={b2}-R2={R2}", browsing_metrics.foraging, _RATE, lambda v: {**v, "by": "rate"}
    ),
    "IFTGoalRateCWLMetric": _MetricClass(
        "IFT-C1-C2-T={T}-b1={b1}-R1={R1}-A={A}-b2={b2}-R2={R2}", browsing_metrics.foraging, _GOAL | _RATE
    ),
    "NERReq8CWLMetric": _MetricClass(
        "NERR-EQ8@k={k}", browsing_metrics.truncated, {"k": None}, _renaming(k="cutoff")
    ),
    "NERReq9CWLMetric": _MetricClass(
        "NERR-EQ9@k={k}", browsing_metrics.discounted, {"k": None}, _renaming(k="cutoff")
    ),
    "NERReq10CWLMetric": _MetricClass(
        "NERR-EQ10@phi={phi}", browsing_metrics.persistent, {"phi": 0.9}, _renaming(phi="p")
    ),
    "NERReq11CWLMetric": _MetricClass("NERR-EQ11@T={T}", browsing_metrics.aiming, {"T": 1.0}),
    "TBGCWLMetric": _MetricClass("TBG-H@{halflife} ", browsing_metrics.time_biased, {"halflife": 224}),
    "UMeasureCWLMetric": _MetricClass("U-L@{L} ", browsing_metrics.u_measure, {"L": 1000}),
    "NPVCWLMetric": _MetricClass("NPV-r@{rate}", browsing_metrics.net_present_value, {"rate": 0.1}),
    "SETCWLMetric": _MetricClass(
        "SET-k@{k}-b@{beta}",
        browsing_metrics.economic,
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
    """The metric for a name with values in parentheses, in cwl_eval's order.

    Raises:
        InputError: the class is unknown, or values do not fit it.
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
            f"{text.strip()!r} is not a metric; write one such as INSTCWLMetric(2.0); known: "
            f"{', '.join(_CLASSES)}.",
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


MEASURES = ("EU", "ETU", "EC", "ETC", "ED")


@dataclass(frozen=True)
class Limits:
    """Bounds for gains of unjudged documents, and for costs of documents without a cost.

    Attributes:
        max_gain: the highest gain.
        min_gain: the lowest gain.
        max_cost: the highest cost.
        min_cost: the lowest cost.
    """

    max_gain: float = 1.0
    min_gain: float = 0.0
    max_cost: float = 1.0
    min_cost: float = 1.0


@dataclass(frozen=True)
class CwlRow:
    """The five measurements of a query and metric, with their residuals."""

    query_id: str
    metric: str
    values: tuple[float, ...]
    residuals: tuple[float, ...]


def cwl_eval(
    gains: str | Path,
    run: str | Path,
    metrics: Sequence[CwlMetric] = (),
    *,
    costs: str | Path | None = None,
    ends: Limits | None = None,
    depth: int = 1000,
) -> Iterator[CwlRow]:
    """The measurements of each query of a run, in the order of the file.

    Ranks are those of the file. The second field of the run is the type of the element, which has a
    cost in the file of costs (``type cost``).

    Args:
        gains: judgments with gains as grades, from 0 to 1.
        run: the run.
        metrics: the metrics; by default those of cwl_eval.
        costs: the cost of each type of element; by default every document costs 1.
        ends: bounds for unknown gains and costs.
        depth: the number of ranks that count.

    Raises:
        InputError: a line cannot be read, or a gain is outside its bounds.
    """
    bounds = ends or Limits()
    judged = _gains(gains, bounds)
    cost_of_element = {fields[0]: cost for fields, cost in _numbers(costs, 2)} if costs else {}
    used_metrics = metrics or [parse_metric(name) for name in DEFAULTS]
    for query, rows in _rankings(run):
        gain_of_document = judged.get(query, {})
        gain = [gain_of_document.get(document, np.nan) for document, _ in rows]
        cost = [cost_of_element.get(element, np.nan) for _, element in rows]
        relevant = float(sum(document_gain > 0 for document_gain in gain_of_document.values()))
        worst = _fill_ranking(gain, cost, relevant, depth, bounds.min_gain, bounds.max_cost)
        best = _fill_ranking(gain, cost, relevant, depth, bounds.max_gain, bounds.min_cost)
        gain_count = float(np.count_nonzero(best.gain))
        best = Browsed(best.gain, best.cost, np.array([max(relevant, gain_count)]))
        for metric in used_metrics:
            low, high = (_measure(metric, browsed) for browsed in (worst, best))
            residuals = tuple(highest - lowest for lowest, highest in zip(low, high, strict=True))
            yield CwlRow(query, metric.label, low, residuals)


def read_metrics(path: str | Path) -> list[CwlMetric]:
    """The metrics of a file with one metric per line, in the form of cwl_eval.

    Raises:
        InputError: a line is not a metric.
    """
    input_file = open_source(path)
    return [
        parse_metric(line, source=input_file.label, line=number)
        for number, line in _lines(path)
        if line.strip()
    ]


def _measure(metric: CwlMetric, browsed: Browsed) -> tuple[float, ...]:
    going: ContinuationModel = checked_continuation(
        metric.label, metric.goes_on, browsed, dict(metric.values)
    )
    return tuple(float(measured_value(browsed, going, measure)[0]) for measure in MEASURES)  # type: ignore[arg-type]


def _fill_ranking(
    gain: list[float], cost: list[float], relevant: float, depth: int, gains: float, costs: float
) -> Browsed:
    """One ranking, filled up to the depth with values for unknown documents."""

    def filled(values: list[float], unknown: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        out = np.full((1, depth), unknown)
        first_values = np.array(values[:depth])
        out[0, : len(first_values)] = np.where(np.isnan(first_values), unknown, first_values)
        return out

    return Browsed(filled(gain, gains), filled(cost, costs), np.array([relevant]))


def _gains(path: str | Path, bounds: Limits) -> Mapping[str, Mapping[str, float]]:
    gains: dict[str, dict[str, float]] = {}
    label = open_source(path).label
    for number, (fields, gain) in enumerate(_numbers(path, 4), start=1):
        if not bounds.min_gain <= gain <= bounds.max_gain:
            raise InputError(
                f"gain {gain:g} is not between {bounds.min_gain:g} and {bounds.max_gain:g}; scale the gains, "
                "or set --max_gain.",
                source=label,
                line=number,
                code="grade-outside-scale",
            )
        gains.setdefault(fields[0], {})[fields[2]] = gain
    return gains


def _rankings(path: str | Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield queries in the order of the rows: documents with their types of element."""
    current, rows = None, list[tuple[str, str]]()
    for number, line in _lines(path):
        fields = line.split()
        if len(fields) != 6:
            raise _malformed(path, number, len(fields), 6)
        if fields[0] != current and rows:
            yield str(current), rows
            rows = []
        current = fields[0]
        rows.append((fields[2], fields[1]))
    if rows:
        yield str(current), rows


def _numbers(path: str | Path, count: int) -> Iterator[tuple[list[str], float]]:
    """The fields of each line; the last field is a number."""
    for number, line in _lines(path):
        fields = line.split()
        if len(fields) != count:
            raise _malformed(path, number, len(fields), count)
        try:
            yield fields, float(fields[-1])
        except ValueError:
            problem = f"{fields[-1]!r} is not a number."
            label = open_source(path).label
            raise InputError(problem, source=label, line=number, code="not-a-number") from None


def _malformed(path: str | Path, line: int, field_count: int, count: int) -> InputError:
    problem = f"{count_noun(field_count, 'field')}, expected {count}."
    return InputError(problem, source=open_source(path).label, line=line, code="wrong-field-count")


def _lines(path: str | Path) -> Iterator[tuple[int, str]]:
    input_file, line = open_source(path), 1
    for piece in input_file.chunks():
        lines = decode_utf8(piece, input_file.label, line).splitlines()
        yield from enumerate(lines, start=line)
        line += len(lines)
