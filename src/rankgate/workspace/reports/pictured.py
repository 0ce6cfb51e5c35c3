"""Compute the result that a chart needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.decisions.blind_spots.verb import blindspots
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.inference import Test, Unequal
from rankgate.decisions.comparison.ranks import GradesByRank, ranks
from rankgate.decisions.pipelines.verb import DEPTH, METRICS, stages
from rankgate.decisions.unjudged.calibration import Calibration, calibration
from rankgate.decisions.unjudged.holes import HoleAnalysis, holes
from rankgate.judging.admission.admit import admit
from rankgate.judging.agreement.agree import agree
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.scored_system import DEPTH as HOLES
from rankgate.measurement.evaluation.tradeoff import Tradeoff, tradeoff
from rankgate.measurement.explanation.explain import explain
from rankgate.measurement.explanation.reconcile import reconcile
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.workspace.reports.reading import are_results, read_results

if TYPE_CHECKING:
    from rankgate.core.present.result import Result
    from rankgate.decisions.blind_spots.blindspots import BlindSpots
    from rankgate.decisions.comparison.comparison import Comparisons
    from rankgate.decisions.pipelines.stages import Pipeline
    from rankgate.judging.admission.admission import JudgeAdmission
    from rankgate.judging.agreement.agreement import RaterAgreement
    from rankgate.measurement.evaluation.evaluation import Evaluation
    from rankgate.measurement.explanation.explanation import Explanation
    from rankgate.measurement.explanation.reconciliation import Reconciliation
    from rankgate.measurement.scoring import Convention

CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
"""Where metrics are taken when nothing is said."""

RANKS = 20
"""How far lists are looked at when nothing is said."""

_ONE = ("nDCG@10",)
_AT_K = ("P", "R", "nDCG")
_AT_K_OF_ONE = ("P", "R", "F", "AP", "nDCG")
_RECALL = tuple(f"IPrec@{level / 10:.1f}" for level in range(11))


@dataclass(frozen=True)
class ChartRequest:
    """What a picture is asked of.

    Attributes:
        collection: judgments, or a `Collection`; for agreement, ratings.
        runs: runs, in the order that the kind has for them; of admission, the judge's grades.
        metrics: names; empty is what the kind takes by default.
        convention: whose rules the numbers follow.
        cutoffs: where metrics without a cutoff are taken.
        query: the id of the query of an explanation.
        depth: how far lists are looked at; None is what the kind takes by default.
        unequal: what queries are that only one system ran: refuse, zero or drop.
        labels: the names of grades, besides those that the judgments bring.
    """

    collection: Any
    runs: tuple[Any, ...] = ()
    metrics: tuple[str, ...] = ()
    convention: str | Convention = "trec"
    cutoffs: tuple[int, ...] = CUTOFFS
    query: str | None = None
    depth: int | None = None
    unequal: Unequal = "refuse"
    labels: Mapping[float, str] = field(default_factory=dict)

    @property
    def one(self) -> str:
        """The metric of a kind that takes one.

        Raises:
            UsageError: several are named.
        """
        if len(self.metrics) > 1:
            raise UsageError(
                f"this chart shows one metric; leave out {self.metrics[1]}.",
                code="several-metrics",
            )
        return (self.metrics or _ONE)[0]

    @property
    def only(self) -> Any:  # noqa: ANN401 - a run
        """The run of a kind that takes one."""
        self.need(1, 1, "shows one run")
        return self.runs[0]

    def need(self, least: int, most: int | None, words: str) -> None:
        """Check how many runs there are.

        Raises:
            UsageError: too few, or too many.
        """
        count = len(self.runs)
        if count < least or (most is not None and count > most):
            raise UsageError(
                f"this chart {words}; it got {count or 'no'} run{'s' * (count != 1)}.",
                code="wrong-run-count",
            )


def result_for(needs: str, asked: ChartRequest) -> Any:  # noqa: ANN401 - each need has its type
    """Make the result of that name.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: too few runs or too many, unknown names, no query where one is needed.
    """
    path = asked.collection
    if isinstance(path, str | Path) and are_results((str(path),)):
        return _saved(str(path))
    if needs == "result":
        problem = "this chart is drawn from a result; write it with --format json -o RESULT.json."
        raise UsageError(problem, code="missing-input")
    return NEEDS[needs](asked)


def _saved(path: str) -> Result:
    """The result in a file.

    Raises:
        UsageError: a folder with several.
    """
    parts, _ = read_results((path,))
    if len(parts) > 1:
        raise UsageError(f"{path}: {len(parts)} results; name one of them.", code="several-results")
    return parts[0].result


def at_cutoffs(metrics: Sequence[str], cutoffs: Sequence[int]) -> tuple[str, ...]:
    """Each metric at each cutoff; one that has a cutoff stays what it is.

    >>> at_cutoffs(["P", "nDCG@7"], [1, 5])
    ('P@1', 'P@5', 'nDCG@7')
    """
    return tuple(
        each
        for name in metrics
        for each in ([name] if "@" in name else [f"{name}@{k}" for k in cutoffs])
    )


def _comparisons(asked: ChartRequest) -> Comparisons:
    asked.need(2, None, "compares runs: a baseline and one candidate or more")
    return compare(
        asked.collection,
        asked.runs[0],
        list(asked.runs[1:]),
        asked.metrics or _ONE,
        asked.convention,
        test=Test(unequal=asked.unequal),
    )


def _comparison(asked: ChartRequest) -> Comparisons:
    asked.need(2, 2, "shows two runs: a baseline and a candidate")
    return _comparisons(asked)


def _evaluation(asked: ChartRequest, metrics: Sequence[str] = ()) -> Evaluation:
    asked.need(1, None, "shows one run or more")
    return evaluate(
        asked.collection,
        list(asked.runs),
        metrics or asked.metrics or _ONE,
        asked.convention,
    )


def _cutoffs(asked: ChartRequest) -> Evaluation:
    default = _AT_K_OF_ONE if len(asked.runs) == 1 else _AT_K
    return _evaluation(asked, at_cutoffs(asked.metrics or default, asked.cutoffs))


def _recall(asked: ChartRequest) -> Evaluation:
    return _evaluation(asked, asked.metrics or _RECALL)


def _reconciliation(asked: ChartRequest) -> Reconciliation:
    return reconcile(asked.collection, asked.only, asked.one)


def _blindness(asked: ChartRequest) -> BlindSpots:
    return blindspots(
        asked.collection,
        asked.only,
        None,
        asked.metrics or DEFAULT_METRICS,
        asked.convention,
        page=asked.depth or 10,
    )


def _explanation(asked: ChartRequest) -> Explanation:
    if asked.query is None:
        raise UsageError("this chart shows one query; name it with --query.", code="missing-input")
    return explain(asked.collection, asked.only, asked.query, asked.one, asked.convention)


def _ranks(asked: ChartRequest) -> GradesByRank:
    asked.need(1, None, "shows one run or more")
    return ranks(
        asked.collection,
        list(asked.runs),
        asked.convention,
        depth=asked.depth or RANKS,
        labels=asked.labels,
    )


def _tradeoff(asked: ChartRequest) -> Tradeoff:
    asked.need(2, None, "shows two runs or more")
    return tradeoff(_evaluation(asked, asked.metrics or DEFAULT_METRICS))


def _hidden(asked: ChartRequest) -> HoleAnalysis:
    asked.need(2, 2, "shows two runs: a baseline and a candidate")
    one, two = asked.runs
    return holes(
        asked.collection,
        one,
        two,
        asked.metrics or _ONE,
        asked.convention,
        depth=asked.depth or HOLES,
    )


def _calibration(asked: ChartRequest) -> Calibration:
    asked.need(2, 2, "shows two runs: a baseline and a candidate")
    one, two = asked.runs
    return calibration(asked.collection, one, two, asked.one, asked.convention)


def _agreed(asked: ChartRequest) -> RaterAgreement:
    asked.need(0, 0, "shows ratings and no run")
    return agree(asked.collection)


def _admitted(asked: ChartRequest) -> JudgeAdmission:
    asked.need(1, 1, "shows judgments by people and by a judge")
    return admit(asked.collection, asked.runs[0])


def _pipeline(asked: ChartRequest) -> Pipeline:
    asked.need(1, None, "shows the run after each stage")
    return stages(
        asked.collection,
        list(asked.runs),
        asked.metrics or METRICS,
        asked.convention,
        depth=asked.depth or DEPTH,
        labels=asked.labels,
        test=Test(unequal=asked.unequal),
    )


NEEDS: Mapping[str, Callable[[ChartRequest], Any]] = {
    "comparison": _comparison,
    "comparisons": _comparisons,
    "evaluation": _evaluation,
    "cutoffs": _cutoffs,
    "recall": _recall,
    "reconciliation": _reconciliation,
    "blindness": _blindness,
    "explanation": _explanation,
    "ranks": _ranks,
    "tradeoff": _tradeoff,
    "hidden": _hidden,
    "calibration": _calibration,
    "agreed": _agreed,
    "admitted": _admitted,
    "pipeline": _pipeline,
}
"""How each result is made that a kind of picture needs."""
