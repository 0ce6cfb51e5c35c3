"""The result of ``sweep``: every point with its figures, the front, the choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Chart, Table
from rankgate.core.present.layout import NOTICES, View
from rankgate.core.present.number_formats import count_noun
from rankgate.core.value_types import JsonObject
from rankgate.decisions.gating.saved.holdout_account import HoldoutBudget
from rankgate.decisions.sweeps.choice import Choice, MeanInterval
from rankgate.decisions.sweeps.dials import Dial, Importance, point_text, value_text
from rankgate.decisions.sweeps.fusion_confirmation import Confirmation
from rankgate.decisions.sweeps.held_out import HeldOut, HeldOutGain

if TYPE_CHECKING:
    from rankgate.core.present.document_model import Block
    from rankgate.core.value_types import Json
    from rankgate.data.query_latencies import Bounds


# the codec reads the types of fields when it restores a result

_CHARTS = "rankgate.decisions.sweeps.sweep_charts"
_RARE_QUERIES = 100  # with fewer queries, losses of .7 in 5 % of the queries are often missed
_SHOWN = 3  # problems that a notice names
_MANY_UNJUDGED = 0.05  # a smaller share of the first documents has no notice
_LEFT_OUT = (
    ("failed", "failed", "; the same command goes on"),
    ("not_run", "were not run", "; the same command goes on"),
    ("empty", "returned nothing", ""),
    ("dropped", "left the race", ""),
)


@dataclass(frozen=True)
class SweepPoint:
    """One point.

    Attributes:
        parameters: a value for each dial; None where the dial does not apply.
        hash: the hash of all that its run depends on.
        state: ``ok``, ``empty`` (no query has a result), ``failed``, ``not_run`` or ``dropped`` (it left a
            race).
        problem: why it is not ``ok``.
        metrics: the figures by metric; empty if it is not ``ok``.
        latency: quantiles in milliseconds, p50 to p100; empty where nothing was timed.
        latency_at_most: the largest possible quantiles; None where failed queries leave it open.
        latency_low: the lower end of the interval of the quantile for the front; None if points
            were not timed in turn.
        latency_high: the upper end.
        run: the file of its run, or None.
        unjudged: the mean share of unjudged documents among the first ones, which count as not relevant;
            None if it is not ``ok``.
    """

    parameters: Mapping[str, Any]
    hash: str
    state: str
    problem: str = ""
    metrics: Mapping[str, MeanInterval] = field(default_factory=dict)
    latency: Mapping[str, float | None] = field(default_factory=dict)
    latency_at_most: Mapping[str, float | None] = field(default_factory=dict)
    latency_low: float | None = None
    latency_high: float | None = None
    run: str | None = None
    unjudged: float | None = None

    def latency_bounds(self, quantile: str) -> Bounds:
        """The smallest and the largest possible value; points of earlier versions have one value."""
        low = self.latency.get(quantile)
        return low, self.latency_at_most.get(quantile, low)


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


def _charts(result: Sweep) -> Iterator[Block]:
    """The charts that are not empty."""
    chart_conditions = {
        "sweep-front": len(result.front) > 0,
        "sweep-dials": True,
        "sweep-heat": len(result.space) > 1,
    }
    if len(result.measured) > 1:
        yield from (Chart(name, result) for name, is_shown in chart_conditions.items() if is_shown)


def _best_points(result: Sweep) -> Iterator[Block]:
    """The best points, and the baseline."""
    sign = 1 if result.metric in result.lower else -1
    points = result.points
    ranked = sorted(result.measured, key=lambda index: sign * points[index].metrics[result.metric].mean)
    places = ranked[:_MAX_POINTS]
    heading = "points"
    if len(ranked) > _MAX_POINTS:
        heading = f"the best {_MAX_POINTS} of {count_noun(len(ranked), 'point')}, and the baseline"
        places += [0] if 0 in ranked[_MAX_POINTS:] else []
    yield _point_table(result, heading, places, ("p50", "p95"))


def _front_points(result: Sweep) -> Iterator[Block]:
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
    marks = [", ".join(mark for mark, marked in marked_places.items() if marked == index) for index in places]
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
    if any(result.unjudged_shares):
        columns = Columns(
            columns.row_meaning, columns, Column("unjudged", pl.Float64, "unjudged first documents", ".1%")
        )
        cells.append("unjudged")
    return Table(heading, columns.grid(table, *cells, keys=1 + len(dials)))


@dataclass(frozen=True)
class Sweep(Result):
    """Settings measured point by point, and one of them chosen.

    Attributes:
        name: the name of the sweep.
        target: the name of the engine, fusion or command.
        target_kind: engine, fusion or command.
        search: grid, race or optuna.
        qrels: the name of the judgments.
        convention: name, hash and axes.
        metrics: the metrics; the first one decides.
        lower: those that are better when lower.
        queries: the number of queries of the means.
        left_out: judged queries that were not asked.
        substituted: queries without a value at some points, which count 0 there, or nowhere if the
            first metric is better when lower.
        space: the dials.
        points: every point; the first is the baseline, the values now.
        quantile: the quantile of latency, for the front.
        front: places of the points that no other point is at least as good as and known to be
            faster than, the fastest first; empty where points were not timed in turn.
        choice: the chosen point and its gain; None where nothing can be chosen.
        importance: the importance of dials, then of pairs of dials.
        level: the confidence level of the intervals.
        seed: the seed of folds and proposals.
        repeats: the number of times that the queries were cut into folds.
        folder: the folder of runs; None if they are not kept.
        not_timed: why points were not timed in turn; empty if they were, or have no latency.
        input_notices: cautions about the judgments and the runs.
        account: what the account of held-out queries says of these; None in results of earlier versions.
        held_out: what queries that chose nothing say; None if all queries chose.
        confirmation: the engine's own fusion at the chosen point; None if it was not asked.
        requests: the largest number of requests, as stated before the sweep; 0 if it sends none.
    """

    kind = "sweep"
    main_table = "point_rows"
    label = "Sweep"
    order = 28
    charts: ClassVar = {
        "sweep-front": f"{_CHARTS}:FRONT",
        "sweep-dials": f"{_CHARTS}:BY_DIAL",
        "sweep-heat": f"{_CHARTS}:DIAL_PAIR",
    }
    headline_text = (
        "{name}: {setting_count:n setting} of {target} on {queries:n query}, convention {convention[name]} "
        "({convention[hash]})"
    )
    lead = ("{gain_sentence}", "{choice_sentence}", "{prediction_sentence}", "{confirmation_sentence}")
    layout = (
        _charts,
        View(
            "gains",
            "gain over the baseline in {metric}",
            ("", "gain", ("low", "high"), "p"),
            columns=GAINS,
            headers={"low": "{level:.0%} interval"},
        ),
        _best_points,
        _front_points,
        View("dial_shares", "importance of dials", columns=DIALS),
        NOTICES,
        "{method}",
    )
    notice_texts = (
        "input_notices",
        *(
            NoticeText(
                f"{state.replace('_', '-')}-points",
                f"{{left_out_points[{state}]:,}} of {{points:n point}} {verb} and are not compared "
                f"({{problems[{state}]}}){more}",
                f"left_out_points[{state}]",
            )
            for state, verb, more in _LEFT_OUT
        ),
        NoticeText(
            "unjudged-points",
            "unjudged among the first documents, which count as not relevant: {named_shares}, "
            "{lowest_unjudged:.1%} to {highest_unjudged:.1%} over all points; rankgate holes says what they "
            "could change",
            lambda sweep: sweep.highest_unjudged >= _MANY_UNJUDGED,
        ),
        NoticeText(
            "no-baseline",
            "the baseline has no figures, so nothing can be compared with it",
            lambda sweep: sweep.baseline.state != "ok",
        ),
        NoticeText(
            "adaptive-search",
            "points {search_verb} by their values on all queries, and only the choice among them is held "
            "out: the held-out gain may still be a little too high",
            lambda sweep: sweep.search != "grid" and sweep.held_out is None,
        ),
        NoticeText(
            "few-queries",
            "{queries:n query is/queries are} few: intervals are wide, and skewed values may make them too "
            "short",
            lambda sweep: sweep.choice is not None and sweep.queries < 50,
        ),
        NoticeText(
            "rare-losses",
            "losses that fewer than about {rare_share:.0%} of the queries have may be missing among these "
            "{queries}: where all points lose much in few queries, intervals of the gain cover less often "
            "than they state",
            lambda sweep: sweep.choice is not None and sweep.queries < _RARE_QUERIES,
        ),
        NoticeText(
            "queries-not-asked", "{left_out:n judged query was/judged queries were} not asked", "left_out"
        ),
        NoticeText(
            "not-timed-in-turn",
            "points could not be timed in turn ({not_timed}): their latencies are from different times, so "
            "there is no front",
            "not_timed",
        ),
        NoticeText(
            "missing-values",
            "{substituted:n query has/queries have} no value at some points and {substituted:v is/are} left "
            "out",
            lambda sweep: sweep.substituted and sweep.metric in sweep.lower,
        ),
        NoticeText(
            "missing-values",
            "{substituted:n query has/queries have} no value at some points and {substituted:v counts/count} "
            "0 there",
            lambda sweep: sweep.substituted and sweep.metric not in sweep.lower,
        ),
    )

    name: str
    target: str
    target_kind: str
    search: str
    qrels: str
    convention: JsonObject
    metrics: tuple[str, ...]
    lower: tuple[str, ...]
    queries: int
    left_out: int
    substituted: int
    space: tuple[Dial, ...]
    points: tuple[SweepPoint, ...]
    quantile: str
    front: tuple[int, ...]
    choice: Choice | None
    importance: tuple[Importance, ...]
    level: float
    seed: int
    repeats: int
    folder: str | None = None
    not_timed: str = ""
    input_notices: tuple[Notice, ...] = ()
    account: HoldoutBudget | None = None
    held_out: HeldOut | None = None
    confirmation: Confirmation | None = None
    requests: int = 0

    @property
    def metric(self) -> str:
        """The metric that decides."""
        return self.metrics[0]

    @property
    def is_lower_better(self) -> bool:
        """True if lower values of the metric are better."""
        return self.metric in self.lower

    @property
    def baseline(self) -> SweepPoint:
        """The values now."""
        return self.points[0]

    @property
    def chosen(self) -> SweepPoint | None:
        """The chosen point."""
        return None if self.choice is None else self.points[self.choice.place]

    @property
    def chosen_place(self) -> int | None:
        """The index of the chosen point."""
        return None if self.choice is None else self.choice.place

    @property
    def measured(self) -> list[int]:
        """The indices of the points with figures."""
        return [index for index, point in enumerate(self.points) if point.state == "ok"]

    @property
    def setting_count(self) -> int:
        """The number of points."""
        return len(self.points)

    @property
    def finished(self) -> bool:
        """True if every point was measured."""
        return all(point.state in ("ok", "empty", "dropped") for point in self.points)

    @property
    def left_out_points(self) -> Mapping[str, int]:
        """The number of points in each state in which they have no figures."""
        return {state: sum(point.state == state for point in self.points) for state, *_ in _LEFT_OUT}

    @property
    def problems(self) -> Mapping[str, str]:
        """The first problems of points in each of these states."""
        texts = {
            state: [
                f"{point_text(point.parameters)}: {point.problem}"
                for point in self.points
                if point.state == state
            ]
            for state, *_ in _LEFT_OUT
        }
        return {
            state: "; ".join([*problems[:_SHOWN], *(["…"] if len(problems) > _SHOWN else [])])
            for state, problems in texts.items()
        }

    @property
    def rare_share(self) -> float:
        """The share of queries whose losses may be missing in a sample (the rule of three)."""
        return 3 / self.queries

    @property
    def search_verb(self) -> str:
        """How an adaptive search treats points."""
        return "left" if self.search == "race" else "were proposed"

    @property
    def lowest_unjudged(self) -> float:
        """The smallest share of unjudged documents of a point; 0 if it is not known."""
        return min(self.unjudged_shares, default=0.0)

    @property
    def highest_unjudged(self) -> float:
        """The largest share of unjudged documents of a point; 0 if it is not known."""
        return max(self.unjudged_shares, default=0.0)

    @property
    def named_shares(self) -> str:
        """The shares of unjudged documents of the baseline and the chosen point."""
        points = {"the baseline": self.baseline, "the chosen point": self.chosen}
        return " and ".join(
            f"{point.unjudged:.1%} at {name}"
            for name, point in points.items()
            if point and point.unjudged is not None
        )

    @property
    def gain_sentence(self) -> str:
        """What the choice gains on the queries that chose it, and on others."""
        choice = self.choice
        if choice is None:
            return "Nothing can be chosen: there are no figures of the baseline and another point."
        tried = [point for point in self.points if point.state in ("ok", "dropped")]
        settings = count_noun(len(tried), "setting")
        if not choice.place:
            return f"None of {settings} is better than the baseline, {point_text(self.baseline.parameters)}."
        looks = f"The best of {settings} looks {choice.same_queries.mean:z.3f} better"
        if self.held_out is None or self.held_out.chosen is None:
            return f"{looks}; on held-out queries {_interval_text(choice.held_out)}."
        training, gain = self.held_out.training, self.held_out.chosen
        return (
            f"{looks} on the {count_noun(training, 'query')} that chose it, by cross-validation "
            f"{_interval_text(choice.held_out)}; on {count_noun(self.held_out.queries, 'held-out query')} "
            f"{_answer(gain, 'better than the baseline')}."
        )

    @property
    def choice_sentence(self) -> str:
        """The certainty of the gain, the chosen point and the baseline; empty if the baseline is best."""
        if self.choice is None or self.chosen is None or not self.choice.place:
            return ""
        gain = self.choice.held_out
        if self.held_out and self.held_out.chosen:
            gain = self.held_out.chosen.gain or MeanInterval(0.0, None, None)
        low, high = gain.low, gain.high
        certainty = "It is not certain that it is better than the baseline."
        is_shown = self.held_out and self.held_out.chosen and self.held_out.chosen.is_shown
        if is_shown or (low is not None and low > 0):
            certainty = "The gain holds on queries that were not used to choose."
        if high is not None and high < 0:
            certainty = "On queries that were not used to choose it is worse than the baseline."
        choice_text, baseline = (point_text(point.parameters) for point in (self.chosen, self.baseline))
        return f"{certainty} Chosen: {choice_text}; baseline: {baseline}."

    @property
    def prediction_sentence(self) -> str:
        """The gain of predicting a dial for each query; empty if that was not asked for."""
        held_out = self.held_out
        if held_out is None or held_out.prediction is None or held_out.predicted is None:
            return ""
        prediction, gain = held_out.prediction, held_out.predicted
        features = count_noun(len(prediction.features), "feature")
        learned = (
            f"{prediction.dial} predicted for each query by {features}: "
            f"{prediction.training_gain:+z.3f} over the chosen value on the training queries"
        )
        answer = f"on held-out queries {_answer(gain, 'better than the chosen value')}"
        if gain.gain is not None and gain.gain.mean == 0 and gain.gain.low is None:
            answer = "it takes the chosen value for every held-out query"
        if gain.is_shown:
            return f"{learned}; {answer}."
        return f"{learned}; {answer}: no gain is shown, so keep the fixed value."

    @property
    def confirmation_sentence(self) -> str:
        """Whether the engine fuses in the same way; empty if it was not asked."""
        return f"{self.confirmation.sentence}." if self.confirmation else ""

    @property
    def gains(self) -> pl.DataFrame:
        """The columns of `GAINS`; no rows if the baseline is best."""
        choice = self.choice
        if choice is None or not choice.place:
            return GAINS.empty()
        same_queries, held_out = choice.same_queries, choice.held_out
        rows = [
            (
                "on the queries that chose it",
                same_queries.mean,
                same_queries.low,
                same_queries.high,
                choice.p_value,
            ),
            ("on held-out queries", held_out.mean, held_out.low, held_out.high, None),
            ("difference: optimism of the choice", choice.optimism, None, None, None),
        ]
        if self.held_out is not None:
            rows[1] = ("by cross-validation over these", *rows[1][1:])
            rows[2:] = [
                (name, gain.gain.mean, gain.gain.low, gain.gain.high, None)
                for name, gain in (
                    ("on held-out queries", self.held_out.chosen),
                    ("predicted for each, over the chosen point", self.held_out.predicted),
                )
                if gain is not None and gain.gain is not None
            ]
        return pl.DataFrame(rows, GAINS, orient="row")

    @property
    def dial_shares(self) -> pl.DataFrame:
        """The columns of `DIALS`: every dial, and the first pairs."""
        singles, pairs = (
            [
                (" with ".join(effect.dials), effect.share)
                for effect in self.importance
                if len(effect.dials) == count
            ]
            for count in (1, 2)
        )
        return pl.DataFrame([*singles, *pairs[:_MAX_PAIRS]], DIALS, orient="row")

    @property
    def unjudged_shares(self) -> list[float]:
        """The unjudged shares of the first documents of the points."""
        return [point.unjudged for point in self.points if point.unjudged is not None]

    @property
    def method(self) -> str:
        """How the gain and the importance of dials were estimated."""
        first = "The first metric decides. " if len(self.metrics) > 1 else ""
        choice = self.choice
        subject = "Gain by cross-validation" if self.held_out else "Gain on held-out queries"
        choice_method = (
            f"{subject}: {choice.folds}-fold cross-validation over queries, "
            f"{count_noun(self.repeats, 'time')}, seed {self.seed}; each fold has the gain of the point that "
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

    @property
    def point_rows(self) -> pl.DataFrame:
        """A row for each point: dials, state, means with intervals, latency."""
        return pl.DataFrame([_row(point, self) for point in self.points], infer_schema_length=None)


def _interval_text(gain: MeanInterval) -> str:
    if gain.low is None or gain.high is None:
        return f"{gain.mean:z.3f} (too few queries for an interval)"
    return f"{gain.mean:z.3f} [{gain.low:z.3f}, {gain.high:z.3f}]"


def _answer(gain: HeldOutGain, claim: str) -> str:
    """The gain on held-out queries, or the answer of an account that withholds it."""
    if gain.gain is not None:
        return _interval_text(gain.gain)
    if gain.is_shown is None:
        return "nothing is decided"
    return f"it is {claim}" if gain.is_shown else f"it is not shown that it is {claim}"


def _row(point: SweepPoint, result: Sweep) -> dict[str, Json]:
    row: dict[str, Json] = {"hash": point.hash, "state": point.state, "problem": point.problem}
    row |= {
        name: value_text(value) if isinstance(value, list | tuple) else value
        for name, value in point.parameters.items()
    }
    for metric in result.metrics:
        value = point.metrics.get(metric)
        for end in ("mean", "low", "high"):
            row[metric if end == "mean" else f"{metric}.{end}"] = getattr(value, end, None)
    for name in ("p50", "p90", "p95", "p99"):
        row |= {name: point.latency.get(name), f"{name}.at_most": point.latency_bounds(name)[1]}
    row |= {f"{result.quantile}.low": point.latency_low, f"{result.quantile}.high": point.latency_high}
    return row | {"unjudged": point.unjudged}
