"""Facts measured on blocks: counts behind the means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.scores import Counts
from rankgate.measurement.metrics.views import RANKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.alignment.align import Aligned
    from rankgate.measurement.scoring.alignment.block import Block, Origin, Way
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.measurement.scoring.job import Job
    from rankgate.measurement.scoring.kernels import JobValues

    Codes = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class BlockValues:
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
        judged_documents: how many judged documents were retrieved.
    """

    way: Way
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
            len(found.owner),
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
    def of(cls, found: Sequence[BlockValues], T: int, cutoffs: Sequence[int]) -> Facts:
        """What the parts of one way say together."""
        shares = {k: np.full(T, np.nan) for k in cutoffs}
        facts = cls(np.zeros(T, bool), np.zeros(T, np.int64), np.zeros(T, bool), shares)
        for part in found:
            facts.ties += part.ties
            facts.unknown += part.unknown
            facts.against_scores += part.against_scores
            facts.judged_documents += part.judged_documents
            facts.present[part.codes] |= part.present
            facts.retrieved[part.codes] = part.retrieved
            facts.lacking[part.codes] = part.lacking
            for k, share in shares.items():
                share[part.codes] = part.shares[k]
        return facts

    def known_shares(self, counted: Flags) -> dict[int, Floats]:
        """By cutoff the shares of judged documents, without queries whose ranking is empty."""
        shares = {k: share[counted] for k, share in self.shares.items()}
        return {k: share[~np.isnan(share)] for k, share in shares.items()}

    def counts(self, counted: Flags, zeros: int, cautions: Mapping[str, str]) -> Counts:
        """The counts behind the means, and what the reader should know of the inputs."""
        shares = self.known_shares(counted)
        return Counts(
            queries=int(counted.sum()),
            missing=int((~self.present).sum()),
            zero_result=int((self.present & (self.retrieved == 0)).sum()),
            without_relevant=int(self.lacking[counted].sum()),
            unknown_queries=self.unknown,
            ties_broken=self.ties,
            against_scores=self.against_scores,
            zeros_relevant=zeros,
            cautions=cautions,
            judged_at={
                k: float(share.mean()) if len(share) else np.nan for k, share in shares.items()
            },
        )

    def refuse(self, source: Origin, how: Convention) -> None:
        """Stop where nothing can be said, or where the convention itself stops."""
        query_ids, label = source.judgments.query_ids, source.label
        if not self.present.any():
            raise InputError(_strangers(source), source=label, code="queries-differ")
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
        asked = {**job.defaults, **dict(job.metric.given)}
        by_level = job.level <= 0 and "rel" not in dict(job.metric.given)
        return by_level or (asked.get("gain") == "judged" and "gain" in job.defaults)

    ranked = (job for job in jobs if job.metric.view == RANKING)
    return int((index.grades == 0).sum()) if any(map(zero_counts, ranked)) else 0


def _strangers(source: Origin) -> str:
    """The sentence for a run and judgments that share no query."""
    ranked = source.first_rows()["query_id"].unique(maintain_order=True).head(3)
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
