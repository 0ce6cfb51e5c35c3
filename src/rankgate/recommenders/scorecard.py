"""Compare recommenders by accuracy, coverage, novelty, diversity and fairness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.declare import Draws
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.value_types import JsonObject
from rankgate.data.collection import Collection
from rankgate.data.spark_tables import any_on_spark, run_on_spark
from rankgate.measurement.evaluation.metric_selection import find_ranking_metrics
from rankgate.measurement.evaluation.seed_spread import SEED_SPREAD
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.lists.list_metric import split_list_metrics
from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.recommenders.scorecard_figures import (
    DIFFERENCES,
    FAIRNESS,
    FIGURES,
    GAPS,
    SLICES,
    Dominated,
    SliceFigures,
    card_rows,
    compute_figures,
    find_dominated,
    group_fairness,
    seed_spread,
    seed_warnings,
)
from rankgate.recommenders.scorecard_systems import CardSystems, ScorecardSystems, correct_cards, warnings_of

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike, RunsLike
    from rankgate.measurement.evaluation.lists.list_builder import ListBuilder
    from rankgate.measurement.metrics.lists.list_input import Listed
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention

_DOCUMENTS = "rankgate.recommenders.scorecard_document"

ACCURACY = ("nDCG@10", "R@10", "RR@10")
LISTS = (
    "Coverage@10",
    "Gini@10",
    "Personalization@10",
    "Novelty@10",
    "APLT@10",
    "ILD@10",
    "Miscalibration@10",
    "Serendipity@10",
    "TemporalDiversity@10",
    "AWRF@10",
)
"""The default metrics of lists: those with all inputs available."""

__all__ = ["ACCURACY", "LISTS", "Scorecard", "scorecard"]


@dataclass(frozen=True)
class Scorecard(Result):
    """Several systems by accuracy and by qualities of their lists.

    Attributes:
        systems: their names; the others are compared with the first.
        metrics: as they were written.
        qrels: the name of the judgments.
        convention: name, hash and axes.
        figures: the columns of `FIGURES`.
        differences: the columns of `DIFFERENCES`.
        slices: the columns of `SLICES`.
        gaps: the columns of `GAPS`.
        dominated: systems, each with another one that is as good everywhere and better somewhere.
        users: those with judgments; only their lists were used.
        catalogue: items.
        candidates: ``sampled(m)`` where lists contain a sample only, else empty.
        level: the confidence level of the intervals.
        resamples: drawn for numbers about all lists together.
        seed: of the drawing.
        warnings: warnings about figures, one sentence each.
        seeds: the columns of `SEED_SPREAD`.
    """

    kind = "scorecard"
    DERIVED: ClassVar[tuple[str, ...]] = ("fairness",)
    OPTIONAL: ClassVar[tuple[str, ...]] = ("seeds",)
    document_from = f"{_DOCUMENTS}:scorecard_document"
    report_from = f"{_DOCUMENTS}:scorecard_report_document"
    charts: ClassVar = {
        "scorecard": "rankgate.measurement.evaluation.tradeoff_charts:SCORECARD",
        "pareto": "rankgate.measurement.evaluation.tradeoff_charts:PARETO",
    }
    SCHEMAS: ClassVar = {
        "figures": FIGURES,
        "differences": DIFFERENCES,
        "slices": SLICES,
        "gaps": GAPS,
        "fairness": FAIRNESS,
        "seeds": SEED_SPREAD,
    }
    notice_texts = (NoticeText("scorecard-warning", "{row}", source="warnings"),)

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    qrels: str
    convention: JsonObject
    figures: pl.DataFrame
    differences: pl.DataFrame
    slices: pl.DataFrame
    gaps: pl.DataFrame
    dominated: tuple[Dominated, ...]
    users: int
    catalogue: int
    candidates: str
    level: float
    resamples: int
    seed: int
    warnings: tuple[str, ...]
    seeds: pl.DataFrame = field(default_factory=SEED_SPREAD.empty)

    def __len__(self) -> int:
        """The number of systems."""
        return len(self.systems)

    def __getitem__(self, key: tuple[str, str]) -> float | None:
        """The value of a system by a metric, as in ``card["knn", "Coverage@10"]``.

        Raises:
            KeyError: there is no such system or metric.
        """
        system, metric = key
        values: list[float | None]
        values = self.figures.filter(system=system, metric=metric)["value"].to_list()
        if not values:
            raise KeyError(key)
        return values[0]

    @property
    def fairness(self) -> pl.DataFrame:
        """How unequally the parts of the users are served: the columns of `FAIRNESS`."""
        return group_fairness(self.slices, self.gaps["metric"].unique().to_list())


def scorecard(
    collection: Collection | QrelsLike,
    runs: RunsLike,
    metrics: Sequence[str | Metric] = (),
    convention: str | Convention = "trec",
    *,
    slices: Sequence[str] = (),
    level: float = 0.95,
    resamples: Draws = 1000,
    seed: int = 0,
) -> Scorecard:
    """Put systems on one card: accuracy, coverage, novelty, diversity, fairness.

    Args:
        collection: judgments, or a `Collection` of them with training, items and users. If
            judgments or a run are on Spark, all is measured there, with the same card.
        runs: as of `evaluate`; the first is what the others are compared with.
        metrics: the metrics of accuracy and of lists; a choice of both without them.
        convention: the tool; accuracy and ties follow its rules.
        slices: distinguish new, light and heavy users (activity), items of head and tail
            (popularity), repeat and new pairs of both (history), or the values of a column of
            users (or of tags) or items.
        level: the confidence level of the intervals.
        resamples: the number of resamples of users, for metrics over all lists.
        seed: the seed of the random draws.

    Raises:
        InputError: data that cannot be read.
        UsageError: an unknown metric, or one that needs what the collection lacks.

    >>> same = {"u": {"a": 2.0}, "v": {"a": 2.0}}
    >>> runs = {"same": same, "own": {"u": {"a": 2.0}, "v": {"b": 2.0}}}
    >>> result = scorecard({"u": {"a": 1}, "v": {"b": 1}}, runs, ["P@1", "Coverage@1"])
    >>> result.figures.select("system", "metric", "value").rows()[2:]
    [('same', 'Coverage@1', 0.5), ('own', 'Coverage@1', 1.0)]
    >>> result.dominated
    (Dominated(system='same', by='own'),)
    """
    if not 0 < level < 1 or resamples < 1:
        raise UsageError("level must be between 0 and 1, and resamples 1 or more.", code="out-of-range")
    rules, collection = chosen_convention(convention), Collection.of(collection)
    if slices and collection.tags is not None:  # tags of queries are columns of users
        if collection.users is not None:
            raise UsageError(
                "slices are columns of users or of tags, and both are given; put them into one table.",
                code="conflicting-options",
            )
        collection = replace(collection, users=collection.tags, tags=None)
    systems: CardSystems
    if any_on_spark(collection.judgments, runs):
        systems, metrics_by_label = run_on_spark("scorecard", collection, runs, metrics, rules, slices)
    else:
        metrics_by_label = parse_metrics(metrics, rules)
        systems = ScorecardSystems.read(collection, runs, rules, metrics_by_label)
        metrics_by_label = possible_metrics(
            metrics_by_label, systems.builder, systems.lists, requested=bool(metrics)
        )
    cards = systems.cards(metrics_by_label)
    marked_metrics = systems.marked(metrics_by_label)
    corrected, added, uncorrected_reason = correct_cards(systems, cards, metrics_by_label)
    system_figures, differences, resample_count = compute_figures(
        corrected, marked_metrics | added, level=level, resamples=resamples, seed=seed
    )
    parts = [segment for name in slices for segment in systems.segments(name)]
    sliced_figures = SliceFigures(
        cards,
        marked_metrics,
        lambda segment: systems.accuracy_of_part(segment, metrics_by_label),
        level,
        resamples,
        seed,
    )
    return Scorecard(
        systems=tuple(card_rows(cards)),
        metrics=(*marked_metrics, *added),
        qrels=systems.name,
        convention=systems.convention.to_dict(),
        figures=system_figures,
        differences=differences,
        slices=sliced_figures.figures(parts),
        gaps=sliced_figures.gaps(parts),
        dominated=find_dominated(cards, marked_metrics),
        users=int(systems.judged.sum()),
        catalogue=len(systems.catalogue.items),
        candidates=systems.mark,
        level=level,
        resamples=resample_count,
        seed=seed,
        warnings=(
            *seed_warnings(cards),
            *warnings_of(systems, metrics_by_label),
            *([uncorrected_reason] if uncorrected_reason else []),
        ),
        seeds=seed_spread(corrected),
    )


def parse_metrics(metrics: Sequence[str | Metric], how: Convention) -> dict[str, Metric]:
    """Each metric by its label; metrics of lists come in addition to those of accuracy."""
    metrics_by_label: dict[str, Metric] = {}
    for metric in metrics or (*ACCURACY, *LISTS):
        metrics_by_label |= dict(find_ranking_metrics([metric], how, (*FACET_METRICS, *LIST_METRICS)))
    return metrics_by_label


def possible_metrics(
    metrics_by_label: dict[str, Metric], builder: ListBuilder, lists: Sequence[Listed], *, requested: bool
) -> dict[str, Metric]:
    """The metrics with all inputs available.

    Args:
        metrics_by_label: the metrics.
        builder: the reader of lists.
        lists: the lists of every system.
        requested: True if the user chose the metrics.

    Raises:
        UsageError: a requested metric lacks an input.
    """
    if requested:
        for item_lists in lists:
            builder.refuse_lacking(item_lists)
    _, list_metrics = split_list_metrics(metrics_by_label)
    missing = {
        label
        for label, metric in list_metrics.items()
        if any(metric.lacks(item_lists) for item_lists in lists)
    }
    return {label: metric for label, metric in metrics_by_label.items() if label not in missing}
