"""What was measured: values and facts of queries, which merge, and the scores that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.scores import Counts, Parts, Scores
from rankgate.errors import InputError
from rankgate.scoring.kernels import Values
from rankgate.scoring.mean import filled, of_parts, parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankgate.scoring.align import Aligned
    from rankgate.scoring.convention import Convention
    from rankgate.scoring.job import Job
    from rankgate.scoring.judgments import JudgmentIndex
    from rankgate.scoring.plan import Block, Plan, Source, Way

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Part:
    """What was measured on one block.

    Attributes:
        way: how rankings were formed.
        codes: ``(t,)``, the place of each query in the judgments.
        present: ``(t,)``, whether the run has it.
        retrieved: ``(t,)``, documents retrieved that count.
        lacking: ``(t,)``, whether it has no relevant document.
        shares: by cutoff the share of judged documents, ``(t,)``; NaN for an empty ranking.
        values: of each job of the way.
        ties, unknown, against_scores: as of `Aligned`.
    """

    way: Way
    codes: Codes
    present: Flags
    retrieved: Codes
    lacking: Flags
    shares: dict[int, Floats]
    values: tuple[Values, ...]
    ties: int
    unknown: int
    against_scores: int

    @classmethod
    def of(cls, block: Block, values: tuple[Values, ...], cutoffs: Sequence[int]) -> Part:
        """The values of a block, and what its rankings say of the queries."""
        found = block.aligned
        return cls(
            block.way,
            found.codes,
            found.present,
            found.retrieved,
            block.judgments.best(found.codes) < 1,
            {k: _judged_at(found, k) for k in cutoffs},
            values,
            found.ties,
            found.unknown,
            found.against_scores,
        )


@dataclass(frozen=True, eq=False)
class Measurement:
    """What was measured so far; the queries of two that are merged differ.

    Attributes:
        plan: what is measured.
        parts: what was measured on each block.
    """

    plan: Plan
    parts: tuple[Part, ...] = ()

    def merge(self, other: Measurement) -> Measurement:
        """Both together."""
        return Measurement(self.plan, self.parts + other.parts)

    def scores(self, source: Source, *, strict: bool = True) -> list[Scores]:
        """The scores under each convention.

        Args:
            source: what was measured.
            strict: whether it is an error that the run has no judged query.

        Raises:
            InputError: that error; the convention refuses missing or unknown queries, or queries
                without relevant documents.
        """
        return [self.score(i, source, strict=strict) for i in range(len(self.plan.conventions))]

    def score(self, i: int, source: Source, *, strict: bool = True) -> Scores:
        """The scores under one of the conventions; arguments as of `scores`."""
        how, index = self.plan.conventions[i], source.judgments
        facts = self._facts(self.plan.way(how), index)
        if strict or facts.present.any():
            _refuse(facts, source, how)
        counted = facts.present if how.missing == "leave_out" else np.ones_like(facts.present)
        values, why, means = {}, {}, {}
        made_of: dict[str, Floats] = {}
        for job in self.plan.jobs[i]:
            found = self._values(job, len(index.query_ids))
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
                weight=None if found.weight is None else found.weight[counted],
                hit=np.zeros(0, bool) if found.hit is None else found.hit[counted],
            )
            means[job.label] = of_parts(made_of[job.label], job, facts.unknown)
        zeros = _zeros_relevant(self.plan.jobs[i], index)
        counts, judged = facts.counts(counted, zeros)
        query_ids = index.query_ids.filter(pl.Series(counted))
        return Scores(
            source.name, source.tag, query_ids, values, why, means, counts, how.to_dict(),
            parts=Parts(made_of, judged),
        )  # fmt: skip

    def _facts(self, way: Way, index: JudgmentIndex) -> _Facts:
        return _Facts.of(
            [part for part in self.parts if part.way == way],
            len(index.query_ids),
            self.plan.cutoffs[way.duplicates],
        )

    def _values(self, job: Job, T: int) -> Values:
        """The values of one job for all queries."""
        way = self.plan.way(job.how)
        at = next(i for i, each in enumerate(self.plan.ways[way]) if each is job)
        found = Values.empty(job, T)
        for part in self.parts:
            if part.way == way:
                found.put(part.codes, part.values[at])
        return found


@dataclass(eq=False)
class _Facts:
    """What one way to form rankings says of all queries, whatever the metric."""

    present: Flags
    retrieved: Codes
    lacking: Flags
    shares: dict[int, Floats]
    ties: int = 0
    unknown: int = 0
    against_scores: int = 0

    @classmethod
    def of(cls, found: Sequence[Part], T: int, cutoffs: Sequence[int]) -> _Facts:
        shares = {k: np.full(T, np.nan) for k in cutoffs}
        facts = cls(np.zeros(T, bool), np.zeros(T, np.int64), np.zeros(T, bool), shares)
        for part in found:
            facts.ties += part.ties
            facts.unknown += part.unknown
            facts.against_scores += part.against_scores
            facts.present[part.codes] |= part.present
            facts.retrieved[part.codes] = part.retrieved
            facts.lacking[part.codes] = part.lacking
            for k, share in shares.items():
                share[part.codes] = part.shares[k]
        return facts

    def counts(self, counted: Flags, zeros: int) -> tuple[Counts, dict[int, Floats]]:
        """What stands behind the means, and what the shares of judged documents are made of."""
        shares = {k: share[counted] for k, share in self.shares.items()}
        known = {k: share[~np.isnan(share)] for k, share in shares.items()}
        counts = Counts(
            queries=int(counted.sum()),
            missing=int((~self.present).sum()),
            zero_result=int((self.present & (self.retrieved == 0)).sum()),
            without_relevant=int(self.lacking[counted].sum()),
            unknown_queries=self.unknown,
            ties_broken=self.ties,
            against_scores=self.against_scores,
            zeros_relevant=zeros,
            judged_at={
                k: float(share.mean()) if len(share) else np.nan for k, share in known.items()
            },
        )
        return counts, {k: np.array([share.sum(), len(share)]) for k, share in known.items()}


def _refuse(facts: _Facts, source: Source, how: Convention) -> None:
    """Stop where nothing can be said, or where the convention itself stops."""
    query_ids, label = source.judgments.query_ids, source.label
    if not facts.present.any():
        raise InputError(_strangers(source), source=label, code="queries-differ")
    if how.missing == "error" and not facts.present.all():
        query = query_ids[int(np.argmin(facts.present))]
        problem = f"query '{query}' has judgments and no results; {how.name} stops here."
        raise InputError(problem, source=label, code="missing-query")
    empty = facts.lacking & (facts.present | (how.missing != "leave_out"))
    if how.no_relevant == "error" and empty.any():
        query = query_ids[int(np.argmax(empty))]
        problem = f"query '{query}' has no relevant document; {how.name} stops here."
        raise InputError(problem, source=label, code="no-relevant-document")
    if how.unknown == "error" and facts.unknown:
        problem = f"{facts.unknown} queries have results and no judgments; {how.name} stops here."
        raise InputError(problem, source=label, code="unknown-query")


def _zeros_relevant(jobs: Sequence[Job], index: JudgmentIndex) -> int:
    """Judgments of grade 0 that a default of the convention, and not the user, makes relevant."""

    def zero_counts(job: Job) -> bool:
        asked = {**job.defaults, **dict(job.metric.given)}
        by_level = job.level <= 0 and "rel" not in dict(job.metric.given)
        return by_level or (asked.get("gain") == "judged" and "gain" in job.defaults)

    return int((index.grades == 0).sum()) if any(map(zero_counts, jobs)) else 0


def _strangers(source: Source) -> str:
    """The sentence for a run and judgments that share no query."""
    ranked = source.query_ids().unique(maintain_order=True).head(3)
    theirs = ", ".join(f"'{query}'" for query in ranked)
    ours = ", ".join(f"'{query}'" for query in source.judgments.query_ids.head(3))
    return (
        f"no query of this run has judgments: it has queries such as {theirs}, "
        f"the judgments {ours}; check that both use the same ids."
    )


def _judged_at(aligned: Aligned, k: int) -> Floats:
    """Judged documents among the first k over the documents there; NaN for an empty ranking."""
    seen = aligned.owner[(aligned.rank <= k) & (aligned.grade >= 0)]
    judged = np.bincount(seen, minlength=len(aligned.codes))
    places = np.minimum(aligned.retrieved, k)
    out: Floats = np.full(len(places), np.nan)
    return np.divide(judged, places, out=out, where=places > 0)
