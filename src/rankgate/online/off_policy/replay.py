"""Score a candidate ranking on logged clicks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl

from rankgate.core.declare import Draws, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.read import read_run
from rankgate.online.clicks.click_models import MODELS
from rankgate.online.clicks.packed_searches import DEFAULT_RANKS, PackedSearches, pack_events
from rankgate.online.events.diagnosis import diagnose_events
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.off_policy.counterfactual_replay import (
    MEASURES,
    QUERIES,
    RANKS_OF_LISTS,
    CounterfactualReplay,
)
from rankgate.online.off_policy.off_policy_estimate import CHECKS, check_row
from rankgate.online.off_policy.replay_estimate import MEASURES as NAMES
from rankgate.online.off_policy.replay_estimate import (
    POSITION_BASED,
    CandidateLists,
    ReplayEstimate,
    estimate_replay,
    log_likelihoods,
    measure_misfit,
    resample_estimates,
)

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import Json
    from rankgate.data.input_types import RunLike
    from rankgate.data.run import Run


COMPARED_MODELS = (POSITION_BASED, "dbn", "ubm")
"""The click models that are compared by default."""

_HELD_OUT = 0.2  # the share of the searches
_MIN_EXAMINED = 10.0  # looks below which an attractiveness is uncertain
_MIN_CLICKS = 100  # clicks
_MISFIT, _OFF = 0.001, 0.05  # p, and relative error of click rates, that show a misfit of the model
_MAX_MISFIT = 0.25  # relative error of click rates of a wrong model


def replay(
    run: RunLike,
    events: EventsLike | PackedSearches,
    *,
    k: Annotated[int, Range(1)] = 10,
    model: str = "auto",
    examination: Sequence[float] = (),
    min_support: Annotated[float, Range(0, 1)] = 0.8,
    resamples: Draws = 200,
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95,
    seed: Annotated[int, Range(0)] = 0,
) -> CounterfactualReplay:
    """Score a candidate ranking on logged clicks, before a user sees it.

    There is no estimate if the log cannot answer: documents of the candidate that were never
    shown, or no document that was shown at two ranks, without which how often each rank is looked
    at is unknown.

    Args:
        run: the candidate's lists; ids of queries are their words, as in the log.
        events: the log: a folder of events, a table of them, files of logs, ``Events``, or packed
            searches.
        k: the number of ranks of the candidate's lists that count.
        model: the click model: pbm_harvest, dbn, ubm or another of rankgate online judgments; auto
            takes of these three the one that predicts clicks on other searches best, and intervals
            reach over those of the three that may predict as well.
        examination: the known frequency of looks at each rank, relative to the first, in the
            position-based model; estimated by default.
        min_support: the share of the candidate's top k that must have been shown.
        resamples: the number of resamples of sessions.
        level: the confidence level of the intervals.
        seed: the seed of the bootstrap.

    Raises:
        InputError: files that cannot be read; no query in common.
        UsageError: an examination that is not above 0 and at most 1.
    """
    curve = _examination_curve(examination)
    searches, faults = _read_searches(events)
    name, lists = _candidate_lists(read_run(run, "candidate"), k)
    candidate, queries = _match_candidate(lists, searches, k)
    models = _choose_models(searches, model, curve, seed)
    estimated = estimate_replay(searches, candidate, k, models[0], curve)
    support, _ = _measure_support(candidate, estimated.traffic)
    checks = _checks(searches, candidate, estimated, support, min_support, k)
    refused = any(row["outcome"] == "blocks" for row in checks)
    measures = (
        []
        if refused
        else _measure_rows(
            estimated,
            [
                resample_estimates(
                    searches, candidate, k, name, curve, resamples, np.random.default_rng(seed)
                )
                for name in models
            ],
            level,
        )
    )
    return CounterfactualReplay(
        name,
        models[0],
        k,
        round(float(estimated.traffic.sum())),
        len(queries),
        support,
        pl.DataFrame(measures, schema=MEASURES),
        pl.DataFrame(checks, schema=CHECKS),
        _by_rank(candidate, estimated, k),
        _by_query(queries, candidate, estimated, refused=refused),
        bool(examination),
        level,
        resamples,
        seed,
        faults,
        models,
    )


def _choose_models(searches: PackedSearches, name: str, curve: Floats | None, seed: int) -> tuple[str, ...]:
    """The named model; or the best model on held-out searches, and models that may be as good.

    A model may be as good if its mean log-likelihood of a held-out search is less than two
    standard errors of the difference below that of the best.
    """
    if curve is not None:
        return (POSITION_BASED,)
    if name != "auto":
        return (MODELS.find(name).name,)
    train, test = searches.split(_HELD_OUT, seed)
    if not (train.searches and test.searches):
        return (POSITION_BASED,)
    likelihoods = {model: log_likelihoods(model, train, test) for model in COMPARED_MODELS}
    best = max(COMPARED_MODELS, key=lambda model: float(likelihoods[model] @ test.weight))
    similar_models = [
        model
        for model in COMPARED_MODELS
        if model != best and _may_be_equal(likelihoods[best] - likelihoods[model], test.weight)
    ]
    return (best, *similar_models)


def _may_be_equal(difference: Floats, weight: Floats) -> bool:
    """True if a mean difference is below two standard errors."""
    total = float(weight.sum())
    mean = float(difference @ weight) / total
    return mean <= 2 * math.sqrt(float((difference - mean) ** 2 @ weight)) / total


def _examination_curve(examination: Sequence[float]) -> Floats | None:
    if not examination:
        return None
    curve = np.array(examination, dtype=np.float64)
    if not ((curve > 0) & (curve <= 1)).all():
        problem = f"examination must be above 0 and at most 1, not {examination}."
        raise UsageError(problem, code="invalid-examination")
    padded = np.full(max(DEFAULT_RANKS, len(curve)), np.nan)
    padded[: len(curve)] = curve
    return padded


def _read_searches(events: EventsLike | PackedSearches) -> tuple[PackedSearches, tuple[str, ...]]:
    if isinstance(events, PackedSearches):
        return events, ()
    with Events.of(events).open() as log:
        diagnosis = diagnose_events(log.base, log.manifest)
        faults = tuple(fault.code for fault in diagnosis.blocking(("clicks", "ranks", "impressions")))
        return pack_events(log.base), faults


def _candidate_lists(run: Run, k: int) -> tuple[str, pl.DataFrame]:
    """``query_id``, ``doc_id``, ``rank`` from 1."""
    table = run.table.sort("score", descending=True, maintain_order=True)
    ranked = table.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))
    return run.name, ranked.filter(pl.col("rank") <= k).select("query_id", "doc_id", "rank")


def _match_candidate(
    lists: pl.DataFrame, searches: PackedSearches, k: int
) -> tuple[CandidateLists, list[str]]:
    """The candidate's lists for the queries of the log."""
    logged = searches.pairs["query_id"].unique()
    common_lists = lists.filter(pl.col("query_id").is_in(logged.implode()))
    if common_lists.is_empty():
        problem = "no query of the run is in the log; query ids must be the query texts of the log."
        raise InputError(problem, code="no-common-queries")
    queries = common_lists["query_id"].unique().sort().to_list()
    number = dict(zip(queries, range(len(queries)), strict=True))
    pairs = searches.pairs.with_row_index("pair")
    rows = common_lists.join(pairs, on=["query_id", "doc_id"], how="left")
    query_index = rows["query_id"].replace_strict(number, return_dtype=pl.Int64).to_numpy()
    position = rows["rank"].to_numpy().astype(np.int64) - 1
    pair = np.full((len(queries), k), -1, np.int64)
    filled = np.zeros((len(queries), k), np.bool_)
    pair[query_index, position] = rows["pair"].cast(pl.Int64).fill_null(-1).to_numpy()
    filled[query_index, position] = True
    of_pair = searches.pairs["query_id"].replace_strict(number, default=-1, return_dtype=pl.Int64).to_numpy()
    first = searches.shown.argmax(axis=1)
    query = of_pair[searches.pair[np.arange(len(first)), first]]
    return CandidateLists(pair, filled, query), queries


