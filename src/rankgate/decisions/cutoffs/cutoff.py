"""The verb ``cutoff``: the score below which nothing is shown, with a guarantee, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl

from rankgate.core.declare import Range, declared_parameter
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result, run_notices
from rankgate.core.present.charts.chart_views import Axis, ChartView, Panel
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import SYSTEM
from rankgate.core.present.layout import NOTICES, Lines, Sentence, ShownChart, View
from rankgate.core.present.number_formats import count_noun, count_queries
from rankgate.core.progress import step
from rankgate.core.value_types import JsonObject
from rankgate.data.collection import Collection
from rankgate.data.foreign_frames import named_runs
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.cutoffs.demands import (
    DEMANDS,
    Keep,
    check_threshold,
    choose_threshold,
    demand_text,
    format_threshold,
)
from rankgate.decisions.cutoffs.scored_questions import JUDGED, ScoredQuestions
from rankgate.measurement.evaluation.query_slices import sort_values
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRIC
from rankgate.measurement.scoring.alignment.top_documents import distinct_names
from rankgate.measurement.stats.abstention import coverage_at_risk, normalized_auc
from rankgate.measurement.stats.score_thresholds import Demand, QuestionScores, Subject

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike, RunsLike
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention

Floor = Annotated[float, Range(0, 1, exclusive=True)]
"""A share that is demanded at least, above 0 and below 1."""

CURVE = Columns(
    "One row per system and threshold.",
    SYSTEM,
    Column("threshold", pl.Float64, "a document is shown if its score is at least this", format_threshold),
    Column("silent", pl.Float64, "the share of questions without an answer that return nothing", ".1%"),
    Column("silent_low", pl.Float64, "its lower bound", ".1%", header="at least"),
    Column("kept", pl.Float64, "the share of relevant documents kept", ".1%"),
    Column("kept_low", pl.Float64, "its lower bound", ".1%", header="at least"),
    Column("shown", pl.Float64, "the mean number of documents shown for a question", ".1f"),
)
RISKS = {"coverage_05": 0.05, "coverage_10": 0.1, "coverage_20": 0.2, "coverage_50": 0.5}
ABSTENTION = Columns(
    "One row per system and measure of confidence.",
    SYSTEM,
    Column("confidence", pl.String, "top, spread or lead of the scores of a question"),
    Column("n", pl.Int64, "the number of questions", unit="questions"),
    Column("nauc", pl.Float64, "the normalized area under the curve of abstention", header="nAUC"),
    *(
        Column(name, pl.Float64, f"the coverage at a mean risk of {risk}", ".0%", header=f"at risk\n{risk}")
        for name, risk in RISKS.items()
    ),
)
_LAST_CELLS = (("low", "high"), "confidence", "status", "missing")
_POINTS = 21  # thresholds of a curve
_IS_STATED = pl.col("status").is_in(["pass", "fail", "inconclusive"])


_LINES = {"silent": "silent", "kept": "kept", "silent_low": "silent at least", "kept_low": "kept at least"}


@dataclass(frozen=True)
class CutoffAnalysis(Result):
    """The thresholds that keep demands on questions and documents, and what each threshold costs.

    Attributes:
        systems: the names of the runs.
        qrels: the name of the judgments.
        convention: name, axes and hash, of the metric.
        metric: the metric of the abstention.
        keep: what a question keeps: share, one or all.
        no_answer: the questions without an answer: judged, named or TAG=VALUE.
        level: the confidence level.
        demands: the columns of `DEMANDS`.
        curve: the columns of `CURVE`.
        abstention: the columns of `ABSTENTION`.
        notices: remarks on questions and documents that do not count.
    """

    systems: tuple[str, ...]
    qrels: str
    convention: JsonObject
    metric: str
    keep: Keep
    no_answer: str
    level: float
    demands: pl.DataFrame
    curve: pl.DataFrame
    abstention: pl.DataFrame
    notices: tuple[Notice, ...] = ()

    kind = "cutoff"
    label = "Where to cut off the score"
    charts: ClassVar = {
        "cutoff": ChartView(
            "Where to cut off the score: {systems:short}",
            "silent: questions without an answer that return nothing. kept: relevant documents that are "
            "kept. at least: the lower bound at a threshold that was fixed beforehand.",
            lambda result: count_queries(*result.demands.filter(pl.col("slice").is_null())["n"]),
            (
                Panel(
                    lambda result: result.curve.unpivot(
                        [*_LINES], index=["system", "threshold"], variable_name="series", value_name="share"
                    ).drop_nulls(),
                    Axis("threshold", "threshold"),
                    Axis("share", "share", form="%", domain=(0, 1)),
                    columns=("system", "threshold", pl.col("series").replace(_LINES), "share"),
                    facet=("system",),
                    title="{system}",
                    series="series",
                    names="ends",
                    width=480,
                    height=300,
                ),
            ),
            fluid=False,
        )
    }
    SCHEMAS: ClassVar = {"demands": DEMANDS, "curve": CURVE, "abstention": ABSTENTION}
    headline_text = "where to cut off the score of {systems}, by {qrels}"
    layout = (
        NOTICES,
        Lines("sentences"),
        ShownChart("cutoff"),
        View(
            "demands",
            "thresholds",
            (*DEMANDS.drop("low", "high", "confidence", "status", "missing"), *_LAST_CELLS),
            headers={"low": "bounds"},
            keys=3,
            optional=("slice", "missing"),
            varying=("confidence",),
        ),
        Sentence(
            "A document is shown if its score is at least the threshold. silent: questions without an answer "
            "({no_answer}) that return nothing. kept: questions that keep relevant documents that were "
            "retrieved ({keep}; share draws one of each question). Each bound has confidence {level:.1%}. "
            "It holds for every distribution of scores, if questions are drawn independently from those "
            "that matter. Each demand of each system has its own error; the slices of a tag share it "
            "(Bonferroni)."
        ),
        View("curve", "what each threshold costs", keys=2, varying=("system",)),
        Sentence(
            "Bounds of the curve hold for a threshold that was fixed beforehand, not for one that is picked "
            "from the curve; state a demand for that."
        ),
        View(
            "abstention",
            "answering only where the scores are confident, by {metric}",
            keys=2,
            varying=("system",),
        ),
        Sentence(
            "top: the highest score; spread: the standard deviation of the scores; lead: the first score "
            "minus the second (MTEB: max, std, diff1). nAUC as MTEB: 1 is an oracle, 0 is chance. at risk: "
            "the largest share of questions that can be answered with this mean of 1 − {metric}; a question "
            "without an answer has 0."
        ),
    )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the demands come to, in a sentence for each system and slice."""
        demanded_rows = self.demands.filter(~_IS_STATED)
        rows_by_slice = demanded_rows.partition_by("system", "slice", maintain_order=True)
        return tuple(self._sentence(rows.to_dicts()) for rows in rows_by_slice)

    def _sentence(self, rows: Sequence[Mapping[str, Any]]) -> str:
        texts = []
        for row in rows:
            text, is_silent = demand_text(row["subject"], row["floor"], self.keep), row["subject"] == "silent"
            if row["threshold"] is None:
                kind = "without an answer" if is_silent else "with a relevant document"
                texts.append(
                    f"judge {count_noun(row['missing'], 'more question')} {kind} to show that {text}"
                )
            else:
                location = f"from {row['threshold']} on" if is_silent else f"up to {row['threshold']}"
                texts.append(f"{location}, {text}")
        lowest, highest = (row["threshold"] for row in rows)
        if lowest is not None and highest is not None:
            is_possible = lowest <= highest
            texts.append(f"show scores from {lowest} on" if is_possible else "no threshold keeps both")
        name = ", ".join(filter(None, (rows[0]["system"], rows[0]["slice"])))
        return f"{name}: {'; '.join(texts)}"


