"""Compute a scorecard: values, intervals, tests and dominance, also for groups.

The figures of the complete scorecard come first, then those for groups of users and items, and the
gaps between users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import HIGH, LOW, METRIC, P_RAW, SYSTEM
from rankgate.core.present.result_frames import make_frame
from rankgate.measurement.evaluation.lists.list_resamples import resample_users
from rankgate.measurement.evaluation.seed_spread import SEED_SPREAD, one_run_caution, spread_row
from rankgate.measurement.evaluation.tradeoff import dominators
from rankgate.measurement.metrics.lists.list_input import restrict_lists
from rankgate.measurement.metrics.lists.list_metric import split_list_metrics
from rankgate.measurement.scoring.first_items import measure_lists
from rankgate.measurement.stats.seed_variance import LEAST_SEEDS, SeedVariance, seed_factor, widen

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.measurement.metrics.lists.list_input import Listed
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.stats.resampled_values import ResampledValues
    from rankgate.recommenders.scorecard_slices import Segment


FIGURES = Columns(
    "One row per system and metric.",
    SYSTEM,
    METRIC,
    Column("about", pl.String, "the subject of the metric: accuracy or lists"),
    Column("value", pl.Float64, "its value"),
    LOW,
    HIGH,
    Column("users", pl.Int64, "users that the value is over"),
    Column("higher_is_better", pl.Boolean, "true if a higher value is better"),
)
_BETTER = Column("better", pl.Boolean, "true if the system is better than the first")
_DELTA = Column("delta", pl.Float64, "its difference from the first system", "signed")
DIFFERENCES = Columns(
    "One row per system but the first and metric.",
    SYSTEM,
    METRIC,
    _DELTA,
    Column("low", pl.Float64, "the low end of the interval of delta", "signed"),
    Column("high", pl.Float64, "the high end of the interval of delta", "signed"),
    P_RAW,
    Column("p_value", pl.Float64, "the p-value by Holm's correction over all", "p"),
    _BETTER,
)


@dataclass(frozen=True)
class Card:
    """A system with its values by metric, and its lists.

    Attributes:
        name: the system.
        values: the values by label ``(T,)``, NaN for a user without a value; not for metrics that
            are about all lists together.
        means: the means by label, for metrics that are not plain means.
        listed: its lists.
        system: the system that this is one seed of; empty for a system by itself.
    """

    name: str
    values: Mapping[str, Floats]
    means: Mapping[str, float]
    listed: Listed
    system: str = ""


def card_rows(cards: Sequence[Card]) -> dict[str, list[int]]:
    """The systems of cards, with the indices of their cards: one, or one for each seed."""
    rows: dict[str, list[int]] = {}
    for row, card in enumerate(cards):
        rows.setdefault(card.system or card.name, []).append(row)
    return rows


def average_cards(cards: Sequence[Card]) -> list[Card]:
    """One card for each system: the means over its seeds, with the lists of the first one."""
    systems = {name: [cards[row] for row in rows] for name, rows in card_rows(cards).items()}
    return [
        Card(
            name,
            {label: np.mean([card.values[label] for card in seeds], axis=0) for label in seeds[0].values},
            {label: float(np.mean([card.means[label] for card in seeds])) for label in seeds[0].means},
            seeds[0].listed,
        )
        for name, seeds in systems.items()
    ]


def seed_spread(cards: Sequence[Card]) -> pl.DataFrame:
    """The columns of `SEED_SPREAD`."""
    rows = [
        spread_row(label, name, np.array([cards[index].means[label] for index in indices]))
        for label in cards[0].means
        for name, indices in card_rows(cards).items()
        if len(indices) > 1
    ]
    return make_frame(rows, SEED_SPREAD)


def seed_warnings(cards: Sequence[Card]) -> Iterator[str]:
    """Sentences on systems with too few seeds, if any has several."""
    counts = {name: len(rows) for name, rows in card_rows(cards).items()}
    for name, count in counts.items() if max(counts.values()) > 1 else ():
        if count == 1:
            yield one_run_caution(name)
        elif count < LEAST_SEEDS:
            yield f"{name} has {count} seeds: intervals and marks need {LEAST_SEEDS} or more."


def compute_figures(
    cards: Sequence[Card], metrics: Mapping[str, Metric], *, level: float, resamples: int, seed: int
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """The figures of every system and their differences from the first system.

    The interval of a mean is Student's t; the interval of a number about all lists together is
    `Redrawn`, with the same users for every system.

    Returns:
        the columns of `FIGURES`, those of `DIFFERENCES` (p corrected over all by Holm), and the
        number of resamples.
    """
    _, of_lists = split_list_metrics(metrics)
    metrics_of_all_lists = {label: metric for label, metric in of_lists.items() if metric.merge != "mean"}
    lists = [card.listed for card in cards]
    resampled, resample_count = resample_users(lists, metrics_of_all_lists, resamples, seed)
    rows: list[tuple[object, ...]] = []
    differences: list[tuple[object, ...]] = []
    systems, run_cards = average_cards(cards), [*card_rows(cards).values()]
    for label, metric in metrics.items():
        for index, card in enumerate(systems):
            value = float(card.means[label])
            delta = value - systems[0].means[label]
            pair = [[cards[row] for row in run_cards[i]] for i in (index, 0)]
            if label in metrics_of_all_lists:
                numbers_of_system, numbers_of_first = (
                    resampled[label].mean_of(run_cards[i]) for i in (index, 0)
                )
                numbers = [np.array([seed_card.means[label] for seed_card in seeds]) for seeds in pair]
                ends = (*with_seeds(numbers_of_system, numbers[:1], level).ends(value, level), np.nan)
                difference = with_seeds(numbers_of_system - numbers_of_first, numbers, level)
                difference_ends = (*difference.ends(delta, level), difference.chance(delta))
                users = int((card.listed.first(of_lists[label].cutoff).lengths > 0).sum())
            else:
                values = card.values[label]
                matrices = [np.stack([seed_card.values[label] for seed_card in seeds], 1) for seeds in pair]
                ends = _mean_interval(values, level, matrices[:1])
                difference_ends = _mean_interval(values - systems[0].values[label], level, matrices)
                users = int((~np.isnan(values)).sum())
            if metric.aggregate != "mean":  # other aggregations have no interval in this table
                ends = difference_ends = (np.nan, np.nan, np.nan)
            view = "lists" if label in of_lists else "accuracy"
            higher_is_better = metric.higher_is_better
            within = _clip_interval(metric, value, ends)
            rows.append((card.name, label, view, value, *within, users, higher_is_better))
            if index:
                differences.append(
                    (card.name, label, delta, *difference_ends, (delta > 0) == higher_is_better)
                )
    return make_frame(rows, FIGURES), _correct_differences(differences), resample_count


def _clip_interval(metric: Metric, value: float, ends: tuple[float, ...]) -> tuple[float, ...]:
    """The ends of an interval, limited to the metric's range, and around its value; NaN is kept."""
    highest = np.inf if metric.high is None else metric.high
    low, high = np.clip(ends[:2], metric.low, highest).tolist()
    return (min(low, value), max(high, value)) if low <= high else (low, high)


