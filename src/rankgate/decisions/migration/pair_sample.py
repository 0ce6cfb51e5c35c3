"""A random sample of pairs of documents, and the bounds of the loss of nDCG that follow from it.

Pairs are drawn with replacement, each with a probability proportional to the most that it can
contribute to the mean difference. A contribution whose ideal DCG is not fully judged is replaced by
the lowest that it can be, which keeps the level of a bound that rises with each value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.decisions.migration.moved_documents import PAIR, ideal_gains, look_up
from rankgate.measurement.stats.mean_intervals import spacing_low

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats

MOST_PAIRS = 400
_DIFFERENT = 0.4  # assumed share of pairs with different grades, whose queries need further judgments


@dataclass(frozen=True)
class Grades:
    """Gains of judged documents, and the documents of either list.

    Attributes:
        documents: the table of `join_lists`, sorted by query and best rank.
        judged: ``query_id``, ``doc_id``, ``gain`` of judged documents, also of those in no list.
        highest: the highest gain that a document can have.
        k: the cutoff of nDCG.
    """

    documents: pl.DataFrame
    judged: pl.DataFrame
    highest: float
    k: int

    @property
    def unjudged(self) -> pl.DataFrame:
        """The documents of either list without a judgment."""
        return self.documents.join(self.judged, on=PAIR, how="anti", maintain_order="left")

    def gains_of(self, pairs: pl.DataFrame) -> tuple[Floats, Floats]:
        """(n,) the gains of the lost and the gained documents; NaN: unjudged; an empty rank has 0."""
        lost, gained = (
            np.where(pairs[side].is_null().to_numpy(), 0.0, look_up(pairs, side, self.judged, "gain"))
            for side in ("lost", "gained")
        )
        return lost, gained

    def contributions(self, pairs: pl.DataFrame) -> tuple[Floats, Floats, Floats]:
        """(n,) the lowest, the highest and the largest (gained − lost) / ideal DCG of each pair."""
        lost, gained = self.gains_of(pairs)
        best_case = pl.concat(
            [self.judged, self.unjudged.select(*PAIR, gain=pl.lit(self.highest, pl.Float64))]
        )
        low_ideal, high_ideal, pushed_ideal = (
            _by_query(pairs, table)
            for table in (
                ideal_gains(self.judged, self.k),
                ideal_gains(best_case, self.k),
                ideal_gains(self.judged, self.k, pushed=1),
            )
        )
        change = gained - lost
        with np.errstate(divide="ignore", invalid="ignore"):
            strict, mild = (np.where(change == 0, 0.0, change / ideal) for ideal in (low_ideal, high_ideal))
            single = [
                np.where(
                    np.isnan(gain),
                    self.highest / (self.highest + pushed_ideal),
                    np.where(gain == 0, 0.0, gain / low_ideal),
                )
                for gain in (lost, gained)
            ]
        is_open = np.isnan(change)
        largest = np.where(is_open, np.maximum(*single), np.abs(strict))
        low = np.where(is_open, -single[0], np.minimum(strict, mild))
        return low, np.where(is_open, single[1], np.maximum(strict, mild)), largest


def _by_query(pairs: pl.DataFrame, ideals: pl.DataFrame) -> Floats:
    joined = pairs.select("query_id").join(ideals, on="query_id", how="left", maintain_order="left")
    return joined["ideal"].fill_null(0.0).to_numpy()


@dataclass(frozen=True)
class PairSample:
    """Drawn pairs, and what they show.

    Attributes:
        pairs: the pairs that could be drawn, with their mass.
        largest: (n,) the largest contribution of each, with the judgments before the draw.
        queries: the number of all queries.
        grades: the judgments before the draw.
    """

    pairs: pl.DataFrame
    largest: Floats
    queries: int
    grades: Grades

    @property
    def sizes(self) -> Floats:
        """(n,) the most that each pair can add to the mean difference."""
        return self.pairs["mass"].to_numpy() * self.largest / self.queries

    @property
    def at_stake(self) -> float:
        """The most that all pairs together can add to the mean difference."""
        return float(self.sizes.sum())

    def expected_judgments(self, count: int) -> float:
        """The expected number of documents to judge if this many pairs are drawn."""
        chance = pl.Series("chance", self.sizes / self.at_stake)
        by_side = [
            self.pairs.select("query_id", chance, doc_id=side).drop_nulls("doc_id")
            for side in ("lost", "gained")
        ]
        of_document = pl.concat(by_side).group_by(PAIR).agg(pl.col("chance").sum())
        of_query = self.pairs.with_columns(chance).group_by("query_id").agg(of_query=pl.col("chance").sum())
        table = (
            self.grades.unjudged.select(PAIR)
            .join(of_document, on=PAIR, how="left")
            .join(of_query, on="query_id", how="left")
            .fill_null(0.0)
        )
        pair_chance, query_chance = table["chance"].to_numpy(), table["of_query"].to_numpy()
        missed = (
            np.clip(1 - pair_chance, 0, 1) ** count * np.clip(1 - _DIFFERENT * query_chance, 0, 1) ** count
        )
        return float((1 - missed).sum())

    def affordable(self, budget: int) -> int:
        """The largest number of pairs whose expected judgments are within a budget."""
        low, high = 1, MOST_PAIRS
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.expected_judgments(middle) <= budget else (low, middle - 1)
        return low

    def draw(self, count: int, seed: int) -> NDArray[np.int64]:
        """(count,) the rows of drawn pairs; more pairs of the same seed begin with the same ones."""
        ends = np.cumsum(self.sizes)
        numbers = np.random.default_rng(seed).random(count) * ends[-1]
        rows: NDArray[np.int64] = np.searchsorted(ends, numbers, side="right").clip(max=len(ends) - 1)
        return rows

    def shares(self, rows: NDArray[np.int64], grades: Grades) -> tuple[Floats, Floats]:
        """(n,) the lowest and the highest contribution of drawn pairs, as shares of the largest."""
        low, high, _ = grades.contributions(self.pairs[rows])
        largest = self.largest[rows]
        return np.maximum(low / largest, -1.0), np.minimum(high / largest, 1.0)

    def bounds(self, rows: NDArray[np.int64], grades: Grades, alpha: float) -> tuple[float, float]:
        """The one-sided bounds of the mean difference, each wrong with a probability of at most alpha."""
        low, high = self.shares(rows, grades)
        return (
            self.at_stake * spacing_low(low, -1.0, alpha),
            -self.at_stake * spacing_low(-high, -1.0, alpha),
        )

    def to_judge(self, rows: NDArray[np.int64], grades: Grades, count: int) -> pl.DataFrame:
        """``query_id`` and ``doc_id`` to judge next: of drawn pairs; then of queries where grades differ."""
        drawn_pairs = self.pairs[rows].with_row_index("draw")
        lost, gained = grades.gains_of(drawn_pairs)
        sides = [drawn_pairs.select("query_id", "draw", doc_id=side) for side in ("lost", "gained")]
        of_pairs = grades.unjudged.join(pl.concat(sides), on=PAIR, how="inner")
        differs = drawn_pairs.filter(pl.Series(np.nan_to_num(gained - lost) != 0)).select("query_id", "draw")
        of_queries = grades.unjudged.join(differs, on="query_id", how="inner")
        waiting = of_pairs if len(of_pairs) else of_queries
        first = waiting.sort("draw", "best_rank").unique(PAIR, keep="first", maintain_order=True)
        return first.select(PAIR).head(max(count, 0))
