"""Values of queries of whose documents people judged a random part, and a model all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.score import score

if TYPE_CHECKING:
    from rankgate.data import Qrels, Run
    from rankgate.data.comparison import ScoredRun
    from rankgate.measurement.evaluation.scored_system import Scorer

_PAIR = ["query_id", "doc_id"]
_VALUE = ["query_id", "metric"]
_CLOSE = 1e-9
_FAR = 3.5  # standard errors; further once in two thousand samples

PARTS = {
    "query_id": pl.String, "metric": pl.String, "doc_id": pl.String, "inclusion": pl.Float64,
    "part": pl.Float64,
}  # fmt: skip
"""By how much the value of a query rises where people's grade of a drawn document takes the place
of the model's; documents that change nothing are left out."""


@dataclass(frozen=True)
class Corrected:
    """A system with estimated values of the queries of the sample.

    Attributes:
        run: the system.
        parts: the columns of `PARTS`.
    """

    run: ScoredRun
    parts: pl.DataFrame


def corrected(
    scorer: Scorer, model: Qrels, drawn: pl.DataFrame, runs: Sequence[Run]
) -> list[Corrected]:
    """Estimate the values that people would find if they judged all documents.

    For a metric that is a sum over documents, M(g) = Σ f(g_d, rank_d), the estimate

        M̂ = M(model) + Σ_{d drawn} (f(people's g_d, rank_d) − f(model's g_d, rank_d)) / π_d

    has the expectation M(people) whatever the model is like, for documents drawn with
    probabilities π > 0 (the difference estimator: Särndal, Swensson and Wretman 1992, section
    6.3; per-document labels with per-query metrics: arXiv 2606.05308). Ratios such as nDCG have
    no such estimate: the ideal ranking depends on documents that were not drawn.

    Args:
        scorer: of people's judgments of the drawn documents.
        model: the model's, of all documents.
        drawn: ``query_id``, ``doc_id`` and ``inclusion`` of the drawn documents; a row without
            a document is a query none of whose documents was drawn.
        runs: the systems.

    Raises:
        InputError: drawn documents that people did not judge, others that they did.
        UsageError: a metric that is no sum over documents; documents that were not drawn at
            random as far as the model can tell.
    """
    _refuse_metrics(scorer)
    both = _graded(scorer.qrels, model, drawn)
    own = model.table.select(*_PAIR, "grade").join(drawn, on="query_id", how="semi")
    whole = _scorer(scorer, _replaced(own, both))
    ranked = [whole.index.ranked(run).in_memory() for run in runs]
    found = [whole.scored(run) for run in ranked]
    _refuse_chosen(own, both, pl.concat([each.lists for each in found]), scorer.qrels.name)
    return [_of_run(scorer, own, both, run, each) for run, each in zip(ranked, found, strict=True)]


def effects(
    scorer: Scorer, model: Qrels, lists: pl.DataFrame, runs: Sequence[Run]
) -> list[pl.DataFrame]:
    """`PARTS` of each system for documents that had the opposite grade of the model's.

    The opposite is the highest grade of the model for a document of the lower half of its scale,
    the lowest for another. Inclusion is 1.

    Args:
        scorer: whose metrics are sums over documents.
        model: judgments of all documents.
        lists: ``query_id`` and ``doc_id`` of the documents that are asked for.
        runs: the systems.

    Raises:
        UsageError: a metric that is no sum over documents.
    """
    _refuse_metrics(scorer)
    own = model.table.select(*_PAIR, "grade")
    low, high = own["grade"].min(), own["grade"].max()
    opposite = pl.when(pl.col("grade") - low > high - pl.col("grade")).then(low).otherwise(high)
    both = own.join(lists, on=_PAIR, how="semi").select(
        *_PAIR, pl.lit(1.0).alias("inclusion"), opposite.cast(pl.Float64).alias("grade"),
        pl.col("grade").alias("grade_model"),
    )  # fmt: skip
    found = []
    for run in runs:
        before = _values(scorer, own, run).rename({"value": "before"})
        found.append(_parts(scorer, own, both, run, before))
    return found


def _of_run(
    scorer: Scorer, own: pl.DataFrame, both: pl.DataFrame, run: Run, mixed: ScoredRun
) -> Corrected:
    before = _values(scorer, own, run).rename({"value": "before"})
    parts = _parts(scorer, own, both, run, before)
    sums = parts.group_by(_VALUE).agg(
        (pl.col("part") / pl.col("inclusion")).sum().alias("more"), pl.col("part").sum()
    )
    table = mixed.scores.join(before, on=_VALUE, how="left", maintain_order="left").join(
        sums, on=_VALUE, how="left", maintain_order="left"
    )
    table = table.with_columns(pl.col("more", "part").fill_null(0.0))
    wrong = table.filter((pl.col("before") + pl.col("part") - pl.col("value")).abs() > _CLOSE)
    open_ = table.filter(pl.col("before").is_null() & (pl.col("part") != 0))
    if len(wrong) or len(open_):
        query, metric = pl.concat([wrong, open_]).select(_VALUE).row(0)
        raise UsageError(
            f"{metric} of query {query} is no sum over documents with this convention: a grade "
            "counts by the best grade of the query, or some documents leave it without a value; "
            f"set its parameters, as in RBP(gain='binary'), or choose another metric.",
            code="unsupported-metric",
        )
    value = pl.when(pl.col("value").is_not_null()).then(pl.col("before") + pl.col("more"))
    scores = table.with_columns(value.alias("value")).select(mixed.scores.columns)
    named = replace(mixed, scores=scores, qrels=scorer.qrels.name, qrels_sha256=scorer.qrels.sha256)
    return Corrected(named, parts)


