"""Results of ``rank_similarity``: the similarity of rankings, without judgments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import partial
from math import isnan
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, NoticeText, Result
from rankgate.core.present.charts.chart_style import SHARES, SIGNED
from rankgate.core.present.charts.chart_views import Axis, ChartView, HeatMap, Panel, Rows
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, QUERY_ID
from rankgate.core.present.document_model import Grid, Table, make_printable
from rankgate.core.present.layout import NOTICES, Sentence, View, fill, layout_document, with_values
from rankgate.core.present.number_formats import count_noun, count_queries, finite_or_none, format_decimal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.present.document_model import Block, Document


MEASURES = Columns(
    "One row per measure.",
    Column("measure", pl.String, "the measure of similarity"),
    Column("mean", pl.Float64, "the mean over queries"),
    Column(
        "low", pl.Float64, "the mean of the low bound; null for measures other than ``RBO``", header="bounds"
    ),
    Column("high", pl.Float64, "the mean of the high bound; null for measures other than ``RBO``"),
    Column("lowest", pl.Float64, "the value of the query that is least similar"),
    Column("lowest_query", pl.String, "the query that is least similar", header="query"),
    Column("n", pl.Int64, "queries with a value", unit="queries", header="queries"),
)
PER_QUERY = Columns(
    "One row per query and measure.",
    QUERY_ID,
    Column("measure", pl.String, "the measure of similarity"),
    Column("value", pl.Float64, "its value"),
)
CURVE = Columns(
    "One row per depth.",
    Column("depth", pl.Int64, "the number of first documents"),
    Column("overlap", pl.Float64, "the mean share of documents that both rankings have in them"),
)
CHANGES = Columns(
    "One row per query, the largest change first.",
    QUERY_ID,
    Column(
        "first_change",
        pl.Int64,
        "the first rank at which the documents differ; null where the lists are the same",
        header="first\nchange",
    ),
    Column("new_in_3", pl.Int64, "new documents in the first 3 of the second run", header="new in\nfirst 3"),
    Column(
        "new_in_10", pl.Int64, "new documents in the first 10 of the second run", header="new in\nfirst 10"
    ),
)
REPRODUCTION = Columns(
    "One row per metric; no rows without judgments.",
    METRIC,
    Column("first", pl.Float64, "the mean of the first run"),
    Column("second", pl.Float64, "the mean of the second run"),
    Column("rmse", pl.Float64, "the root mean square error of the values of queries", header="RMSE"),
    Column("n", pl.Int64, "queries with a value of both", unit="queries", header="queries"),
    Column(
        "effect_ratio",
        pl.Float64,
        "the effect ratio (Breuer et al., SIGIR 2020); null without baselines",
        header="effect\nratio",
    ),
    Column(
        "delta_ri",
        pl.Float64,
        "the delta of the relative improvement (Breuer et al., SIGIR 2020); null without baselines",
        header="delta of rel.\nimprovement",
    ),
)
PAIRS = Columns(
    "One row per pair of runs and measure. Each pair occurs once, of directed measures (``tau-AP``) also "
    "with the second run as the reference.",
    Column("first", pl.String, "the first run"),
    Column("second", pl.String, "the second run"),
    Column("queries", pl.Int64, "queries that both runs have"),
    MEASURES,
)
DIRECTED = ("tau-AP",)
"""Measures that take the first run as the reference: the second against the first differs."""

_TIES = {"a": "mean over all orders", "b": "corrected for ties", "w": "equal ranks"}
_DEPTHS = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000]


def _matrix_table(result: RankSimilarities) -> Iterator[Block]:
    """A column for each run; where names are too long for text, its number."""
    names = tuple(map(make_printable, result.runs))
    cells = [
        ["" if isnan(cell) else format_decimal(cell) for cell in row] for row in result.matrix(result.measure)
    ]
    numbers = tuple(f"({number})" for number in range(1, len(names) + 1))
    numbered_names = map(" ".join, zip(numbers, names, strict=True))
    by_name, by_number = (
        Grid(("run", *header), tuple((name, *row) for name, row in zip(row_names, cells, strict=True)))
        for header, row_names in ((names, names), (numbers, numbered_names))
    )
    yield Table("", by_name, plain=(by_name, by_number))


def _depth_axis(_result: object, rows: Rows) -> Axis:
    scale = "log" if len(rows) > 2 else "number"
    return Axis("depth", "depth k", scale, domain=(1, max(len(rows), 2)))


@dataclass(frozen=True)
class RankSimilarity(Result):
    """The similarity of the rankings of two runs.

    Attributes:
        first, second: the runs.
        p: how far down rank-biased overlap looks.
        ties: how it treats equal scores: ``w``, ``a`` or ``b``.
        depth: documents of each ranking that count.
        queries: queries of both runs.
        only_first, only_second: queries of one run alone, which are left out.
        measures: the columns of `MEASURES`.
        per_query: the columns of `PER_QUERY`.
        agreement: the columns of `CURVE`.
        reproduction: the columns of `REPRODUCTION`.
        input_notices: remarks on the judgments and the runs.
        changes: the columns of `CHANGES`.
    """

    kind = "rank_similarity"
    label = "Similarity of rankings"
    order = 27
    charts: ClassVar = {
        "overlap-curve": ChartView(
            "Overlap of {first:short} and {second:short} by depth",
            "The mean share of documents that both rankings have in the first k; 1 is the same documents, in "
            "any order.",
            "{queries:n query}",
            (
                Panel(
                    "agreement",
                    _depth_axis,
                    Axis("overlap", "overlap", form=".2f", domain=(0, 1)),
                    columns=(pl.all(), pl.lit("overlap").alias("series")),
                    series="series",
                    names="ends",
                    width=480,
                    height=300,
                ),
            ),
        )
    }
    SCHEMAS: ClassVar = {
        "measures": MEASURES,
        "per_query": PER_QUERY,
        "agreement": CURVE,
        "reproduction": REPRODUCTION,
        "changes": CHANGES,
    }
    headline_text = "RBO {measures[mean][0]:.4f}: {first} and {second} on {queries:n query}"
    layout = (
        Sentence("{change_sentence}", "change_sentence"),
        View("measures", "", ("measure", "mean", ("low", "high"), "lowest", "lowest_query", "n")),
        View("agreement", "overlap by depth", row_filter=pl.col("depth").is_in(_DEPTHS)),
        View(
            "reproduction",
            "reproduction of values",
            headers={"first": "{first}", "second": "{second}"},
            optional=("effect_ratio", "delta_ri"),
        ),
        NOTICES,
        Sentence(
            "RBO with p = {p:g}, ties: {tie_rule}; its bounds show what documents below rank {depth} could "
            "change. tau, tau-b, tau-AP and Spearman are over documents that both rankings have."
        ),
    )
    notice_texts = (
        "input_notices",
        *(
            NoticeText(
                "missing-queries",
                f"{{only_{side}:n query}} only in {{{side}}} {{only_{side}:v is/are}} left out",
                f"only_{side}",
                subject=f"{{{side}}}",
            )
            for side in ("first", "second")
        ),
    )

    first: str
    second: str
    p: float
    ties: str
    depth: int
    queries: int
    only_first: int
    only_second: int
    measures: pl.DataFrame
    per_query: pl.DataFrame
    agreement: pl.DataFrame
    reproduction: pl.DataFrame
    input_notices: tuple[Notice, ...] = ()
    changes: pl.DataFrame = field(default_factory=partial(pl.DataFrame, schema=CHANGES))

    @property
    def change_sentence(self) -> str:
        """How many lists changed, and how far up; empty for results that were saved without changes."""
        if self.changes.is_empty():
            return ""
        first_change = self.changes["first_change"]
        changed, top, first = (int((first_change <= rank).sum()) for rank in (self.depth, 3, 1))
        new = float(self.changes["new_in_10"].to_numpy().mean())
        return (
            f"{changed:,} of {count_noun(self.queries, 'list')} changed: {top:,} in the first 3 documents, "
            f"{first:,} in the first. "
            + (
                f"On average {new:.1f} of the first 10 documents of {self.second} are not among the first 10 "
                f"of {self.first}."
                if new
                else "The first 10 hold the same documents in both."
            )
        )

    @property
    def tie_rule(self) -> str:
        """How rank-biased overlap treats equal scores."""
        return _TIES[self.ties]


def _matrix_cells(result: RankSimilarities) -> Rows:
    """A cell for each pair of runs, in the order of the result."""
    return [
        {"row": first, "column": second, "value": finite_or_none(float(value))}
        for first, values in zip(result.runs, result.matrix(result.measure), strict=True)
        for second, value in zip(result.runs, values, strict=True)
    ]


@dataclass(frozen=True)
class RankSimilarities(Result):
    """The similarity of the rankings of three or more runs, pair by pair.

    Attributes:
        runs: the runs, in the order given.
        p: how far down rank-biased overlap looks.
        ties: how it treats equal scores: ``w``, ``a`` or ``b``.
        depth: documents of each ranking that count.
        pairs: the columns of `PAIRS`.
        missing: by run the queries of other runs that it lacks; pairs with it are without them.
    """

    kind = "rank_similarities"
    label = "Similarity of rankings"
    order = 27
    charts: ClassVar = {
        "similarity": ChartView(
            "{measure} of {runs:n run}",
            lambda result: (
                "The mean over queries of each pair of runs: 1 is the same ranking, "
                + ("0 is nothing in common." if result.is_share else "-1 is the reverse.")
            ),
            "{query_counts}",
            lambda result: (
                HeatMap(
                    _matrix_cells,
                    domain=(0, 1) if result.is_share else (-1, 1),
                    shades=SHARES if result.is_share else SIGNED,
                    longest=18,
                ),
            ),
            fluid=False,
            of=lambda result, measure="RBO": with_values(result, measure=measure),
        )
    }
    SCHEMAS: ClassVar = {"pairs": PAIRS}
    measure: ClassVar[str] = "RBO"
    headline_text = "{measure} of {run_count:n run} on {query_counts}"
    layout = (
        "{extremes}",
        _matrix_table,
        NOTICES,
        Sentence(
            "{method}. CSV and JSON have all measures of each pair; two runs alone show theirs, with the "
            "least similar queries and the overlap by depth."
        ),
    )

    runs: tuple[str, ...]
    p: float
    ties: str
    depth: int
    pairs: pl.DataFrame
    missing: Mapping[str, int]

    def document(self, *, measure: str = "RBO") -> Document:  # type: ignore[override] # its own option
        """The matrix of one measure; CSV has all measures of each pair.

        Args:
            measure: one of ``measures``.

        Raises:
            UsageError: there is no such measure.
        """
        return layout_document(self, measure=measure)

    @property
    def is_share(self) -> bool:
        """True if the measure is a share, so that 0 is nothing in common."""
        return self.measure == "RBO" or self.measure.startswith("overlap@")

    @property
    def run_count(self) -> int:
        """The number of runs."""
        return len(self.runs)

    @property
    def query_counts(self) -> str:
        """The number of queries of the pairs."""
        return count_queries(*(int(n) for n in self.pairs["queries"].unique()))

    @property
    def extremes(self) -> str:
        """A sentence on the most and the least similar pair of runs."""
        pairs = self.pairs.filter(pl.col("measure") == self.measure, pl.col("mean").is_not_null())
        if pairs.is_empty():
            return f"No pair of runs has a value of {self.measure}."
        sorted_pairs = pairs.sort("mean", "first", "second", descending=[True, False, False])
        most_similar, least_similar = (
            fill("{first} and {second} ({mean})", self, sorted_pairs.row(index, named=True))
            for index in (0, -1)
        )
        return f"Most similar: {most_similar}; least: {least_similar}."

    @property
    def method(self) -> str:
        """How the measure was computed."""
        parts = [f"Means over queries, of the first {count_noun(self.depth, 'document')} of each ranking"]
        if self.measure == "RBO":
            parts.append(f"p = {self.p:g}, ties: {_TIES[self.ties]}")
        if self.measure in DIRECTED:
            parts.append("the run of the row is the reference, over documents that both rankings have")
        if self.measure in {"tau", "tau-b", "Spearman"}:
            parts.append("over documents that both rankings have")
        return "; ".join(parts)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Queries that a run lacks."""
        return tuple(
            Notice(
                "missing-queries",
                f"{name} lacks {count_noun(count, 'query')} of other runs; its pairs leave them out",
                name,
            )
            for name, count in self.missing.items()
            if count
        )

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures."""
        return tuple(self.pairs["measure"].unique(maintain_order=True))

    def matrix(self, measure: str = "RBO") -> NDArray[np.float64]:
        """(S, S) means of one measure in the order of ``runs``; NaN on the diagonal.

        The run of a row is the reference of directed measures.

        Args:
            measure: one of ``measures``.

        Raises:
            UsageError: there is no such measure.
        """
        if measure not in self.measures:
            names = ", ".join(self.measures)
            problem = f"unknown measure {measure!r}; known: {names}."
            raise UsageError(problem, code="unknown-measure")
        row_of = {name: i for i, name in enumerate(self.runs)}
        cells = np.full((len(self.runs), len(self.runs)), np.nan)
        for row in self.pairs.filter(measure=measure).iter_rows(named=True):
            i, j = row_of[row["first"]], row_of[row["second"]]
            mean = np.nan if row["mean"] is None else row["mean"]
            cells[i, j] = mean
            if measure not in DIRECTED:
                cells[j, i] = mean
        return cells
