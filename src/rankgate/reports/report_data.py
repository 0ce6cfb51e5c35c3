"""All that a report tells of a change: comparison, verdict, what was not seen, what is hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankgate.blind_spots.verb import blindspots
from rankgate.comparison import compared as parts
from rankgate.comparison.compare import Comparisons, Rules, compare
from rankgate.data import read_qrels, read_run
from rankgate.errors import UsageError
from rankgate.evaluation.scored_system import DEPTH
from rankgate.gating.gate import gate
from rankgate.gating.policies import policy as policy_of
from rankgate.metrics.names import DEFAULT_METRICS
from rankgate.reports.shown_texts import texts_of_documents, texts_of_queries
from rankgate.unjudged.holes import holes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from rankgate.blind_spots.blindspots import BlindSpots
    from rankgate.gating.policy import Policy
    from rankgate.gating.verdict import Verdict
    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention
    from rankgate.unjudged.holes import Hidden

FEW = 3
"""Of more candidates than these only the comparison is told: the rest takes its time for each."""


@dataclass(frozen=True)
class Dossier:
    """What a report is made of.

    Attributes:
        comparisons: every candidate against the baseline.
        verdict: of the first candidate by a policy; None where none was asked for.
        blindness: what metrics do not see, one a candidate; none of many.
        hidden: what the unjudged could make of it, one a candidate; none of many.
        queries: texts of queries, by id.
        documents: ``query_id`` (null: for every query), ``doc_id``, ``text``: of those shown.
        again: the words that make the report again.
    """

    comparisons: Comparisons
    verdict: Verdict | None
    blindness: tuple[BlindSpots, ...]
    hidden: tuple[Hidden, ...]
    queries: Mapping[str, str]
    documents: pl.DataFrame
    again: str


def dossier(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    baseline: Any,  # noqa: ANN401 - a run
    candidates: Any,  # noqa: ANN401 - a run, a list, or {name: run}
    metrics: str | Metric | Sequence[str | Metric] = (),
    how: str | Convention = "trec",
    *,
    gated: bool = False,
    policy: str | None = None,
    rules: Rules | None = None,
    depth: int = DEPTH,
    queries: str | None = None,
    documents: str | None = None,
    extra: Sequence[Metric] = (),
    again: str = "",
    on_progress: Callable[[str], None] | None = None,
) -> Dossier:
    """Gather what there is to say of a change.

    Args:
        qrels: judgments, as ``evaluate`` takes them.
        baseline: a run.
        candidates: a run, a list of runs, or ``{name: run}``.
        metrics: names or metrics; without any those of the policy, else those of ``evaluate``.
        how: the convention; a policy's own holds for its verdict.
        gated: with a verdict on the first candidate.
        policy: the file with what is demanded; it asks for a verdict too.
        rules: of the comparison.
        depth: how far lists are looked at.
        queries: a file with texts of queries.
        documents: a file with fields of documents.
        extra: metrics that can be named beside those of the house.
        again: the words that make the report again.
        on_progress: told what is being done.

    Raises:
        InputError: data or a policy that cannot be read, with file and line.
        UsageError: unknown names, query sets that differ, a file without texts.
    """
    say = on_progress or (lambda _: None)
    demanded: Policy | None = policy_of(policy) if gated or policy else None
    asked = metrics or (demanded.metrics if demanded else ()) or DEFAULT_METRICS
    # each once, as standard input can be read only once
    qrels, baseline = read_qrels(qrels), read_run(baseline)
    runs = [read_run(run, name) for name, run in parts.named(candidates)]
    say("comparing")
    told = compare(qrels, baseline, runs, asked, how, rules=rules, extra=extra, depth=depth)
    verdict = None
    if demanded is not None:
        say("deciding")
        verdict = gate(qrels, baseline, runs[0], demanded, record=False, extra=extra)
    blind: list[BlindSpots] = []
    hidden: list[Hidden] = []
    for run in runs if len(runs) <= FEW else ():
        say("looking for what is not seen")
        blind.append(blindspots(qrels, baseline, run, asked, how, extra=extra, depth=depth))
        hidden += _hidden(qrels, baseline, run, asked, how, extra, depth)
    return Dossier(
        told, verdict, tuple(blind), tuple(hidden), texts_of_queries(queries),
        texts_of_documents(documents, [each.lists for each in told.comparisons]), again,
    )  # fmt: skip


def _hidden(  # noqa: PLR0917 - as `holes` takes them
    qrels: Any,  # noqa: ANN401 - as above
    baseline: Any,  # noqa: ANN401 - as above
    run: Any,  # noqa: ANN401 - as above
    metrics: str | Metric | Sequence[str | Metric],
    how: str | Convention,
    extra: Sequence[Metric],
    depth: int,
) -> list[Hidden]:
    """The holes; nothing where no metric keeps to the lists."""
    try:
        return [holes(qrels, baseline, run, metrics, how, extra=extra, depth=depth)]
    except UsageError as error:
        if "looks only at the first" in str(error):
            return []
        raise