class Dominated(NamedTuple):
    """A system, and another one that is as good everywhere and better somewhere."""

    system: str
    by: str


def find_dominated(cards: Sequence[Card], metrics: Mapping[str, Metric]) -> tuple[Dominated, ...]:
    """Dominated systems, each with a system as good everywhere and better somewhere."""
    means = {card.name: [card.means[label] for label in metrics] for card in average_cards(cards)}
    dominator_of_system = dominators(means, [metric.higher_is_better for metric in metrics.values()])
    return tuple(
        Dominated(name, dominator) for name, dominator in dominator_of_system.items() if dominator is not None
    )


_USER_DEGREES = 1_000_000
"""Degrees of freedom of resampled users, whose quantiles are their own."""


def with_seeds(numbers: ResampledValues, systems: Sequence[Floats], level: float) -> ResampledValues:
    """Numbers for resampled users, widened by the spread between seeds.

    Args:
        numbers: the numbers of a system or of a difference of two.
        systems: ``(R,)`` the number with each seed, of each system.
        level: the confidence level of the intervals.
    """
    from rankgate.measurement.stats.mean_intervals import student_quantile

    seeds = [SeedVariance.from_numbers(values) for values in systems if len(values) > 1]
    if not any(system.variance for system in seeds):
        return numbers
    error, tail = numbers.error, (1 + level) / 2
    if not error > 0:
        return numbers.widened(np.nan)
    factor, degrees = seed_factor(error**2, _USER_DEGREES, seeds, level)
    return numbers.widened(factor * student_quantile(degrees, tail) / student_quantile(_USER_DEGREES, tail))


