"""The scores of a run by question, for questions with and without an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice
from rankgate.core.present.number_formats import count_noun
from rankgate.data.collection import SAMPLE_FIELDS, TASK_FIELDS
from rankgate.data.query_tags import read_clusters
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.top_documents import top_rows_with_scores
from rankgate.measurement.stats.score_thresholds import QuestionScores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.run import Run
    from rankgate.decisions.cutoffs.demands import Keep
    from rankgate.measurement.evaluation.scored_system import Scorer

JUDGED, NAMED = "judged", "named"
"""The questions without an answer: judged ones without a relevant document; or also those that
judgments name without any judgment."""

_MOST_RISING = 0.9  # a run with this share of rising lists holds distances


@dataclass(frozen=True)
class ScoredQuestions:
    """The questions of a run with their scores.

    Attributes:
        name: the run.
        questions: a row for each question, by id: ``has_answer`` (null for a question that counts as
            neither), ``is_asked``, ``relevant`` (the number of relevant documents), ``scores`` (those
            of them that were retrieved), ``top``, ``spread`` and ``lead`` (the highest score of any
            document, the standard deviation, the lead over the second one), ``top_judged``.
        tags: the tags of the same questions, in the same order.
        document_scores: the scores of all documents of these questions, in order.
    """

    name: str
    questions: pl.DataFrame
    tags: pl.DataFrame
    document_scores: NDArray[np.float64]

    @classmethod
    def read(cls, scorer: Scorer, run: Run, no_answer: str = JUDGED, rel: float = 1) -> ScoredQuestions:
        """Read the scores of a run.

        Args:
            scorer: the judgments, the convention and the tags.
            run: the run.
            no_answer: the questions without an answer: judged, named, or TAG=VALUE.
            rel: the smallest grade that counts as relevant.

        Raises:
            InputError: rows that cannot be read; scores that no threshold can cut: distances, or the
                same highest score for all questions; a question without an answer has a relevant
                document, or no other question has one.
            UsageError: an unknown way to name questions without an answer; a collection of tasks, or
                a sample of queries.
        """
        scorer.collection.refuse("cutoff", *TASK_FIELDS, *SAMPLE_FIELDS)
        declared = _declared_questions(scorer, no_answer)
        qrels = scorer.qrels.by_document()
        index = JudgmentIndex.from_judgments(replace(qrels, unjudged=(*qrels.unjudged, *declared)))
        ranked = index.ranked(run)
        _refuse_distances(ranked)
        rows = top_rows_with_scores(ranked, index, replace(scorer.how, depth=None, judged_only=False), None)
        score, grade = pl.col("score"), pl.col("grade")
        is_complete = scorer.collection.selection == "complete"  # so that unjudged documents are no answer
        lists = rows.group_by("query_id").agg(
            top=score.max(),
            spread=score.std(ddof=0),
            lead=score.max() - score.top_k(2).min(),
            top_judged=(grade >= 0).filter(score == score.max()).any() | is_complete,
            scores=score.filter(grade >= rel),
        )
        grades = qrels.table.filter(grade >= 0).group_by("query_id").agg(relevant=(grade >= rel).sum())
        questions = tags = pl.DataFrame([index.query_ids])
        for table in (grades, lists):
            questions = questions.join(table, "query_id", how="left", maintain_order="left")
        for source in (run.queries, scorer.tags):
            if source is not None:
                names = [name for name in source.columns if name == "query_id" or name not in tags.columns]
                tags = tags.join(source.select(names), "query_id", how="left", maintain_order="left")
        states = tags["state"] if run.queries is not None else pl.Series(["not_run"])
        relevant = pl.col("relevant")
        is_without = {JUDGED: relevant == 0, NAMED: relevant.fill_null(0) == 0}
        is_declared = is_without.get(no_answer, pl.col("query_id").is_in(declared)).fill_null(value=False)
        questions = questions.with_columns(
            is_asked=pl.col("top").is_not_null() | states.is_in(["ok", "zero"]),
            has_answer=pl.when(is_declared).then(statement=False).when(relevant > 0).then(statement=True),
        )
        _refuse_unfit(questions, scorer.qrels.name, run.name)
        return cls(run.name, questions, tags, rows["score"].sort().to_numpy())

    def scores(self, keep: Keep, slice_: str | None = None, seed: int = 0) -> QuestionScores:
        """The scores that a threshold is chosen by, of all questions or of those of a slice.

        Of questions in one cluster the first by its id counts, as the others are no further evidence.

        Args:
            keep: what is kept of a question.
            slice_: TAG=VALUE, or None.
            seed: the seed of the documents that are drawn.
        """
        tag, _, value = (slice_ or "").partition("=")
        scores, draws = pl.col("scores"), np.random.default_rng(seed).random(len(self.questions))
        position = (pl.lit(pl.Series(draws)) * scores.list.len()).floor().cast(pl.Int64)
        kept_score = {"share": scores.list.get(position, null_on_oob=True), "one": scores.list.max()}
        questions = self.questions.with_columns(
            score=kept_score.get(keep, scores.list.min()),
            cluster=pl.col("query_id").replace(read_clusters([self.tags])),
        ).filter(self.tags[tag].cast(pl.String) == value if tag else True)
        answerable = questions.filter("has_answer", pl.col("score").is_not_null())
        unanswerable = questions.filter(~pl.col("has_answer"), "is_asked")
        tops, relevant = (
            table.unique("cluster", keep="first", maintain_order=True) for table in (unanswerable, answerable)
        )
        return QuestionScores(tops["top"].fill_null(-np.inf).to_numpy(), relevant["score"].to_numpy())

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Remarks on documents that no threshold brings back, and on questions that do not count."""
        has_answer, lists = pl.col("has_answer"), pl.col("scores").list.len().fill_null(0)
        counts = {
            "not-retrieved": pl.col("relevant").filter(has_answer).sum() - lists.filter(has_answer).sum(),
            "not-asked": (~has_answer & ~pl.col("is_asked")).sum(),
            "neither": has_answer.is_null().sum(),
            "unjudged-tops": (~has_answer & ~pl.col("top_judged")).sum(),
        }
        clusters = read_clusters([self.tags])
        (numbers,) = self.questions.select(**counts).to_dicts()
        numbers["clusters"] = len(clusters) - len({*clusters.values()})
        return tuple(
            Notice(code, f"{self.name}: {_NOTICES[code].format(number)}", self.name)
            for code, number in numbers.items()
            if number
        )