def _parts(
    scorer: Scorer, own: pl.DataFrame, both: pl.DataFrame, run: Run, before: pl.DataFrame
) -> pl.DataFrame:
    """`PARTS`: each query once for each document, with people's grade of that document alone."""
    other = both.filter(pl.col("grade") != pl.col("grade_model")).join(
        run.table.select(_PAIR), on=_PAIR, how="semi", maintain_order="left"
    )
    if not len(other):
        return pl.DataFrame(schema=PARTS)
    turn = pl.int_range(pl.len()).over("query_id")
    other = other.with_columns(pl.format("{}\t{}", "query_id", turn).alias("copy"))
    turns = other.select("query_id", "copy", replaced="doc_id", people="grade")
    grade = pl.when(pl.col("doc_id") == pl.col("replaced")).then("people").otherwise("grade")
    copies = own.join(turns, on="query_id").select(
        pl.col("copy").alias("query_id"), "doc_id", grade.alias("grade")
    )
    rows = run.table.join(turns, on="query_id", maintain_order="left").select(
        pl.col("copy").alias("query_id"), "doc_id", "score"
    )
    ranked = rows.sort("query_id", maintain_order=True)
    copied = replace(run, pieces=lambda: iter([ranked]), rankings=None, queries=None)
    after = _values(scorer, copies, copied).rename({"query_id": "copy"})
    found = after.join(other, on="copy").join(before, on=_VALUE)
    part = (pl.col("value") - pl.col("before")).alias("part")
    return found.select(*_VALUE, "doc_id", "inclusion", part).filter(pl.col("part") != 0)


def _values(scorer: Scorer, table: pl.DataFrame, run: Run) -> pl.DataFrame:
    index = _scorer(scorer, table).index
    found = score(index, run, list(scorer.metrics), scorer.how, strict=False)
    return found.table.select(*_VALUE, "value")


def _scorer(scorer: Scorer, table: pl.DataFrame) -> Scorer:
    qrels = replace(scorer.qrels, table=table, unjudged=())
    return replace(scorer, qrels=qrels, index=JudgmentIndex.of(qrels), builder=None)


def _replaced(own: pl.DataFrame, some: pl.DataFrame) -> pl.DataFrame:
    """The model's grades, those of some documents by people."""
    theirs = some.select(*_PAIR, pl.col("grade").alias("people"))
    return own.join(theirs, on=_PAIR, how="left", maintain_order="left").select(
        *_PAIR, pl.coalesce("people", "grade").alias("grade")
    )


def _graded(people: Qrels, model: Qrels, drawn: pl.DataFrame) -> pl.DataFrame:
    """The drawn documents with ``grade`` (people's) and ``grade_model``.

    Raises:
        InputError: drawn documents that people did not judge, others that they did.
    """
    documents = drawn.drop_nulls("doc_id")
    if len(wrong := documents.join(people.table, on=_PAIR, how="anti")):
        query, document = wrong.row(0)[:2]
        problem = (
            f"lacks {len(wrong):,} drawn documents (query {query}, document {document}, …): people "
            "must judge all that were drawn, or those that they left out bias the estimate."
        )
        raise InputError(problem, source=people.name, code="sample-not-judged")
    if len(wrong := people.table.join(documents, on=_PAIR, how="anti")):
        query, document = wrong.row(0)[:2]
        problem = (
            f"has {len(wrong):,} documents that were not drawn (query {query}, document "
            f"{document}, …): nobody knows their chance; take them out, or add their rows to the "
            "sample."
        )
        raise InputError(problem, source=people.name, code="not-in-sample")
    grades = people.table.select(*_PAIR, "grade")
    theirs = model.table.select(*_PAIR, pl.col("grade").alias("grade_model"))
    return documents.join(grades, on=_PAIR).join(theirs, on=_PAIR).sort(_PAIR)


def _refuse_metrics(scorer: Scorer) -> None:
    """Check that values are sums over documents.

    Raises:
        UsageError: those that are not.
    """
    wrong = [label for label, metric in scorer.metrics if not metric.additive]
    if wrong:
        raise UsageError(
            f"{', '.join(wrong)}: documents were sampled, and a value that is no sum over "
            "documents (a ratio to an ideal ranking or to all relevant documents, the first "
            "relevant one) has no unbiased estimate from a part of them; use DCG@10, SDCG@10, P@10 "
            "or RBP, or draw whole queries.",
            code="unsupported-metric",
        )


def _refuse_chosen(own: pl.DataFrame, both: pl.DataFrame, lists: pl.DataFrame, source: str) -> None:
    """Compare what the sample says of the first documents of the lists with what the model says.

    Raises:
        UsageError: how many there are, or the sum of their grades, differ by more than chance
            would have it once in a thousand samples.
    """
    shown = own.join(lists, on=_PAIR, how="semi")
    some = both.join(shown, on=_PAIR, how="semi")
    chance = some["inclusion"].to_numpy()
    least = float(both["inclusion"].to_numpy().min(initial=1.0))
    for name, every, mine in (
        ("documents", np.ones(len(shown)), np.ones(len(some))),
        ("grades by the model", shown["grade"].to_numpy(), some["grade_model"].to_numpy()),
    ):
        counted = float((mine / chance).sum())
        spread = max(
            float(((1 - chance) * (mine / chance) ** 2).sum()),
            (1 / least - 1) * float((every**2).sum()),
        )
        if abs(counted - every.sum()) > _FAR * np.sqrt(spread) + _CLOSE * max(1, every.sum()):
            raise UsageError(
                f"{source}: the documents that people judged are no random sample with these "
                f"probabilities: of the first documents of the lists they stand for {counted:,.1f} "
                f"{name}, and the model judged {every.sum():,.1f}; each document that the model "
                "judged needs a chance to be drawn (rankgate pool --strata).",
                code="sample-not-random",
            )