def _mean_interval(
    values: Floats, level: float, systems: Sequence[Floats] = ()
) -> tuple[float, float, float]:
    """Student's interval and the p-value of a mean; over seeds too, ``(T, R)`` of each system."""
    from rankgate.measurement.stats.mean_intervals import t_interval
    from rankgate.measurement.stats.paired_tests import student_test

    is_known = ~np.isnan(values)
    if is_known.sum() < 2:  # the variance needs two values
        return np.nan, np.nan, np.nan
    seeds = [system[is_known] for system in systems if system.shape[1] > 1]
    known_values, degrees = widen(values[is_known], seeds, level)
    result = t_interval(known_values[:, None], level, degrees=degrees)
    return (
        float(result.low[0]),
        float(result.high[0]),
        float(student_test(known_values[:, None], degrees).p_value[0]),
    )


def _correct_differences(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    """Differences with p-values corrected over all of them."""
    from rankgate.measurement.stats.multiple_comparisons import correct

    raw = np.array([row[5] for row in rows], np.float64)
    is_known = ~np.isnan(raw)
    p = np.full(len(raw), np.nan)
    if is_known.any():
        p[is_known] = correct(raw[is_known], "holm")
    corrected_rows = [(*row[:6], float(p_value), row[6]) for row, p_value in zip(rows, p, strict=True)]
    return make_frame(corrected_rows, DIFFERENCES)


_PART_NAME = Column("part", pl.String, "the part")
_P_OF_SLICE = Column("p_value", pl.Float64, "the p-value by Benjamini and Hochberg over the slice", "p")
_SLICE = Column("slice", pl.String, "the name of the slice")
SLICES = Columns(
    "One row per part of the users or items, system and metric; a difference is with the first system, in "
    "the same part.",
    _SLICE,
    Column("of", pl.String, "the divided units: users or items"),
    _PART_NAME,
    Column("size", pl.Int64, "users or items in it"),
    FIGURES,
    _DELTA,
    Column("delta_low", pl.Float64, "the low end of the interval of delta", "signed"),
    Column("delta_high", pl.Float64, "the high end of the interval of delta", "signed"),
    P_RAW,
    _P_OF_SLICE,
    _BETTER,
)
GAPS = Columns(
    "One row per part of the users, system and metric: the mean of these users less that of all others.",
    _SLICE,
    _PART_NAME,
    SYSTEM,
    METRIC,
    Column("gap", pl.Float64, "the mean of these users less that of all others", "signed"),
    Column("low", pl.Float64, "the low end of the interval of gap", "signed"),
    Column("high", pl.Float64, "the high end of the interval of gap", "signed"),
    P_RAW,
    _P_OF_SLICE,
    Column("better", pl.Boolean, "true if these users have better values than the others"),
)


FAIRNESS = Columns(
    "One row per slice of the users, system and metric with a value per user: how unequally its parts are "
    "served.",
    _SLICE,
    SYSTEM,
    METRIC,
    Column("part", pl.String, "the part that is served worst"),
    Column("worst", pl.Float64, "the value of this part: the least, or the greatest if lower is better"),
    Column("gap", pl.Float64, "the distance between the parts that are served best and worst"),
    Column("cvar", pl.Float64, "the mean over the quarter of the users who are in the parts served worst"),
)
TAIL = 0.25
"""The share of the users who are served worst, for the conditional value at risk."""


def group_fairness(slices: pl.DataFrame, metrics: Sequence[str], tail: float = TAIL) -> pl.DataFrame:
    """The fairness of a system to the parts of its users, as `FAIRNESS`.

        worst = min_g m(g),   gap = max_g m(g) − min_g m(g),
        cvar = mean of m(g(u)) over the share `tail` of the users u with the least m(g(u))

    m(g) is the mean of a metric over the users of part g; min and max change places where lower is
    better. Parts of few users differ by chance, and widen the gap (see their intervals). CVaR lies
    between the worst part (tail → 0) and the mean (tail = 1): Williamson & Menon, Fairness risk
    measures, ICML 2019, arXiv:1901.08665.

    Args:
        slices: the columns of `SLICES`.
        metrics: the metrics with a value per user.
        tail: the share of the users who count, above 0.

    >>> rows = {"slice": ["s"] * 2, "of": ["users"] * 2, "part": ["a", "b"], "system": ["x"] * 2,
    ...         "metric": ["RR"] * 2, "value": [0.5, 0.1], "users": [15, 5], "higher_is_better": [True] * 2}
    >>> group_fairness(pl.DataFrame(rows), ["RR"], 0.5).row(0)[3:]
    ('b', 0.1, 0.4, 0.3)
    """
    users, value = pl.col("users").cast(pl.Float64), pl.col("value")
    goodness = pl.when("higher_is_better").then(value).otherwise(-value)
    value, users, part_names = (column.sort_by(goodness) for column in (value, users, pl.col("part")))
    weight = (tail * users.sum() - users.cum_sum() + users).clip(0, users)
    figures = {
        "part": part_names.first(),
        "worst": value.first(),
        "gap": (value.last() - value.first()).abs(),
        "cvar": (weight * value).sum() / weight.sum(),
    }
    rows = slices.filter(
        (pl.col("of") == "users") & pl.col("metric").is_in(list(metrics)) & pl.col("value").is_not_null()
    )
    return rows.group_by("slice", "system", "metric", maintain_order=True).agg(**figures)


@dataclass(frozen=True)
class SliceFigures:
    """Figures of parts of the users and items.

    Attributes:
        cards: the scorecards of every system, with all users and items.
        metrics: the metrics by label.
        rescored: a function that computes the accuracy of every system in a part.
        level: the confidence level of the intervals.
        resamples: the number of resamples for numbers about all lists together.
        seed: the seed of the random draws.
    """

    cards: Sequence[Card]
    metrics: Mapping[str, Metric]
    rescored: Callable[[Segment], list[Card]]
    level: float
    resamples: int
    seed: int

    def figures(self, parts: Sequence[Segment]) -> pl.DataFrame:
        """Every metric of every system in every part, with the columns of `SLICES`.

        p-values are corrected over a slice: its parts, systems and metrics (Benjamini-Hochberg).
        """
        tables = [self._part_figures(segment) for segment in parts]
        all_parts = pl.concat([pl.DataFrame(schema=SLICES), *tables])
        slices = all_parts.partition_by("slice", maintain_order=True)
        return pl.concat([pl.DataFrame(schema=SLICES), *map(correct_p_values, slices)])

    def gaps(self, parts: Sequence[Segment]) -> pl.DataFrame:
        """The difference between the mean of each part's users and that of all others, as `GAPS`.

        It covers metrics with a value per user, and is corrected as in `compute_figures`.
        """
        from rankgate.measurement.stats.multiple_comparisons import mean_difference

        rows: list[tuple[object, ...]] = []
        for segment in parts:
            for card in average_cards(self.cards) if segment.of == "users" else ():
                for label, values in card.values.items():
                    is_known = ~np.isnan(values)
                    result = mean_difference(
                        values[is_known & segment.mask], values[is_known & ~segment.mask], self.level
                    )
                    better = (result[0] > 0) == self.metrics[label].higher_is_better
                    rows.append((segment.slice, segment.value, card.name, label, *result, None, better))
        gap_rows = pl.DataFrame(rows, schema=GAPS, orient="row").fill_nan(None)
        slices = gap_rows.partition_by("slice", maintain_order=True)
        return pl.concat([pl.DataFrame(schema=GAPS), *map(correct_p_values, slices)])

    def _part_figures(self, segment: Segment) -> pl.DataFrame:
        groups = self._users(segment) if segment.of == "users" else self._other_figures(segment)
        frames = []
        for cards, metrics in groups:
            part_figures, differences, _ = compute_figures(
                cards, metrics, level=self.level, resamples=self.resamples, seed=self.seed
            )
            delta_columns = differences.rename({"low": "delta_low", "high": "delta_high"})
            frames.append(
                part_figures.join(delta_columns, on=["system", "metric"], how="left", maintain_order="left")
            )
        part_columns = {
            "slice": segment.slice,
            "of": segment.of,
            "part": segment.value,
            "size": segment.mask.sum(),
        }
        if not frames:  # metrics of lists have no parts of pairs
            return pl.DataFrame(schema=SLICES)
        part_rows = pl.concat(frames).with_columns(
            pl.lit(value).alias(n) for n, value in part_columns.items()
        )
        index_of_metric = {label: index for index, label in enumerate(self.metrics)}
        order = pl.col("metric").replace_strict(index_of_metric, return_dtype=pl.Int64)
        return part_rows.sort(order, maintain_order=True).select(
            pl.col(name).cast(dtype) for name, dtype in SLICES.items()
        )

    def _users(self, segment: Segment) -> Iterator[tuple[list[Card], dict[str, Metric]]]:
        """The lists and values of some users."""
        rows = np.flatnonzero(segment.mask)
        cards = []
        for card in self.cards:
            item_lists = card.listed.rows(rows)
            values = {label: column[rows] for label, column in card.values.items()}
            # the number of each metric; NaN for a metric with another aggregation
            _, lists = split_list_metrics(
                {label: metric for label, metric in self.metrics.items() if label not in values}
            )
            means = dict(measure_lists(lists, item_lists).numbers)
            for label, user_values in values.items():
                known_values = user_values[~np.isnan(user_values)]
                is_plain_mean = self.metrics[label].aggregate == "mean" and len(known_values)
                means[label] = float(known_values.mean()) if is_plain_mean else float("nan")
            cards.append(replace(card, values=values, means=means, listed=item_lists))
        yield cards, dict(self.metrics)

    def _other_figures(self, segment: Segment) -> Iterator[tuple[list[Card], dict[str, Metric]]]:
        """Accuracy by relevance in the part; for items also by lists cut, then restricted."""
        accuracy, lists = split_list_metrics(self.metrics)
        if accuracy:
            yield self.rescored(segment), accuracy
        if segment.of == "pairs":
            return
        for cutoff in dict.fromkeys(metric.cutoff for metric in lists.values()):
            metrics = {name: metric for name, metric in lists.items() if metric.cutoff == cutoff}
            cards = []
            for card in self.cards:
                item_lists = restrict_lists(card.listed.first(cutoff), segment.mask)
                measured = measure_lists(metrics, item_lists)
                cards.append(replace(card, values=measured.values, means=measured.numbers, listed=item_lists))
            yield cards, dict(metrics)


def correct_p_values(table: pl.DataFrame) -> pl.DataFrame:
    """The same rows with p-values corrected over all of them."""
    from rankgate.measurement.stats.multiple_comparisons import correct

    raw = table["p_raw"].to_numpy()
    is_known = table["p_raw"].is_not_null().to_numpy()
    p = np.full(len(raw), np.nan)
    if is_known.any():
        p[is_known] = correct(raw[is_known], "bh")
    return table.with_columns(pl.Series("p_value", p).fill_nan(None))
