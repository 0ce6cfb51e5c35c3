"""Compute a scorecard for groups of users and items, and the gaps between users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.lists.declare import lists_apart
from rankgate.measurement.metrics.lists.restricted import restricted
from rankgate.measurement.scoring.lists import measured_lists
from rankgate.recommenders.scorecard_figures import FIGURES, Card, figures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.metrics.declare import Metric
    from rankgate.recommenders.scorecard_slices import Segment

SLICES = {
    "slice": pl.String,
    "of": pl.String,
    "part": pl.String,
    "size": pl.Int64,
    **FIGURES,
    "delta": pl.Float64,
    "delta_low": pl.Float64,
    "delta_high": pl.Float64,
    "p_raw": pl.Float64,
    "p_value": pl.Float64,
    "better": pl.Boolean,
}
"""The columns of figures by part; a difference is with the first system, in the same part."""
GAPS = {
    "slice": pl.String,
    "part": pl.String,
    "system": pl.String,
    "metric": pl.String,
    "gap": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p_raw": pl.Float64,
    "p_value": pl.Float64,
    "better": pl.Boolean,
}
"""The columns of gaps: the mean of some users less that of all others, for one system."""


@dataclass(frozen=True)
class Sliced:
    """How figures of parts are made.

    Attributes:
        cards: of every system, with all users and items.
        metrics: by label.
        rescored: the accuracy of every system in a part of the items or pairs, as cards.
        level: of the intervals.
        resamples: for numbers about all lists together.
        seed: of the drawing.
    """

    cards: Sequence[Card]
    metrics: Mapping[str, Metric]
    rescored: Callable[[Segment], list[Card]]
    level: float
    resamples: int
    seed: int

    def figures(self, parts: Sequence[Segment]) -> pl.DataFrame:
        """Every metric of every system in every part, the columns of `SLICES`.

        p is corrected over a slice: all its parts, systems and metrics (Benjamini-Hochberg).
        """
        items = [self._part(part) for part in parts]
        whole = pl.concat([pl.DataFrame(schema=SLICES), *items])
        slices = whole.partition_by("slice", maintain_order=True)
        return pl.concat([pl.DataFrame(schema=SLICES), *map(corrected, slices)])

    def gaps(self, parts: Sequence[Segment]) -> pl.DataFrame:
        """How far the mean of each part's users lies from that of all others, `GAPS`.

        Of metrics with a value for each user, and corrected as `figures`.
        """
        from rankgate.measurement.stats.groups import apart

        rows: list[tuple[Any, ...]] = []
        for part in parts:
            for card in self.cards if part.of == "users" else ():
                for label, values in card.values.items():
                    known = ~np.isnan(values)
                    result = apart(
                        values[known & part.mask], values[known & ~part.mask], self.level
                    )
                    better = (result[0] > 0) == self.metrics[label].higher_is_better
                    rows.append((part.slice, part.value, card.name, label, *result, None, better))
        whole = pl.DataFrame(rows, schema=GAPS, orient="row").fill_nan(None)
        slices = whole.partition_by("slice", maintain_order=True)
        return pl.concat([pl.DataFrame(schema=GAPS), *map(corrected, slices)])

    def _part(self, part: Segment) -> pl.DataFrame:
        groups = self._users(part) if part.of == "users" else self._others(part)
        frames = []
        for cards, metrics in groups:
            found, differences, _ = figures(
                cards, metrics, level=self.level, resamples=self.resamples, seed=self.seed
            )
            apart = differences.rename({"low": "delta_low", "high": "delta_high"})
            frames.append(
                found.join(apart, on=["system", "metric"], how="left", maintain_order="left")
            )
        named = {"slice": part.slice, "of": part.of, "part": part.value, "size": part.mask.sum()}
        if not frames:  # metrics of lists have no parts of pairs
            return pl.DataFrame(schema=SLICES)
        whole = pl.concat(frames).with_columns(pl.lit(value).alias(n) for n, value in named.items())
        place = {label: at for at, label in enumerate(self.metrics)}
        order = pl.col("metric").replace_strict(place, return_dtype=pl.Int64)
        return whole.sort(order, maintain_order=True).select(
            pl.col(name).cast(dtype) for name, dtype in SLICES.items()
        )

    def _users(self, part: Segment) -> Iterator[tuple[list[Card], dict[str, Metric]]]:
        """The same lists and values, of these users."""
        rows = np.flatnonzero(part.mask)
        cards = []
        for card in self.cards:
            listed = card.listed.rows(rows)
            values = {label: each[rows] for label, each in card.values.items()}
            cards.append(Card(card.name, values, _means(values, self.metrics, listed), listed))
        yield cards, dict(self.metrics)

    def _others(self, part: Segment) -> Iterator[tuple[list[Card], dict[str, Metric]]]:
        """Accuracy by what is relevant there; of items also lists, cut first, then only these."""
        accuracy, lists = lists_apart(self.metrics)
        if accuracy:
            yield self.rescored(part), accuracy
        if part.of == "pairs":
            return
        for cutoff in dict.fromkeys(each.cutoff for each in lists.values()):
            metrics = {name: each for name, each in lists.items() if each.cutoff == cutoff}
            cards = []
            for card in self.cards:
                listed = restricted(card.listed.first(cutoff), part.mask)
                measured = measured_lists(metrics, listed)
                cards.append(Card(card.name, measured.values, measured.numbers, listed))
            yield cards, dict(metrics)


def _means(
    values: Mapping[str, NDArray[np.float64]],
    metrics: Mapping[str, Metric],
    listed: Any,  # noqa: ANN401
) -> dict[str, float]:
    """The number of each metric; of one with its own way to one number, none."""
    _, lists = lists_apart({label: each for label, each in metrics.items() if label not in values})
    found = dict(measured_lists(lists, listed).numbers)
    for label, own in values.items():
        known = own[~np.isnan(own)]
        plain = metrics[label].aggregate == "mean" and len(known)
        found[label] = float(known.mean()) if plain else float("nan")
    return found


def corrected(table: pl.DataFrame) -> pl.DataFrame:
    """The same with p corrected over all its rows."""
    from rankgate.measurement.stats.corrections import correct

    raw = table["p_raw"].to_numpy()
    known = table["p_raw"].is_not_null().to_numpy()
    p = np.full(len(raw), np.nan)
    if known.any():
        p[known] = correct(raw[known], "bh")
    return table.with_columns(pl.Series("p_value", p).fill_nan(None))
