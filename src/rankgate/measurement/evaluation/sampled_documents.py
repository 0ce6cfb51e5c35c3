"""Estimate values from a model's judgments of all documents and people's of a random part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, METRIC, QUERY_ID
from rankgate.core.present.number_formats import count_noun
from rankgate.data.table_rows import in_row_order
from rankgate.measurement.scoring.alignment.aligned_run import align, align_batch
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.run_sources import score
from rankgate.measurement.scoring.scoring_plan import Plan

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats, Ints
    from rankgate.data import Qrels, Run
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.evaluation.scored_system import Scorer


_PAIR = ["query_id", "doc_id"]
_VALUE = ["query_id", "metric"]
_CLOSE = 1e-9
_MOST_ERRORS = 3.5  # standard errors; larger in one of 2,000 samples

EFFECT_SCHEMA = Columns(
    "One row per query, metric and sampled document that changes the value.",
    QUERY_ID,
    METRIC,
    DOC_ID,
    Column("inclusion", pl.Float64, "the probability that the document was drawn"),
    Column(
        "part",
        pl.Float64,
        "the change of the query's value where people's grade of the document replaces the model's",
    ),
)


@dataclass(frozen=True)
class CorrectedRun:
    """A system with estimated values of the queries of the sample.

    Attributes:
        run: the system.
        parts: the columns of `EFFECT_SCHEMA`.
    """

    run: ScoredRun
    parts: pl.DataFrame


def correct_runs(
    scorer: Scorer, model: Qrels, sampled_documents: pl.DataFrame, runs: Sequence[Run]
) -> list[CorrectedRun]:
    """Estimate the values that people would find if they judged all documents.

    For a metric that is a sum over documents, M(g) = Σ f(g_d, rank_d), the estimate is

        M̂ = M(model) + Σ_{d drawn} (f(people's g_d, rank_d) − f(model's g_d, rank_d)) / π_d

    Its expectation is M(people) for any model, if documents are drawn with
    probabilities π > 0 (the difference estimator: Särndal, Swensson and Wretman 1992, section
    6.3; per-document labels with per-query metrics: arXiv 2606.05308). Ratios such as nDCG have
    no such estimate: the ideal ranking depends on documents that were not drawn.

    Args:
        scorer: the scorer of people's judgments of the drawn documents.
        model: the model's judgments of all documents.
        sampled_documents: ``query_id``, ``doc_id`` and ``inclusion``; a row without a document
            means that no document of the query was sampled.
        runs: the systems.

    Raises:
        InputError: people did not judge a drawn document, or judged documents that were not drawn.
        UsageError: a metric is not a sum over documents, or the model's grades show that documents
            were not drawn at random.
    """
    _refuse_metrics(scorer)
    graded = _join_grades(scorer.qrels, model, sampled_documents)
    model_grades = model.table.select(*_PAIR, "grade").join(sampled_documents, on="query_id", how="semi")
    qrels = replace(scorer.qrels, table=_replace_grades(model_grades, graded), unjudged=())
    mixed_scorer = replace(scorer, qrels=qrels, index=JudgmentIndex.from_judgments(qrels), builder=None)
    ranked = [mixed_scorer.index.ranked(run).in_memory() for run in runs]
    scored_runs = [mixed_scorer.scored(run) for run in ranked]
    _refuse_nonrandom(
        model_grades, graded, pl.concat([scored.lists for scored in scored_runs]), scorer.qrels.name
    )
    return [
        _correct_run(scorer, model_grades, graded, run, scored)
        for run, scored in zip(ranked, scored_runs, strict=True)
    ]


def measure_effects(
    scorer: Scorer, lists: pl.DataFrame, systems: Sequence[ScoredRun], runs: Sequence[Run]
) -> list[pl.DataFrame]:
    """Effects of documents, `EFFECT_SCHEMA` by system, if each had the opposite of its grade.

    The opposite of a grade in the lower half of the scale is the highest grade, and of any other
    grade the lowest. Inclusion is 1.

    Args:
        scorer: the scorer with judgments of all documents; its metrics must be sums over documents.
        lists: ``query_id`` and ``doc_id`` of these documents.
        systems: the systems, scored by these judgments.
        runs: the runs of the systems.

    Raises:
        UsageError: a metric is not a sum over documents.
    """
    _refuse_metrics(scorer)
    grades = scorer.qrels.table.select(*_PAIR, "grade")
    low, high = grades["grade"].min(), grades["grade"].max()
    opposite = pl.when(pl.col("grade") - low > high - pl.col("grade")).then(low).otherwise(high)
    graded = grades.join(lists, on=_PAIR, how="semi").select(
        *_PAIR,
        pl.lit(1.0).alias("inclusion"),
        opposite.cast(pl.Float64).alias("grade"),
        pl.col("grade").alias("grade_model"),
    )
    return [
        _measure_parts(
            scorer, grades, graded, run, system.scores.select(*_VALUE, pl.col("value").alias("before"))
        )
        for system, run in zip(systems, runs, strict=True)
    ]


def _correct_run(
    scorer: Scorer, model_grades: pl.DataFrame, graded: pl.DataFrame, run: Run, mixed: ScoredRun
) -> CorrectedRun:
    index = _index(scorer, model_grades)
    model_scores = score(index, run, list(scorer.metrics), scorer.how, strict=False)
    before = model_scores.table.select(*_VALUE, pl.col("value").alias("before"))
    parts = _measure_parts(scorer, model_grades, graded, run, before)
    sums = parts.group_by(_VALUE).agg(
        in_row_order(pl.col("part") / pl.col("inclusion")).sum().alias("more"),
        in_row_order(pl.col("part")).sum(),
    )
    table = mixed.scores.join(before, on=_VALUE, how="left", maintain_order="left").join(
        sums, on=_VALUE, how="left", maintain_order="left"
    )
    table = table.with_columns(pl.col("more", "part").fill_null(0.0))
    inconsistent = table.filter((pl.col("before") + pl.col("part") - pl.col("value")).abs() > _CLOSE)
    open_ = table.filter(pl.col("before").is_null() & (pl.col("part") != 0))
    if len(inconsistent) or len(open_):
        query, metric = pl.concat([inconsistent, open_]).select(_VALUE).row(0)
        raise UsageError(
            f"{metric} of query {query} is not a sum over documents with this convention: the gain of a "
            "grade depends on the best grade of the query, or some documents make the value undefined; set "
            f"its parameters, as in RBP(gain='binary'), or choose another metric.",
            code="unsupported-metric",
        )
    value = pl.when(pl.col("value").is_not_null()).then(pl.col("before") + pl.col("more"))
    scores = table.with_columns(value.alias("value")).select(mixed.scores.columns)
    labelled_run = replace(mixed, scores=scores, qrels=scorer.qrels.name, qrels_sha256=scorer.qrels.sha256)
    return CorrectedRun(labelled_run, parts)


def _measure_parts(
    scorer: Scorer, model_grades: pl.DataFrame, graded: pl.DataFrame, run: Run, before: pl.DataFrame
) -> pl.DataFrame:
    """Measure `EFFECT_SCHEMA` by a copy of the query for each document.

    In each copy the grade of people replaces the model's grade of that one document. Ranks are
    the same in all copies, and are computed once.
    """
    ranked_pairs = run.table.select(_PAIR)
    turn = pl.int_range(pl.len()).over("query_id").cast(pl.String)  # this order keeps sums equal
    differing = (
        graded.filter(pl.col("grade") != pl.col("grade_model"))
        .join(ranked_pairs, on=_PAIR, how="semi", maintain_order="left")
        .sort("query_id", turn)
    )
    # for documents that are not in the run, a sum over documents depends only on the existing
    # grades
    unranked = model_grades.join(ranked_pairs, on=_PAIR, how="anti", maintain_order="left")
    index = _index(
        scorer,
        pl.concat(
            [
                model_grades.join(ranked_pairs, on=_PAIR, how="semi", maintain_order="left"),
                unranked.unique(["query_id", "grade"], keep="first", maintain_order=True),
            ]
        ),
    )
    judgments = index.table.with_row_index("judgment")
    judgment = differing.join(judgments, on=_PAIR, maintain_order="left")["judgment"].to_numpy()
    values = _copy_values(scorer, index, run, judgment.astype(np.int64), differing["grade"])
    tables = [
        differing.select(
            "query_id",
            pl.lit(label).alias("metric"),
            "doc_id",
            "inclusion",
            pl.Series("value", row).fill_nan(None),
        )
        for (label, _), row in zip(scorer.metrics, values, strict=True)
    ]
    change = (pl.col("value") - pl.col("before")).alias("part")
    joined = pl.concat(tables).join(before, on=_VALUE, maintain_order="left")
    return joined.select(*_VALUE, "doc_id", "inclusion", change).filter(pl.col("part") != 0)


_COPIED_ROWS = 1 << 20
"""Judgments of copies of queries that are in memory together."""


def _copy_values(scorer: Scorer, index: JudgmentIndex, run: Run, judgment: Ints, grades: pl.Series) -> Floats:
    """(M, C) the values of copies of queries, each with one other grade; NaN if undefined.

    Args:
        scorer: the metrics and the convention.
        index: the judgments.
        run: the system.
        judgment: (C,) the position of the judgment that is replaced in each copy.
        grades: (C,) the new grades.
    """
    plan = Plan.from_conventions(scorer.metrics, [scorer.how])
    aligned_run = align_batch(run.whole(), index)
    ranks = {
        mode: align(aligned_run, replace(mode.alignment, depth=None, judged_only=False)) for mode in plan.ways
    }
    query = np.searchsorted(index.offsets, judgment, "right") - 1
    rows = np.cumsum(np.diff(index.offsets)[query])
    borders = np.flatnonzero(np.diff(rows // _COPIED_ROWS)) + 1
    values = [np.zeros((len(scorer.metrics), 0))]
    for copies in np.split(np.arange(len(query)), borders):
        replaced, new_grades = judgment[copies], grades.gather(copies).to_numpy()
        copied_index = index.copies(query[copies], replaced, new_grades)
        copied_ranks = {
            mode: of_mode.copies(query[copies], replaced, new_grades) for mode, of_mode in ranks.items()
        }
        values.append(plan.values_of_ranks(copied_ranks, copied_index))
    return np.concatenate(values, axis=1)


def _index(scorer: Scorer, table: pl.DataFrame) -> JudgmentIndex:
    return JudgmentIndex.from_judgments(replace(scorer.qrels, table=table, unjudged=()))


def _replace_grades(model_grades: pl.DataFrame, people_grades: pl.DataFrame) -> pl.DataFrame:
    """The model's grades, with people's grades of some documents in their place."""
    replacements = people_grades.select(*_PAIR, pl.col("grade").alias("people"))
    return model_grades.join(replacements, on=_PAIR, how="left", maintain_order="left").select(
        *_PAIR, pl.coalesce("people", "grade").alias("grade")
    )


def _join_grades(people: Qrels, model: Qrels, sampled_documents: pl.DataFrame) -> pl.DataFrame:
    """The drawn documents with ``grade`` (people's) and ``grade_model``.

    Raises:
        InputError: people did not judge a drawn document, or judged documents that were not drawn.
    """
    documents = sampled_documents.drop_nulls("doc_id")
    if len(wrong := documents.join(people.table, on=_PAIR, how="anti")):
        query, document = wrong.row(0)[:2]
        problem = (
            f"lacks {count_noun(len(wrong), 'drawn document')} (query {query}, document {document}, …): "
            f"people must judge all that were drawn, or those that they left out bias the estimate."
        )
        raise InputError(problem, source=people.name, code="sample-not-judged")
    if len(wrong := people.table.join(documents, on=_PAIR, how="anti")):
        query, document = wrong.row(0)[:2]
        problem = (
            f"has {count_noun(len(wrong), 'document')} that were not drawn (query {query}, document "
            f"{document}, …): their probabilities are unknown; remove them, or add their rows to the sample."
        )
        raise InputError(problem, source=people.name, code="not-in-sample")
    grades = people.table.select(*_PAIR, "grade")
    model_grades = model.table.select(*_PAIR, pl.col("grade").alias("grade_model"))
    return documents.join(grades, on=_PAIR).join(model_grades, on=_PAIR).sort(_PAIR)


def _refuse_metrics(scorer: Scorer) -> None:
    """Check that values are sums over documents.

    Raises:
        UsageError: a value is not a sum over documents.
    """
    unsupported = [label for label, metric in scorer.metrics if not metric.additive]
    unsupported += [] if scorer.builder is None else scorer.builder.metrics
    if unsupported:
        raise UsageError(
            f"{', '.join(unsupported)}: documents were sampled, and a value that is not a sum over documents "
            "(a ratio to an ideal ranking or to all relevant documents, the first relevant one) has no "
            "unbiased estimate from a part of them; use DCG@10, SDCG@10, P@10 or RBP, or draw whole queries.",
            code="unsupported-metric",
        )


def _refuse_nonrandom(
    model_grades: pl.DataFrame, graded: pl.DataFrame, lists: pl.DataFrame, source: str
) -> None:
    """Check that the sample and the model agree on the first documents of the lists.

    Raises:
        UsageError: the number of documents, or the sum of their grades, differs by more than occurs
            by chance in one of 1,000 samples.
    """
    listed_documents = model_grades.join(lists, on=_PAIR, how="semi")
    sampled = graded.join(listed_documents, on=_PAIR, how="semi")
    chance = sampled["inclusion"].to_numpy()
    lowest_chance = float(graded["inclusion"].to_numpy().min(initial=1.0))
    for name, population, sample in (
        ("documents", np.ones(len(listed_documents)), np.ones(len(sampled))),
        ("grades by the model", listed_documents["grade"].to_numpy(), sampled["grade_model"].to_numpy()),
    ):
        estimate = float((sample / chance).sum())
        variance = max(
            float(((1 - chance) * (sample / chance) ** 2).sum()),
            (1 / lowest_chance - 1) * float((population**2).sum()),
        )
        if abs(estimate - population.sum()) > _MOST_ERRORS * np.sqrt(variance) + _CLOSE * max(
            1, population.sum()
        ):
            raise UsageError(
                f"{source}: the documents that people judged are not a random sample with these "
                "probabilities: of the first documents of the lists they represent "
                f"{estimate:,.1f} {name}, and the model judged {population.sum():,.1f}; each document that "
                "the model judged needs a chance to be drawn (rankgate pool --strata).",
                code="sample-not-random",
            )
