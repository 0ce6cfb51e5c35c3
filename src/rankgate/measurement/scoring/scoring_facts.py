"""Facts measured on blocks, and cautions about judgments and runs that do not fit.

Facts are the counts for the means. Cautions are about judgments and runs that do not match: no
common ids, or grades below the level of relevance. A caution is one sentence with a code; every
scored result has the cautions of its run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.id_match import NO_IDS, PARTLY_FIT, IdMatch
from rankgate.data.memory.ids import unique_codes
from rankgate.data.qrels import Qrels
from rankgate.data.run import NUMBERED
from rankgate.data.run_scores import Counts
from rankgate.data.table_rows import no_rows_error
from rankgate.measurement.metrics.metric_declaration import RANKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Flags, Floats
    from rankgate.data.run_scores import RunScores
    from rankgate.measurement.scoring.alignment.aligned_run import JudgedRanks
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
    from rankgate.measurement.scoring.alignment.kernel_inputs import Block, BlockSource, RankingMode
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.measurement.scoring.scoring_job import Job, JobValues

    Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BlockValues:
    """The values of one block.

    Attributes:
        way: the rules that formed the rankings.
        codes: ``(t,)``, the position of each query in the judgments.
        present: ``(t,)``, True if the run has the query.
        retrieved: ``(t,)``, the number of retrieved documents that count.
        lacking: ``(t,)``, True if the query has no relevant document.
        shares: the share of judged documents by cutoff, ``(t,)``; NaN for an empty ranking.
        values: the values of each job.
        ties, unknown, against_scores: see `JudgedRanks`.
        judged_documents: the number of judged documents that were retrieved.
    """

    way: RankingMode
    codes: Codes
    present: Flags
    retrieved: Codes
    lacking: Flags
    shares: dict[int, Floats]
    values: tuple[JobValues, ...]
    ties: int
    unknown: pl.Series
    against_scores: int
    judged_documents: int

    @classmethod
    def collect(cls, block: Block, values: tuple[JobValues, ...], cutoffs: Sequence[int]) -> BlockValues:
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
    unknown: pl.Series = field(default_factory=lambda: NO_IDS)
    against_scores: int = 0
    judged_documents: int = 0

    @classmethod
    def combine(cls, blocks: Sequence[BlockValues], T: int, cutoffs: Sequence[int]) -> Facts:
        """Combine the facts of blocks with one ranking mode."""
        judged_shares = {k: np.full(T, np.nan) for k in cutoffs}
        facts = cls(np.zeros(T, bool), np.zeros(T, np.int64), np.zeros(T, bool), judged_shares)
        facts.unknown = pl.concat([NO_IDS, *(block.unknown for block in blocks)])
        for block in blocks:
            facts.ties += block.ties
            facts.against_scores += block.against_scores
            facts.judged_documents += block.judged_documents
            facts.present[block.codes] |= block.present
            facts.retrieved[block.codes] = block.retrieved
            facts.lacking[block.codes] = block.lacking
            for k, share in judged_shares.items():
                share[block.codes] = block.shares[k]
        return facts

    def known_shares(self, is_counted: Flags) -> dict[int, Floats]:
        """The shares of judged documents by cutoff, without queries with an empty ranking."""
        judged_shares = {k: share[is_counted] for k, share in self.shares.items()}
        return {k: share[~np.isnan(share)] for k, share in judged_shares.items()}

    def counts(self, is_counted: Flags, zeros: int, unrated: int, cautions: Mapping[str, str]) -> Counts:
        """The counts behind the means, and what the reader should know of the inputs."""
        judged_shares = self.known_shares(is_counted)
        return Counts(
            queries=int(is_counted.sum()),
            missing=int((~self.present).sum()),
            zero_result=int((self.present & (self.retrieved == 0)).sum()),
            without_relevant=int(self.lacking[is_counted].sum()),
            unknown_queries=len(self.unknown),
            ties_broken=self.ties,
            against_scores=self.against_scores,
            zeros_relevant=zeros,
            unrated=unrated,
            cautions=cautions,
            judged_at={
                k: float(share.mean()) if len(share) else np.nan for k, share in judged_shares.items()
            },
        )

    def match_ids(self, source: BlockSource) -> dict[str, IdMatch]:
        """How the ids of judgments and run meet, by what they are of; documents if hardly any meets.

        Raises:
            InputError: the ids do not fit, and the judgments do not accept them as they are.
        """
        missing = source.judgments.query_ids.filter(pl.Series(~self.present))
        if len(missing) and len(self.unknown) and source.states is not None:
            missing = missing.filter(~missing.is_in(source.states["query_id"].implode()))
        matches = {"query": IdMatch.from_unmatched(int(self.present.sum()), missing, self.unknown)}
        if self.retrieved.any() and self.judged_documents < _MIN_JUDGED * len(source.judgments.grades):
            matches["document"] = IdMatch.from_ids(*_documents(source))
        refuse_misfits(
            matches,
            source.label,
            accepts_ids=source.judgments.accepts_ids,
            numbered=source.cautions.get(NUMBERED),
        )
        return matches

    def refuse(self, source: BlockSource, how: Convention) -> None:
        """Raise an error if no query is scored, or where the convention asks for one."""
        query_ids = source.judgments.query_ids
        if not self.present.any():
            if source.first_rows().is_empty():
                raise no_rows_error("score", source.label)
            ranked = source.first_rows()["query_id"].unique(maintain_order=True)
            raise no_shared_query_error(source.label, ranked, query_ids, source.cautions.get(NUMBERED))
        empty = self.lacking & (self.present | (how.missing != "leave_out"))
        gaps = {
            "missing": query_ids.filter(pl.Series(~self.present)),
            "no_relevant": query_ids.filter(pl.Series(empty)),
            "unknown": self.unknown,
        }
        refuse_gaps(how, source.label, {choice: (len(ids), ids) for choice, ids in gaps.items()})


def refuse_gaps(convention: Convention, label: str, gaps: Mapping[str, tuple[int, pl.Series]]) -> None:
    """Refuse what queries lack, where the convention asks for an error.

    Args:
        convention: what asks for an error.
        label: the run in the error.
        gaps: by choice of the convention the number of queries, and some of them if they are known.

    Raises:
        InputError: with the first query.
    """
    for choice, (count, query_ids) in gaps.items():
        if getattr(convention, choice) == "error" and count:
            example = f" ({_quoted(query_ids.head(1))})" if len(query_ids) else ""
            queries = count_noun(count, "query has", "queries have")
            end = f"{example}; {convention.name} stops here."
            if choice == "missing":
                problem = f"{queries} judgments and no results{end}"
                raise InputError(problem, source=label, code="missing-query")
            if choice == "no_relevant":
                problem = f"{queries} no relevant document{end}"
                raise InputError(problem, source=label, code="no-relevant-document")
            problem = f"{queries} results and no judgments{end}"
            raise InputError(problem, source=label, code="unknown-query")


def no_shared_query_error(
    label: str, ranked: pl.Series, judged: pl.Series, remedy: str | None = None
) -> InputError:
    """The error for a run and judgments that have no query in common."""
    return InputError(
        f"no query of this run has judgments: it has queries such as {_quoted(ranked)}, the judgments "
        f"{_quoted(judged)}; {remedy or 'check that both use the same ids'}.",
        source=label,
        code="queries-differ",
    )


def zeros_relevant(jobs: Sequence[Job], index: JudgmentIndex) -> int:
    """The number of judgments of grade 0 that a default of the convention makes relevant."""

    def zero_counts(job: Job) -> bool:
        arguments = {**job.defaults, **dict(job.metric.given)}
        by_level = job.level <= 0 and "rel" not in dict(job.metric.given)
        return by_level or (arguments.get("gain") == "judged" and "gain" in job.defaults)

    ranking_jobs = (job for job in jobs if job.metric.view == RANKING)
    return int((index.grades == 0).sum()) if any(map(zero_counts, ranking_jobs)) else 0


def _judged_share(aligned: JudgedRanks, k: int) -> Floats:
    """The share of judged documents in the first k; NaN for an empty ranking."""
    judged_owner = aligned.owner[(aligned.rank <= k) & (aligned.grade >= 0)]
    judged = np.bincount(judged_owner, minlength=len(aligned.codes))
    places = np.minimum(aligned.retrieved, k)
    out: Floats = np.full(len(places), np.nan)
    return np.divide(judged, places, out=out, where=places > 0)


NO_SHARED_DOCUMENT = "no-shared-document"
"""The code of the caution that no document of a run is judged for its query."""

_TABLES = ("the judgments", "the run")
_SAMPLE_SIZE = 1 << 13  # rows
_MIN_JUDGED = 0.01  # share of the judged documents that are returned


def refuse_misfits(
    matches: Mapping[str, IdMatch],
    label: str,
    *,
    accepts_ids: bool,
    tables: tuple[str, str] = _TABLES,
    numbered: str | None = None,
) -> None:
    """Refuse ids of judgments and run that do not fit, unless the judgments accept them as they are.

    Raises:
        InputError: queries or users do not fit, or documents or items do not although they nearly fit.
    """
    for kind, match in matches.items() if not accepts_ids else ():
        if match.verdict == "not" and (match.nearly_fits or kind in {"query", "user"}):
            raise match.error(kind, *tables, label, numbered)


def partly_fit(matches: Mapping[str, IdMatch]) -> dict[str, str]:
    """The caution about ids that are unmatched on both sides, by code; empty if there are none."""
    texts = [
        f"{match.sentence(kind, *_TABLES)}; {match.remedy(kind)}"
        for kind, match in matches.items()
        if (match.near if kind == "document" else match.verdict != "fits")
    ]
    return {PARTLY_FIT: "; ".join(texts)} if texts else {}


def input_cautions(
    source: BlockSource,
    facts: Facts,
    jobs: Sequence[Job],
    matches: Mapping[str, IdMatch],
    convention: Convention,
) -> dict[str, str]:
    """The cautions about the judgments and the run, by code."""
    return partly_fit(matches) | dict(_cautions(source, facts, jobs, convention))


def _cautions(
    source: BlockSource, facts: Facts, jobs: Sequence[Job], convention: Convention
) -> Iterator[tuple[str, str]]:
    judgments = source.judgments.given
    yield from (judgments.cautions if isinstance(judgments, Qrels) else {}).items()
    yield from source.cautions.items()
    if facts.retrieved.any() and not facts.judged_documents:
        yield NO_SHARED_DOCUMENT, _no_shared_document(source)
    is_unrated = ~source.judgments.is_rated
    if jobs and is_unrated.any():
        text = (
            "the judgments name queries that nobody rated, such as "
            f"{source.judgments.query_ids.filter(pl.Series(is_unrated)).min()!r}: "
            f"{_UNRATED_TEXTS[convention.unrated]}; rate their documents, or remove the queries"
        )
        yield "queries-unrated", text
    lowest = source.judgments.lowest_positive
    names = [job.label for job in jobs if _counts_from(job, above=lowest)]
    if names and lowest < 1:
        text = (
            f"judgments have grades below 1, such as {lowest:g}: only grades of 1 and more count as relevant "
            f"in {', '.join(names)}; set rel, such as rel={lowest:g}, if these do too"
        )
        yield "grades-below-relevant", text


_UNRATED_TEXTS = {
    "counted": "the means count them as the convention does, which is mostly 0 (unrated=left_out leaves "
    "them out)",
    "left_out": "the means leave them out where others are rated, as files of TREC cannot name such queries "
    "(unrated=counted counts them)",
}


def _counts_from(job: Job, *, above: float) -> bool:
    """True if a metric counts relevant documents by a default level above the grade."""
    user_level = "rel" in dict(job.metric.given)
    return "rel" in job.metric.parameters and not user_level and job.level > above


def _no_shared_document(source: BlockSource) -> str:
    return _no_shared_document_text(*_documents(source)[::-1])


def _documents(source: BlockSource) -> tuple[pl.Series, pl.Series]:
    """The judged documents of the first queries of a run, and those in its rows."""
    rows = source.first_rows().head(_SAMPLE_SIZE)
    codes = source.judgments.codes(rows["query_id"])
    _, judgments = source.judgments.rows(unique_codes(codes[codes >= 0]))
    return source.judgments.documents(judgments), rows.filter(pl.Series(codes >= 0))["doc_id"]


def _no_shared_document_text(ranked: pl.Series, judged: pl.Series) -> str:
    return (
        f"no document of the run is judged for its query: it has {_quoted(ranked)}, the judgments "
        f"{_quoted(judged)}; check that both use the same ids"
    )


def _quoted(ids: pl.Series) -> str:
    return ", ".join(f"'{id_}'" for id_ in ids.unique(maintain_order=True).head(3))


@dataclass(frozen=True)
class BatchCautions:
    """The cautions of batches of whole queries, which can be added in any order.

    Attributes:
        texts: the first text in byte order, by code.
        judged_documents: the number of judged documents that all batches retrieved.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    judged_documents: int = 0

    @classmethod
    def combine(cls, scores: RunScores) -> BatchCautions:
        """The cautions of scores that were computed with ``exact``."""
        return cls(dict(scores.counts.cautions), scores.parts.judged_documents)

    def __add__(self, other: BatchCautions) -> BatchCautions:
        """Combine the cautions of two sets of batches."""
        texts = dict(self.texts)
        for code, text in other.texts.items():
            texts[code] = min(text, texts.get(code, text))
        return BatchCautions(texts, self.judged_documents + other.judged_documents)

    @property
    def of_run(self) -> dict[str, str]:
        """The cautions of all batches; a run needs a judged document in only one batch."""
        dropped = {NO_SHARED_DOCUMENT} if self.judged_documents else set()
        return {code: self.texts[code] for code in sorted(self.texts.keys() - dropped)}


