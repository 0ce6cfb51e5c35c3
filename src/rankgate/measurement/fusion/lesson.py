"""What is learned from judgments: which metric, which queries, in which folds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import progress
from rankgate.data import read_qrels
from rankgate.measurement.evaluation.evaluate import evaluate

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.data import Qrels
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.data.scores import Scores
    from rankgate.measurement.fusion.method import Method
    from rankgate.measurement.scoring import Convention


@dataclass(frozen=True)
class Learning:
    """How fusion learns from judgments.

    Attributes:
        tune: whether settings that were not given are chosen.
        metric: that a choice maximises, and that results are measured by.
        folds: the number of parts of the queries; each is fused by what the others teach.
        relevant: the lowest relevant grade, for trained methods.
        seed: of the parts.
        convention: by which the metric is computed.
    """

    tune: bool
    metric: str
    folds: int
    relevant: float
    seed: int
    convention: str | Convention


@dataclass(frozen=True)
class Lesson:
    """Judgments, and how fusion learns from them."""

    qrels: Qrels
    how: Learning

    def values(self, run: RunLike, queries: pl.Series) -> NDArray[np.float64]:
        """The metric's value of each query, NaN if undefined."""
        return values_of(self.scores(run), queries)

    def scores(self, run: RunLike) -> Scores:
        """The scores of a run by the metric."""
        with progress(None):
            return evaluate(self.qrels, run, [self.how.metric], self.how.convention).runs[0]

    def parts(self, queries: pl.Series) -> tuple[pl.Series, NDArray[np.int64]]:
        """Queries ordered by fold, those without judgments last; where folds begin, and the end.

        Raises:
            UsageError: fewer judged queries than folds.
        """
        judged = queries.is_in(self.qrels.table["query_id"].unique().implode()).to_numpy()
        drawn = np.random.default_rng(self.how.seed).permutation(np.flatnonzero(judged))
        if len(drawn) < self.how.folds:
            raise UsageError(
                f"{len(drawn)} queries of the runs have judgments, and {self.how.folds} folds need "
                "one each at least; add --folds, or judge more queries.",
                code="few-queries",
            )
        parts = [np.sort(part) for part in np.array_split(drawn, self.how.folds)]
        ends = np.cumsum([0, *map(len, parts)])
        return queries.gather(np.concatenate([*parts, np.flatnonzero(~judged)])), ends


def values_of(scores: Scores, queries: pl.Series) -> NDArray[np.float64]:
    """The value of each query by the only metric, NaN if undefined."""
    by_query = scores.per_query(next(iter(scores.values)))
    return np.array([by_query.get(query) for query in queries], np.float64)


def lesson_of(method: Method, train: QrelsLike | None, how: Learning) -> Lesson | None:
    """What is learned; None where nothing is."""
    if train is None:
        if method.train or how.tune:
            what = f"{method.name} learns" if method.train else "tuning learns"
            raise UsageError(
                f"{what} from judgments; give them with --train.", code="missing-input"
            )
        return None
    if not (method.train or how.tune):
        raise UsageError(
            f"{method.name} learns nothing from judgments; add --tune to choose its settings, or "
            "leave --train out.",
            code="unused-option",
        )
    if how.folds < 2:
        raise UsageError(f"folds={how.folds}: at least 2 are needed.", code="invalid-parameter")
    return Lesson(read_qrels(train), how)
