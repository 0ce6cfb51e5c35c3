"""The outcome of the gate's rule for the change between two evaluations.

Pages show a change in the word and the colour of the gate. The outcome is that of a recorded verdict
on the same runs and judgments; without one, the default rule is decided on the stored runs, so that
unjudged documents make a page as undecided as the gate.
"""

from __future__ import annotations

from collections.abc import Collection as AbstractCollection
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.data.collection import Collection
from rankgate.data.id_match import ACCEPT
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.policy import metric_policy
from rankgate.decisions.gating.verdict import Verdict
from rankgate.measurement.evaluation.metric_selection import find_metrics
from rankgate.measurement.scoring import CONVENTIONS
from rankgate.store.blobs import stored_runs
from rankgate.store.records import records
from rankgate.workspace.web.dashboard.recorded_results import read_result

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.records.records import Record
    from rankgate.store.records.series import Point
    from rankgate.workspace.web.web_request import WebRequest


_LIST_DEPTH = 10
"""The depth of the lists for metrics without a cutoff."""


_MAX_QUERIES = 5_000
"""A page decides the rule for so many queries at most: grades are drawn for their unjudged documents."""


@dataclass(frozen=True)
class GateOutcome:
    """The outcome of a rule of the gate for one metric.

    Attributes:
        status: ``pass``, ``fail`` or ``inconclusive``.
        reason: the sentence of the rule.
    """

    status: str
    reason: str


def shown_status(outcome: GateOutcome | None, *, better: bool | None) -> str:
    """The status in whose colour a change is shown; empty for a change without a colour.

    Args:
        outcome: the outcome of the gate; None if it is not known.
        better: True for a gain, False for a loss; None if the change is not clear.
    """
    if outcome is None:
        return "" if better is None else "pass" if better else "fail"
    if outcome.status == "pass":  # of a loss, too, if the rule allows it
        return "pass" if better else ""
    return outcome.status


def find_outcomes(
    connection: Connection, request: WebRequest, points: tuple[Point, Point], metrics: AbstractCollection[str]
) -> Mapping[str, GateOutcome]:
    """The outcomes of the gate for two evaluations, by metric; without those that are not known.

    Args:
        connection: a connection to the store.
        request: the request of the page.
        points: the earlier and the later evaluation, by a point of any metric.
        metrics: the metrics whose change is clear: without a recorded verdict, the rule is decided
            for these.
    """
    earlier, later = points
    digests = earlier.run_sha256, later.run_sha256, later.qrels_sha256
    if not all(digests) or earlier.qrels_sha256 != later.qrels_sha256:
        return {}
    recorded_outcomes = _recorded_outcomes(connection, request, points)
    remaining = tuple(metric for metric in metrics if metric not in recorded_outcomes)
    key = ("gate outcomes", request.project.id, *digests, later.convention_hash, remaining)
    decided = request.cache.get(key, lambda: _decide(connection, request, points, remaining))
    return {**decided, **recorded_outcomes}


def _recorded_outcomes(
    connection: Connection, request: WebRequest, points: tuple[Point, Point]
) -> Mapping[str, GateOutcome]:
    """The outcomes of the last recorded verdict on both runs and their judgments."""
    earlier, later = points
    for record in records.list_records(connection, request.project.id, kind=Verdict.kind):
        result = read_result(request, record) if _is_about(record, earlier, later) else None
        if isinstance(result, Verdict):
            return {
                str(row.rule["metric"]): GateOutcome(row.outcome.status, row.outcome.reason)
                for row in result.rules
                if row.rule.get("metric") and not row.rule.slice
            }
    return {}


def _is_about(record: Record, earlier: Point, later: Point) -> bool:
    runs = record.inputs.get("runs", {})
    return (
        record.qrels_sha256 == later.qrels_sha256
        and runs.get(record.system) == later.run_sha256
        and earlier.run_sha256 in [digest for system, digest in runs.items() if system != record.system]
    )


def _decide(
    connection: Connection, request: WebRequest, points: tuple[Point, Point], metrics: tuple[str, ...]
) -> Mapping[str, GateOutcome]:
    """The outcomes of the default rule; empty if its inputs are not stored, or it cannot be decided."""
    earlier, later = points
    project, blobs = request.project.id, request.store.blobs
    preset = CONVENTIONS.get(later.convention)
    if not metrics or preset is None or preset.hash != later.convention_hash:
        return {}
    runs_by_digest = {run.sha256: run for run in stored_runs.list_runs(connection, project, archived=True)}
    judgments = next(
        (
            stored
            for stored in stored_runs.list_judgments(connection, project, archived=True)
            if stored.sha256 == later.qrels_sha256
        ),
        None,
    )
    runs = [runs_by_digest.get(digest) for digest in (earlier.run_sha256, later.run_sha256)]
    if judgments is None or any(run is None or run.queries > _MAX_QUERIES for run in runs):
        return {}
    try:
        qrels = stored_runs.read_judgments(connection, blobs, project, judgments.name)
        verdict = gate(
            Collection(qrels, ids=ACCEPT),
            {"earlier": stored_runs.rankings(runs_by_digest[earlier.run_sha256], blobs)},
            {"later": stored_runs.rankings(runs_by_digest[later.run_sha256], blobs)},
            metric_policy(_deepest_first(metrics), later.convention),
            redraws=0,
        )
    except RankgateError:
        return {}
    return {
        str(row.rule["metric"]): GateOutcome(row.outcome.status, row.outcome.reason)
        for row in verdict.rules
        if row.rule.get("metric")
    }


def _deepest_first(metrics: Iterable[str]) -> list[str]:
    """Metrics in the order of their cutoffs: unjudged documents count to the cutoff of the first one."""
    named_metrics = find_metrics(list(metrics))
    named_metrics.sort(key=lambda named_metric: named_metric[1].depth() or _LIST_DEPTH, reverse=True)
    return [name for name, _ in named_metrics]
