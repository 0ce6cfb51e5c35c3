"""Calibration of the estimates: hide judged documents and predict them.

The trials of flip probabilities hide judgments, predict flips, and check the predictions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.charts.chart_style import DIM, GREY
from rankgate.core.present.charts.chart_views import Axis, ChartView, Mark, Panel
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.layout import ShownChart, View
from rankgate.core.progress import step
from rankgate.core.value_types import JsonObject
from rankgate.data import read_qrels, read_run
from rankgate.data.collection import SAMPLE_FIELDS, TASK_FIELDS, Collection
from rankgate.decisions.comparison.paired_values import pair_values
from rankgate.decisions.unjudged.hole_figures import estimate_metrics, interval_status
from rankgate.decisions.unjudged.hole_model import model_holes
from rankgate.decisions.unjudged.hypothetical_grades import HypotheticalScorer
from rankgate.measurement.evaluation.ceilings import cutoff_of
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.data import Run
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.scoring import Convention


KEYS = ["query_id", "doc_id"]

_VARIANTS = tuple(product((False, True), (0.15, 0.3, 0.5)))  # candidate's documents only; hidden share
_DRAWS, _QUERIES = 100, 50


def run_trials(
    scorer: Scorer, runs: tuple[Run, Run], count: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Run trials; return (T,) predicted probabilities of a flip, and (T,) outcomes, 1 for a flip.

    Each trial takes half of the queries, 50 at most, and only judged documents, so that the truth
    is known; it hides a share of the documents in the lists, or of the documents that only the
    candidate has, and checks if the interval's conclusion changes with all judgments.

    Args:
        scorer: judgments, one metric and the convention; lists have the depth of the metric.
        runs: baseline and candidate.
        count: the number of trials; those that hide every judgment are left out.
        rng: the random generator.
    """
    judgments = scorer.qrels.table.filter(pl.col("grade") >= 0)
    lists = [run.table.join(judgments, on=KEYS, how="semi", maintain_order="left") for run in runs]
    common_queries = sorted(set(lists[0]["query_id"].unique()) & set(lists[1]["query_id"].unique()))
    size = min(_QUERIES, (len(common_queries) + 1) // 2)
    outcomes = []
    for i in range(count if common_queries else 0):
        step(f"trial {i + 1} of {count}")
        sampled_queries = [common_queries[j] for j in sorted(rng.permutation(len(common_queries))[:size])]
        sampled_tables = [
            table.filter(pl.col("query_id").is_in(sampled_queries)) for table in (judgments, *lists)
        ]
        outcome = _trial(scorer, sampled_tables, _VARIANTS[i % len(_VARIANTS)], rng)
        if outcome is not None:
            outcomes.append(outcome)
    pairs = np.array(outcomes, np.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def find_judged_documents(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """The judged documents of both lists: ``query_id``, ``doc_id``, ``grade``."""
    lists = pl.concat([system.lists.select(*KEYS, "grade") for system in (baseline, candidate)])
    return lists.filter(pl.col("grade") >= 0).unique(KEYS, keep="first").sort(*KEYS)


def _trial(
    scorer: Scorer, tables: list[pl.DataFrame], variant: tuple[bool, float], rng: np.random.Generator
) -> tuple[float, bool] | None:
    """One trial: predicted chance of a flip, and its outcome; None if no judgment is left."""
    judgments, *lists = tables
    runs = [read_run(table, name) for table, name in zip(lists, ("one", "two"), strict=True)]
    candidate_only, share = variant
    full_systems = _score_runs(_scorer_with(scorer, judgments), runs)
    judged_documents = find_judged_documents(*full_systems)
    if candidate_only:
        judged_documents = judged_documents.join(
            full_systems[0].lists, on=KEYS, how="anti", maintain_order="left"
        )
    hidden_documents = judged_documents.filter(
        pl.Series(rng.random(len(judged_documents)) < share, dtype=pl.Boolean)
    )
    visible_judgments = judgments.join(hidden_documents, on=KEYS, how="anti", maintain_order="left")
    if visible_judgments.is_empty():
        return None
    partial_scorer = _scorer_with(scorer, visible_judgments)
    systems = _score_runs(partial_scorer, runs)
    label = scorer.metrics[0][0]
    result, _ = estimate_metrics(
        HypotheticalScorer.from_systems(partial_scorer, *systems),
        model_holes(*systems),
        {label: 0.0},
        _DRAWS,
        int(rng.integers(2**31)),
        "random",
    )
    return float(result["flip"][0]), _interval_status(*systems) != _interval_status(*full_systems)


def _scorer_with(scorer: Scorer, judgments: pl.DataFrame) -> Scorer:
    qrels = read_qrels(judgments)
    # tags are left out, as a trial needs no slices
    return replace(scorer, qrels=qrels, index=JudgmentIndex.from_judgments(qrels), tags=None)


def _score_runs(scorer: Scorer, runs: list[Run]) -> tuple[ScoredRun, ScoredRun]:
    return scorer.scored(runs[0]), scorer.scored(runs[1])


def _interval_status(baseline: ScoredRun, candidate: ScoredRun) -> str:
    """Position of the interval of the mean difference, compared with 0."""
    values = pair_values(baseline, candidate, "zero")
    delta = (values.candidate - values.baseline)[:, 0]
    delta = delta[~np.isnan(delta)]
    return interval_status(float(delta.mean()), float((delta**2).sum()), len(delta), 0.0)


FOLDS, EXPERIMENTS = 5, 60
_BINS = 10

BINS = Columns(
    "One row per tenth that has predictions.",
    Column("low", pl.Float64, "the low end of the tenth", ".0%", header="predicted"),
    Column("high", pl.Float64, "the high end of the tenth", ".0%"),
    Column("n", pl.Int64, "predictions in it"),
    Column("predicted", pl.Float64, "the mean prediction", header="mean prediction"),
    Column("measured", pl.Float64, "the share that came true", header="came true"),
    Column(
        "measured_low",
        pl.Float64,
        "the low end of Wilson's interval of that share",
        "signed",
        header="95% interval",
    ),
    Column("measured_high", pl.Float64, "the high end of Wilson's interval of that share", "signed"),
)
_CELLS = (("low", " to ", "high"), "n", "predicted", "measured", ("measured_low", "measured_high"))
_BRIER = ": Brier score {{brier[{0}][0]}}, of the mean alone {{brier[{0}][1]}}"


def _calibration_panel(source: str, title: str) -> Panel:
    """Observed against predicted shares."""
    ends = ({"predicted": 0, "measured": 0}, {"predicted": 1, "measured": 1})
    return Panel(
        source,
        Axis("predicted", "predicted", form=".0%", domain=(0, 1)),
        Axis("measured", "observed", form=".0%", domain=(0, 1)),
        (
            Mark("line", "measured", "", GREY, {"strokeDash": [4, 3], "strokeWidth": 1}, lambda *_: ends),
            Mark("interval", "measured_low", "measured_high", style={"opacity": 0.6}),
            Mark("point", "measured"),
            Mark("words", "{n:,}", "measured", DIM, {"dx": 7, "dy": 8, "fontSize": 10}),
        ),
        (pl.lit(source).alias("what"), pl.all()),
        title=f"{title}; Brier {{brier[{source}][0]:.3f}} (mean alone {{brier[{source}][1]:.3f}})",
        width=320,
        height=320,
        tooltip=("n",),
    )


@dataclass(frozen=True)
class Calibration(Result):
    """Predictions about hidden judgments against what they were.

    Attributes:
        baseline, candidate, qrels: names.
        convention: name, axes and hash.
        metric: the metric of the predicted flips.
        queries: that both systems have lists for.
        documents: judged ones among the first of either list; each was hidden once.
        experiments: in how many a part of them was hidden, of some of the queries.
        relevance: `BINS` of the probability of relevance.
        flips: `BINS` of the probability of a flip: that the interval leads to another
            conclusion when all are judged again.
        brier: of relevance and of flips, each with that of always predicting the mean.
        seed: of the drawing.
    """

    baseline: str
    candidate: str
    qrels: str
    convention: JsonObject
    metric: str
    queries: int
    documents: int
    experiments: int
    relevance: pl.DataFrame
    flips: pl.DataFrame
    brier: Mapping[str, tuple[float, float]]
    seed: int

    kind = "calibration"
    csv_table = None
    charts: ClassVar = {
        "calibration": ChartView(
            "Predictions for hidden judgments: {candidate:short} against {baseline:short}",
            "Judgments were hidden and predicted. Across: the predicted probability; up: the observed share, "
            "with its 95% interval and the number of cases. On the diagonal, predictions are right. A flip: "
            "with all judgments the interval of the difference leads to another conclusion; trials share "
            "queries, so their intervals are too narrow.",
            "{queries:n query}",
            (
                _calibration_panel("relevance", "relevant: {documents:n document}"),
                _calibration_panel("flips", "flips of {metric}: {experiments:n trial}"),
            ),
        )
    }
    SCHEMAS: ClassVar = {"relevance": BINS, "flips": BINS}
    headline_text = "hidden judgments guessed: {candidate} against {baseline}, {metric}, {queries:n query}"
    layout = (
        ShownChart("calibration"),
        View("relevance", "relevant, {documents:n document}" + _BRIER.format("relevance"), _CELLS),
        View("flips", "flips, {experiments:n trial}" + _BRIER.format("flips"), _CELLS),
    )

    @property
    def heading(self) -> str:
        """The title of its part in a report."""
        return "Do estimates about unjudged documents come true?"


def calibration(
    collection: Collection | QrelsLike,
    baseline: RunLike,
    candidate: RunLike,
    metric: str = "nDCG@10",
    convention: str | Convention = "trec",
    *,
    experiments: int = EXPERIMENTS,
    seed: int = 0,
) -> Calibration:
    """Hide judgments, estimate what was hidden, and count how often the estimates come true.

    Relevance: each judged document is hidden once, with a fifth of all. Flips: in each experiment
    half of the queries (50 at most) have a share of their judgments hidden, at random or of the
    documents that the candidate alone shows; lists are cut to judged documents, so that the truth
    is known.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: a metric without a cutoff; no judged document in either list.
    """
    collection = Collection.of(collection)
    collection.refuse("calibration", *TASK_FIELDS, *SAMPLE_FIELDS)
    scorer = Scorer.from_metrics(collection, metric, convention)
    depth = cutoff_of(scorer.metrics[0][1])
    if depth is None:
        raise UsageError(f"{metric}: hidden judgments need a cutoff; use {metric}@10.", code="missing-cutoff")
    scorer = replace(scorer, depth=depth)
    step("scoring both systems")
    runs = collection.run(baseline), collection.run(candidate)
    systems = scorer.scored(runs[0]), scorer.scored(runs[1])
    judged = find_judged_documents(*systems)
    if judged.is_empty():
        raise UsageError(f"no list has a judged document among its first {depth}.", code="no-judged-document")
    rng = np.random.default_rng(seed)
    predictions = _predict_hidden(systems, judged, rng)
    flips = run_trials(scorer, runs, experiments, rng)
    return Calibration(
        systems[0].name,
        systems[1].name,
        systems[0].qrels,
        systems[0].convention,
        scorer.metrics[0][0],
        judged["query_id"].n_unique(),
        len(judged),
        len(flips[0]),
        bin_predictions(*predictions),
        bin_predictions(*flips),
        {"relevance": brier(*predictions), "flips": brier(*flips)},
        seed,
    )


def bin_predictions(predicted: Floats, true: Floats) -> pl.DataFrame:
    """Predictions in bins of a tenth, with the share of each bin that came true.

    Returns:
        the columns of `BINS`.
    """
    from rankgate.measurement.stats.mean_intervals import wilson_interval

    bin_of_prediction = np.minimum((predicted * _BINS).astype(np.int64), _BINS - 1)
    count = np.bincount(bin_of_prediction, minlength=_BINS)
    filled_bins = np.flatnonzero(count)
    n = count[filled_bins].astype(np.float64)
    true_count = np.asarray(np.bincount(bin_of_prediction, true, _BINS)[filled_bins], np.float64)
    low, high = wilson_interval(true_count, n)
    columns = (
        filled_bins / _BINS,
        (filled_bins + 1) / _BINS,
        count[filled_bins],
        np.bincount(bin_of_prediction, predicted, _BINS)[filled_bins] / n,
        true_count / n,
        low,
        high,
    )
    return pl.DataFrame(dict(zip(BINS, columns, strict=True)), schema=BINS)


def brier(predicted: Floats, true: Floats) -> tuple[float, float]:
    """The mean squared error of predictions, and the error of always predicting the mean.

    Brier (1950), Monthly Weather Review 78(1).
    """
    if not len(true):
        return float("nan"), float("nan")
    return float(((predicted - true) ** 2).mean()), float(true.var())


def _predict_hidden(
    systems: tuple[ScoredRun, ScoredRun], judged: pl.DataFrame, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The predicted relevance of each judged document while it is hidden, and its relevance."""
    fold_of_document = rng.permutation(len(judged)) % FOLDS
    predictions = []
    for i in range(FOLDS):
        hidden_documents = judged.filter(pl.Series(fold_of_document == i)).select(
            *KEYS, pl.lit(1).alias("hidden")
        )
        model = model_holes(*(_hide_grades(system, hidden_documents) for system in systems))
        chance = model.chances[:, model.grades > 0].sum(axis=1)
        predictions.append(model.table.select(*KEYS, pl.Series("chance", chance)))
    table = judged.join(pl.concat(predictions), on=KEYS, maintain_order="left")
    return table["chance"].to_numpy(), (table["grade"] > 0).cast(pl.Float64).to_numpy()


def _hide_grades(system: ScoredRun, hidden_documents: pl.DataFrame) -> ScoredRun:
    """The judged documents of a list, without the grades of hidden documents."""
    lists = system.lists.filter(pl.col("grade") >= 0).join(
        hidden_documents, on=KEYS, how="left", maintain_order="left"
    )
    visible_grade = pl.when(pl.col("hidden").is_null()).then("grade")
    return replace(system, lists=lists.with_columns(visible_grade.alias("grade")).drop("hidden"))