def cutoff(
    collection: Collection | QrelsLike,
    runs: RunsLike,
    metric: str | Metric = DEFAULT_METRIC,
    convention: str | Convention = "trec",
    *,
    silent: Floor = 0.95,
    kept: Floor = 0.9,
    keep: Keep = "share",
    no_answer: str = JUDGED,
    threshold: float | None = None,
    slices: Sequence[str] = (),
    rel: float = 1,
    test: Test | None = None,
) -> CutoffAnalysis:
    """Find the score below which nothing should be shown, with a guarantee, and what it costs.

    Args:
        collection: judgments, or a `Collection`, whose tags give slices and may declare questions
            without an answer.
        runs: a run, a list of runs, or ``{name: run}``, with the scores of the systems themselves;
            higher is better.
        metric: the metric of the abstention, between 0 and 1.
        convention: the convention of the metric.
        silent: the smallest share of the questions without an answer that must return nothing.
        kept: the smallest share of what must be kept.
        keep: what must be kept: the mean share of a question's relevant documents, of which one is
            drawn at random; or questions that keep one of them, or all.
        no_answer: the questions without an answer: judged (judged, and no document is relevant),
            named (also those that judgments name without a document), or TAG=VALUE of the tags.
        threshold: a threshold to check, such as that of today.
        slices: the tags whose values get thresholds of their own.
        rel: the smallest grade that counts as relevant.
        test: the confidence level (level), and the seed of the drawing of documents.

    Raises:
        InputError: data that cannot be read, with file and line; scores that no threshold can cut.
        UsageError: unknown names; a number out of its range; a metric that is not between 0 and 1.

    >>> qrels = {f"q{i}": {"a": int(i < 40)} for i in range(100)}
    >>> run = {query: {"a": 0.7 + 0.2 * grades["a"]} for query, grades in qrels.items()}
    >>> cutoff(qrels, {"dense": run}).demands.select("subject", "n", "threshold").rows()
    [('silent', 60, 0.701), ('kept', 40, 0.899)]
    """
    for name, value in {"silent": silent, "kept": kept, "keep": keep, "threshold": threshold}.items():
        try:
            declared_parameter(cutoff, name).read(value)
        except ValueError as error:
            raise UsageError(f"{name} = {value!r}: {error}", code="out-of-range") from None
    collection, test = Collection.of(collection), (test or Test()).only("cutoff", "level", "seed")
    scorer = Scorer.from_metrics(collection, [metric], convention, depth=1, slices=slices)
    ((label, scored_metric),) = scorer.metrics
    if (scored_metric.low, scored_metric.high) != (0, 1) or not scored_metric.higher_is_better:
        problem = f"{label}: take a metric between 0 and 1 of which more is better, such as nDCG@10."
        raise UsageError(problem, code="unsupported-metric")
    alpha = 1 - test.level
    demands: Mapping[Subject, Demand] = {"silent": Demand(silent, alpha), "kept": Demand(kept, alpha)}
    sources = named_runs(runs, collection.doc_field)
    inputs = [collection.run(run, name) for name, run in sources]
    if not inputs:
        raise UsageError("there is no run; give one or more.", code="missing-input")
    names = distinct_names([run.name for run in inputs], [run for _, run in sources])
    rows, curves, abstention = [], [], []
    notices: list[Notice] = []
    for name, run in zip(names, inputs, strict=True):
        step(f"reading {name}")
        named_run = replace(run.in_memory(scorer.how.duplicates), name=name)
        system = ScoredQuestions.read(scorer, named_run, no_answer, rel)
        scored = scorer.scored(named_run)
        for slice_, share in _slices(system, slices):
            scores = system.scores(keep, slice_, test.seed)
            for subject, demand in demands.items():
                shared = replace(demand, alpha=alpha * share)
                keys = {"system": name, "slice": slice_}
                rows.append(keys | choose_threshold(subject, shared, scores))
                if threshold is not None:
                    rows.append(keys | check_threshold(subject, shared, scores, threshold))
        thresholds = [row["threshold"] for row in rows if row["system"] == name and row["slice"] is None]
        stated = [number for number in thresholds if number is not None]
        curves.append(_curve(system, system.scores(keep, seed=test.seed), demands, stated))
        abstention.append(_abstention(system, scored.scores))
        notices += [*run_notices(name, scored.cautions), *system.notices]
    return CutoffAnalysis(
        tuple(names),
        scorer.qrels.name,
        scored.convention,
        label,
        keep,
        no_answer,
        test.level,
        pl.DataFrame(rows, DEMANDS),
        pl.concat(curves),
        pl.concat(abstention),
        tuple(notices),
    )


