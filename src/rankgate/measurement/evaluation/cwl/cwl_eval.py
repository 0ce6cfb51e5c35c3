"""Evaluate a run as cwl_eval does: gains, costs by type of element, the order of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.streams.source import open_source
from rankgate.data.text.utf8 import decode_utf8
from rankgate.measurement.evaluation.cwl.names import DEFAULTS, CwlMetric, parse_metric
from rankgate.measurement.metrics.browsing.browsed import Browsed, ContinuationModel, measured_value
from rankgate.measurement.metrics.browsing.declare import checked_continuation

if TYPE_CHECKING:
    from pathlib import Path

MEASURES = ("EU", "ETU", "EC", "ETC", "ED")


@dataclass(frozen=True)
class Limits:
    """Bounds of gains of documents without a judgment, and of costs of those without a cost."""

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

    Ranks are those of the file. The second field of the run is the type of the element, which has
    a cost in the file of costs (``type cost``).

    Args:
        gains: judgments whose grades are gains, from 0 to 1.
        run: the run.
        metrics: the metrics; those of cwl_eval without.
        costs: the cost of each type of element; without it every document costs 1.
        ends: what is not known: bounds of gains and costs.
        depth: how many ranks count.

    Raises:
        InputError: a line that cannot be read, a gain outside its bounds.
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
    """The metrics of a file, one a line, as cwl_eval writes them.

    Raises:
        InputError: a line that is not a metric.
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

    def filled(
        values: list[float], unknown: float
    ) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
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
                f"gain {gain:g} is not between {bounds.min_gain:g} and {bounds.max_gain:g}; "
                "scale the gains, or set --max_gain.",
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
    """The fields of each line, the last being a number."""
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
    problem = f"{field_count} fields, expected {count}."
    return InputError(problem, source=open_source(path).label, line=line, code="wrong-field-count")


def _lines(path: str | Path) -> Iterator[tuple[int, str]]:
    input_file, line = open_source(path), 1
    for piece in input_file.chunks():
        lines = decode_utf8(piece, input_file.label, line).splitlines()
        yield from enumerate(lines, start=line)
        line += len(lines)
