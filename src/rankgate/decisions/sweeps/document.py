"""A sweep: the honest gain in a sentence, then the choice, the points, the front and the dials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import interval, p_value, signed
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import UNDEFINED, decimal
from rankgate.decisions.sweeps.dials import shown, words

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.choice import Choice
    from rankgate.decisions.sweeps.sweep import Sweep, SweepPoint

_MOST = 15
_PAIRS = 3


def document(result: Sweep) -> Document:
    """Headline, lead, pictures, tables, warnings and method."""
    points = len(result.points)
    table = result.to_polars()
    tables = [
        Table(f"gain over the baseline in {result.metric}", _gains(result)),
        Table(_best_heading(result), _points(result, _best(result))),
        Table(
            f"front of {result.metric} against {result.quantile}: no setting is at least as good "
            "and known to be faster",
            _points(result, _fronts(result), timed=(result.quantile,)),
        ),
        Table("importance of dials", _importance(result)),
    ]
    return made(
        f"{printable(result.name)}: {points:,} settings of {printable(result.target)} on "
        f"{result.queries:,} queries, convention {result.convention['name']} "
        f"({result.convention['hash']})",
        *(Chart(draw, result) for draw in _drawn(result)),
        *tables,
        Warnings(tuple(printable(notice.text) for notice in result.notices)),
        _method(result),
        lead=_lead(result),
        rows=PlainRows(tuple(table.columns), list(table.iter_rows())),
    )


def _drawn(result: Sweep) -> list[str]:
    """The charts that have something to show."""
    good = [point for point in result.points if point.state == "ok"]
    if len(good) < 2:
        return []
    names = ["sweep-front"] * (len(result.front) > 0) + ["sweep-dials"]
    names += ["sweep-heat"] * (len(result.space) > 1)
    return [result.charts[name] for name in names]


def _lead(result: Sweep) -> tuple[str, ...]:
    choice, chosen = result.choice, result.chosen
    if choice is None or chosen is None:
        return ("Nothing can be chosen: there are no figures of the baseline and another point.",)
    count = sum(point.state == "ok" for point in result.points)
    if not choice.place:
        return (
            f"None of {count:,} settings is better than the baseline, {_named(result.baseline)}.",
        )
    seen, held = choice.same_queries, choice.held_out
    return (
        (
            f"The best of {count:,} settings looks {_plain(seen.mean)} better; on held-out queries "
            f"{_plain(held.mean)} {_ends(held.low, held.high)}."
        ),
        f"{_verdict(choice)} Chosen: {_named(chosen)}; baseline: {_named(result.baseline)}.",
    )


def _verdict(choice: Choice) -> str:
    low, high = choice.held_out.low, choice.held_out.high
    if low is not None and low > 0:
        return "The gain holds on queries that were not used to choose."
    if high is not None and high < 0:
        return "On queries that were not used to choose it is worse than the baseline."
    return "Whether it is better than the baseline is not certain."


def _gains(result: Sweep) -> Grid:
    choice = result.choice
    if choice is None or not choice.place:
        return Grid(("", "gain"), ())
    seen, held = choice.same_queries, choice.held_out
    rows = (
        ("on the queries that chose it", signed(seen.mean), interval(seen.low, seen.high),
         p_value(choice.p_value)),
        ("on held-out queries", signed(held.mean), interval(held.low, held.high), ""),
        ("difference: optimism of the choice", signed(choice.optimism), "", ""),
    )  # fmt: skip
    return Grid(("", "gain", f"{result.level:.0%} interval", "p"), rows)


def _best_heading(result: Sweep) -> str:
    good = sum(point.state == "ok" for point in result.points)
    return "points" if good <= _MOST else f"the best {_MOST} of {good:,} points, and the baseline"


def _best(result: Sweep) -> list[int]:
    """Places of the best points, the baseline among them."""
    sign = -1 if result.metric in result.lower else 1
    good = [place for place, point in enumerate(result.points) if point.state == "ok"]
    good.sort(key=lambda place: (-sign * result.points[place].metrics[result.metric].mean, place))
    kept = good[:_MOST]
    return [*kept, *([0] if 0 in good and 0 not in kept else [])]


def _fronts(result: Sweep) -> list[int]:
    return list(result.front) if len(result.front) > 1 else []


def _points(result: Sweep, places: list[int], timed: tuple[str, ...] = ("p50", "p95")) -> Grid:
    """Rows of points; a single quantile of latency, that of the front, has its interval."""
    names = [dial.name for dial in result.space]
    if not any(point.latency for point in result.points):
        timed = ()
    rows = [
        (
            _mark(result, place),
            *(printable(shown(result.points[place].parameters[name])) for name in names),
            *_figures(result, result.points[place], timed),
        )
        for place in places
    ]
    means = [metric for each in result.metrics for metric in _heads(result, each)]
    times = [f"{name}\nms" for name in timed]
    times += [f"{result.level:.0%}\ninterval"] * (len(timed) == 1)
    head = ("", *map(printable, names), *means, *times)
    texts = {
        place
        for place, dial in enumerate(result.space, 1)
        if any(isinstance(value, str) for value in dial.values)
    }
    return Grid(head, tuple(rows), frozenset({0, *texts}), keys=1 + len(names))


def _heads(result: Sweep, metric: str) -> tuple[str, ...]:
    return (metric, f"{result.level:.0%}\ninterval") if metric == result.metric else (metric,)


def _mark(result: Sweep, place: int) -> str:
    marks = []
    if result.choice is not None and result.choice.place == place:
        marks.append("chosen")
    if not place:
        marks.append("baseline")
    return ", ".join(marks)


def _figures(result: Sweep, point: SweepPoint, timed: tuple[str, ...]) -> list[str]:
    cells = []
    for metric in result.metrics:
        value = point.metrics[metric]
        cells.append(decimal(value.mean))
        if metric == result.metric:
            cells.append(_range(value.low, value.high, 4))
    times = (point.latency.get(name) for name in timed)
    cells += [UNDEFINED if each is None else f"{each:,.1f}" for each in times]
    if len(timed) == 1:
        cells.append(_range(point.latency_low, point.latency_high, 1))
    return cells


def _range(low: float | None, high: float | None, digits: int) -> str:
    if low is None or high is None:
        return UNDEFINED
    return f"[{low:.{digits}f}, {high:.{digits}f}]"


def _importance(result: Sweep) -> Grid:
    singles = [each for each in result.importance if len(each.dials) == 1]
    pairs = [each for each in result.importance if len(each.dials) == 2][:_PAIRS]
    rows = [
        (
            " with ".join(map(printable, each.dials)),
            UNDEFINED if each.share is None else f"{each.share:.1%}",
        )
        for each in (*singles, *pairs)
    ]
    return Grid(("dial", "share of\nvariance"), tuple(rows))


def _method(result: Sweep) -> str:
    kind = (
        "what additive effects of all dials lose of the variance between points without the dial, "
        "and what the combinations of two dials add (functional analysis of variance)"
    )
    first = "The first metric decides. " if len(result.metrics) > 1 else ""
    choice = result.choice
    how = (
        f"Gain on held-out queries: {choice.folds}-fold cross-validation over queries, "
        f"{result.repeats} times, seed {result.seed}; each fold has the gain of what the other "
        f"folds choose, which was the chosen point in {choice.stability:.0%}; standard error of "
        "Nadeau and Bengio. "
        if choice
        else ""
    )
    return f"{first}{how}Importance: {kind}."


def _named(point: SweepPoint) -> str:
    return printable(words(point.parameters))


def _plain(value: float) -> str:
    return f"{value:z.3f}"


def _ends(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "(too few queries for an interval)"
    return f"[{low:z.3f}, {high:z.3f}]"
