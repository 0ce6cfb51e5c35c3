"""Score the whole queries of a partition by the plan of the local engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.core.frozen import dataclass
from rankgate.data.place import Place
from rankgate.data.qrels import OPTIONAL, Qrels, refuse_holes, without_empty
from rankgate.data.run import Run
from rankgate.measurement.evaluation.evaluate import with_subtopics
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.plan import Measurement, Plan
from rankgate.measurement.scoring.sources import RunSource, measured, with_empty
from rankgate.spark.paired import PairTotals, groups_of
from rankgate.spark.totals import Totals

if TYPE_CHECKING:
    from rankgate.data import Scores

JUDGED, UNJUDGED = 0, -1
"""The part of rows that are judgments, and of queries without any; runs count from 1."""

Cell = Mapping[int, pl.DataFrame]
"""The rows of some whole queries, by ``part``."""

_IDS = {"query_id": pl.String, "doc_id": pl.String}


@dataclass(frozen=True)
class Scoring:
    """The values of runs, and their sums.

    Attributes:
        plan: what is measured.
        runs: the names of the runs.
        labels: where judgments and each run come from, for errors.
        ordered: for each run whether the order of its rows is a ranking.
        subtopics: whether a metric looks at subtopics.
        values: whether values are wanted, or sums only.
        pairs: whether each run is compared with the first.
        band: differences up to this size count as ties.
        drop: whether queries that only one of two runs has are left out.
        tags: of queries, where there are slices.
        slices: the tags whose values are slices.
    """

    plan: Plan
    runs: tuple[str, ...]
    labels: tuple[str, ...]
    ordered: tuple[bool, ...]
    subtopics: bool
    values: bool
    pairs: bool = False
    band: float = 0.0
    drop: bool = False
    tags: Any = None
    slices: tuple[str, ...] = ()

    def over(self, cells: Iterable[Cell]) -> Iterator[Any]:
        """Values of each query and run, and at the end the sums of each run.

        Raises:
            InputError, DuplicateError: what is wrong with the rows.
        """
        totals = [Totals() for _ in self.runs]
        paired = [PairTotals() for _ in self.runs]
        for cell in cells:
            first = None
            for i, (scores, found) in enumerate(self.scored(cell)):
                totals[i] += found
                if scores is None:
                    continue
                if self.values:
                    yield _values(scores, i)
                if not i or not self.pairs:
                    groups = groups_of(
                        scores.query_ids, self.tags, self.slices, tagged=not self.pairs
                    )
                first = scores if first is None else first
                if self.slices and not self.pairs:
                    totals[i] += Totals.of_slices(scores, groups)
                if self.pairs and first is not None:
                    paired[i] += PairTotals.of(first, scores, groups, self.band, drop=self.drop)
        texts = [each.to_json() for each in (*totals, *(paired if self.pairs else ()))]
        runs = [*range(len(self.runs))]
        yield {"run": runs * (2 if self.pairs else 1), "totals": texts}

    def scored(self, cell: Cell) -> Iterator[tuple[Scores | None, Totals]]:
        """The scores of each run on some whole queries, and their sums."""
        index = self._judgments(cell)
        for i in range(len(self.runs)):
            rows = rows_in(cell, i + 1, "score")
            with located(rows, self.labels[i + 1]):
                yield self._of_run(i, rows, index)

    def _of_run(
        self, i: int, rows: pl.DataFrame, index: JudgmentIndex | None
    ) -> tuple[Scores | None, Totals]:
        """The scores of one run on some whole queries, and their sums."""
        place = Place(self.labels[i + 1])
        refuse_holes(rows, "score", place)
        run = Run(self.runs[i], lambda: iter((rows,)), place=place, ordered=self.ordered[i])
        if index is None:
            unknown = run.whole(self.plan.conventions[0].duplicates).frame if len(rows) else rows
            counts = {**Totals().counts, "unknown_queries": unknown["query_id"].n_unique()}
            return None, Totals(counts)
        source = RunSource(run, index)
        nothing = Measurement(self.plan)
        total = measured(self.plan, source) if len(rows) else with_empty(nothing, source)
        scores = total.score(0, source, strict=False, exact=True)
        return scores, Totals.of(scores, self.plan.jobs[0], _missing(scores, index, rows))

    def _judgments(self, cell: Cell) -> JudgmentIndex | None:
        label = self.labels[0]
        unjudged = rows_in(cell, UNJUDGED, "grade")["query_id"]
        table = rows_in(cell, JUDGED, "grade")
        if table.is_empty() and unjudged.is_empty():
            return None
        with located(table, label):
            qrels = Qrels(without_empty(table), label, unjudged=tuple(unjudged), place=Place(label))
        index = JudgmentIndex.of(qrels)
        return with_subtopics(index) if self.subtopics else index


def _missing(scores: Scores, index: JudgmentIndex, rows: pl.DataFrame) -> str:
    """A judged query that a run does not have; empty if it has all."""
    if not scores.counts.missing:
        return ""
    ran = rows["query_id"].unique().implode()
    return str(index.query_ids.filter(~index.query_ids.is_in(ran)).first() or "")


def rows_in(cell: Cell, part: int, number: str) -> pl.DataFrame:
    """The rows of a cell that are a run's, or judgments.

    Args:
        cell: whole queries.
        part: whose rows.
        number: what their number is: grade or score.
    """
    if part not in cell:
        return pl.DataFrame(schema={**_IDS, number: pl.Float64})
    rows = cell[part]
    if "number" not in rows.columns:  # queries without judgments
        return rows
    others = [name for name in OPTIONAL if name in rows.columns]
    return rows.select("query_id", "doc_id", pl.col("number").alias(number), *others)


@contextmanager
def located(rows: pl.DataFrame, label: str) -> Iterator[None]:
    """Errors say the query and document of the row that is wrong, for the driver to find it."""
    try:
        yield
    except DuplicateError as error:
        again = rows.filter(~pl.struct("query_id", "doc_id").is_first_distinct())
        error.source, error.at = label, again.row(0)[:2]  # type: ignore[attr-defined]
        raise
    except InputError as error:
        number = rows.columns[2]
        wrong = rows.filter(
            pl.any_horizontal(pl.col("query_id", "doc_id").fill_null("") == "")
            | ~pl.col(number).is_finite().fill_null(value=False)
        )
        if len(wrong):
            error.at = wrong.row(0)[:2]  # type: ignore[attr-defined]
        error.source = label
        raise


def _values(scores: Scores, run: int) -> pl.DataFrame:
    """A row a query: values, undefined ones null, and why."""
    columns: dict[str, Any] = {"query_id": scores.query_ids}
    columns["run"] = np.full(len(scores.query_ids), run, np.int32)
    columns |= {
        f"v{i}": pl.Series(each).fill_nan(None) for i, each in enumerate(scores.values.values())
    }
    columns |= {f"w{i}": each for i, each in enumerate(scores.why.values())}
    return pl.DataFrame(columns).with_columns(pl.lit(None, pl.String).alias("totals"))
