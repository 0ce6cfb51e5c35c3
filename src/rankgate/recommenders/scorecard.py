"""Accuracy beside everything else that lists are: several systems on one card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankgate.errors import UsageError
from rankgate.evaluation.evaluate import chosen_metrics
from rankgate.evaluation.list_inputs import DEPTH, GIVEN, Beside
from rankgate.metrics.facets import FACET_METRICS
from rankgate.metrics.lists import LIST_METRICS, NEEDS
from rankgate.metrics.lists.declare import ListMetric
from rankgate.recommenders.scorecard_field import Field
from rankgate.recommenders.scorecard_figures import dominated, figures
from rankgate.recommenders.scorecard_parts import Sliced
from rankgate.recommenders.scorecard_slices import parts_of
from rankgate.recommenders.scorecard_warnings import warnings_of
from rankgate.scoring.chosen import chosen_convention

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from rankgate.metrics.declare import Metric
    from rankgate.metrics.lists.listed import Listed
    from rankgate.scoring import Convention

SCHEMA_VERSION = 1

ACCURACY = ("nDCG@10", "R@10", "RR@10")
LISTS = ("Coverage@10", "Gini@10", "Personalization@10", "Novelty@10", "APLT@10", "ILD@10",
         "Miscalibration@10", "Serendipity@10", "TemporalDiversity@10", "AWRF@10")  # fmt: skip
"""What is computed when nothing is asked for: those of the lists for which all is there."""

__all__ = ["ACCURACY", "LISTS", "Beside", "Scorecard", "scorecard"]


@dataclass(frozen=True)
class Scorecard:
    """Several systems by accuracy and by what their lists are like.

    Attributes:
        systems: their names; the others are compared with the first.
        metrics: as they were written.
        qrels: the name of the judgments.
        convention: name, hash and axes.
        figures: ``system``, ``metric``, ``about`` (accuracy or lists), ``value``, ``low``,
            ``high``, ``users``, ``higher_is_better``.
        differences: ``system``, ``metric``, ``delta`` from the first, ``low``, ``high``,
            ``p_raw``, ``p_value`` (Holm over all), ``better``.
        slices: the same figures and differences for parts of the users and items: ``slice``,
            ``of`` (users or items), ``part``, ``size``, then as figures and differences
            (``delta_low``, ``delta_high``; ``p_value`` by Benjamini and Hochberg over a slice).
        gaps: ``slice``, ``part``, ``system``, ``metric``, ``gap`` (the mean of these users less
            that of all others), ``low``, ``high``, ``p_raw``, ``p_value``, ``better``.
        dominated: systems that another is as good as everywhere and better somewhere, with it.
        users: whose lists were looked at: those with judgments.
        catalogue: items.
        candidates: ``sampled(m)`` where lists held a sample only, else empty.
        level: of the intervals.
        resamples: drawn for numbers about all lists together.
        seed: of the drawing.
        warnings: what to know before trusting a figure, one sentence each.
    """

    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    qrels: str
    convention: Mapping[str, Any]
    figures: pl.DataFrame
    differences: pl.DataFrame
    slices: pl.DataFrame
    gaps: pl.DataFrame
    dominated: tuple[tuple[str, str], ...]
    users: int
    catalogue: int
    candidates: str
    level: float
    resamples: int
    seed: int
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; undefined numbers are None."""
        return {
            "schema_version": SCHEMA_VERSION,
            **{name: value for name, value in vars(self).items() if name not in _TABLES},
            "dominated": [{"system": a, "by": b} for a, b in self.dominated],
            **{name: getattr(self, name).to_dicts() for name in _TABLES},
        }


_TABLES = ("figures", "differences", "slices", "gaps")


def scorecard(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    runs: Any,  # noqa: ANN401 - one of those, or several
    metrics: Sequence[str | Metric] = (),
    how: str | Convention = "trec",
    beside: Beside | None = None,
    *,
    slices: Sequence[str] = (),
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> Scorecard:
    """Measure several systems.

    Args:
        qrels: judgments.
        runs: as of `evaluate`; the first is what the others are compared with.
        metrics: of accuracy and of lists, in any order; without them `ACCURACY`, and of `LISTS`
            those for which all is there.
        how: the convention, which also says how ties in lists are broken.
        beside: training, items, users, an obvious system, earlier lists, candidates.
        slices: activity, popularity, or columns of users and items, whose parts are told apart.
        level: of the intervals.
        resamples: for numbers about all lists together.
        seed: of the drawing.
        on_progress: told the name of each system before it is measured.

    Raises:
        InputError: data that cannot be read.
        UsageError: an unknown metric, or one that needs what was not given.
    """
    if not 0 < level < 1 or resamples < 1:
        raise UsageError(
            "level lies between 0 and 1, and resamples are 1 or more.", code="out-of-range"
        )
    rules = chosen_convention(how)
    chosen = _chosen(metrics, rules)
    depth = max([DEPTH, *(m.cutoff or DEPTH for m in chosen.values() if isinstance(m, ListMetric))])
    field = Field.of(qrels, runs, rules, beside or Beside(), depth)
    chosen = _possible(chosen, field.lists[0], asked=bool(metrics))
    cards = field.cards(chosen, on_progress=on_progress)
    measured = field.marked(chosen)
    found, differences, taken = figures(
        cards, measured, level=level, resamples=resamples, seed=seed
    )
    parts = [part for name in slices for part in parts_of(name, field.world, field.tables)]
    sliced = Sliced(
        cards, measured, lambda items: field.about(items, chosen), level, resamples, seed
    )
    return Scorecard(
        systems=tuple(card.name for card in cards),
        metrics=tuple(measured),
        qrels=field.judgments.name,
        convention=rules.to_dict(),
        figures=found,
        differences=differences,
        slices=sliced.figures(parts),
        gaps=sliced.gaps(parts),
        dominated=dominated(cards, measured),
        users=int(field.judged.sum()),
        catalogue=len(field.world.items),
        candidates=field.tables.mark,
        level=level,
        resamples=taken,
        seed=seed,
        warnings=warnings_of(field, chosen),
    )


def _chosen(metrics: Sequence[str | Metric], how: Convention) -> dict[str, Metric]:
    """Each metric by its label; lists' metrics beside those of accuracy."""
    found: dict[str, Metric] = {}
    for each in metrics or (*ACCURACY, *LISTS):
        found |= dict(chosen_metrics([each], how, (*FACET_METRICS, *LIST_METRICS)))
    return found


def _possible(chosen: dict[str, Metric], listed: Listed, *, asked: bool) -> dict[str, Metric]:
    """The metrics for which all is there; one that was asked for must be among them."""
    found = {}
    for label, metric in chosen.items():
        lacks = metric.lacks(listed) if isinstance(metric, ListMetric) else ()
        if lacks and asked:
            raise UsageError(
                f"{label} needs {NEEDS[lacks[0]]}; give {GIVEN[lacks[0]]}.", code="missing-input"
            )
        if not lacks:
            found[label] = metric
    return found
