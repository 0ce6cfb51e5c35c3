"""The way from a run to values: batches of whole queries, blocks, kernels, means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.run import ScatteredError
from rankgate.data.scores import Counts, Parts, Scores
from rankgate.errors import InputError
from rankgate.scoring.align import align, meet, nothing
from rankgate.scoring.index import Index, Laid
from rankgate.scoring.mapping import align_mapping
from rankgate.scoring.mean import filled, of_parts, parts
from rankgate.scoring.tally import Job, Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Batch, Duplicates, Run
    from rankgate.metrics.declare import Metric
    from rankgate.scoring.convention import Alignment, Convention
    from rankgate.scoring.tally import Facts, Values

SHOWN = 10  # the cutoff at which every result says how much was judged


def score(
    qrels: Qrels | Index,
    run: Run,
    metrics: Sequence[tuple[str, Metric]],
    how: Convention,
    *,
    strict: bool = True,
) -> Scores:
    """Values of metrics for every judged query, and their means.

    Right for any set of whole queries: the values of parts are those of the whole, bit for bit.

    Args:
        qrels: judgments, or their index where several runs are scored.
        run: the rankings.
        metrics: each with the label that results carry.
        how: the convention.
        strict: whether it is an error that no judged query is in the run.

    Raises:
        InputError: as ``Run.batches``; when no judged query is in the run; where the convention
            refuses missing or unknown queries.
    """
    return score_all(qrels, run, metrics, [how], strict=strict)[0]


def score_all(
    qrels: Qrels | Index,
    run: Run,
    metrics: Sequence[tuple[str, Metric]],
    hows: Sequence[Convention],
    *,
    strict: bool = True,
) -> list[Scores]:
    """As ``score``, under several conventions; the run is read once.

    Conventions, and metrics of one, that treat duplicates differently need a reading for each way.
    """
    index = qrels if isinstance(qrels, Index) else Index.of(qrels)
    jobs = [[Job.of(label, metric, how) for label, metric in metrics] for how in hows]
    every = [job for some in jobs for job in some]
    values: dict[int, Values] = {}
    facts: dict[tuple[Duplicates, Alignment], Facts] = {}
    for rule in dict.fromkeys(each.duplicates for each in (*hows, *(job.how for job in every))):
        chosen = [job for job in every if job.how.duplicates == rule]
        tally = _tallied(run, index, chosen, hows, rule)
        complete(tally, run, index)
        values |= {id(job): found for some in tally.jobs.values() for job, found in some}
        facts |= {(rule, each): found for each, found in tally.facts.items()}
    scores = []
    for how, own in zip(hows, jobs, strict=True):
        known = facts[how.duplicates, how.alignment]
        if strict or known.present.any():
            refuse(known, run, index, how)
        scores.append(summed_up([(job, values[id(job)]) for job in own], known, run, index, how))
    return scores


def _tallied(
    run: Run, index: Index, jobs: Sequence[Job], hows: Sequence[Convention], rule: Duplicates
) -> Tally:
    also = [how.alignment for how in hows if how.duplicates == rule]

    def over(parts: Iterable[Batch]) -> Tally:
        tally = Tally.of(jobs, also, index, SHOWN)
        for batch in parts:
            met = meet(batch, index)
            for each in tally.facts:
                tally.add(align(met, each), each)
        return tally

    if run.rankings is not None:
        tally = Tally.of(jobs, also, index, SHOWN)
        if all(_plain(each) for each in tally.facts):
            for each in tally.facts:
                tally.add(align_mapping(run.rankings, index, each), each)
            return tally
    try:
        return over(run.batches(rule))
    except ScatteredError:  # a query came back after others: all rows at once
        return over([run.whole(rule)])


def _plain(how: Alignment) -> bool:
    """Whether rankings are all the rows by their scores, as a dictionary is ranked at once."""
    return how.order == "score" and how.above is None and how.absent is None


def complete(tally: Tally, run: Run, index: Index) -> None:
    """Note queries that ran and returned nothing, and run the kernels over empty rankings."""
    zero = pl.Series([], dtype=pl.String)
    if run.queries is not None:
        zero = run.queries.filter(pl.col("state") == "zero")["query_id"]
    codes = index.codes(zero)
    for facts in tally.facts.values():
        facts.present[codes[codes >= 0]] = True
        facts.unknown += int((codes < 0).sum())
    fill(tally)


def fill(tally: Tally) -> None:
    """Run the kernels over the empty rankings of queries that have nothing."""
    for each, facts in tally.facts.items():
        absent = np.flatnonzero(facts.retrieved == 0)
        if len(absent):
            tally.add(nothing(absent), each)


def refuse(facts: Facts, run: Run, index: Laid, how: Convention) -> None:
    """Stop where nothing can be said, or where the convention itself stops."""
    if not facts.present.any():
        raise InputError(_strangers(run, index), source=run.place.label, code="queries-differ")
    if how.missing == "error" and not facts.present.all():
        query = index.query_ids[int(np.argmin(facts.present))]
        problem = f"query '{query}' has judgments and no results; {how.name} stops here."
        raise InputError(problem, source=run.place.label, code="missing-query")
    empty = facts.lacking & (facts.present | (how.missing != "leave_out"))
    if how.no_relevant == "error" and empty.any():
        query = index.query_ids[int(np.argmax(empty))]
        problem = f"query '{query}' has no relevant document; {how.name} stops here."
        raise InputError(problem, source=run.place.label, code="no-relevant-document")
    if how.unknown == "error" and facts.unknown:
        problem = f"{facts.unknown} queries have results and no judgments; {how.name} stops here."
        raise InputError(problem, source=run.place.label, code="unknown-query")


def _strangers(run: Run, index: Laid) -> str:
    """The sentence for a run and judgments that share no query."""
    first = next(iter(run.pieces()), pl.DataFrame({"query_id": []}))["query_id"]
    theirs = ", ".join(f"'{query}'" for query in first.unique(maintain_order=True).head(3))
    ours = ", ".join(f"'{query}'" for query in index.query_ids.head(3))
    return (
        f"no query of this run has judgments: it has queries such as {theirs}, "
        f"the judgments {ours}; check that both use the same ids."
    )


def summed_up(
    own: Sequence[tuple[Job, Values]], facts: Facts, run: Run, index: Laid, how: Convention
) -> Scores:
    """The values of one convention, with each kind of empty as it has it, and their means."""
    counted = facts.present if how.missing == "leave_out" else np.ones_like(facts.present)
    values, why, means = {}, {}, {}
    made_of: dict[str, NDArray[np.float64]] = {}
    for job, found in own:
        values[job.label], why[job.label] = filled(
            found.value[counted],
            found.lacking[counted],
            present=facts.present[counted],
            retrieved=facts.retrieved[counted],
            job=job,
        )
        made_of[job.label] = parts(
            values[job.label],
            why[job.label],
            job,
            weight=found.weight[counted],
            hit=found.hit[counted],
        )
        means[job.label] = of_parts(made_of[job.label], job, facts.unknown)
    shares = {k: _known(share[counted]) for k, share in facts.shares.items()}
    counts = Counts(
        queries=int(counted.sum()),
        missing=int((~facts.present).sum()),
        zero_result=int((facts.present & (facts.retrieved == 0)).sum()),
        without_relevant=int(facts.lacking[counted].sum()),
        unknown_queries=facts.unknown,
        ties_broken=facts.ties,
        against_scores=facts.against_scores,
        zeros_relevant=_zeros_relevant([job for job, _ in own], index),
        judged_at={k: float(share.mean()) if len(share) else np.nan for k, share in shares.items()},
    )
    query_ids = index.query_ids.filter(pl.Series(counted))
    judged = {k: np.array([share.sum(), len(share)]) for k, share in shares.items()}
    return Scores(
        run.name, run.tag, query_ids, values, why, means, counts, how.to_dict(),
        parts=Parts(made_of, judged),
    )  # fmt: skip


def _zeros_relevant(jobs: Sequence[Job], index: Laid) -> int:
    """Judgments of grade 0 that a default of the convention, and not the user, makes relevant."""

    def zero_counts(job: Job) -> bool:
        asked = {**job.defaults, **dict(job.metric.given)}
        by_level = job.level <= 0 and "rel" not in dict(job.metric.given)
        return by_level or (asked.get("gain") == "judged" and "gain" in job.defaults)

    return int((index.grades == 0).sum()) if any(map(zero_counts, jobs)) else 0


def _known(share: NDArray[np.float64]) -> NDArray[np.float64]:
    return share[~np.isnan(share)]
