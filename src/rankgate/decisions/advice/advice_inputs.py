"""Inputs of advice: the user's answers, facts from judgments and runs, power of the queries.

The power of a set of queries gives the differences that a metric can detect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range, Share, check_fields
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.collection import Collection
from rankgate.decisions.comparison.many_systems import value_matrix
from rankgate.decisions.comparison.paired_values import pair_values
from rankgate.measurement.evaluation.scored_system import Scorer

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.data import Qrels
    from rankgate.data.run_scores import ScoredRun


TASKS = {
    "navigational": "users look for one known page",
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
"""Stages of a search system, with the use of their lists."""

PAGE, DEPTH, MARGIN = 10, 100, 0.02
_DEFAULT_GRADES = 4


@dataclass(frozen=True)
class PlannedJudgments:
    """Judgments that are not there yet.

    Attributes:
        queries: The number of queries to be judged.
        grades: The number of grades on their scale; 2 for yes and no, 4 by default.
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
        page: the number of documents that users see.
        depth: the number of candidates that are passed on or looked through.
        margin: the loss that a gate shall allow, in a metric's units.
        alpha: the probability of a false pass that is allowed.
        power: the probability with which a candidate that is as good shall pass.
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
                    f"unknown {name} {answer!r}; known: {', '.join(choices)}.", code="unknown-choice"
                )
        if not 1 <= self.page <= self.depth:
            raise UsageError(
                f"page={self.page}, depth={self.depth}: a page has a document or more, and no more than "
                "there are candidates.",
                code="out-of-range",
            )


@dataclass(frozen=True)
class DataFacts:
    """Facts from the judgments and the runs.

    Attributes:
        task, stage, page, depth: the answers.
        queries: the number of queries with judgments.
        judgments: the number of judgments with a grade of 0 or more.
        grades: all grades in the judgments, lowest first.
        graded: True if relevant documents have more than one grade.
        irrelevant: True if some documents are judged irrelevant.
        relevant: the median number of documents with a grade above 0, over queries that have any.
        single: the share of these queries with exactly one relevant document.
        without: the share of all queries without a relevant document.
        over_page, over_depth: the share of queries with more relevant documents than the page or
            depth.
        runs: the number of runs.
        judged: the mean share of judged documents on the page, by run.
        latency: True if a run has the latencies of its queries.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("complete",)

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
    judged: Mapping[str, float | None]
    latency: bool

    @property
    def complete(self) -> float | None:
        """judged@page of the run that is judged least; None without runs."""
        judged_shares = [share for share in self.judged.values() if share is not None]
        return min(judged_shares) if judged_shares else None

    @property
    def uneven(self) -> float:
        """The largest difference of two runs in judged@page."""
        judged_shares = [share for share in self.judged.values() if share is not None]
        return max(judged_shares) - min(judged_shares) if judged_shares else 0.0

    @property
    def top(self) -> float:
        """The best grade."""
        return self.grades[-1] if self.grades else 0.0


def read_facts(qrels: Qrels, queries: int, systems: Sequence[ScoredRun], answers: Answers) -> DataFacts:
    """Read the facts from judgments and from the first documents of each run.

    Args:
        qrels: the judgments.
        queries: the number of queries with judgments.
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
        judged={system.name: _judged_share(system, answers.page) for system in systems},
        latency=any(system.queries["latency_ms"].is_not_null().any() for system in systems),
    )


def planned_facts(answers: Answers) -> DataFacts:
    """The facts of planned judgments: the user's answers, and assumptions for other facts.

    Raises:
        UsageError: the number of planned queries is missing.
    """
    if answers.queries is None:
        raise UsageError(
            "without judgments set the number of queries that there will be: --queries 50.",
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
        judged={} if answers.complete is None else {"supposed": answers.complete},
        latency=False,
    )


def _judged_share(system: ScoredRun, page: int) -> float | None:
    first_documents = system.lists.filter(pl.col("rank") <= page)
    share = (
        first_documents.group_by("query_id", maintain_order=True)
        .agg(pl.col("grade").is_not_null().mean())["grade"]
        .mean()
    )
    return share if isinstance(share, float) else None


_CLOSE = 1e-12


@dataclass(frozen=True)
class MetricPower:
    """Differences that the queries can detect with one metric.

    Attributes:
        means: the means of each run, with its name.
        n: queries on which both runs of the widest pair have a value.
        sd: the largest standard deviation of a run's differences to the first run; None with fewer
            than two runs, or without differences.
        detectable: the smallest true difference that n queries detect, two-sided.
        margin: the smallest margin at which a candidate that is as good passes with the wanted
            power, one-sided.
        needed: the number of queries that the requested margin needs.
        carries: true if n queries are enough.
        unmoved: the share of the lists with another page for which the metric does not move.
        e_rho2, low, high: the reliability of the order of systems over other queries, with its
            interval; for three runs or more.
    """

    means: tuple[tuple[str, float | None], ...]
    n: int
    sd: float | None
    detectable: float | None
    margin: float | None
    needed: float | None
    carries: bool | None
    unmoved: float | None
    e_rho2: float | None
    low: float | None
    high: float | None


