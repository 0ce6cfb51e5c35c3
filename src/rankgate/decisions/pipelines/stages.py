"""A ranking followed through its stages: the result of the verb ``stages``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import ClassVar

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.charts.chart_style import INK, LINE
from rankgate.core.present.charts.chart_views import Axis, ChartView, Mark, Panel, Reference
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC
from rankgate.core.present.document_model import make_printable
from rankgate.core.present.layout import NOTICES, CrossView, Sentence, ShownChart, View, fill
from rankgate.core.present.number_formats import format_correction, format_interval
from rankgate.core.value_types import JsonObject
from rankgate.data.query_latencies import complete_bounds
from rankgate.decisions.comparison.comparison_columns import METRICS as FIGURES
from rankgate.decisions.comparison.inference import describe_method
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


@dataclass(frozen=True)
class StageInput:
    """A stage and its run.

    Attributes:
        name: the name of the stage.
        kind: ``retrieves`` (the first stage, and each that has candidates that the stage before
            lacks), ``approximates`` or ``reranks``.
        sha256: the SHA-256 of the run.
    """

    name: str
    kind: str
    sha256: str


_STAGE = Axis("stage", scale="names")


def _stage_panels(result: Pipeline) -> tuple[Panel, ...]:
    """The ceilings, the labels and the latency by stage."""
    if result.ceilings["value"].is_null().all():
        raise UsageError(f"no stage has a value of {result.target}.", code="nothing-to-draw")
    return _STAGE_PANELS


_STAGE_PANELS = (
    Panel(
        "ceilings",
        Axis("value", "mean {target}"),
        _STAGE,
        (
            Reference("best", dashed=True),
            Mark("bar", "ceiling", colour=LINE),
            Mark("bar", "value"),
            Mark("tick", "ceiling", colour=INK),
            Mark(
                "words", ("{value:decimal} of {ceiling:decimal}: {realised:.0%} realised", "{value:decimal}")
            ),
        ),
        (pl.lit("ceiling").alias("what"), pl.all(), pl.int_range(pl.len()).alias("place")),
        row_filter=pl.col("value").is_not_null(),
        width=420,
        height=34,
        tooltip=("kind", "realised"),
    ),
    Panel(
        "mix",
        Axis("share", "of the first {k:n document}", form=".0%", domain=(0, 1)),
        _STAGE,
        (Mark("stack", "share"),),
        (pl.all(), pl.lit("mix").alias("what")),
        series="label",
        by_grade=True,
        width=420,
        height=34,
        tooltip=("count",),
    ),
    Panel(
        "latency",
        Axis("total", "mean milliseconds since the query came"),
        _STAGE,
        (Mark("bar", "waits", "total"), Mark("words", ("{mean:,.1f} ms; {total:,.1f} ms to here",))),
        (pl.lit("latency").alias("what"), pl.all()),
        width=420,
        height=34,
        tooltip=("does", "mean", "p50", "p95"),
    ),
)


@dataclass(frozen=True)
class Pipeline(Result):
    """Stages of a ranking, from the first retrieval to the last reranker.

    Attributes:
        stage_inputs: the stages, in order.
        qrels, qrels_sha256: the judgments.
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

    kind = "stages"
    KEYS: ClassVar[Mapping[str, str]] = {
        "stage_inputs": "stages",
        "qrels": "qrels.name",
        "qrels_sha256": "qrels.sha256",
    }
    order = 30
    charts: ClassVar = {
        "stages": ChartView(
            "{target} by stage, and the ceiling that each leaves",
            (
                Sentence(
                    "Bar: the value. Mark: the ceiling, the best that any reranker of its first "
                    "{depth:n document} could reach."
                ),
                Sentence("Dashed: the best order of all judged documents, {best:decimal}.", "best"),
                Sentence("The bottleneck is {bottleneck.stage:short}.", "bottleneck"),
                "Below: grades of the first {k:n document}.",
                Sentence(
                    "Then the time that a query takes: a stage begins when its inputs are there.", "latency"
                ),
            ),
            "{queries:n query}",
            _stage_panels,
            across=1,
        )
    }
    SCHEMAS: ClassVar = {
        "means": MEANS,
        "ceilings": CEILINGS,
        "steps": STEPS,
        "moves": MOVES,
        "mix": MIX,
        "losses": LOSSES,
        "latency": LATENCY,
    }
    lead = ("{sentence}",)
    layout = (
        ShownChart("stages"),
        CrossView("means", "", ("stage",), column_key="metric", value="mean"),
        View(
            "latency_bounds",
            "latency in milliseconds, and queries that were answered",
            ("stage", "does", "ok", "zero", "failed", "p50", "p95", "total_p50", "total_p95"),
            columns=LATENCY,
        ),
        View(
            "steps",
            "each step against {predecessor}",
            ("stage", "metric", "delta", ("low", "high"), "p_value", ("wins", "/", "ties", "/", "losses")),
            headers={"low": "{level:.0%} interval", "wins": "won/tied/\nlost"},
            keys=2,
        ),
        View(
            "ceilings",
            "the ceiling: {target} of the first {depth:n document}, or those that a reranker may order, in "
            "their best order (best there is: {best})",
            ("stage", "kind", "documents", "value", "ceiling", "realised"),
            headers={"value": "{target}"},
        ),
        View("causes_of_losses", "where {target} is lost", columns=LOSSES, keys=2),
        View(
            "moves",
            "relevant documents, over all queries",
            ("stage", "k", "relevant", "gained", "lost"),
            keys=2,
        ),
        CrossView("mix", "labels of the first {k:n document}", ("stage",), column_key="label", value="share"),
        NOTICES,
        Sentence(
            "Means are over queries; the ceiling is over the {queries} that have a value at every stage. "
            "Relevant is a grade above 0; unjudged documents count as not relevant, in the ceiling too. A "
            "stage reranks if all of its first {depth:n document} are among those of the stage before. "
            "{method}, {correction_text}."
        ),
        Sentence(
            "Latency to here: that of the stage plus that of its slowest input, as branches run at the same "
            "time; fusion is timed for all queries together.",
            "latency",
        ),
    )
    notice_texts = (NoticeText("stages", "{row}", source="warnings"),)

    stage_inputs: tuple[StageInput, ...]
    qrels: str
    qrels_sha256: str
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

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages, in order."""
        return tuple(stage.name for stage in self.stage_inputs)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each stage: ``retrieves``, ``approximates`` or ``reranks``."""
        return tuple(stage.kind for stage in self.stage_inputs)

    @property
    def inputs(self) -> tuple[tuple[str, str, str], ...]:
        """Judgments, and the run after each stage."""
        return (
            (self.qrels, "judgments", self.qrels_sha256),
            *((stage.name, "run", stage.sha256) for stage in self.stage_inputs),
        )

    @property
    def headline(self) -> str:
        """The stages in order, the judgments and the convention."""
        template = "{stages}, by judgments {qrels}, convention {convention[name]} ({convention[hash]})"
        return fill(template, self, {"stages": " → ".join(self.stages)})

    @property
    def sentence(self) -> str:
        """Sentences on the stages that lower the metric, then on the present bottleneck."""
        return " ".join([*_lowering_sentences(self), _bottleneck_sentence(self)])

    @property
    def predecessor(self) -> str:
        """What each stage is compared with."""
        return "its last input" if len(self.latency) else "the stage before"

    @property
    def latency_bounds(self) -> pl.DataFrame:
        """The columns of `LATENCY`, with the largest possible values of earlier versions."""
        return complete_bounds(self.latency)

    @property
    def causes_of_losses(self) -> pl.DataFrame:
        """The columns of `LOSSES`, with the causes in words."""
        causes = {
            "retrieval": f"its first {self.depth} lack relevant documents",
            "approximation": "its approximate search misses relevant documents",
            "depth": "it does not look below its first candidates",
            "cut": "takes relevant documents out",
            "order": "its order of the candidates",
        }
        return self.losses.with_columns(pl.col("why").replace(causes))

    @property
    def method(self) -> str:
        """The methods of the interval and of the p-values."""
        errors = self.steps["mc_error"]
        method = describe_method(self.interval, self.test, self.resamples, self.seed, errors)
        return f"{method[0].upper()}{method[1:]}"

    @property
    def correction_text(self) -> str:
        """The correction of the p-values."""
        return format_correction(self.correction)


