"""The way from a run to values: batches of whole queries, blocks, kernels, means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.run import ScatteredError
from rankgate.data.scores import Counts, Scores
from rankgate.errors import InputError
from rankgate.scoring.align import align, condensed, nothing
from rankgate.scoring.blocks import blocks
from rankgate.scoring.index import Index
from rankgate.scoring.mapping import align_mapping
from rankgate.scoring.mean import filled, mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.metrics.declare import Metric
    from rankgate.scoring.align import Aligned
    from rankgate.scoring.convention import Convention

_SHOWN = 10  # the cutoff at which every result says how much was judged


def score(
    qrels: Qrels | Index, run: Run, metrics: Sequence[tuple[str, Metric]], how: Convention
) -> Scores:
    """Values of metrics for every judged query, and their means.

    Right for any set of whole queries: the values of parts are those of the whole, bit for bit.

    Args:
        qrels: judgments, or their index where several runs are scored.
        run: the rankings.
        metrics: each with the label that results carry.
        how: the convention.

    Raises:
        InputError: as ``Run.batches``, and when no judged query is in the run.
    """
    index = qrels if isinstance(qrels, Index) else Index.of(qrels)
    tally = _tallied(run, index, metrics, how)
    _mark_empty(tally, run, index)
    if not tally.present.any():
        raise InputError(_strangers(run, index), source=run.place.label)
    absent = np.flatnonzero(tally.retrieved == 0)
    if len(absent):
        tally.add(nothing(absent), index, metrics, how)
    return _scores(tally, run, index, metrics, how)


@dataclass
class _Tally:
    """What has been computed so far; one row a judged query."""

    present: NDArray[np.bool_]
    retrieved: NDArray[np.int64]
    relevant: NDArray[np.int64]
    values: dict[str, NDArray[np.float64]]
    shares: dict[int, NDArray[np.float64]]
    ties: int = 0
    unknown: int = 0

    @classmethod
    def of(cls, index: Index, metrics: Sequence[tuple[str, Metric]]) -> _Tally:
        T = len(index.query_ids)
        cuts = {dict(metric.given).get("cutoff") for _, metric in metrics}
        shares = sorted({_SHOWN} | {cut for cut in cuts if isinstance(cut, int)})
        return cls(
            present=np.zeros(T, bool),
            retrieved=np.zeros(T, np.int64),
            relevant=np.zeros(T, np.int64),
            values={label: np.full(T, np.nan) for label, _ in metrics},
            shares={k: np.full(T, np.nan) for k in shares},
        )

    def add(
        self,
        aligned: Aligned,
        index: Index,
        metrics: Sequence[tuple[str, Metric]],
        how: Convention,
    ) -> None:
        """Run the kernels over some queries."""
        self.ties += aligned.ties
        self.unknown += aligned.unknown
        self.present[aligned.codes] |= aligned.present
        self.retrieved[aligned.codes] = aligned.retrieved
        for k, share in self.shares.items():
            share[aligned.codes] = _judged_at(aligned, k)
        for judged_only in sorted({metric.judged_only for _, metric in metrics} or {False}):
            view = condensed(aligned) if judged_only and not how.judged_only else aligned
            chosen = [each for each in metrics if each[1].judged_only == judged_only]
            for codes, block in blocks(view, index):
                for label, metric in chosen:
                    defaults = how.defaults(metric)
                    level = dict(metric.given).get("rel", defaults.get("rel", metric.rel or 1))
                    self.values[label][codes] = metric.compute(block.at_level(level), defaults)
                self.relevant[codes] = block.at_level(1).relevant


def _tallied(
    run: Run, index: Index, metrics: Sequence[tuple[str, Metric]], how: Convention
) -> _Tally:
    def over(parts: Iterable[Aligned]) -> _Tally:
        tally = _Tally.of(index, metrics)
        for aligned in parts:
            tally.add(aligned, index, metrics, how)
        return tally

    if run.rankings is not None:
        return over([align_mapping(run.rankings, index, how)])
    try:
        return over(align(batch, index, how) for batch in run.batches())
    except ScatteredError:  # a query came back after others: all rows at once
        return over([align(run.whole(), index, how)])


def _judged_at(aligned: Aligned, k: int) -> NDArray[np.float64]:
    """Judged documents among the first k over the documents there; NaN for an empty ranking."""
    seen = aligned.owner[(aligned.rank <= k) & (aligned.grade >= 0)]
    judged = np.bincount(seen, minlength=len(aligned.codes))
    places = np.minimum(aligned.retrieved, k)
    out: NDArray[np.float64] = np.full(len(places), np.nan)
    return np.divide(judged, places, out=out, where=places > 0)


def _mark_empty(tally: _Tally, run: Run, index: Index) -> None:
    """Queries that ran and returned nothing are in the run."""
    if run.queries is not None:
        zero = run.queries.filter(pl.col("state") == "zero")["query_id"]
        codes = index.codes(zero)
        tally.present[codes[codes >= 0]] = True


def _strangers(run: Run, index: Index) -> str:
    """The sentence for a run and judgments that share no query."""
    first = next(iter(run.pieces()), pl.DataFrame({"query_id": []}))["query_id"]
    theirs = ", ".join(f"'{query}'" for query in first.unique(maintain_order=True).head(3))
    ours = ", ".join(f"'{query}'" for query in index.query_ids.head(3))
    return (
        f"no query of this run has judgments: it has queries such as {theirs}, "
        f"the judgments {ours}; check that both use the same ids."
    )


def _scores(
    tally: _Tally, run: Run, index: Index, metrics: Sequence[tuple[str, Metric]], how: Convention
) -> Scores:
    counted = tally.present if how.missing == "leave_out" else np.ones_like(tally.present)
    query_ids = index.query_ids.filter(pl.Series(counted))
    values, why, means = {}, {}, {}
    for label, metric in metrics:
        values[label], why[label] = filled(
            tally.values[label][counted],
            present=tally.present[counted],
            retrieved=tally.retrieved[counted],
            metric=metric,
            how=how,
        )
        means[label] = mean(values[label], why[label], metric, how)
    counts = Counts(
        queries=int(counted.sum()),
        missing=int((~tally.present).sum()),
        zero_result=int((tally.present & (tally.retrieved == 0)).sum()),
        without_relevant=int((tally.relevant[counted] == 0).sum()),
        unknown_queries=tally.unknown,
        ties_broken=tally.ties,
        judged_at={k: _share(share[counted]) for k, share in tally.shares.items()},
    )
    return Scores(run.name, run.tag, query_ids, values, why, means, counts, how.to_dict())


def _share(share: NDArray[np.float64]) -> float:
    known = share[~np.isnan(share)]
    return float(known.mean()) if len(known) else float("nan")
