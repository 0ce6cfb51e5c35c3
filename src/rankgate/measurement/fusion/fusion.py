"""Runs merged into one: the result of the verb ``fuse``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import RUN
from rankgate.core.present.layout import NOTICES, Sentence, View

# the codec reads the field types when it restores a result
from rankgate.core.present.number_formats import count_noun
from rankgate.data import Run
from rankgate.measurement.fusion.run_fuser import TOP_RANKS, Setting, TrainedFold
from rankgate.measurement.fusion.trained_methods import METHODS

SOURCES = Columns(
    "One row per fused run.",
    RUN,
    Column("queries", pl.Int64, "queries that it has"),
    Column("missing", pl.Int64, "queries of the fused run that it lacks", unit="queries"),
    Column("documents", pl.Int64, "its documents that counted"),
    Column(
        "alone", pl.Int64, "documents that no other run has", unit="documents", header="only in\nthis run"
    ),
    Column(
        "first",
        pl.Float64,
        "the share of the first 10 fused documents that it has",
        ".1%",
        header=f"of first\n{TOP_RANKS} fused",
    ),
)


@dataclass(frozen=True)
class Learned:
    """The setting that a fusion learned from judgments, with its measured gain.

    Attributes:
        metric: the metric that was maximised, or measured.
        qrels, qrels_sha256: the judgments.
        seed: the seed of the folds.
        tried: the number of settings that were tried.
        setting: the setting that all judged queries choose, used where nothing is judged.
        held_out: the mean of the metric over judged queries, each fused by what other queries
            taught.
        in_sample: the same mean with what these queries themselves taught: too high by the
            optimism of the choice.
        queries: judged queries with a value.
        unjudged: queries without judgments.
        folds: the choices for each fold.
        trained: the parameters that a trained method learns from all judged queries, a row for each
            run.
        singles: the mean of each run over the same queries, by name.
    """

    metric: str
    qrels: str
    qrels_sha256: str
    seed: int
    tried: int
    setting: Setting
    held_out: float
    in_sample: float
    queries: int
    unjudged: int
    folds: tuple[TrainedFold, ...]
    trained: tuple[tuple[float, ...], ...] | None
    singles: Mapping[str, float] = field(default_factory=dict)

    def against(self, names: Sequence[str], means: Sequence[float]) -> Learned:
        """Add the mean of each single run."""
        return replace(self, singles=dict(zip(names, means, strict=True)))


@dataclass(frozen=True)
class Fusion(Result):
    """Runs merged into one.

    Attributes:
        method: the fusion method.
        parameters: its parameters that were given or chosen.
        weights: of the runs; None where they are equal.
        normalisation: of scores before; None for a method on ranks.
        depth: how many documents of each run and query counted; None is all.
        keep: how many documents of each query were kept; None is all.
        queries: queries of the fused run.
        documents: rows of the fused run.
        sources: the columns of `SOURCES`.
        learned: what was learned from judgments; None where nothing was.
        input_notices: remarks on the judgments and the runs.
        run: the fused run; None in a result that was read from JSON.
        fused: the runs that were fused; none in a result that was read from JSON.
        known: their hashes, in a result that was read from JSON.
    """

    kind = "fusion"
    main_table = "fused_rows"
    label = "Fusion of runs"
    order = 28
    SCHEMAS: ClassVar = {"sources": SOURCES}
    headline_text = "{sources:n run} fused by {method}: {queries:n query}, {documents:n document}"
    lead = (
        Sentence(
            "{learned.metric} on held-out queries: {learned.held_out:.4f}, against {best_single}, the best "
            "single run; on the queries that were learned from {learned.in_sample:.4f}.",
            "learned",
        ),
    )
    layout = (
        View(
            "weighted_sources",
            "",
            ("run", "queries", "documents", "alone", "first", "weight"),
            Columns("One row per fused run.", SOURCES, Column("weight", pl.Float64, "its weight", "g")),
            optional=("weight",),
        ),
        View("means", "by metric", headers={"mean": "{learned.metric}"}, condition="learned"),
        View("folds", "folds", headers={"training": "{learned.metric}\nthere"}, condition="learned"),
        NOTICES,
        "{method_text}",
    )

    WRITTEN: ClassVar[tuple[str, ...]] = (
        "method",
        "parameters",
        "weights",
        "normalisation",
        "depth",
        "keep",
        "queries",
        "documents",
        "sources",
        "learned",
        "input_notices",
        "sha256",
    )
    KEYS: ClassVar[Mapping[str, str]] = {"known": "sha256"}

    method: str
    parameters: Mapping[str, Any]
    weights: tuple[float, ...] | None
    normalisation: str | None
    depth: int | None
    keep: int | None
    queries: int
    documents: int
    sources: pl.DataFrame
    learned: Learned | None = None
    input_notices: tuple[Notice, ...] = ()
    run: Run | None = field(default=None, compare=False, repr=False)
    fused: tuple[Run, ...] = field(default=(), compare=False, repr=False)
    known: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def best_single(self) -> str:
        """The mean of the best single run, and its name."""
        singles = self.learned.singles if self.learned else {}
        best = max(singles, key=lambda name: singles[name])
        return f"{singles[best]:.4f} of {best}"

    @property
    def weighted_sources(self) -> pl.DataFrame:
        """`sources` with the weight of each run; null where they are equal."""
        weights = self.weights or (None,) * len(self.sources)
        return self.sources.with_columns(weight=pl.Series(weights, dtype=pl.Float64))

    @property
    def means(self) -> pl.DataFrame:
        """The mean of each run, and of the fused run: ``run``, ``mean``."""
        learned = self.learned
        assert learned is not None
        rows = [
            *learned.singles.items(),
            ("fused, held-out queries", learned.held_out),
            ("fused, same queries (too high)", learned.in_sample),
        ]
        return pl.DataFrame(rows, ["run", "mean"], orient="row")

    @property
    def folds(self) -> pl.DataFrame:
        """The settings of the folds that learned one: ``fold``, ``queries``, ``setting``, ``training``."""
        rows = [
            (number, fold.queries, str(fold.setting), fold.training)
            for number, fold in enumerate(self.learned.folds if self.learned else (), 1)
            if fold.training is not None
        ]
        names = ["fold", "queries", "chosen on the others", "training"]
        return pl.DataFrame(rows, names, orient="row")

    @property
    def method_text(self) -> str:
        """The method with its setting, and what counts of each list."""
        method = METHODS.find(self.method)
        setting = Setting(self.parameters, self.weights)
        scores = f" Scores are normalised by {self.normalisation}." if self.normalisation else ""
        depth = f" The first {count_noun(self.depth, 'document')} of each list count." if self.depth else ""
        return (
            f"{method.name}: {method.title} ({method.formula}; {method.source}); {setting}."
            f"{scores}{depth} Ranks are by score, equal scores by document id, descending."
        )

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Cautions of runs, and runs that lack queries."""
        missing = tuple(
            Notice(
                "missing-queries",
                f"{name} has no list for {count:,} of {count_noun(self.queries, 'query')}; there the others "
                "decide alone",
                name,
            )
            for name, count in self.sources.select("run", "missing").iter_rows()
            if count
        )
        return (*self.input_notices, *missing)

    @property
    def sha256(self) -> tuple[str, ...]:
        """The hash of each run; computed on first use, as it takes as long as fusing."""
        return self.known or tuple(run.sha256 for run in self.fused)

    @property
    def inputs(self) -> tuple[tuple[str, str, str], ...]:
        """The runs, and the judgments that were learned from."""
        runs = zip(self.sources["run"], self.sha256, strict=True)
        taught = self.learned
        judged = ((taught.qrels, "judgments", taught.qrels_sha256),) if taught else ()
        return (*judged, *((name, "run", digest) for name, digest in runs))

    @property
    def fused_rows(self) -> pl.DataFrame:
        """The rows of the fused run, or its sources where it was read from JSON."""
        return self.sources if self.run is None else self.run.table
