"""Document of a sweep: a sentence on the held-out gain, then choice, points, front and dials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document_model import (
    Chart,
    Document,
    Grid,
    PlainRows,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import (
    UNDEFINED,
    count_noun,
    format_bounds,
    format_decimal,
    format_interval,
    format_p_value,
    format_signed,
)
from rankgate.decisions.sweeps.dials import point_text, value_text

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.sweep import Choice, Sweep, SweepPoint


_MAX_POINTS = 15
_MAX_PAIRS = 3


def sweep_document(result: Sweep) -> Document:
    """The headline, the lead, charts, tables, warnings and the method."""
    points = len(result.points)
    table = result.to_polars()
    tables = [
        Table(f"gain over the baseline in {result.metric}", _gains(result)),
        Table(_best_heading(result), _points(result, _best_indices(result))),
        Table(
            f"front of {result.metric} against {result.quantile}: no setting is at least as good and known "
            "to be faster",
            _points(result, list(result.front) if len(result.front) > 1 else [], timed=(result.quantile,)),
        ),
        Table("importance of dials", _importance(result)),
    ]
    return made(
        f"{make_printable(result.name)}: {count_noun(points, 'setting')} of {make_printable(result.target)} "
        f"on {count_noun(result.queries, 'query')}, convention {result.convention['name']} "
        f"({result.convention['hash']})",
        *(Chart(draw, result) for draw in _chart_names(result)),
        *tables,
        Warnings(tuple(make_printable(notice.text) for notice in result.notices)),
        _method(result),
        lead=_lead_sentences(result),
        rows=PlainRows(tuple(table.columns), list(table.iter_rows())),
    )


def _chart_names(result: Sweep) -> list[str]:
    """The charts that are not empty."""
    measured_points = [point for point in result.points if point.state == "ok"]
    if len(measured_points) < 2:
        return []
    names = ["sweep-front"] * (len(result.front) > 0) + ["sweep-dials"]
    names += ["sweep-heat"] * (len(result.space) > 1)
    return [result.charts[name] for name in names]


def _lead_sentences(result: Sweep) -> tuple[str, ...]:
    choice, chosen_point = result.choice, result.chosen
    if choice is None or chosen_point is None:
        return ("Nothing can be chosen: there are no figures of the baseline and another point.",)
    count = sum(point.state == "ok" for point in result.points)
    if not choice.place:
        return (
            (
                f"None of {count_noun(count, 'setting')} is better than the baseline, "
                f"{_point_name(result.baseline)}."
            ),
        )
    gain_when_chosen, held_out_gain = choice.same_queries, choice.held_out
    return (
        (
            f"The best of {count_noun(count, 'setting')} looks {_plain_number(gain_when_chosen.mean)} "
            f"better; on held-out queries {_plain_number(held_out_gain.mean)} "
            f"{_ends(held_out_gain.low, held_out_gain.high)}."
        ),
        (
            f"{_verdict(choice)} Chosen: {_point_name(chosen_point)}; baseline: "
            f"{_point_name(result.baseline)}."
        ),
    )


def _verdict(choice: Choice) -> str:
    low, high = choice.held_out.low, choice.held_out.high
    if low is not None and low > 0:
        return "The gain holds on queries that were not used to choose."
    if high is not None and high < 0:
        return "On queries that were not used to choose it is worse than the baseline."
    return "It is not certain that it is better than the baseline."


def _gains(result: Sweep) -> Grid:
    choice = result.choice
    if choice is None or not choice.place:
        return Grid(("", "gain"), ())
    gain_when_chosen, held_out_gain = choice.same_queries, choice.held_out
    rows = (
        (
            "on the queries that chose it",
            format_signed(gain_when_chosen.mean),
            format_interval(gain_when_chosen.low, gain_when_chosen.high),
            format_p_value(choice.p_value),
        ),
        (
            "on held-out queries",
            format_signed(held_out_gain.mean),
            format_interval(held_out_gain.low, held_out_gain.high),
            "",
        ),
        ("difference: optimism of the choice", format_signed(choice.optimism), "", ""),
    )
    return Grid(("", "gain", f"{result.level:.0%} interval", "p"), rows)


def _best_heading(result: Sweep) -> str:
    measured_count = sum(point.state == "ok" for point in result.points)
    return (
        "points"
        if measured_count <= _MAX_POINTS
        else f"the best {_MAX_POINTS} of {count_noun(measured_count, 'point')}, and the baseline"
    )


def _best_indices(result: Sweep) -> list[int]:
    """The indices of the best points, including the baseline."""
    sign = -1 if result.metric in result.lower else 1
    measured_indices = [index for index, point in enumerate(result.points) if point.state == "ok"]
    measured_indices.sort(key=lambda index: (-sign * result.points[index].metrics[result.metric].mean, index))
    best_indices = measured_indices[:_MAX_POINTS]
    return [*best_indices, *([0] if 0 in measured_indices and 0 not in best_indices else [])]


def _points(result: Sweep, places: list[int], timed: tuple[str, ...] = ("p50", "p95")) -> Grid:
    """Rows of points; only the latency quantile of the front has an interval."""
    names = [dial.name for dial in result.space]
    if not any(point.latency for point in result.points):
        timed = ()
    rows = [
        (
            _mark(result, index),
            *(make_printable(value_text(result.points[index].parameters[name])) for name in names),
            *_figures(result, result.points[index], timed),
        )
        for index in places
    ]
    means = [metric for metric_name in result.metrics for metric in _metric_headers(result, metric_name)]
    times = [f"{name}\nms" for name in timed]
    times += [f"{result.level:.0%}\ninterval"] * (len(timed) == 1)
    header = ("", *map(make_printable, names), *means, *times)
    texts = {
        column
        for column, dial in enumerate(result.space, 1)
        if any(isinstance(value, str | tuple | list) for value in dial.values)
    }
    return Grid(header, tuple(rows), frozenset({0, *texts}), keys=1 + len(names))


def _metric_headers(result: Sweep, metric: str) -> tuple[str, ...]:
    return (metric, f"{result.level:.0%}\ninterval") if metric == result.metric else (metric,)


def _mark(result: Sweep, index: int) -> str:
    marks = []
    if result.choice is not None and result.choice.place == index:
        marks.append("chosen")
    if not index:
        marks.append("baseline")
    return ", ".join(marks)


def _figures(result: Sweep, point: SweepPoint, quantiles: tuple[str, ...]) -> list[str]:
    cells = []
    for metric in result.metrics:
        value = point.metrics[metric]
        cells.append(format_decimal(value.mean))
        if metric == result.metric:
            cells.append(_range(value.low, value.high, 4))
    cells += [format_bounds(*point.latency_bounds(name), "{:,.1f}".format) for name in quantiles]
    if len(quantiles) == 1:
        cells.append(_range(point.latency_low, point.latency_high, 1))
    return cells


def _range(low: float | None, high: float | None, digits: int) -> str:
    if low is None or high is None:
        return UNDEFINED
    return f"[{low:.{digits}f}, {high:.{digits}f}]"


def _importance(result: Sweep) -> Grid:
    singles = [importance for importance in result.importance if len(importance.dials) == 1]
    pairs = [importance for importance in result.importance if len(importance.dials) == 2][:_MAX_PAIRS]
    rows = [
        (
            " with ".join(map(make_printable, importance.dials)),
            UNDEFINED if importance.share is None else f"{importance.share:.1%}",
        )
        for importance in (*singles, *pairs)
    ]
    return Grid(("dial", "share of\nvariance"), tuple(rows))


def _method(result: Sweep) -> str:
    kind = (
        "the loss of explained variance between points if additive effects leave out the dial, and the gain "
        "from combinations of two dials (functional analysis of variance)"
    )
    first = "The first metric decides. " if len(result.metrics) > 1 else ""
    choice = result.choice
    choice_method = (
        f"Gain on held-out queries: {choice.folds}-fold cross-validation over queries, "
        f"{count_noun(result.repeats, 'time')}, seed {result.seed}; each fold has the gain of the point that "
        "the other folds choose, which was the chosen point in "
        f"{choice.stability:.0%}; standard error of Nadeau and Bengio. "
        if choice
        else ""
    )
    return f"{first}{choice_method}Importance: {kind}."


def _point_name(point: SweepPoint) -> str:
    return make_printable(point_text(point.parameters))


def _plain_number(value: float) -> str:
    return f"{value:z.3f}"


def _ends(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "(too few queries for an interval)"
    return f"[{low:z.3f}, {high:z.3f}]"
