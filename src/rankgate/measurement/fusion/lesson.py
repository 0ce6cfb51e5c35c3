"""Judgments for learning: the metric, the queries and the folds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.core.progress import progress
from rankgate.data.collection import Collection
from rankgate.measurement.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.data import Qrels
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.data.scores import RunScores
    from rankgate.measurement.fusion.method import Method
    from rankgate.measurement.scoring import Convention


@dataclass(frozen=True)
class FusionLearning(ByContent):
    """What a fusion learns from: judgments, and how they are used.

    Attributes:
        train: Judgments that trained methods and --tune learn from.
        tune: Choose the weights and parameters that are not given, by cross-validation.
        metric: The metric that --tune maximises.
        folds: The number of cross-validation folds.
        relevant: The lowest relevant grade, for trained methods.
        seed: The seed of the random cross-validation folds.
        convention: Compute the metric as this tool does, or by your own TOML file.

    Raises:
        UsageError: fewer than two folds; a choice without judgments.
    """

    train: Collection | QrelsLike | None = None
    tune: bool = False
    metric: str = "nDCG@10"
    folds: Annotated[int, Range(2)] = 5
    relevant: float = 1.0
    seed: Annotated[int, Range(0)] = 0
    convention: str | Convention = "trec"

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise UsageError(
                f"folds={self.folds}: at least 2 are needed.", code="invalid-parameter"
            )
        if self.tune and self.train is None:
            raise UsageError(
                "tuning learns from judgments; give them with --train.", code="missing-input"
            )


@dataclass(frozen=True)
class LearningData:
    """Judgments with the options of learning from them.

    Attributes:
        qrels: the judgments.
        collection: the same with what else is known of queries and documents.
        how: how they are used.
    """

    qrels: Qrels
    collection: Collection
    how: FusionLearning

    def values(self, run: RunLike, queries: pl.Series) -> NDArray[np.float64]:
        """The metric's value of each query, NaN if undefined."""
        return values_of(self.scores(run), queries)

    def scores(self, run: RunLike) -> RunScores:
        """The scores of a run by the metric."""
        with progress(None):
            return evaluate(self.collection, run, [self.how.metric], self.how.convention).runs[0]

    def parts(self, queries: pl.Series) -> tuple[pl.Series, NDArray[np.int64]]:
        """Queries ordered by fold, those without judgments last; where folds begin, and the end.

        Raises:
            UsageError: fewer judged queries than folds.
        """
        judged = queries.is_in(self.qrels.table["query_id"].unique().implode()).to_numpy()
        rows = np.random.default_rng(self.how.seed).permutation(np.flatnonzero(judged))
        if len(rows) < self.how.folds:
            raise UsageError(
                f"{len(rows)} queries of the runs have judgments, and {self.how.folds} folds need "
                "one each at least; add --folds, or judge more queries.",
                code="few-queries",
            )
        parts = [np.sort(fold) for fold in np.array_split(rows, self.how.folds)]
        ends = np.cumsum([0, *map(len, parts)])
        return queries.gather(np.concatenate([*parts, np.flatnonzero(~judged)])), ends


def values_of(scores: RunScores, queries: pl.Series) -> NDArray[np.float64]:
    """The value of each query by the only metric, NaN if undefined."""
    by_query = scores.per_query(next(iter(scores.values)))
    return np.array([by_query.get(query) for query in queries], np.float64)


def read_learning_data(method: Method, how: FusionLearning) -> LearningData | None:
    """Read the judgments to learn from; None without any.

    Raises:
        UsageError: a trained method without judgments; judgments that nothing learns from.
    """
    if how.train is None:
        if method.train:
            raise UsageError(
                f"{method.name} learns from judgments; give them with --train.",
                code="missing-input",
            )
        return None
    if not (method.train or how.tune):
        raise UsageError(
            f"{method.name} learns nothing from judgments; add --tune to choose its settings, or "
            "leave --train out.",
            code="unused-option",
        )
    collection = Collection.of(how.train)
    qrels = collection.qrels()
    return LearningData(qrels, replace(collection, judgments=qrels, grades={}), how)