def _slices(system: ScoredQuestions, tags: Sequence[str]) -> list[tuple[str | None, float]]:
    """All questions, and each value of the tags with its share of the error.

    Raises:
        UsageError: an unknown tag.
    """
    slices: list[tuple[str | None, float]] = [(None, 1.0)]
    for tag in tags:
        if tag not in system.tags.columns:
            raise UsageError(f"unknown tag {tag!r}; state tags with --tags.", code="unknown-tag")
        tag_cells = system.tags[tag].filter(system.questions["has_answer"].is_not_null())
        values = sort_values(tag_cells.cast(pl.String).drop_nulls().unique())
        slices += [(f"{tag}={value}", 1 / len(values)) for value in values]
    return slices


def _curve(
    system: ScoredQuestions,
    scores: QuestionScores,
    demands: Mapping[Subject, Demand],
    stated: Sequence[float],
) -> pl.DataFrame:
    """What thresholds cost: some of all that differ, and those that are chosen or stated."""
    gaps = np.unique(np.linspace(0, len(scores.ends) - 2, _POINTS).round().astype(np.int64))
    question_count = int(system.questions["is_asked"].sum())
    rows = []
    for threshold in sorted({*map(scores.threshold, gaps), *stated}):
        row: dict[str, Any] = {"system": system.name, "threshold": threshold}
        for subject, demand in demands.items():
            checked = check_threshold(subject, demand, scores, threshold)
            row |= {subject: checked.get("share"), f"{subject}_low": checked.get("low")}
        hidden = np.searchsorted(system.document_scores, threshold)
        row["shown"] = (len(system.document_scores) - hidden) / question_count
        rows.append(row)
    return pl.DataFrame(rows, CURVE)


def _abstention(system: ScoredQuestions, values: pl.DataFrame) -> pl.DataFrame:
    """The abstention of a system by each measure of confidence."""
    table = system.questions.join(values.select("query_id", "value"), "query_id", how="left")
    value = pl.when("has_answer").then("value").when(~pl.col("has_answer")).then(0.0)
    table = table.with_columns(value=value).filter(pl.all_horizontal(pl.col("value", "top").is_not_null()))
    table = table.sort("query_id")
    numbers = table["value"].to_numpy()
    rows = [
        {
            "system": system.name,
            "confidence": measure,
            "n": len(numbers),
            "nauc": normalized_auc(table[measure].to_numpy(), numbers),
            **{
                name: coverage_at_risk(table[measure].to_numpy(), 1 - numbers, risk)
                for name, risk in RISKS.items()
            },
        }
        for measure in ("top", "spread", "lead")
    ]
    return pl.DataFrame(rows, ABSTENTION).with_columns(pl.col("nauc").fill_nan(None))