def _measure_support(candidate: CandidateLists, traffic: Floats) -> tuple[float, Floats]:
    """The share of the candidate's slots that the log ever shows, by searches and by rank."""
    is_shown = (candidate.pair >= 0) & candidate.filled
    slots, shown_slots = traffic @ candidate.filled, traffic @ is_shown
    with np.errstate(invalid="ignore", divide="ignore"):
        by_rank = shown_slots / slots
    return float(shown_slots.sum() / max(float(slots.sum()), 1e-12)), by_rank


def _checks(
    searches: PackedSearches,
    candidate: CandidateLists,
    estimated: ReplayEstimate,
    support: float,
    min_support: float,
    k: int,
) -> list[dict[str, Json]]:
    used_ranks = np.flatnonzero(candidate.filled.any(axis=0))
    curve = np.append(estimated.fitted.curve, np.full(k, np.nan))[:k]
    linked = int(np.isfinite(curve[used_ranks]).sum())
    query_coverage = float(estimated.traffic.sum()) / searches.searches
    is_known = (candidate.pair >= 0) & candidate.filled
    examined = np.where(is_known, estimated.fitted.looks[candidate.pair], np.nan)
    rarely_examined = float(estimated.traffic @ (is_known & (examined < _MIN_EXAMINED)).sum(axis=1)) / max(
        float(estimated.traffic @ is_known.sum(axis=1)), 1e-12
    )
    p, error = measure_misfit(searches, estimated)
    is_misfit = p < _MISFIT and error > _OFF
    clicks = float((searches.weights * searches.clicked)[candidate.query >= 0].sum())
    return [
        check_row(
            "support",
            support,
            min_support,
            "blocks" if support < min_support else "warns" if support < 1 else "ok",
            f"{support:.1%} of the candidate's top {k} was ever shown for its query; clicks on the other "
            f"documents are unknown",
        ),
        check_row(
            "examination",
            linked,
            len(used_ranks),
            "blocks" if linked < len(used_ranks) else "ok",
            f"how often a rank is looked at is known for {linked} of "
            f"{count_noun(len(used_ranks), 'rank')}: only documents shown at several ranks show it (or give "
            "--examination)",
        ),
        check_row(
            "model",
            error,
            _OFF,
            "blocks" if is_misfit and error > _MAX_MISFIT else "warns" if is_misfit else "ok",
            f"click rates differ by {error:.0%} from the click model (p = {p:.2g}); intervals do not include "
            "this error",
        ),
        check_row(
            "queries",
            query_coverage,
            0.5,
            "warns" if query_coverage < 0.5 else "ok",
            f"{query_coverage:.1%} of the log's searches are of queries that the candidate has",
        ),
        check_row(
            "clicks",
            clicks,
            _MIN_CLICKS,
            "warns" if clicks < _MIN_CLICKS else "ok",
            f"{clicks:,.0f} clicks belong to these searches",
        ),
        check_row(
            "looks",
            rarely_examined,
            0.2,
            "warns" if rarely_examined > 0.2 else "ok",
            f"{rarely_examined:.1%} of the candidate's known documents were looked at less than "
            f"{_MIN_EXAMINED:.0f} times",
        ),
    ]


