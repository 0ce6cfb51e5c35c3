"""The results of a report on a change, from judgments and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.progress import progress, step
from rankgate.data import read_qrels, read_run
from rankgate.decisions.blind_spots.verb import blindspots
from rankgate.decisions.comparison import compared as candidates_of
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.policy import policy as policy_of
from rankgate.decisions.unjudged.holes import holes
from rankgate.measurement.evaluation.scored_system import DEPTH
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.scoring.run_names import refuse_baseline_again
from rankgate.workspace.reports.compose import ReportPart

if TYPE_CHECKING:
    from rankgate.core.present.result import Result
    from rankgate.data.inputs import QrelsLike, RunLike, RunsLike
    from rankgate.decisions.gating.policy import Policy
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

FEW = 3
"""With more candidates than these only the comparison is made."""


def gather(
    qrels: QrelsLike,
    baseline: RunLike,
    candidates: RunsLike,
    metrics: str | Metric | Sequence[str | Metric] = (),
    convention: str | Convention = "trec",
    *,
    gated: bool = False,
    policy: str | None = None,
    test: Test | None = None,
    depth: int = DEPTH,
) -> tuple[list[ReportPart], tuple[str, ...]]:
    """The results that say what a change does: verdict, comparison, blind spots, holes.

    Args:
        qrels: judgments, as ``evaluate`` takes them.
        baseline: a run.
        candidates: a run, a list of runs, or ``{name: run}``.
        metrics: names or metrics; without any those of the policy, else those of ``evaluate``.
        convention: whose rules the numbers follow; a policy's own holds for its verdict.
        gated: with a verdict on the first candidate.
        policy: the file with what is demanded; it asks for a verdict too.
        test: of the comparison.
        depth: the depth to which lists are compared.

    Raises:
        InputError: data or a policy that cannot be read, with file and line.
        UsageError: unknown names, query sets that differ, a file without texts.
    """
    demanded: Policy | None = policy_of(policy) if gated or policy else None
    asked = metrics or (demanded.metrics if demanded else ()) or DEFAULT_METRICS
    named = list(candidates_of.named(candidates))
    refuse_baseline_again(baseline, [run for _, run in named])
    # each once, as standard input can be read only once
    qrels, baseline = read_qrels(qrels), read_run(baseline)
    runs = [read_run(run, name) for name, run in named]
    step("comparing")
    scoring: dict[str, Any] = {"depth": depth}
    with progress(None):
        compared = compare(
            qrels, baseline, runs, asked, convention, test=test or Test(), depth=depth
        )
    verdict = None
    if demanded is not None:
        step("deciding")
        with progress(None):
            verdict = gate(qrels, baseline, runs[0], demanded, log=False)
    # the comparison is its own part: a verdict's page without it
    parts: list[Result] = [replace(verdict, comparison=None)] if verdict is not None else []
    parts.append(compared)
    for run in runs if len(runs) <= FEW else ():
        step("looking for blind spots and holes")
        with progress(None):
            parts.append(blindspots(qrels, baseline, run, asked, convention, **scoring))
            try:
                parts.append(holes(qrels, baseline, run, asked, convention, **scoring))
            except UsageError as error:
                if error.code != "missing-cutoff":  # no metric keeps to lists of this depth
                    raise
    remarks = [] if _has_holes(parts) or len(runs) > FEW else [_NO_HOLES.format(depth=depth)]
    if verdict is not None and len(runs) > 1:
        others = ", ".join(run.name for run in runs[1:])
        remarks.append(f"Compared too, without a verdict: {others}.")
    return [ReportPart(each) for each in parts], tuple(remarks)


def _has_holes(parts: Sequence[Result]) -> bool:
    return any(part.kind == "holes" for part in parts)


_NO_HOLES = (
    "What unjudged documents could change was not computed: no metric here looks only at the "
    "first {depth} documents; ask for one such as nDCG@{depth}."
)
