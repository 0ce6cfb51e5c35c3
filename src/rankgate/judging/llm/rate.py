"""Rate a pool with a language model: the result of ``rate`` and its document.

The result has a model's ratings of a pool. An answered pair is never sent to the model again.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.declare import Count
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.codec import InputHash
from rankgate.core.present.layout import FactList, Sentence
from rankgate.core.present.number_formats import count_noun
from rankgate.data.qrels import parse_scale
from rankgate.data.streams.journal import Closing
from rankgate.engines.requests.workers import Workers
from rankgate.judging.llm.judge import Budget
from rankgate.judging.llm.model_client import Client
from rankgate.judging.llm.model_work import RatingsFile, Work, requests_to_send
from rankgate.judging.llm.protocols import WIRES, Template
from rankgate.judging.rating_session import grades_of, select_batch
from rankgate.judging.rating_tasks import pool_table, read_tasks

if TYPE_CHECKING:
    import polars as pl

    from rankgate.judging.llm.judge import Judge
    from rankgate.judging.llm.model_work import Row
    from rankgate.judging.rating_tasks import PoolLike


@dataclass(frozen=True)
class ModelRatings(Result):
    """A pool rated by a language model: graded pairs, reasons for missing grades, and cost.

    Attributes:
        rater: the name of the rater in the file of ratings.
        model: the name of the model.
        template: name and SHA-256 of the template.
        pairs: the number of pairs in the pool.
        graded: the number of pairs with a grade now.
        known: the number of pairs with an earlier answer.
        asked: the number of pairs sent in this call.
        reasons: the reasons for missing grades, with counts.
        unanswered: the number of pairs without a grade that will be sent again.
        left: the number of pairs that were not sent.
        input_tokens, output_tokens: the tokens of this call.
        cost: the cost of this call; None without prices.
        spent: the total cost of this file of ratings; None without prices.
        stopped: the reason why pairs are left; empty if there are none.
    """

    kind = "model_ratings"
    label = "Ratings of a language model"
    headline_text = (
        "{rater} graded {graded:,} of {pairs:n pair}",
        Sentence(", {known:,} of them known before", "known"),
    )
    layout = (
        FactList(
            (
                ("no grade", "{missing}"),
                ("not asked", Sentence("{left:,} {stopped}", "left")),
                ("tokens", Sentence("{input_tokens:,} of input, {output_tokens:,} of output", "asked")),
                ("cost", Sentence("{cost:amount} now, {spent:amount} in all", "cost")),
                ("template", "{template.name} ({template.sha256:.12})"),
            )
        ),
        Sentence("The same command sends the unanswered requests again.", "status"),
    )

    rater: str
    model: str
    template: InputHash
    pairs: int
    graded: int
    known: int
    asked: int
    reasons: Mapping[str, int]
    unanswered: int
    left: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    spent: float | None
    stopped: str = ""

    @property
    def missing(self) -> str:
        """The reasons for missing grades, with counts."""
        return "; ".join(f"{count:,} {reason}" for reason, count in self.reasons.items())

    @property
    def status(self) -> int:
        """The exit code: 0 all pairs are answered; 3 some are not."""
        return 3 if self.left or self.unanswered else 0


LIMITS = {
    "requests": "the limit of requests is reached",
    "tokens": "the limit of tokens has no room for another request",
    "money": "the ceiling has no room for another request",
}
"""The message of a stopped run, by the limit that it reached."""

_BUILTIN_TEMPLATES = {(0.0, 1.0, 2.0, 3.0): "graded", (0.0, 1.0): "binary"}


class LLMRating(Closing):
    """Rate a pool with a language model; every answer is on disk before the next request.

    Args:
        pool: what to judge.
        path: the file of ratings (JSON lines, only added to). It is also the cache: an earlier
            answer is found by the hash of the full request and the scale.
        judge: the model.
        queries: texts of the queries.
        documents: fields of the documents.
        rater: the name in the ratings; by default the name of the model.
        scale: the grades that are possible.
        guideline: the version saved with the ratings; by default name and hash of the template.
        batch: only this batch of the pool.

    Raises:
        InputError: a file cannot be read; a query or document has no text; the template is invalid.
        UsageError: options that do not fit; no key; another program writes to the file.
    """

    def __init__(
        self,
        pool: PoolLike,
        path: str | Path,
        judge: Judge,
        *,
        queries: str | Path | pl.DataFrame,
        documents: str | Path | pl.DataFrame,
        rater: str = "",
        scale: str = "graded",
        guideline: str = "",
        batch: int | None = None,
    ) -> None:
        grade_scale = parse_scale(scale)
        labels = {float(grade): label for grade, label in grade_scale.labels}
        self._scale = {grade: labels.get(grade, f"{grade:g}") for grade in grades_of(grade_scale)}
        self._judge, self._rater = judge, rater.strip() or judge.name
        self._template = template_of(judge.template, tuple(self._scale))
        batch_tasks = read_tasks(select_batch(pool_table(pool), batch), queries, documents)
        for task in batch_tasks:
            if not task.query:
                label = str(queries) if isinstance(queries, str | Path) else "queries"
                problem = f"query '{task.query_id}' is in the pool and has no text here; add it."
                raise InputError(problem, source=label, code="missing-text")
        asks = [judge.ask(task, self._template, self._scale) for task in batch_tasks]
        self._asks = list({ask.task.pair: ask for ask in asks}.values())
        self._client = Client(
            WIRES[judge.protocol],
            judge.url,
            key_of(judge.key_from),
            timeout=judge.timeout,
            threads=judge.concurrency,
        )
        version = guideline or f"{self._template.name} {self._template.sha256[:12]}"
        self._saved = RatingsFile.open(path, self._rater, judge.model, version)
        self._left = list(requests_to_send(self._asks, self._saved, again=judge.again))

    @property
    def open_pairs(self) -> int:
        """The pairs that are still to be sent."""
        return len(self._left)

    @property
    def cut(self) -> int:
        """The bytes of an unfinished last line that were removed when the file was opened."""
        return self._saved.journal.cut

    def run(self) -> ModelRatings:
        """Send the remaining pairs, and report each saved pair.

        Raises:
            UsageError: the work cannot continue, with the endpoint's message; earlier answers are
                saved. The disk is full.
            KeyboardInterrupt: the user interrupts the work; earlier answers are saved.
        """
        judge = self._judge
        budget = Budget.from_limits(judge.ceilings, self._saved.used(judge.prices))
        workers = Workers(judge.backoff)
        work = Work(judge, self._client, self._scale, self._saved, budget, workers)
        work.run(self._left)
        if work.problem:
            answered = len(self._answered())
            raise UsageError(
                f"{work.problem}; {answered} of {count_noun(len(self._asks), 'pair')} "
                f"{'is' if answered == 1 else 'are'} answered, and the same command continues.",
                code="model-failed",
            )
        outcomes, prices = work.outcomes, self._judge.prices
        return model_ratings(
            work,
            self._rater,
            self._template,
            [(row["grade"], row["reason"]) for row in self._answered()],
            pairs=len(self._asks),
            answered_before=len(self._asks) - len(self._left),
            unasked=len(self._left) - len(outcomes),
            spent=self._saved.spent(prices),
            stopped=LIMITS[work.poor] if work.poor else "",
        )

    def close(self) -> None:
        """Close the files."""
        self._saved.close()

    def _answered(self) -> list[Row]:
        """The last answer for each pair of the pool."""
        last = self._saved.last()
        rows = (last.get(ask.task.pair, {}) for ask in self._asks)
        return [row for row in rows if row.get("answered")]


def model_ratings(
    work: Work,
    rater: str,
    template: Template,
    answers: Iterable[tuple[float | None, str | None]],
    *,
    pairs: int,
    answered_before: int,
    unasked: int,
    spent: float,
    stopped: str,
) -> ModelRatings:
    """The result of a model's work.

    Args:
        work: the finished work.
        rater: the name of the rater in the ratings.
        template: the prompt.
        answers: the grade of each answered pair, or the reason for a missing grade.
        pairs: the number of pairs in the pool.
        answered_before: the number of pairs with an answer before this work.
        unasked: the number of pairs that were not sent.
        spent: the total cost; used if there are prices.
        stopped: the reason why pairs were not sent.
    """
    judge, outcomes = work.judge, work.outcomes
    answer_list = list(answers)
    reasons = [str(reason) for grade, reason in answer_list if grade is None]
    failed = [outcome for outcome in outcomes if not outcome.answered]
    reasons += [str(outcome.answer.reason) for outcome in failed]
    is_priced = judge.prices is not None
    return ModelRatings(
        rater=rater,
        model=judge.model,
        template=InputHash(template.name, template.sha256),
        pairs=pairs,
        graded=sum(grade is not None for grade, _ in answer_list),
        known=answered_before,
        asked=len(outcomes),
        reasons=dict(Counter(reason.partition(":")[0] for reason in reasons).most_common()),
        unanswered=len(failed),
        left=unasked,
        input_tokens=sum(outcome.input_tokens for outcome in outcomes),
        output_tokens=sum(outcome.output_tokens for outcome in outcomes),
        cost=sum(outcome.cost or 0.0 for outcome in outcomes) if is_priced else None,
        spent=spent if is_priced else None,
        stopped=stopped,
    )


def rate(
    pool: PoolLike,
    path: str | Path,
    judge: Judge,
    *,
    queries: str | Path | pl.DataFrame,
    documents: str | Path | pl.DataFrame,
    rater: str = "",
    scale: str = "graded",
    guideline: str = "",
    batch: Count | None = None,
) -> ModelRatings:
    """Have a language model rate a pool; answered pairs are never sent again.

    Every answer is saved to disk before its thread sends the next request. A failure is a rating
    without a grade, with its reason. ``resolve``, ``agree`` and ``admit`` read the file.

    Args:
        pool: what to judge.
        path: the file of ratings (JSON lines, only added to), which is the cache too.
        judge: the model: ``Judge("model", key_from="API_KEY", prices=Prices(0.5, 1.5),
            ceiling=20)``.
        queries: texts of the queries: query_id and text, in any format.
        documents: fields of the documents: doc_id, title and others, in any format.
        rater: who rates; without it, the user or the model.
        scale: the grades that are possible: binary, graded (0 to 3), detail (1 to 10), a range
            such as 0..4, or a list such as 0,1,10,100.
        guideline: the version of the guideline that raters follow, kept with each rating; a
            model's without it is the name and hash of the template.
        batch: only this batch of the pool.

    Raises:
        InputError: files that cannot be read, a query or document without text, a bad template.
        UsageError: options that do not fit; no key; it makes no sense to go on, with the
            endpoint's message.
    """
    with LLMRating(
        pool,
        path,
        judge,
        queries=queries,
        documents=documents,
        rater=rater,
        scale=scale,
        guideline=guideline,
        batch=batch,
    ) as work:
        return work.run()


def key_of(variable: str | None) -> str | None:
    """The key in an environment variable; None without a variable.

    Raises:
        UsageError: the variable is empty or not set.
    """
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        # a text that is not a variable name may be the key itself
        variable_text = variable if re.fullmatch(r"[A-Z][A-Z0-9_]{0,60}", variable) else "named for the key"
        raise UsageError(
            f"the environment variable {variable_text} is empty or not set; set it to the key.",
            code="invalid-key",
        )
    return key


def template_of(template: str | Path | Template | None, grades: tuple[float, ...]) -> Template:
    """The stated template, or the built-in template.

    Raises:
        InputError: the file cannot be read, or is not a template.
        UsageError: rankgate has no template for these grades.
    """
    if isinstance(template, Template):
        return template
    if template is None:
        from importlib.resources import files

        name = _BUILTIN_TEMPLATES.get(grades)
        if name is None:
            problem = (
                "rankgate has a template for grades 0 to 3 and one for 0 and 1; name a file with the "
                "criteria of this scale."
            )
            raise UsageError(problem, code="missing-input")
        path = files("rankgate.judging") / "templates" / f"{name}.txt"
        return Template.parse(path.read_text(encoding="utf-8"), name)
    try:
        text = Path(template).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(
            f"cannot be read as a template: {reason}.", source=str(template), code="invalid-template"
        ) from None
    return Template.parse(text, str(template))
