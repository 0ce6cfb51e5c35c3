"""Parts of the document of a sweep: sentences on the gain, charts, and points by dials and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Chart, Table
from rankgate.core.present.number_formats import count_noun
from rankgate.decisions.sweeps.dials import point_text, value_text

if TYPE_CHECKING:
    from rankgate.core.present.document_model import Block
    from rankgate.decisions.sweeps.sweep import Sweep

GAINS = Columns(
    "One row per gain of the chosen point over the baseline.",
    Column("", pl.String, "the queries that it is measured on"),
    Column("gain", pl.Float64, "the mean gain", "signed"),
    Column("low", pl.Float64, "the low end of its interval", "signed"),
    Column("high", pl.Float64, "the high end of its interval", "signed"),
    Column("p", pl.Float64, "its p-value, without a correction for the choice", "p"),
)
DIALS = Columns(
    "One row per dial, or pair of dials.",
    Column("dial", pl.String, "the dial, or both dials"),
    Column("share", pl.Float64, "the share of the variance of the mean", ".1%", header="share of\nvariance"),
)

_MAX_POINTS = 15
_MAX_PAIRS = 3


def gain_sentence(result: Sweep) -> str:
    """What the choice gains on the queries that chose it, and on others."""
    choice = result.choice
    if choice is None:
        return "Nothing can be chosen: there are no figures of the baseline and another point."
    settings = count_noun(len(result.measured), "setting")
    if not choice.place:
        return f"None of {settings} is better than the baseline, {point_text(result.baseline.parameters)}."
    held_out = choice.held_out
    interval = (
        "(too few queries for an interval)"
        if held_out.low is None or held_out.high is None
        else f"[{held_out.low:z.3f}, {held_out.high:z.3f}]"
    )
    return (
        f"The best of {settings} looks {choice.same_queries.mean:z.3f} better; on held-out queries "
        f"{held_out.mean:z.3f} {interval}."
    )


def choice_sentence(result: Sweep) -> str:
    """The certainty of the gain, the chosen point and the baseline; empty if the baseline is best."""
    if result.choice is None or result.chosen is None or not result.choice.place:
        return ""
    low, high = result.choice.held_out.low, result.choice.held_out.high
    certainty = "It is not certain that it is better than the baseline."
    if low is not None and low > 0:
        certainty = "The gain holds on queries that were not used to choose."
    if high is not None and high < 0:
        certainty = "On queries that were not used to choose it is worse than the baseline."
    chosen, baseline = (point_text(point.parameters) for point in (result.chosen, result.baseline))
    return f"{certainty} Chosen: {chosen}; baseline: {baseline}."


def charts(result: Sweep) -> Iterator[Block]:
    """The charts that are not empty."""
    shown = {"sweep-front": len(result.front) > 0, "sweep-dials": True, "sweep-heat": len(result.space) > 1}
    if len(result.measured) > 1:
        yield from (Chart(result.charts[name], result) for name, is_shown in shown.items() if is_shown)


def gains(result: Sweep) -> pl.DataFrame:
    """The columns of `GAINS`; no rows if the baseline is best."""
    choice = result.choice
    if choice is None or not choice.place:
        return GAINS.empty()
    chosen, held_out = choice.same_queries, choice.held_out
    rows = [
        ("on the queries that chose it", chosen.mean, chosen.low, chosen.high, choice.p_value),
        ("on held-out queries", held_out.mean, held_out.low, held_out.high, None),
        ("difference: optimism of the choice", choice.optimism, None, None, None),
    ]
    return pl.DataFrame(rows, GAINS, orient="row")


def best_points(result: Sweep) -> Iterator[Block]:
    """The best points, and the baseline."""
    sign = 1 if result.metric in result.lower else -1
    points = result.points
    ranked = sorted(result.measured, key=lambda place: sign * points[place].metrics[result.metric].mean)
    places = ranked[:_MAX_POINTS]
    heading = "points"
    if len(ranked) > _MAX_POINTS:
        heading = f"the best {_MAX_POINTS} of {count_noun(len(ranked), 'point')}, and the baseline"
        places += [0] if 0 in ranked[_MAX_POINTS:] else []
    yield _point_table(result, heading, places, ("p50", "p95"))


def front_points(result: Sweep) -> Iterator[Block]:
    """The points of the front, with the interval of its latency."""
    if len(result.front) > 1:
        heading = (
            f"front of {result.metric} against {result.quantile}: no setting is at least as good and known "
            "to be faster"
        )
        yield _point_table(result, heading, result.front, (result.quantile,))


def _point_table(result: Sweep, heading: str, places: Sequence[int], latencies: Sequence[str]) -> Table:
    """Points by their dials and metrics; of a single latency with its interval."""
    latencies = latencies if any(point.latency for point in result.points) else ()
    marked_places = {"chosen": result.chosen_place, "baseline": 0}
    marks = [", ".join(mark for mark, marked in marked_places.items() if marked == place) for place in places]
    table = result.to_polars()[list(places)].insert_column(0, pl.Series("", marks, pl.String))
    dials = [dial.name for dial in result.space]
    ends = {result.metric: "", **({latencies[0]: ",.1f"} if len(latencies) == 1 else {})}
    columns = Columns(
        "One row per point.",
        Column("", pl.String, "chosen or baseline"),
        *(Column(name, table.schema[name], "the value of a dial", value_text) for name in dials),
        *(Column(name, pl.Float64, "the mean of a metric") for name in result.metrics),
        *(
            Column(name, pl.Float64, "a latency", ",.1f", header=f"{name}\nms", at_most=f"{name}.at_most")
            for name in latencies
        ),
        *(
            Column(f"{name}.{end}", pl.Float64, "an end", number, header=f"{result.level:.0%}\ninterval")
            for name, number in ends.items()
            for end in ("low", "high")
        ),
    )
    cells: list[str | tuple[str, ...]] = ["", *dials]
    for name in (*result.metrics, *latencies):
        cells += [name, (f"{name}.low", f"{name}.high")] if name in ends else [name]
    return Table(heading, replace(columns.grid(table, *cells), keys=1 + len(dials)))


def importance(result: Sweep) -> pl.DataFrame:
    """The columns of `DIALS`: every dial, and the first pairs."""
    singles, pairs = (
        [(" with ".join(part.dials), part.share) for part in result.importance if len(part.dials) == count]
        for count in (1, 2)
    )
    return pl.DataFrame([*singles, *pairs[:_MAX_PAIRS]], DIALS, orient="row")


def method(result: Sweep) -> str:
    """How the gain and the importance of dials were estimated."""
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
    return (
        f"{first}{choice_method}Importance: the loss of explained variance between points if additive "
        "effects leave out the dial, and the gain from combinations of two dials (functional analysis of "
        "variance)."
    )
