"""The verb ``holes``: estimate the effect of unjudged documents, and rank them for judging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Cutoff
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result, run_notices
from rankgate.core.present.charts.chart_style import BLUE, GREY, INK
from rankgate.core.present.charts.chart_views import ZERO, Axis, ChartView, Mark, Panel
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, QUERY_ID
from rankgate.core.present.document_model import SOFT
from rankgate.core.present.layout import NOTICES, CrossView, Sentence, ShownChart, View, layout_document
from rankgate.core.present.number_formats import count_noun
from rankgate.core.progress import step
from rankgate.core.value_types import JsonObject
from rankgate.data.adapters import read_rankings
from rankgate.data.collection import SAMPLE_FIELDS, SETTLED, TASK_FIELDS, Collection, Selection
from rankgate.decisions.comparison.comparison_tables import judged_tables
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.paired_values import pair_values
from rankgate.decisions.unjudged.hole_figures import FIGURES, SLICES, estimate_metrics, judge_next
from rankgate.decisions.unjudged.hole_model import model_holes
from rankgate.decisions.unjudged.hypothetical_grades import HypotheticalScorer
from rankgate.measurement.evaluation.scored_system import DEPTH, Scorer
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.top_documents import refuse_baseline_again

if TYPE_CHECKING:
    from rankgate.core.present.document_model import Document
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention

METRICS = Columns(
    "One row per metric.",
    FIGURES,
    Column(
        "condensed",
        pl.Float64,
        "the difference with unjudged documents taken out of the lists; null where the runs are closed",
        "signed",
        header=f"con{SOFT}\ndensed",
    ),
)
JUDGED = Columns(
    "One row per system and cutoff.",
    Column("system", pl.String, "baseline or candidate"),
    Column("k", pl.Int64, "the cutoff"),
    Column("share", pl.Float64, "the mean share of judged documents among the first k"),
)
JUDGE_NEXT = Columns(
    "One row per unjudged document, the most influential first.",
    QUERY_ID,
    DOC_ID,
    Column("rank_baseline", pl.Int64, "its rank in the baseline; null where the list lacks it"),
    Column("rank_candidate", pl.Int64, "its rank in the candidate; null where the list lacks it"),
    Column(
        "relevant", pl.Float64, "the estimated probability that it is relevant", ".2f", header="relevant?"
    ),
    Column(
        "influence", pl.Float64, "its influence on the mean difference, in units of the first metric", ".5f"
    ),
    Column("why", pl.String, "why it matters"),
)

_SELECTION = {
    "unknown": "Half of the draws take judged documents as chosen at random, half as pooled from other "
    "systems, so that unjudged ones are worse.",
    "random": "Judged documents are taken as chosen at random.",
    "pooled": "Judged documents are taken as pooled from other systems, so that unjudged ones are worse.",
    **{name: f"{text[0].upper()}{text[1:]}." for name, text in SETTLED.items()},
}
_ESTIMATE = ("expected", ("low", "high"), "flip")

DRAWS = 200
"""Sets of grades that are drawn for an estimate."""


@dataclass(frozen=True)
class HoleAnalysis(Result):
    """What the unjudged documents could make of the difference of two systems.

    Attributes:
        baseline, candidate, qrels: names.
        convention: name, axes and hash.
        depth: how far lists were looked at.
        metrics: the columns of `METRICS`.
        judged: the columns of `JUDGED`.
        judge_next: the columns of `JUDGE_NEXT`.
        skipped: metrics that look deeper than the lists that were kept.
        draws, seed: of the estimate.
        selection: how documents to be judged were chosen, as the estimate takes it.
        notices: remarks on the judgments and the runs.
        slices: the columns of `SLICES`.
    """

    baseline: str
    candidate: str
    qrels: str
    convention: JsonObject
    depth: int
    metrics: pl.DataFrame
    judged: pl.DataFrame
    judge_next: pl.DataFrame
    skipped: tuple[str, ...]
    draws: int
    seed: int
    selection: Selection = "unknown"
    notices: tuple[Notice, ...] = ()
    slices: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SLICES))

    kind = "holes"
    csv_table = None
    charts: ClassVar = {
        "holes": ChartView(
            "What unjudged documents could change: {candidate:short} against {baseline:short}",
            "Mean differences. Thin line: the range that grades of the unjudged documents among the first "
            "{depth:d} can give. Thick line: 95% interval of the estimate; ring: the estimate. Tick: the "
            "measured difference. Flip: the probability that judging these documents changes the conclusion "
            "of the interval.",
            "{drawn[n]:query_counts}",
            (
                Panel(
                    "metrics",
                    Axis("delta", "mean difference", form="signed"),
                    Axis("metric", scale="names"),
                    (
                        ZERO,
                        Mark("interval", "worst", "best", GREY, {"strokeWidth": 1.5}),
                        Mark("interval", "low", "high", BLUE, {"strokeWidth": 7, "opacity": 0.55}),
                        Mark("ring", "expected"),
                        Mark("tick", "delta", colour=INK),
                        Mark("words", ("{delta:signed}  flip {flip:.0%}", "{delta:signed}")),
                    ),
                    ("metric", "n", "delta", "worst", "best", "expected", "low", "high", "flip"),
                    row_filter=pl.col("n") > 0,
                    width=420,
                    height=34,
                    tooltip=("n", "flip"),
                ),
            ),
            empty="no query has a value of both systems; there is no difference to draw.",
        )
    }
    SCHEMAS: ClassVar = {"metrics": METRICS, "judged": JUDGED, "judge_next": JUDGE_NEXT, "slices": SLICES}
    headline_text = (
        "what unjudged documents could make of {candidate} against {baseline}, first {depth:n document}, "
        "{judge_next.height} of them unjudged, convention {convention[name]} ({convention[hash]})"
    )
    layout = (
        NOTICES,
        ShownChart("holes"),
        CrossView(
            "judged_shares",
            "",
            ("system",),
            column_key="k",
            value="share",
            header="judged@{}",
            columns=JUDGED,
        ),
        View("metrics", "", ("metric", "delta", "worst", "best", "condensed", *_ESTIMATE)),
        View(
            "metrics",
            "where judged documents were chosen at random, or pooled from other systems",
            ("metric", "flip", "flip_random", "flip_pooled"),
            row_filter=pl.col("flip") > 0,
        ),
        View(
            "slices",
            "{tag}: figures of each value",
            ("value", "metric", "n", "delta", "worst", "best", *_ESTIMATE),
            headers={"value": "{tag}"},
            keys=2,
            table_key="tag",
        ),
        View(
            "next_documents",
            "judge next (the first {count} of {judge_next.height:d})",
            ("query_id", "doc_id", "rank_baseline", "rank_candidate", "relevant", "influence"),
            columns=JUDGE_NEXT,
            headers={"rank_baseline": "rank in\n{baseline}", "rank_candidate": "rank in\n{candidate}"},
            keys=2,
        ),
        Sentence("{skipped}: looks deeper than the lists, left out", "skipped"),
        Sentence(
            "worst and best: every unjudged document against the candidate, and for it. condensed: unjudged "
            "documents taken out of the lists. expected: grades drawn {draws:d} times (seed {seed:d}) from a "
            "model of the judged documents at such ranks and of the query, with its uncertainty. "
            "{selection_sentence} flip: the probability that judging them all changes the conclusion of the "
            "interval. In studies on data that it was not fitted on, predictions of 1, 12, 30, 51, 70 and "
            "95% came true in 0, 10, 24, 41, 74 and 94% of the cases."
        ),
    )

    def document(self, count: int = 10) -> Document:  # type: ignore[override] # an option of its own
        """Judged shares, figures of each metric, and the documents to judge next.

        Args:
            count: the number of documents to judge next.
        """
        next_documents = self.judge_next.head(count)
        return layout_document(self, count=len(next_documents), next_documents=next_documents)

    @property
    def judged_shares(self) -> pl.DataFrame:
        """The columns of `JUDGED`, with the names of the systems."""
        names = {"baseline": self.baseline, "candidate": self.candidate}
        return self.judged.with_columns(pl.col("system").replace(names))

    @property
    def selection_sentence(self) -> str:
        """How documents to be judged were chosen, as the estimate takes it."""
        return _SELECTION[self.selection]

    @property
    def heading(self) -> str:
        """The title of its part in a report."""
        return "What unjudged documents could change"


def holes(
    collection: Collection | QrelsLike,
    baseline: RunLike | Mapping[str, RunLike],
    candidate: RunLike | Mapping[str, RunLike],
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    test: Test | None = None,
    depth: Cutoff = DEPTH,
    draws: Count = DRAWS,
) -> HoleAnalysis:
    """Estimate what unjudged documents could change in a comparison, and what to judge next.

    Args:
        collection: judgments, or a `Collection`, which states how the judged documents were
            chosen (its selection); its tags give figures of slices.
        baseline: a run, or ``{name: run}``.
        candidate: a run, or ``{name: run}``.
        metrics: names or metrics; those that look deeper than the lists are skipped and named.
        convention: the convention of the metrics.
        test: the allowed loss of the decision (margin), 0 by default, and the seed of the drawing.
        depth: the depth to which lists are compared.
        draws: the number of random sets of grades.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: unknown names; no metric with a cutoff within the depth.

    >>> qrels = {"q": {"a": 1}}
    >>> analysis = holes(qrels, {"q": {"a": 2.0}}, {"q": {"b": 2.0, "a": 1.0}}, ["RR@10"])
    >>> analysis.metrics.select("delta", "worst", "best").row(0)
    (-0.5, -0.5, 0.0)
    """
    refuse_baseline_again(baseline, [candidate])
    collection, test = Collection.of(collection), (test or Test()).only("holes", "margin", "seed")
    collection.refuse("holes", *TASK_FIELDS, *SAMPLE_FIELDS)
    baseline, candidate = (  # the runs are read twice
        read_rankings(run, "run", collection.doc_field) for run in (baseline, candidate)
    )
    selection = collection.selection or "unknown"
    scorer = Scorer.from_metrics(collection, metrics, convention, depth=depth)
    scored_baseline, scored_candidate = scorer.scored_systems([(None, baseline), (None, candidate)])
    stage = HypotheticalScorer.from_systems(scorer, scored_baseline, scored_candidate)
    if not stage.metrics:
        raise UsageError(
            f"no metric looks only at the first {count_noun(depth, 'document')}; give one such as "
            f"nDCG@{depth}, or add --depth.",
            code="missing-cutoff",
        )
    step("drawing grades")
    hole_model = model_holes(scored_baseline, scored_candidate)
    result, slices = estimate_metrics(
        stage,
        hole_model,
        dict.fromkeys((label for label, _ in stage.metrics), test.margin or 0.0),
        draws,
        test.seed,
        selection,
    )
    condensed = _condensed_differences(scorer, baseline, candidate, [label for label, _ in stage.metrics])
    result = result.with_columns(pl.Series("condensed", condensed, dtype=pl.Float64))
    labels = {label for label, _ in stage.metrics}
    return HoleAnalysis(
        scored_baseline.name,
        scored_candidate.name,
        scored_baseline.qrels,
        scored_baseline.convention,
        depth,
        result,
        judged_tables(scored_baseline, [scored_candidate])[0],
        judge_next(stage, hole_model),
        tuple(label for label, _ in scorer.metrics if label not in labels),
        draws,
        test.seed,
        selection,
        run_notices(scored_baseline.name, scored_baseline.cautions)
        + run_notices(scored_candidate.name, scored_candidate.cautions),
        slices,
    )


def _condensed_differences(
    scorer: Scorer,
    baseline: RunLike | Mapping[str, RunLike],
    candidate: RunLike | Mapping[str, RunLike],
    labels: list[str],
) -> list[float | None]:
    """The difference after removing unjudged documents from the lists."""
    condensed_convention = replace(scorer.how, judged_only=True)
    condensed_scorer = replace(scorer, how=condensed_convention, depth=1)
    systems = [condensed_scorer.scored(run) for run in (baseline, candidate)]
    values = pair_values(systems[0], systems[1], "zero")
    delta = values.candidate - values.baseline
    column = {metric: j for j, metric in enumerate(values.metrics)}
    means: list[float | None] = []
    for label in labels:
        deltas = delta[:, column[label]]
        deltas = deltas[~np.isnan(deltas)]
        means.append(float(deltas.mean()) if len(deltas) else None)
    return means
