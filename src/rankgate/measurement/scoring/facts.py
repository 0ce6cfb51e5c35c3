"""Facts measured on blocks: counts behind the means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.run import NUMBERED
from rankgate.data.scores import Counts
from rankgate.measurement.metrics.views import RANKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.alignment.align import JudgedRanks
    from rankgate.measurement.scoring.alignment.block import Block, BlockSource, RankingMode
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.measurement.scoring.job import Job
    from rankgate.measurement.scoring.kernels import JobValues

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class BlockValues:
    """The values of one block.

    Attributes:
        way: how rankings were formed.
        codes: ``(t,)``, the place of each query in the judgments.
        present: ``(t,)``, whether the run has it.
        retrieved: ``(t,)``, documents retrieved that count.
        lacking: ``(t,)``, whether it has no relevant document.
        shares: by cutoff the share of judged documents, ``(t,)``; NaN for an empty ranking.
        values: of each job of the way.
        ties, unknown, against_scores: as of `JudgedRanks`.
        judged_documents: how many judged documents were retrieved.
    """

    way: RankingMode
    codes: Codes
    present: Flags
    retrieved: Codes
    lacking: Flags
    shares: dict[int, Floats]
    values: tuple[JobValues, ...]
    ties: int
    unknown: int
    against_scores: int
    judged_documents: int

    @classmethod
    def of(cls, block: Block, values: tuple[JobValues, ...], cutoffs: Sequence[int]) -> BlockValues:
        """Collect the values of a block and the facts of its rankings."""
        aligned = block.aligned
        return cls(
            block.way,
            aligned.codes,
            aligned.present,
            aligned.retrieved,
            block.judgments.best(aligned.codes) < 1,
            {k: _judged_share(aligned, k) for k in cutoffs},
            values,
            aligned.ties,
            aligned.unknown,
            aligned.against_scores,
            len(aligned.owner),
        )


@dataclass(eq=False)
class Facts:
    """Facts of all queries under one way to form rankings, for every metric."""

    present: Flags
    retrieved: Codes
    lacking: Flags
    shares: dict[int, Floats]
    ties: int = 0
    unknown: int = 0
    against_scores: int = 0
    judged_documents: int = 0

    @classmethod
    def of(cls, blocks: Sequence[BlockValues], T: int, cutoffs: Sequence[int]) -> Facts:
        """Combine the facts of blocks with one ranking mode."""
        judged_shares = {k: np.full(T, np.nan) for k in cutoffs}
        facts = cls(np.zeros(T, bool), np.zeros(T, np.int64), np.zeros(T, bool), judged_shares)
        for block in blocks:
            facts.ties += block.ties
            facts.unknown += block.unknown
            facts.against_scores += block.against_scores
            facts.judged_documents += block.judged_documents
            facts.present[block.codes] |= block.present
            facts.retrieved[block.codes] = block.retrieved
            facts.lacking[block.codes] = block.lacking
            for k, share in judged_shares.items():
                share[block.codes] = block.shares[k]
        return facts

    def known_shares(self, is_counted: Flags) -> dict[int, Floats]:
        """The shares of judged documents by cutoff, without queries whose ranking is empty."""
        judged_shares = {k: share[is_counted] for k, share in self.shares.items()}
        return {k: share[~np.isnan(share)] for k, share in judged_shares.items()}

    def counts(self, is_counted: Flags, zeros: int, cautions: Mapping[str, str]) -> Counts:
        """The counts behind the means, and what the reader should know of the inputs."""
        judged_shares = self.known_shares(is_counted)
        return Counts(
            queries=int(is_counted.sum()),
            missing=int((~self.present).sum()),
            zero_result=int((self.present & (self.retrieved == 0)).sum()),
            without_relevant=int(self.lacking[is_counted].sum()),
            unknown_queries=self.unknown,
            ties_broken=self.ties,
            against_scores=self.against_scores,
            zeros_relevant=zeros,
            cautions=cautions,
            judged_at={
                k: float(share.mean()) if len(share) else np.nan
                for k, share in judged_shares.items()
            },
        )

    def refuse(self, source: BlockSource, how: Convention) -> None:
        """Raise an error if no query is scored, or where the convention asks for one."""
        query_ids, label = source.judgments.query_ids, source.label
        if not self.present.any():
            raise InputError(_no_shared_query(source), source=label, code="queries-differ")
        if how.missing == "error" and not self.present.all():
            query = query_ids[int(np.argmin(self.present))]
            problem = f"query '{query}' has judgments and no results; {how.name} stops here."
            raise InputError(problem, source=label, code="missing-query")
        empty = self.lacking & (self.present | (how.missing != "leave_out"))
        if how.no_relevant == "error" and empty.any():
            query = query_ids[int(np.argmax(empty))]
            problem = f"query '{query}' has no relevant document; {how.name} stops here."
            raise InputError(problem, source=label, code="no-relevant-document")
        if how.unknown == "error" and self.unknown:
            problem = (
                f"{self.unknown} queries have results and no judgments; {how.name} stops here."
            )
            raise InputError(problem, source=label, code="unknown-query")


def zeros_relevant(jobs: Sequence[Job], index: JudgmentIndex) -> int:
    """Judgments of grade 0 that a default of the convention, and not the user, makes relevant."""

    def zero_counts(job: Job) -> bool:
        arguments = {**job.defaults, **dict(job.metric.given)}
        by_level = job.level <= 0 and "rel" not in dict(job.metric.given)
        return by_level or (arguments.get("gain") == "judged" and "gain" in job.defaults)

    ranking_jobs = (job for job in jobs if job.metric.view == RANKING)
    return int((index.grades == 0).sum()) if any(map(zero_counts, ranking_jobs)) else 0


def _no_shared_query(source: BlockSource) -> str:
    """The sentence for a run and judgments that share no query."""
    first_queries = source.first_rows()["query_id"].unique(maintain_order=True).head(3)
    run_queries = ", ".join(f"'{query}'" for query in first_queries)
    judged_queries = ", ".join(f"'{query}'" for query in source.judgments.query_ids.head(3))
    remedy = source.cautions.get(NUMBERED, "check that both use the same ids")
    return (
        f"no query of this run has judgments: it has queries such as {run_queries}, "
        f"the judgments {judged_queries}; {remedy}."
    )


def _judged_share(aligned: JudgedRanks, k: int) -> Floats:
    """Judged documents among the first k over the documents there; NaN for an empty ranking."""
    judged_owner = aligned.owner[(aligned.rank <= k) & (aligned.grade >= 0)]
    judged = np.bincount(judged_owner, minlength=len(aligned.codes))
    places = np.minimum(aligned.retrieved, k)
    out: Floats = np.full(len(places), np.nan)
    return np.divide(judged, places, out=out, where=places > 0)
