"""The results of a report on a change, from judgments and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.progress import progress, step
from rankgate.data.collection import Collection
from rankgate.decisions.blind_spots.verb import blindspots
from rankgate.decisions.comparison import compared as candidates_of
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.unjudged.holes import holes
from rankgate.measurement.evaluation.metric_selection import find_metrics
from rankgate.measurement.evaluation.scored_system import DEPTH
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.metrics.views import RANKING
from rankgate.measurement.scoring.chosen import chosen_convention
from rankgate.measurement.scoring.run_names import refuse_baseline_again
from rankgate.workspace.reports.compose import ReportPart

if TYPE_CHECKING:
    from rankgate.core.present.result import Result
    from rankgate.data.inputs import QrelsLike, RunLike, RunsLike
    from rankgate.decisions.gating.policy import Policy
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

MAX_CANDIDATES = 3
"""With more candidates than this only the comparison is made."""


def gather_results(
    collection: Collection | QrelsLike,
    baseline: RunLike,
    candidates: RunsLike,
    metrics: str | Metric | Sequence[str | Metric] = (),
    convention: str | Convention = "trec",
    *,
    policy: Policy | None = None,
    test: Test | None = None,
    depth: int = DEPTH,
) -> tuple[list[ReportPart], tuple[str, ...]]:
    """The results that assess a change: verdict, comparison, blind spots, holes.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        baseline: a run.
        candidates: a run, a list of runs, or ``{name: run}``.
        metrics: names or metrics; without any those of the policy, else those of ``evaluate``.
        convention: whose rules the numbers follow; a policy's own holds for its verdict.
        policy: what is demanded of the first candidate; None is no verdict.
        test: of the comparison.
        depth: the depth to which lists are compared.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: unknown names, query sets that differ, a file without texts.
    """
    chosen_metrics = metrics or (policy.metrics if policy else ()) or DEFAULT_METRICS
    collection = Collection.of(collection)
    named_runs = list(candidates_of.iterate_candidates(candidates, collection.doc_field))
    refuse_baseline_again(baseline, [run for _, run in named_runs])
    # each once, as standard input can be read only once
    collection = replace(collection, judgments=collection.qrels(subtopics=True), grades={})
    baseline = collection.run(baseline)
    runs = [collection.run(run, name) for name, run in named_runs]
    step("comparing")
    with progress(None):
        compared = compare(
            collection, baseline, runs, chosen_metrics, convention, test=test or Test(), depth=depth
        )
    verdict = None
    if policy is not None:
        step("deciding")
        with progress(None):
            verdict = gate(collection, baseline, runs[0], policy, log=False)
    # the comparison is its own part: a verdict's page without it
    parts: list[Result] = [replace(verdict, comparison=None)] if verdict is not None else []
    parts.append(compared)
    rankings = _ranking_metrics(chosen_metrics, convention)
    has_lists = collection.sequences is not None or collection.items.document is not None
    judged_collection = replace(
        collection, sample=None, predicted=None
    )  # both look at what was judged
    for run in runs if len(runs) <= MAX_CANDIDATES and rankings and not has_lists else ():
        step("looking for blind spots and holes")
        with progress(None):
            parts.append(
                blindspots(judged_collection, baseline, run, rankings, convention, depth=depth)
            )
            try:
                parts.append(
                    holes(judged_collection, baseline, run, rankings, convention, depth=depth)
                )
            except UsageError as error:
                if error.code != "missing-cutoff":  # no metric keeps to lists of this depth
                    raise
    remarks = (
        []
        if _has_holes(parts) or len(runs) > MAX_CANDIDATES
        else [_NO_HOLES_REMARK.format(depth=depth)]
    )
    if verdict is not None and len(runs) > 1:
        other_names = ", ".join(run.name for run in runs[1:])
        remarks.append(f"Compared too, without a verdict: {other_names}.")
    return [ReportPart(result) for result in parts], tuple(remarks)


def _ranking_metrics(
    metrics: str | Metric | Sequence[str | Metric], convention: str | Convention
) -> list[Metric | str]:
    """The metrics that are not of lists as a whole, nor of tasks."""
    labelled_metrics = find_metrics(metrics, chosen_convention(convention))
    return [label for label, metric in labelled_metrics if metric.view == RANKING]


def _has_holes(parts: Sequence[Result]) -> bool:
    return any(result.kind == "holes" for result in parts)


_NO_HOLES_REMARK = (
    "What unjudged documents could change was not computed: no metric here looks only at the "
    "first {depth} documents; ask for one such as nDCG@{depth}."
)