def _lowering_sentences(result: Pipeline) -> Iterator[str]:
    """Sentences on stages that lower the metric and can therefore be left out."""
    for row in result.steps.iter_rows(named=True):
        if row["metric"] == result.target and (row["delta"] or 0) < 0 and not (row["high"] or -1) > 0:
            ends = format_interval(row["low"], row["high"])
            certainty = "" if row["high"] is None else f" ({result.level:.0%} interval {ends})"
            yield (
                f"{make_printable(row['stage'])} lowers {result.target} by {-row['delta']:.4f} against "
                f"{make_printable(row['against'])}{certainty}."
            )


def _bottleneck_sentence(result: Pipeline) -> str:
    """The bottleneck, and the significance of its difference to the next loss."""
    bottleneck = result.bottleneck
    if bottleneck is None:
        return f"Nothing is lost: the last stage has the best {result.target} there is."
    template = (
        f"The bottleneck now is {_CAUSES[bottleneck.why]}. That costs {{bottleneck.lost:.4f}} of the "
        "{missing:.4f} {target} that are missing ({bottleneck.share:.0%})."
    )
    if bottleneck.next_stage is None or bottleneck.next_lost is None:
        template += " Nothing else is lost."
    else:
        conclusion = (
            "show that it is less" if bottleneck.significant else "cannot show which of the two is larger"
        )
        template += (
            f" Next is {_NEXT_CAUSES[str(bottleneck.next_why)]}, {{bottleneck.next_lost:.4f}}; these queries "
            f"{conclusion} (difference {{difference:+.4f}}, {{level:.0%}} interval "
            "[{bottleneck.low:+z.4f}, {bottleneck.high:+z.4f}])."
        )
    missing, next_lost = float(result.losses["lost"].sum()), bottleneck.next_lost or 0.0
    return fill(template, result, {"missing": missing, "difference": bottleneck.lost - next_lost})


_CAUSES = {
    "retrieval": "retrieval: the first {depth:n document} of {bottleneck.stage} lack relevant ones",
    "approximation": "the approximation by {bottleneck.stage}: its search misses relevant documents that the "
    "stage before it finds",
    "depth": "the depth of {bottleneck.stage}: relevant documents are below those that it looks at",
    "cut": "{bottleneck.stage}: it takes relevant documents out of its candidates",
    "order": "the order of {bottleneck.stage}: the documents are there, and others are above them",
}
_NEXT_CAUSES = {
    "retrieval": "retrieval by {bottleneck.next_stage}",
    "approximation": "the approximation by {bottleneck.next_stage}",
    "depth": "the depth of {bottleneck.next_stage}",
    "cut": "what {bottleneck.next_stage} takes out",
    "order": "the order of {bottleneck.next_stage}",
}