def metric_power(metric: str, systems: Sequence[ScoredRun], answers: Answers) -> MetricPower | None:
    """Compare the runs' differences to the first run with the difference that a gate must detect.

    The sd is that of a paired comparison; detectable differences are those of the t-test (Cohen
    1988, Sakai 2016), see ``stats.power``; reliability follows Urbano et al. (2013).

    Args:
        metric: the label of the metric.
        systems: the runs, scored by the metric; the first is the baseline.
        answers: margin, alpha, power, page.

    Returns:
        None without runs.
    """
    if not systems:
        return None
    means = tuple((system.name, _mean(system, metric)) for system in systems)
    deltas = [_delta(metric, systems[0], system) for system in systems[1:]]
    usable_deltas = [delta for delta in deltas if len(delta) > 1 and np.ptp(delta) > _CLOSE]
    unmoved = _unmoved_share(metric, systems, answers.page)
    rho = _reliability(metric, systems)
    if not usable_deltas:
        n = max((len(delta) for delta in deltas), default=0)
        return MetricPower(means, n, None, None, None, None, None, unmoved, *rho)
    from rankgate.measurement.stats.query_power import detectable_difference, queries_for_power

    widest_deltas = max(usable_deltas, key=lambda delta: float(delta.std(ddof=1)))
    sd, n = float(widest_deltas.std(ddof=1)), len(widest_deltas)
    needed_queries = queries_for_power(answers.margin, sd, answers.alpha, answers.power, sides=1)
    return MetricPower(
        means,
        n,
        sd,
        float(detectable_difference(sd, n, answers.alpha, answers.power)),
        float(detectable_difference(sd, n, answers.alpha, answers.power, sides=1)),
        needed_queries,
        n >= needed_queries,
        unmoved,
        *rho,
    )


_SPREAD = 0.2  # assumed standard deviation of differences of nDCG@10 between two systems


@dataclass(frozen=True)
class SetPower:
    """The differences of nDCG@10 that a golden set detects (two-sided, level 5 %, power 80 %).

    Attributes:
        sd: the standard deviation of differences.
        measured: True if it is that of the runs, False if it is assumed.
        detectable: the smallest true difference that the queries detect; infinite for one query.
        needed: the number of queries that a difference needs.
        judged: the smallest mean share of judged documents among the first ten of a run; 1 without runs.
    """

    sd: float
    measured: bool
    detectable: float
    needed: float
    judged: float


def set_power(
    judgments: pl.DataFrame, runs: Mapping[str, pl.DataFrame], units: int, difference: float
) -> SetPower:
    """The power of judgments, by the differences of runs to the first, or by an assumed spread.

    Args:
        judgments: ``query_id``, ``doc_id``, ``grade``.
        runs: ``query_id``, ``doc_id``, ``score`` by name.
        units: the number of queries, or of clusters of them.
        difference: the difference that queries are wanted for.
    """
    from rankgate.measurement.stats.query_power import detectable_difference, queries_for_power

    collection = Collection(judgments.select("query_id", "doc_id", "grade"))
    scorer = Scorer.from_metrics(collection, ["nDCG@10"], "trec", depth=PAGE)
    systems = [
        scorer.scored(table.select("query_id", "doc_id", "score"), name) for name, table in runs.items()
    ]
    deltas = [_delta("nDCG@10", systems[0], system) for system in systems[1:]]
    sd = max((float(delta.std(ddof=1)) for delta in deltas if len(delta) > 1), default=0.0)
    spread = sd if sd > _CLOSE else _SPREAD
    return SetPower(
        spread,
        sd > _CLOSE,
        float(detectable_difference(spread, units)) if units > 1 else float("inf"),
        queries_for_power(difference, spread),
        min((_judged_share(system, PAGE) or 0.0 for system in systems), default=1.0),
    )


def _mean(system: ScoredRun, metric: str) -> float | None:
    mean = system.scores.filter(pl.col("metric") == metric)["value"].mean()
    return mean if isinstance(mean, float) else None


def _delta(metric: str, baseline: ScoredRun, candidate: ScoredRun) -> Floats:
    values = pair_values(baseline, candidate, "zero")
    j = values.metrics.index(metric)
    delta = values.candidate[:, j] - values.baseline[:, j]
    return delta[~np.isnan(delta)]


def _unmoved_share(metric: str, systems: Sequence[ScoredRun], page: int) -> float | None:
    """The share of the lists with another page than the first run for which the metric is equal."""
    changed_count = unmoved_count = 0
    baseline_pages = _result_pages(systems[0], page)
    for system in systems[1:]:
        joined = baseline_pages.join(_result_pages(system, page), on="query_id", how="full", coalesce=True)
        changed_queries = joined.filter(pl.col("docs").ne_missing(pl.col("docs_right")))["query_id"]
        values = pair_values(systems[0], system, "zero")
        j, changed_query_ids = values.metrics.index(metric), set(changed_queries.to_list())
        delta = values.candidate[:, j] - values.baseline[:, j]
        changed_deltas = [d for q, d in zip(values.query_ids, delta, strict=True) if q in changed_query_ids]
        changed_count += len(changed_deltas)
        unmoved_count += sum(abs(float(d)) <= _CLOSE for d in changed_deltas)
    return unmoved_count / changed_count if changed_count else None


def _result_pages(system: ScoredRun, page: int) -> pl.DataFrame:
    first_documents = system.lists.filter(pl.col("rank") <= page).sort("query_id", "rank")
    return first_documents.group_by("query_id", maintain_order=True).agg(pl.col("doc_id").alias("docs"))


def _reliability(
    metric: str, systems: Sequence[ScoredRun]
) -> tuple[float | None, float | None, float | None]:
    """Eρ² with its interval; None with fewer than three runs."""
    if len(systems) < 3:  # two systems are too few to estimate a variance
        return None, None, None
    from rankgate.measurement.stats.query_reliability import reliability

    coefficients = reliability(value_matrix(systems, metric))
    estimates = (coefficients.e_rho2, coefficients.e_rho2_low, coefficients.e_rho2_high)
    e_rho2, low, high = (None if np.isnan(estimate) else float(estimate) for estimate in estimates)
    return e_rho2, low, high