def refuse_no_shared_document(name: str, cautions: Mapping[str, str]) -> None:
    """Check that a run has a judged document, if values of 0 would affect a decision.

    Args:
        name: the name of the run.
        cautions: warnings about its scores.

    Raises:
        InputError: it has no judged document.
    """
    if text := cautions.get(NO_SHARED_DOCUMENT):
        raise InputError(f"{text}.", source=name, code="documents-differ")


def refuse_strange_documents(name: str, rows: pl.DataFrame, judged: pl.DataFrame) -> None:
    """Check that a run has a judged document, if nothing is scored.

    Args:
        name: the name of the run.
        rows: the ``query_id`` and ``doc_id`` of the run for judged queries.
        judged: ``query_id`` and ``doc_id``.

    Raises:
        InputError: it has no judged document.
    """
    shared = rows.join(judged, on=["query_id", "doc_id"], how="semi")
    if len(rows) and shared.is_empty():
        cautions = {NO_SHARED_DOCUMENT: _no_shared_document_text(rows["doc_id"], judged["doc_id"])}
        refuse_no_shared_document(name, cautions)


def first_cautions(scores: Iterable[RunScores]) -> dict[str, str]:
    """The cautions of one run under several conventions: the first text of each code."""
    cautions: dict[str, str] = {}
    for result in scores:
        cautions = {**result.counts.cautions, **cautions}
    return cautions


def with_run_name(name: str, cautions: Mapping[str, str]) -> list[str]:
    """The sentences of a run's cautions."""
    return [f"{name}: {text}." for text in cautions.values()]
