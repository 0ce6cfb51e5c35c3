"""Inputs of advice: the user's answers, and facts from judgments and runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from rankgate.core.declare import Count, Range, Share, check_fields
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.data import Qrels
    from rankgate.data.comparison import ScoredRun

TASKS = {
    "navigational": "users look for one page that they know",
    "find-one": "any one good answer is enough",
    "explore": "users read a page of results",
    "recall": "users need every relevant document",
    "recommend": "items are shown without a query",
}
"""Tasks, each with what users want from a list."""

STAGES = {
    "retrieval": "it passes candidates to the next stage",
    "reranking": "it reorders the candidates of another stage",
    "final": "users see it",
}
"""Stages of a search system, each with what happens to its list."""

PAGE, DEPTH, MARGIN = 10, 100, 0.02
_DEFAULT_GRADES = 4


@dataclass(frozen=True)
class PlannedJudgments:
    """Judgments that are not there yet.

    Attributes:
        queries: How many queries will be judged.
        grades: How many grades they will have; 2 for yes and no, 4 by default.
        complete: The share of the page that will be judged.

    Raises:
        UsageError: A value that cannot be.
    """

    queries: Count | None = None
    grades: Annotated[int, Range(2)] | None = None
    complete: Share | None = None

    def __post_init__(self) -> None:
        check_fields(self, code="out-of-range")


@dataclass(frozen=True)
class Answers:
    """The user's answers, which the data do not contain.

    Attributes:
        task: one of `TASKS`.
        stage: one of `STAGES`.
        page: how many documents people see.
        depth: how many candidates are passed on or looked through.
        margin: the loss that a gate shall allow, in a metric's units.
        alpha: the chance of a false pass that is allowed.
        power: the chance with which a candidate that is as good shall pass.
        queries, grades, complete: for planned judgments: the number of queries and of grades, and
            the share of a page that will be judged.
    """

    task: str = "explore"
    stage: str = "final"
    page: int = PAGE
    depth: int = DEPTH
    margin: float = MARGIN
    alpha: float = 0.05
    power: float = 0.8
    queries: int | None = None
    grades: int | None = None
    complete: float | None = None

    def __post_init__(self) -> None:
        for name, answer, choices in (("task", self.task, TASKS), ("stage", self.stage, STAGES)):
            if answer not in choices:
                raise UsageError(
                    f"no {name} is called {answer!r}; there are {', '.join(choices)}.",
                    code="unknown-choice",
                )
        if not 1 <= self.page <= self.depth:
            raise UsageError(
                f"page={self.page}, depth={self.depth}: a page has a document or more, and no more "
                "than there are candidates.",
                code="out-of-range",
            )


@dataclass(frozen=True)
class DataFacts:
    """Facts from the judgments and the runs.

    Attributes:
        task, stage, page, depth: the answers.
        queries: with judgments.
        judgments: of documents, with a grade of 0 or more.
        grades: every grade there is, lowest first.
        graded: relevant documents have more than one grade.
        irrelevant: some documents are judged irrelevant.
        relevant: documents with a grade above 0 of a query that has any, median.
        single: the share of these queries that have exactly one.
        without: the share of all queries that have none.
        over_page, over_depth: the share of queries that have more relevant documents than that.
        runs: how many.
        judged: the mean share of judged documents on the page, by run.
        latency: whether a run says how long its queries took.
    """

    task: str
    stage: str
    page: int
    depth: int
    queries: int
    judgments: int
    grades: tuple[float, ...]
    graded: bool
    irrelevant: bool
    relevant: float
    single: float
    without: float
    over_page: float
    over_depth: float
    runs: int
    judged: tuple[tuple[str, float | None], ...]
    latency: bool

    @property
    def complete(self) -> float | None:
        """judged@page of the run that is judged least; None without runs."""
        judged_shares = [share for _, share in self.judged if share is not None]
        return min(judged_shares) if judged_shares else None

    @property
    def uneven(self) -> float:
        """The largest difference of two runs in judged@page."""
        judged_shares = [share for _, share in self.judged if share is not None]
        return max(judged_shares) - min(judged_shares) if judged_shares else 0.0

    @property
    def top(self) -> float:
        """The best grade."""
        return self.grades[-1] if self.grades else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**vars(self), "judged": dict(self.judged), "complete": self.complete}


def read_facts(
    qrels: Qrels, queries: int, systems: Sequence[ScoredRun], answers: Answers
) -> DataFacts:
    """Look at judgments and at the first documents of each run.

    Args:
        qrels: the judgments.
        queries: how many have judgments.
        systems: the runs, with lists of a page or more.
        answers: the user's answers.
    """
    judged_rows = qrels.table.filter(pl.col("grade") >= 0)
    grades = tuple(judged_rows["grade"].unique().sort().to_list())
    counts = judged_rows.filter(pl.col("grade") > 0).group_by("query_id").len("n")["n"]
    query_count = max(queries, 1)
    median = counts.median()
    return DataFacts(
        task=answers.task,
        stage=answers.stage,
        page=answers.page,
        depth=answers.depth,
        queries=queries,
        judgments=len(judged_rows),
        grades=grades,
        graded=sum(grade > 0 for grade in grades) > 1,
        irrelevant=0.0 in grades,
        relevant=median if isinstance(median, float) else 0.0,
        single=int((counts == 1).sum()) / max(len(counts), 1),
        without=(queries - len(counts)) / query_count,
        over_page=int((counts > answers.page).sum()) / query_count,
        over_depth=int((counts > answers.depth).sum()) / query_count,
        runs=len(systems),
        judged=tuple((system.name, _judged_share(system, answers.page)) for system in systems),
        latency=any(system.queries["latency_ms"].is_not_null().any() for system in systems),
    )


def planned_facts(answers: Answers) -> DataFacts:
    """Facts of planned judgments: the user's answers, and assumptions for all others.

    Raises:
        UsageError: the number of planned queries is missing.
    """
    if answers.queries is None:
        raise UsageError(
            "without judgments say how many queries there will be: --queries 50.",
            code="missing-input",
        )
    grades = tuple(float(grade) for grade in range(answers.grades or _DEFAULT_GRADES))
    return DataFacts(
        answers.task,
        answers.stage,
        answers.page,
        answers.depth,
        answers.queries,
        0,
        grades,
        len(grades) > 2,
        irrelevant=True,
        relevant=float(answers.page),
        single=0.0,
        without=0.0,
        over_page=0.0,
        over_depth=0.0,
        runs=0,
        judged=() if answers.complete is None else (("supposed", answers.complete),),
        latency=False,
    )


def _judged_share(system: ScoredRun, page: int) -> float | None:
    first_documents = system.lists.filter(pl.col("rank") <= page)
    share = (
        first_documents.group_by("query_id")
        .agg(pl.col("grade").is_not_null().mean())["grade"]
        .mean()
    )
    return share if isinstance(share, float) else None