def _measure_rows(
    estimated: ReplayEstimate, draws: Sequence[tuple[Floats, Floats, Floats]], level: float
) -> list[dict[str, Json]]:
    """Rows with values of the best model; intervals reach over the intervals of all models.

    Ends are percentiles of resamples; the difference uses the same resamples.
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    rows: list[dict[str, Json]] = []
    for index, name in enumerate(NAMES):
        ends, changes, upper_changes = (
            np.array([np.quantile(values, tails) for values in by_model])
            for by_model in (
                [candidate_values[:, index] for candidate_values, _, _ in draws],
                [candidate_values[:, index] - logged[:, index] for candidate_values, _, logged in draws],
                [upper_values[:, index] - logged[:, index] for _, upper_values, logged in draws],
            )
        )
        rows.append(
            {
                "measure": name,
                "logged": estimated.logged[index],
                "candidate": estimated.candidate[index],
                "low": ends[:, 0].min(),
                "high": ends[:, 1].max(),
                "delta": estimated.candidate[index] - estimated.logged[index],
                "delta_low": changes[:, 0].min(),
                "delta_high": changes[:, 1].max(),
                "most": estimated.most[index],
                "most_high": upper_changes[:, 1].max(),
            }
        )
    return rows


def _by_rank(candidate: CandidateLists, estimated: ReplayEstimate, k: int) -> pl.DataFrame:
    curve = np.append(estimated.fitted.curve, np.full(k, np.nan))[:k]
    _, shown_shares = _measure_support(candidate, estimated.traffic)
    rows = {"rank": np.arange(1, k + 1), "examination": curve, "shown": shown_shares}
    return pl.DataFrame(rows).with_columns(pl.col(pl.Float64).fill_nan(None)).cast(RANKS_OF_LISTS)  # type: ignore[arg-type]


def _by_query(
    queries: list[str], candidate: CandidateLists, estimated: ReplayEstimate, *, refused: bool
) -> pl.DataFrame:
    slots_shown = ((candidate.pair >= 0) & candidate.filled).sum(axis=1)
    table = pl.DataFrame(
        {
            "query_id": queries,
            "searches": np.round(estimated.traffic),
            "shown": slots_shown / np.maximum(candidate.filled.sum(axis=1), 1),
            "candidate": estimated.by_query[:, 0],
            "logged": estimated.by_query[:, 1],
            "delta": estimated.by_query[:, 0] - estimated.by_query[:, 1],
        }
    )
    if refused:
        table = table.with_columns(candidate=None, delta=None)
    return table.cast(QUERIES).sort("searches", "query_id", descending=[True, False])  # type: ignore[arg-type]
