"""Compute the result that a chart needs, and plot it.

The verb ``plot`` draws a chart directly from judgments and runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Cutoff
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.adapters import is_ranking
from rankgate.data.foreign_frames import named_runs
from rankgate.decisions.advice.blind_spots import blindspots
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.comparison_tables import GradesByRank, ranks
from rankgate.decisions.comparison.inference import Test, Unequal
from rankgate.decisions.cutoffs.cutoff import CutoffAnalysis, cutoff
from rankgate.decisions.pipelines.stages_verb import DEPTH, METRICS, stages
from rankgate.decisions.unjudged.calibration import Calibration, calibration
from rankgate.decisions.unjudged.holes import HoleAnalysis, holes
from rankgate.judging.admission.admit import admit
from rankgate.judging.agreement.agree import agree
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.scored_system import DEPTH as HOLES
from rankgate.measurement.evaluation.tradeoff import Tradeoff, tradeoff
from rankgate.measurement.explanation.explain import explain
from rankgate.measurement.explanation.reconcile import reconcile_metrics
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRIC, DEFAULT_METRICS
from rankgate.recommenders.scorecard import scorecard
from rankgate.workspace.reports.chart_kinds import find_chart_kind as kind_of
from rankgate.workspace.reports.report_results import are_result_paths, read_results

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.core.present.charts.picture import Picture
    from rankgate.data.collection import Collection
    from rankgate.data.input_types import QrelsLike, RunsLike
    from rankgate.decisions.advice.blind_spots import BlindSpots
    from rankgate.decisions.comparison.comparison import Comparisons
    from rankgate.decisions.pipelines.stages import Pipeline
    from rankgate.judging.admission.admit import JudgeAdmission
    from rankgate.judging.agreement.agree import RaterAgreement
    from rankgate.measurement.evaluation.scores import Scores
    from rankgate.measurement.explanation.explanation_results import Explanation, Reconciliation
    from rankgate.measurement.scoring import Convention


DEFAULT_CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
"""The default cutoffs of metrics."""

DEFAULT_RANKS = 20
"""The default depth of lists."""

_CUTOFF_METRICS = ("P", "R", "nDCG")
_SINGLE_RUN_METRICS = ("P", "R", "F", "AP", "nDCG")
_RECALL_METRICS = tuple(f"IPrec@{level / 10:.1f}" for level in range(11))


@dataclass(frozen=True)
class ChartRequest:
    """The inputs of a chart.

    Attributes:
        collection: judgments, or a `Collection`; for agreement, ratings.
        runs: the runs, in the order required by the kind; for admission, the judge's grades.
        metrics: the names of metrics; empty for the default of the kind.
        convention: the convention of the metrics.
        cutoffs: the cutoffs of metrics without a cutoff.
        query: the id of the query of an explanation.
        depth: the depth of the lists; None for the default of the kind.
        unequal: the treatment of queries that only one system ran: refuse, zero or drop.
        labels: the names of grades, in addition to those of the judgments.
    """

    collection: Any
    runs: tuple[Any, ...] = ()
    metrics: tuple[str, ...] = ()
    convention: str | Convention = "trec"
    cutoffs: tuple[int, ...] = DEFAULT_CUTOFFS
    query: str | None = None
    depth: int | None = None
    unequal: Unequal = "refuse"
    labels: Mapping[float, str] = field(default_factory=dict)

    @property
    def single_metric(self) -> str:
        """The metric of a chart with a single metric.

        Raises:
            UsageError: several metrics are named.
        """
        if len(self.metrics) > 1:
            raise UsageError(
                f"this chart shows one metric; leave out {self.metrics[1]}.", code="several-metrics"
            )
        return (self.metrics or (DEFAULT_METRIC,))[0]

    @property
    def only(self) -> Any:  # noqa: ANN401 - a run
        """The run of a chart with a single run."""
        self.need(1, 1, "shows one run")
        return self.runs[0]

    def need(self, minimum: int, maximum: int | None, demand: str) -> None:
        """Check the number of runs.

        Raises:
            UsageError: there are too few or too many runs.
        """
        count = len(self.runs)
        if count < minimum or (maximum is not None and count > maximum):
            names = "RUN..." if maximum is None else " ".join(["RUN"] * maximum)
            usage = f"write rankgate plot KIND JUDGMENTS {names}" if maximum != 0 else "leave the runs out"
            raise UsageError(
                f"this chart {demand}; it got {count_noun(count, 'run') if count else 'no runs'}; {usage}.",
                code="wrong-run-count",
            )


def compute_result(needs: str, request: ChartRequest) -> Any:  # noqa: ANN401 - each need has its type
    """Compute the result with a given name.

    Raises:
        InputError: data cannot be read; the error has file and line.
        UsageError: there are too few or too many runs; a name is unknown; a required query is
            missing.
    """
    path = request.collection
    if isinstance(path, str | Path) and are_result_paths((str(path),)):
        return _read_saved(str(path))
    if needs == "result":
        problem = "this chart is drawn from a result; write it with --format json -o RESULT.json."
        raise UsageError(problem, code="missing-input")
    return RESULT_MAKERS[needs](request)


def _read_saved(path: str) -> Result:
    """The result in a file.

    Raises:
        UsageError: a folder has several results.
    """
    parts, _ = read_results((path,))
    if len(parts) > 1:
        raise UsageError(f"{path}: {len(parts)} results; name one of them.", code="several-results")
    return parts[0].result


def metrics_at_cutoffs(metrics: Sequence[str], cutoffs: Sequence[int]) -> tuple[str, ...]:
    """Each metric at each cutoff; a metric with its own cutoff keeps it.

    >>> metrics_at_cutoffs(["P", "nDCG@7"], [1, 5])
    ('P@1', 'P@5', 'nDCG@7')
    """
    return tuple(
        metric for name in metrics for metric in ([name] if "@" in name else [f"{name}@{k}" for k in cutoffs])
    )


def _compare_runs(request: ChartRequest) -> Comparisons:
    request.need(2, None, "compares runs: a baseline and one candidate or more")
    return compare(
        request.collection,
        request.runs[0],
        list(request.runs[1:]),
        request.metrics or (DEFAULT_METRIC,),
        request.convention,
        test=Test(unequal=request.unequal),
    )


def _compare_two_runs(request: ChartRequest) -> Comparisons:
    request.need(2, 2, "shows two runs: a baseline and a candidate")
    return _compare_runs(request)


def _evaluate_runs(request: ChartRequest, metrics: Sequence[str] = ()) -> Scores:
    request.need(1, None, "shows one run or more")
    return evaluate(
        request.collection,
        _named_runs(request),
        metrics or request.metrics or (DEFAULT_METRIC,),
        request.convention,
    )


def _named_runs(request: ChartRequest) -> Any:  # noqa: ANN401 - a list, or runs by name
    """The runs by name if all have one."""
    runs: Any = list(request.runs)
    if all(isinstance(run, Mapping) and not is_ranking(run) for run in runs):
        runs = {name: rankings for run in runs for name, rankings in run.items()}
    return runs


def _evaluate_at_cutoffs(request: ChartRequest) -> Scores:
    default = _SINGLE_RUN_METRICS if len(request.runs) == 1 else _CUTOFF_METRICS
    return _evaluate_runs(request, metrics_at_cutoffs(request.metrics or default, request.cutoffs))


def _evaluate_recall(request: ChartRequest) -> Scores:
    return _evaluate_runs(request, request.metrics or _RECALL_METRICS)


def _reconcile(request: ChartRequest) -> Reconciliation:
    return reconcile_metrics(request.collection, request.only, request.single_metric)


def _find_blind_spots(request: ChartRequest) -> BlindSpots:
    return blindspots(
        request.collection,
        request.only,
        None,
        request.metrics or DEFAULT_METRICS,
        request.convention,
        page=request.depth or 10,
    )


def _explain(request: ChartRequest) -> Explanation:
    if request.query is None:
        raise UsageError("this chart shows one query; name it with --query.", code="missing-input")
    return explain(request.collection, request.only, request.query, request.single_metric, request.convention)


def _grades_by_rank(request: ChartRequest) -> GradesByRank:
    request.need(1, None, "shows one run or more")
    return ranks(
        request.collection,
        list(request.runs),
        request.convention,
        depth=request.depth or DEFAULT_RANKS,
        labels=request.labels,
    )


def _compute_tradeoff(request: ChartRequest) -> Tradeoff:
    request.need(2, None, "shows two runs or more")
    # intervals are not drawn, so one resample is enough
    card = scorecard(
        request.collection, _named_runs(request), request.metrics, request.convention, resamples=1
    )
    return tradeoff(card)


def _analyze_holes(request: ChartRequest) -> HoleAnalysis:
    request.need(2, 2, "shows two runs: a baseline and a candidate")
    baseline, candidate = request.runs
    return holes(
        request.collection,
        baseline,
        candidate,
        request.metrics or (DEFAULT_METRIC,),
        request.convention,
        depth=request.depth or HOLES,
    )


def _find_cutoff(request: ChartRequest) -> CutoffAnalysis:
    request.need(1, None, "shows one run or more")
    return cutoff(request.collection, _named_runs(request), request.single_metric, request.convention)


def _calibrate(request: ChartRequest) -> Calibration:
    request.need(2, 2, "shows two runs: a baseline and a candidate")
    baseline, candidate = request.runs
    return calibration(request.collection, baseline, candidate, request.single_metric, request.convention)


def _compute_agreement(request: ChartRequest) -> RaterAgreement:
    request.need(0, 0, "shows ratings and no run")
    return agree(request.collection)


def _admit_judge(request: ChartRequest) -> JudgeAdmission:
    request.need(1, 1, "shows judgments by people and by a judge")
    return admit(request.collection, request.runs[0])


def _compute_stages(request: ChartRequest) -> Pipeline:
    request.need(1, None, "shows the run after each stage")
    return stages(
        request.collection,
        list(request.runs),
        request.metrics or METRICS,
        request.convention,
        depth=request.depth or DEPTH,
        labels=request.labels,
        test=Test(unequal=request.unequal),
    )


RESULT_MAKERS: Mapping[str, Callable[[ChartRequest], Any]] = {
    "comparison": _compare_two_runs,
    "comparisons": _compare_runs,
    "evaluation": _evaluate_runs,
    "cutoffs": _evaluate_at_cutoffs,
    "recall": _evaluate_recall,
    "reconciliation": _reconcile,
    "blindness": _find_blind_spots,
    "explanation": _explain,
    "ranks": _grades_by_rank,
    "tradeoff": _compute_tradeoff,
    "hidden": _analyze_holes,
    "thresholds": _find_cutoff,
    "calibration": _calibrate,
    "agreed": _compute_agreement,
    "admitted": _admit_judge,
    "pipeline": _compute_stages,
}
"""The functions that compute the results for kinds of charts, by name."""


def plot(
    kind: str,
    collection: Collection | QrelsLike,
    runs: RunsLike = (),
    metrics: str | Sequence[str] = (),
    convention: str | Convention = "trec",
    *,
    query: str | None = None,
    cutoffs: Sequence[int] = DEFAULT_CUTOFFS,
    depth: Cutoff | None = None,
    labels: Mapping[float, str] | None = None,
) -> Picture:
    """Draw a kind of picture, as ``rankgate plot`` does.

    Args:
        kind: deltas, cutoffs, scatter, forest and so on: see ``rankgate plot --help``.
        collection: judgments, or a `Collection`, as ``evaluate`` takes them; of agreement, ratings;
            or the JSON file of a result, which is drawn as it is.
        runs: a run, a list of runs, or ``{name: run}``, in the order that the kind has for them.
        metrics: names; without them what the kind takes.
        convention: the convention of the metrics.
        query: for the kind explain, the id of the query.
        cutoffs: for the kind cutoffs, the cutoffs of metrics without @.
        depth: the depth of the lists, for kinds that show lists.
        labels: the names of grades.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown kind; too few runs or too many; nothing to draw.
        MissingExtraError: the extra ``plots`` is not installed.
    """
    chart_runs = tuple({name: run} if name else run for name, run in named_runs(runs))
    request = ChartRequest(
        collection,
        chart_runs,
        (metrics,) if isinstance(metrics, str) else tuple(metrics),
        convention,
        query=query,
        cutoffs=tuple(cutoffs),
        depth=depth,
        labels=labels or {},
    )
    picture_kind = kind_of(kind)
    return picture_kind.draw(compute_result(picture_kind.needs, request))
