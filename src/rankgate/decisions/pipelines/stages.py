"""A ranking followed through its stages: the result of the verb ``stages``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any, ClassVar, Self

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.codec import frame
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC
from rankgate.core.present.lazy_names import load_name
from rankgate.core.value_types import JsonObject, Schema
from rankgate.decisions.comparison.comparison_columns import METRICS as FIGURES
from rankgate.decisions.pipelines.stage_figures import LATENCY, LOSSES, MIX, MOVES, Bottleneck

MEANS = Columns(
    "One row per stage and metric.",
    Column("stage", pl.String, "the name of the stage"),
    METRIC,
    Column("mean", pl.Float64, "the mean of the metric"),
    Column("n", pl.Int64, "queries with a value", unit="queries"),
)
CEILINGS = Columns(
    "One row per stage.",
    Column("stage", pl.String, "the name of the stage"),
    Column("kind", pl.String, "``retrieves``, ``approximates`` or ``reranks``", header="does"),
    Column("value", pl.Float64, "the mean of the target"),
    Column("ceiling", pl.Float64, "the mean of the target for the stage's candidates in their best order"),
    Column("realised", pl.Float64, "value / ceiling", ".1%"),
    Column(
        "documents",
        pl.Float64,
        "the mean number of candidates of a query",
        ".1f",
        header="candidates\nper query",
    ),
)
STEPS = Columns(
    "One row per step between stages and metric, as the metrics of a comparison; p-values are corrected over "
    "all steps and metrics.",
    Column("stage", pl.String, "the name of the stage"),
    Column("against", pl.String, "the stage that it is compared with"),
    FIGURES,
)
_FIGURES = (
    "target",
    "k",
    "depth",
    "queries",
    "best",
    "test",
    "interval",
    "level",
    "correction",
    "seed",
    "resamples",
)
_TABLES: Mapping[str, Schema] = {
    "means": MEANS,
    "ceilings": CEILINGS,
    "steps": STEPS,
    "moves": MOVES,
    "mix": MIX,
    "losses": LOSSES,
    "latency": LATENCY,
}


@dataclass(frozen=True)
class Pipeline(Result):
    """Stages of a ranking, from the first retrieval to the last reranker.

    Attributes:
        stages: their names, in order.
        kinds: ``retrieves`` (the first, and each that has candidates that the stage before lacks),
            ``approximates`` or ``reranks``.
        qrels, qrels_sha256: the judgments.
        run_sha256: the SHA-256 of each run.
        convention: name, axes and hash.
        target: the metric of the ceiling.
        k: its cutoff, and that of the mix of labels.
        depth: the number of documents of a stage that are its candidates.
        queries: those of the ceilings: all stages have a value for them.
        best: the mean of the target for the best order of all judged documents.
        means: the columns of `MEANS`.
        ceilings: the columns of `CEILINGS`.
        steps: the columns of `STEPS`.
        moves: the columns of `MOVES`, at ``depth`` and ``k``.
        mix: the columns of `MIX`, among the first ``k``.
        losses: the columns of `LOSSES`.
        bottleneck: the largest loss; None if nothing is lost.
        warnings: warnings about figures.
        test, interval, level, correction, seed, resamples: the test, interval, level, correction,
            seed and resamples of the steps.
        latency: the columns of `LATENCY`.
    """

    kind: ClassVar[str] = "stages"
    document_from: ClassVar[str] = "rankgate.decisions.pipelines.pipeline_document:stages_document"
    order: ClassVar[int] = 30
    charts: ClassVar[Mapping[str, str]] = {
        "stages": "rankgate.decisions.pipelines.charts.stage_chart:draw_stages"
    }
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {
        "means": MEANS,
        "ceilings": CEILINGS,
        "steps": STEPS,
        "moves": MOVES,
        "mix": MIX,
        "losses": LOSSES,
        "latency": LATENCY,
    }

    stages: tuple[str, ...]
    kinds: tuple[str, ...]
    qrels: str
    qrels_sha256: str
    run_sha256: tuple[str, ...]
    convention: JsonObject
    target: str
    k: int
    depth: int
    queries: int
    best: float | None
    means: pl.DataFrame
    ceilings: pl.DataFrame
    steps: pl.DataFrame
    moves: pl.DataFrame
    mix: pl.DataFrame
    losses: pl.DataFrame
    bottleneck: Bottleneck | None
    warnings: tuple[str, ...]
    test: str
    interval: str
    level: float
    correction: str
    seed: int
    resamples: int
    latency: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LATENCY))

    @property
    def heading(self) -> str:
        """The stages by name."""
        return f"Stages: {', '.join(self.stages)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        stages = zip(self.stages, self.kinds, self.run_sha256, strict=True)
        return {
            **self.head(),
            "stages": [{"name": n, "kind": kind, "sha256": sha} for n, kind, sha in stages],
            "qrels": {"name": self.qrels, "sha256": self.qrels_sha256},
            "convention": dict(self.convention),
            **{name: getattr(self, name) for name in _FIGURES},
            **{name: getattr(self, name).to_dicts() for name in _TABLES},
            "bottleneck": asdict(self.bottleneck) if self.bottleneck else None,
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From ``to_dict``."""
        stages, bottleneck_values = values["stages"], values["bottleneck"]
        tables: dict[str, Any] = {
            name: frame(values.get(name, []), schema) for name, schema in _TABLES.items()
        }
        return cls(
            stages=tuple(stage["name"] for stage in stages),
            kinds=tuple(stage["kind"] for stage in stages),
            qrels=values["qrels"]["name"],
            qrels_sha256=values["qrels"]["sha256"],
            run_sha256=tuple(stage["sha256"] for stage in stages),
            convention=values["convention"],
            bottleneck=Bottleneck(**bottleneck_values) if bottleneck_values else None,
            warnings=tuple(values["warnings"]),
            **tables,
            **{name: values[name] for name in _FIGURES},
        )

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about figures."""
        return tuple(Notice("stages", text) for text in self.warnings)

    @property
    def inputs(self) -> tuple[tuple[str, str, str], ...]:
        """Judgments, and the run after each stage."""
        runs = zip(self.stages, self.run_sha256, strict=True)
        return (
            (self.qrels, "judgments", self.qrels_sha256),
            *((name, "run", digest) for name, digest in runs),
        )

    @property
    def sentence(self) -> str:
        """The sentence on the present bottleneck."""
        text: str = load_name("rankgate.decisions.pipelines.pipeline_document:sentence")(self)
        return text