_NOTICES = {
    "not-retrieved": "relevant documents that were not retrieved: {:,}; no threshold brings them back, and "
    "shares are of those that were",
    "not-asked": "questions without an answer that are not in the run: {:,}; they are left out; if they were "
    "asked and returned nothing, state so in RUN.meta.jsonl (zero)",
    "neither": "questions without a relevant document that do not count: {:,}; that nothing is judged does "
    "not mean that there is no answer: declare them with --no-answer TAG=VALUE or --no-answer named",
    "unjudged-tops": "questions without an answer whose first document is unjudged: {:,}; judge it, as it "
    "may be the answer",
    "clusters": "questions in a cluster with an earlier one: {:,}; they are left out",
}


def _declared_questions(scorer: Scorer, no_answer: str) -> list[str]:
    """The questions that a tag declares to be without an answer.

    Raises:
        UsageError: neither a known word nor the value of a tag.
    """
    if no_answer in {JUDGED, NAMED}:
        return []
    tag, _, value = no_answer.partition("=")
    tags = pl.DataFrame({"query_id": []}) if scorer.tags is None else scorer.tags.cast(pl.String)
    values = tags[tag] if tag in tags else pl.Series([], dtype=pl.String)
    declared = tags.filter(values == value)["query_id"].to_list() if len(values) else []
    if not declared:
        known_values = ", ".join(values.unique().drop_nulls().sort().head(5)) or "unknown"
        raise UsageError(
            f"--no-answer {no_answer}: write {JUDGED}, {NAMED}, or TAG=VALUE of --tags, which some question "
            f"has; the values of {tag!r} are {known_values}.",
            code="unknown-tag",
        )
    return declared


def _refuse_distances(run: Run) -> None:
    """Check that scores do not rise down the lists of a run whose rows are in the order of ranks.

    Raises:
        InputError: they do, as distances do.
    """
    change = pl.col("score").diff()
    lists = run.table.group_by("query_id").agg(rises=(change > 0).any(), falls=(change < 0).any())
    rising, falling = lists.filter("rises", ~pl.col("falls")).height, lists.filter("falls").height
    if run.ordered and rising and rising >= _MOST_RISING * (rising + falling):
        problem = (
            f"the scores rise down the lists of {count_noun(rising, 'query')}: they look like distances, but "
            "a document is shown if its score is high; write them with the opposite sign."
        )
        raise InputError(problem, source=run.place.label, code="rising-scores")


def _refuse_unfit(questions: pl.DataFrame, qrels: str, run: str) -> None:
    """Check that questions with and without an answer differ, and that their scores do.

    Raises:
        InputError: they do not.
    """
    contradicted = questions.filter(~pl.col("has_answer"), pl.col("relevant") > 0)["query_id"]
    if len(contradicted):
        problem = (
            f"'{contradicted[0]}' is declared to have no answer, but has a relevant document "
            f"({count_noun(len(contradicted), 'such question')}); correct the tag or the judgment."
        )
        raise InputError(problem, source=qrels, code="contradicting-tags")
    if not questions.filter("has_answer")["scores"].list.len().sum():
        problem = "no relevant document was retrieved; check the ids, or the smallest relevant grade (--rel)."
        raise InputError(problem, source=run, code="no-relevant")
    tops = questions["top"].drop_nulls()
    if len(tops) > 1 and tops.n_unique() == 1:
        problem = (
            f"the highest score is {tops[0]:g} for all {count_noun(len(tops), 'question')}: scores are "
            "ranks, or were scaled for each question; give the system's own scores."
        )
        raise InputError(problem, source=run, code="equal-scores")
