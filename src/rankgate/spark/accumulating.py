"""What executors do for a scorecard: accumulate whole users, of each run and part of a slice."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.place import Place
from rankgate.data.qrels import Qrels, refuse_holes, without_empty
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.spark.cells import value_of
from rankgate.spark.partition import JUDGED, located, rows_in

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.accumulate import Accumulator
    from rankgate.measurement.scoring.plan import Plan
    from rankgate.spark.card_slices import CardSlice, Cut
    from rankgate.spark.partition import Cell


@dataclass(frozen=True)
class Seen:
    """What executors send of one run and group of users.

    Attributes:
        states: of all users, and of each part of each slice.
        sizes: of the parts.
        unknown: the items that the catalogue lacks, packed; empty if it has all.
        topical: whether a judged item has a subtopic, where these are the categories of items.
    """

    states: Sequence[Mapping[str, Any]]
    sizes: Sequence[int]
    unknown: bytes
    topical: bool

    def to_text(self) -> str:
        """As text, to be sent."""
        return base64.b64encode(pickle.dumps(self)).decode()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """From `to_text`."""
        found: Self = pickle.loads(base64.b64decode(text))  # noqa: S301 - of our own executors
        return found


@dataclass(frozen=True)
class Accumulating:
    """What `Accumulator`s keep of the users of a partition, for each run.

    Attributes:
        plan: whose metrics of rankings are measured; tells how rows have to be ordered.
        runs: the names of the runs.
        labels: where judgments and each run come from, for errors.
        slices: of the users, items and pairs.
        empty: accumulators that have seen nothing: of all, and of each part of each slice.
    """

    plan: Plan
    runs: tuple[str, ...]
    labels: tuple[str, ...]
    slices: tuple[CardSlice, ...]
    empty: tuple[Accumulator, ...]

    def over(self, cells: Iterable[Cell]) -> Iterator[Any]:
        """What was seen of each run: of all users, and of each part with its size.

        From the first cell on that has items which the catalogue lacks, only such items are looked
        for: no number is right without them.

        Raises:
            InputError, DuplicateError: what is wrong with the rows.
            UsageError: a metric needs what was not given.
        """
        seen = [[copy(each) for each in self.empty] for _ in self.runs]
        sizes = [0] * (len(self.empty) - 1)
        unknown: list[pl.Series] = []
        topical = False
        for cell in cells:
            table = without_empty(rows_in(cell, JUDGED, "grade"))
            runs = [rows_in(cell, i + 1, "score") for i in range(len(self.runs))]
            topical = topical or self._topical(table)
            if unknown or not self._added(table, runs, seen, sizes):
                unknown += self._unknown(table, runs)
        names = value_of(pl.concat(unknown).unique().sort().to_frame()) if unknown else b""
        found = [Seen([each.state() for each in own], sizes, names, topical) for own in seen]
        yield {"run": [*range(len(self.runs))], "totals": [each.to_text() for each in found]}

    def _added(
        self,
        table: pl.DataFrame,
        runs: Sequence[pl.DataFrame],
        seen: Sequence[Sequence[Accumulator]],
        sizes: list[int],
    ) -> bool:
        """Add a cell to what was seen; whether the catalogue has all of its items."""
        index = self._index(table)
        try:
            for label, run, own in zip(self.labels[1:], runs, seen, strict=True):
                with _sound(run, label) as ranked:
                    own[0].update(index, ranked)
        except InputError as error:
            if error.code != "unknown-item":
                raise
            return False
        for at, (size, judged, some) in enumerate(self._cuts(table, runs)):
            sizes[at] += size
            index = self._index(judged)
            for run, own in zip(some, seen, strict=True):
                own[1 + at].update(index, _ranked(run))
        return True

    def _unknown(self, table: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[pl.Series]:
        """The items of a cell that the catalogue lacks, by run."""
        index = self._index(table)
        for label, run in zip(self.labels[1:], runs, strict=True):
            with _sound(run, label) as ranked:
                found = self.empty[0].unknown_items(index, ranked)
            yield found

    def _cuts(self, table: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[Cut]:
        """What each part of each slice measures of a cell."""
        for each in self.slices:
            with located(table, self.labels[0]):
                yield from each.cut(table, runs)

    def _index(self, table: pl.DataFrame) -> Any:  # noqa: ANN401 - judgments laid out
        if table.is_empty():  # users that are served and have no judgment
            return JudgmentIndex.without_queries(self.labels[0])
        with located(table, self.labels[0]):
            return JudgmentIndex.of(Qrels(table, self.labels[0], place=Place(self.labels[0])))

    def _topical(self, table: pl.DataFrame) -> bool:
        """Whether a judged item has a subtopic; judgments by subtopic are checked elsewhere."""
        known = self.empty[0].categories
        if known is None or "subtopic" in table.columns:
            return True
        return bool(table["doc_id"].is_in(known["doc_id"].implode()).any())


@contextmanager
def _sound(run: pl.DataFrame, label: str) -> Iterator[Any]:
    """A run as an accumulator takes it; errors say where its rows are wrong."""
    with located(run, label):
        refuse_holes(run, "score", Place(label))
        yield _ranked(run)


def _ranked(run: Any) -> Any:  # noqa: ANN401 - a run
    """A run as an accumulator takes it: rows, or nothing."""
    return {} if isinstance(run, pl.DataFrame) and run.is_empty() else run
