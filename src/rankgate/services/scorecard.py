"""Accuracy beside everything else that lists are: several systems on one card."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.data import read_qrels, read_run
from rankgate.data.candidates import WARNING
from rankgate.errors import UsageError
from rankgate.metrics.lists import LIST_METRICS
from rankgate.metrics.lists.declare import ListMetric
from rankgate.scoring import score
from rankgate.scoring.index import Index
from rankgate.scoring.world import places
from rankgate.services.card_figures import Card, dominated, figures
from rankgate.services.card_inputs import (
    DEPTH,
    Beside,
    Tables,
    kept,
    lists_of,
    missing,
    new_items,
    world_of,
)
from rankgate.services.conventions import chosen_convention
from rankgate.services.evaluate import chosen_metrics, named_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from rankgate.data import Qrels, Run
    from rankgate.metrics.declare import Metric
    from rankgate.metrics.lists.listed import Listed
    from rankgate.scoring import Convention
    from rankgate.scoring.world import World

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


_TABLES = ("figures", "differences")


def scorecard(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    runs: Any,  # noqa: ANN401 - one of those, or several
    metrics: Sequence[str | Metric] = (),
    how: str | Convention = "trec",
    beside: Beside | None = None,
    *,
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
        beside: training, items, an obvious system, earlier lists, candidates.
        level: of the intervals.
        resamples: for numbers about all lists together.
        seed: of the drawing.
        on_progress: told the name of each system before it is measured.

    Raises:
        InputError: data that cannot be read.
        UsageError: an unknown metric, or one that needs what was not given.
    """
    if not 0 < level < 1 or resamples < 1:
        raise UsageError("level lies between 0 and 1, and resamples are 1 or more.")
    beside, rules = beside or Beside(), chosen_convention(how)
    tables = Tables.of(beside)
    judgments = read_qrels(qrels, subtopics=True).by_document()
    systems = [_filtered(run, tables, beside) for run in named_runs(runs)]
    if not systems:
        raise UsageError("no run to measure; give at least one.")
    chosen = _chosen(metrics, rules)
    depth = max([DEPTH, *(m.cutoff or DEPTH for m in chosen.values() if isinstance(m, ListMetric))])
    index = Index.of(judgments)
    lists = [lists_of(run, index, rules, depth) for run in systems]

    def top(run: Any) -> pl.DataFrame:  # noqa: ANN401 - a path, a frame
        return lists_of(_filtered(read_run(run), tables, beside), index, rules, depth)

    world = world_of(judgments, tables, beside, lists, top)
    listed = [
        world.listed(shown, _earlier(run.name, beside, top))
        for run, shown in zip(systems, lists, strict=True)
    ]
    chosen = _possible(chosen, listed[0], asked=bool(metrics))
    cards = []
    for run, own in zip(systems, listed, strict=True):
        if on_progress:
            on_progress(run.name)
        cards.append(_card(run, own, chosen, (judgments, world.queries), rules))
    marked = {_marked(label, tables.mark): metric for label, metric in chosen.items()}
    cards = [_remarked(card, tables.mark) for card in cards]
    found, apart, taken = figures(cards, marked, level=level, resamples=resamples, seed=seed)
    return Scorecard(
        tuple(card.name for card in cards), tuple(marked), judgments.name, rules.to_dict(), found,
        apart, dominated(cards, marked), len(world.queries), len(world.items), tables.mark, level,
        taken, seed, _warnings(cards, lists, world, tables.mark),
    )  # fmt: skip


def _chosen(metrics: Sequence[str | Metric], how: Convention) -> dict[str, Metric]:
    """Each metric by its label; lists' metrics beside those of accuracy."""
    found: dict[str, Metric] = {}
    for each in metrics or (*ACCURACY, *LISTS):
        found |= dict(chosen_metrics([each], how, LIST_METRICS))
    return found


def _possible(chosen: dict[str, Metric], listed: Listed, *, asked: bool) -> dict[str, Metric]:
    """The metrics for which all is there; one that was asked for must be among them."""
    found = {}
    for label, metric in chosen.items():
        lacks = missing(metric, listed)
        if lacks and asked:
            raise UsageError(f"{label} needs {lacks}.")
        if not lacks:
            found[label] = metric
    return found


def _filtered(run: Run, tables: Tables, beside: Beside) -> Run:
    run = kept(run, tables.candidates, inside=True)
    return kept(run, tables.train, inside=False) if beside.drop_seen else run


def _earlier(name: str, beside: Beside, top: Callable[[Any], pl.DataFrame]) -> pl.DataFrame | None:
    """The lists of the same system at an earlier time."""
    if beside.earlier is None:
        return None
    if name not in beside.earlier:
        known = ", ".join(beside.earlier)
        raise UsageError(f"earlier lists of {name} are missing; there are those of {known}.")
    return top(beside.earlier[name])


def _card(
    run: Run,
    listed: Listed,
    chosen: Mapping[str, Metric],
    judged: tuple[Qrels, pl.Series],
    how: Convention,
) -> Card:
    """One system's values; judgments come with their users, in the order of the lists."""
    judgments, queries = judged
    accuracy = [(label, m) for label, m in chosen.items() if not isinstance(m, ListMetric)]
    values: dict[str, np.ndarray[Any, np.dtype[np.float64]]] = {}
    means: dict[str, float] = {}
    if accuracy:
        scores = score(judgments, run, accuracy, how)
        rows = places(scores.query_ids, queries)
        for label, _ in accuracy:
            values[label] = np.full(len(queries), np.nan)
            values[label][rows] = scores.values[label]
            means[label] = scores.means[label]
    for label, metric in chosen.items():
        if isinstance(metric, ListMetric):
            means[label] = metric.value(listed)
            if metric.merge == "mean":
                values[label] = metric.values(listed)
    return Card(run.name, values, means, listed)


def _marked(label: str, mark: str) -> str:
    return f"{label} {mark}" if mark else label


def _remarked(card: Card, mark: str) -> Card:
    return replace(
        card,
        values={_marked(label, mark): each for label, each in card.values.items()},
        means={_marked(label, mark): each for label, each in card.means.items()},
    )


def _warnings(
    cards: Sequence[Card], lists: Sequence[pl.DataFrame], world: World, mark: str
) -> tuple[str, ...]:
    told = [WARNING] if mark else []
    for card, shown in zip(cards, lists, strict=True):
        empty = int((card.listed.lengths == 0).sum())
        if empty:
            told.append(f"{card.name}: {empty:,} of {len(world.queries):,} users get no item.")
        if fresh := new_items(world, shown):
            told.append(f"{card.name}: {fresh:,} items shown are not in training.")
    if world.history is not None:
        told += _again(cards)
    return tuple(told)


def _again(cards: Sequence[Card]) -> list[str]:
    """Which systems show what users had already."""
    from rankgate.metrics.lists.listed import among  # noqa: PLC0415 - only with training

    told = []
    for card in cards:
        assert card.listed.history is not None  # noqa: S101 - looked at before
        again = int(among(card.listed.items, card.listed.history).sum())
        if again:
            told.append(
                f"{card.name}: {again:,} places show what the user had in training; drop_seen "
                "takes them out."
            )
    return told
