"""Score a candidate ranking on logged clicks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.data.read import read_run
from rankgate.online.clicks.catalogue import MODELS
from rankgate.online.clicks.click_counts import packed
from rankgate.online.clicks.packed import RANKS, PackedSearches
from rankgate.online.counterfactual.counterfactual_replay import (
    CHECKS,
    MEASURES,
    QUERIES,
    RANKS_OF_LISTS,
    CounterfactualReplay,
)
from rankgate.online.counterfactual.estimate import MEASURES as NAMES
from rankgate.online.counterfactual.estimate import (
    POSITION_BASED,
    Candidate,
    Estimated,
    estimate,
    log_likelihoods,
    misfit,
    resampled,
)
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.faults.diagnose import diagnosed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import RunLike
    from rankgate.data.run import Run

    Floats = NDArray[np.float64]

COMPARED = (POSITION_BASED, "dbn", "ubm")
"""The click models that are compared by default."""

_HELD_OUT = 0.2  # of the searches
_THIN = 10.0  # looks below which an attractiveness is hardly known
_FEW = 100  # clicks
_MISFIT, _OFF = 0.001, 0.05  # p, and relative error of click rates, from which the model is off
_WRONG = 0.25  # relative error of click rates from which it is wrong


def replay(
    run: RunLike,
    events: EventsLike | PackedSearches,
    *,
    k: Annotated[int, Range(1)] = 10,
    model: str = "auto",
    examination: Sequence[float] = (),
    min_support: Annotated[float, Range(0, 1)] = 0.8,
    resamples: Count = 200,
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95,
    seed: Annotated[int, Range(0)] = 0,
) -> CounterfactualReplay:
    """Score a candidate ranking on logged clicks, before a user sees it.

    Nothing is estimated where the log cannot answer: documents of the candidate that were never
    shown, or no document that was shown at two ranks, without which how often each rank is looked
    at is unknown.

    Args:
        run: the candidate's lists; ids of queries are their words, as in the log.
        events: what users did: a folder of events, a table of them, files of logs, ``Events``, or
            packed searches.
        k: how many ranks of the candidate's lists count.
        model: the click model: pbm_harvest, dbn, ubm or another of rankgate online judgments; auto
            takes of these three the one that predicts clicks on other searches best, and intervals
            reach over those of the three that may predict as well.
        examination: how often each rank is looked at, relative to the first, where it is known,
            in the position-based model; else it is estimated.
        min_support: the share of the candidate's top k that must have been shown.
        resamples: of the bootstrap over sessions.
        level: of the intervals.
        seed: of the bootstrap.

    Raises:
        InputError: files that cannot be read; no query in common.
        UsageError: an examination that is not above 0 and at most 1.
    """
    curve = _curve(examination)
    searches, faults = _searches(events)
    name, lists = _candidate_lists(read_run(run, "candidate"), k)
    candidate, queries = _candidate(lists, searches, k)
    models = _models(searches, model, curve, seed)
    found = estimate(searches, candidate, k, models[0], curve)
    support = _support(candidate, found.traffic)
    checks = _checks(searches, candidate, found, support, min_support, k)
    refused = any(row["outcome"] == "blocks" for row in checks)
    measures = [] if refused else _measures(
        found,
        [
            resampled(
                searches, candidate, k, name, curve, resamples, np.random.default_rng(seed)
            )
            for name in models
        ],
        level,
    )  # fmt: skip
    return CounterfactualReplay(
        name,
        models[0],
        k,
        round(float(found.traffic.sum())),
        len(queries),
        float(support["all"]),
        pl.DataFrame(measures, schema=MEASURES),
        pl.DataFrame(checks, schema=CHECKS),
        _by_rank(candidate, found, k),
        _by_query(queries, candidate, found, refused=refused),
        bool(examination),
        level,
        resamples,
        seed,
        faults,
        models,
    )


def _models(
    searches: PackedSearches, name: str, curve: Floats | None, seed: int
) -> tuple[str, ...]:
    """The named model; or the best of some on held-out searches, and those that may be as good.

    A model may be as good if its mean log-likelihood of a held-out search is less than two
    standard errors of the difference below that of the best.
    """
    if curve is not None:
        return (POSITION_BASED,)
    if name != "auto":
        return (MODELS.named(name).name,)
    train, test = searches.split(_HELD_OUT, seed)
    if not (train.searches and test.searches):
        return (POSITION_BASED,)
    likelihoods = {model: log_likelihoods(model, train, test) for model in COMPARED}
    best = max(COMPARED, key=lambda model: float(likelihoods[model] @ test.weight))
    near = [
        model
        for model in COMPARED
        if model != best and _may_be_equal(likelihoods[best] - likelihoods[model], test.weight)
    ]
    return (best, *near)


def _may_be_equal(difference: Floats, weight: Floats) -> bool:
    """True if a mean difference is below two standard errors."""
    total = float(weight.sum())
    mean = float(difference @ weight) / total
    return mean <= 2 * math.sqrt(float((difference - mean) ** 2 @ weight)) / total


def _curve(examination: Sequence[float]) -> Floats | None:
    if not examination:
        return None
    curve = np.array(examination, dtype=np.float64)
    if not ((curve > 0) & (curve <= 1)).all():
        problem = f"examination must be above 0 and at most 1, not {examination}."
        raise UsageError(problem, code="invalid-examination")
    wide = np.full(max(RANKS, len(curve)), np.nan)
    wide[: len(curve)] = curve
    return wide


def _searches(events: EventsLike | PackedSearches) -> tuple[PackedSearches, tuple[str, ...]]:
    if isinstance(events, PackedSearches):
        return events, ()
    with Events.of(events).open() as log:
        found = diagnosed(log.base, log.manifest)
        faults = tuple(each.code for each in found.blocking(("clicks", "ranks", "impressions")))
        return packed(log.base), faults


def _candidate_lists(run: Run, k: int) -> tuple[str, pl.DataFrame]:
    """``query_id``, ``doc_id``, ``rank`` from 1."""
    table = run.table.sort("score", descending=True, maintain_order=True)
    ranked = table.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))
    return run.name, ranked.filter(pl.col("rank") <= k).select("query_id", "doc_id", "rank")


def _candidate(
    lists: pl.DataFrame, searches: PackedSearches, k: int
) -> tuple[Candidate, list[str]]:
    """The lists of queries that the log has too."""
    logged = searches.pairs["query_id"].unique()
    known = lists.filter(pl.col("query_id").is_in(logged.implode()))
    if known.is_empty():
        problem = "no query of the run is in the log; ids of queries must be the words of the log."
        raise InputError(problem, code="no-common-queries")
    queries = known["query_id"].unique().sort().to_list()
    number = dict(zip(queries, range(len(queries)), strict=True))
    pairs = searches.pairs.with_row_index("pair")
    rows = known.join(pairs, on=["query_id", "doc_id"], how="left")
    at = rows["query_id"].replace_strict(number, return_dtype=pl.Int64).to_numpy()
    place = rows["rank"].to_numpy().astype(np.int64) - 1
    pair = np.full((len(queries), k), -1, np.int64)
    filled = np.zeros((len(queries), k), np.bool_)
    pair[at, place] = rows["pair"].cast(pl.Int64).fill_null(-1).to_numpy()
    filled[at, place] = True
    of_pair = searches.pairs["query_id"].replace_strict(
        number, default=-1, return_dtype=pl.Int64
    ).to_numpy()  # fmt: skip
    first = searches.shown.argmax(axis=1)
    query = of_pair[searches.pair[np.arange(len(first)), first]]
    return Candidate(pair, filled, query), queries


def _support(candidate: Candidate, traffic: Floats) -> dict[str, Any]:
    """Shares of the candidate's slots that the log ever shows, weighted by searches."""
    shown = (candidate.pair >= 0) & candidate.filled
    slots, hits = traffic @ candidate.filled, traffic @ shown
    with np.errstate(invalid="ignore", divide="ignore"):
        by_rank = hits / slots
    return {"all": float(hits.sum() / max(float(slots.sum()), 1e-12)), "by_rank": by_rank}


def _checks(
    searches: PackedSearches,
    candidate: Candidate,
    found: Estimated,
    support: dict[str, Any],
    min_support: float,
    k: int,
) -> list[dict[str, Any]]:
    used = np.flatnonzero(candidate.filled.any(axis=0))
    curve = np.append(found.fitted.curve, np.full(k, np.nan))[:k]
    linked = int(np.isfinite(curve[used]).sum())
    covered = float(found.traffic.sum()) / searches.searches
    inside = (candidate.pair >= 0) & candidate.filled
    looks = np.where(inside, found.fitted.looks[candidate.pair], np.nan)
    thin = float(found.traffic @ (inside & (looks < _THIN)).sum(axis=1)) / max(
        float(found.traffic @ inside.sum(axis=1)), 1e-12
    )
    p, error = misfit(searches, found)
    wrong = p < _MISFIT and error > _OFF
    clicks = float((searches.weights * searches.clicked)[candidate.query >= 0].sum())
    return [
        _row("support", support["all"], min_support,
             "blocks" if support["all"] < min_support else
             "warns" if support["all"] < 1 else "ok",
             f"{support['all']:.1%} of the candidate's top {k} was ever shown for its query; what "
             "users would do with the rest is unknown"),
        _row("examination", linked, len(used), "blocks" if linked < len(used) else "ok",
             f"how often a rank is looked at is known for {linked} of {len(used)} ranks: only "
             "documents shown at several ranks tell it (or --examination)"),
        _row("model", error, _OFF,
             "blocks" if wrong and error > _WRONG else "warns" if wrong else "ok",
             f"click rates differ by {error:.0%} from the click model (p = {p:.2g}); intervals do "
             "not have this error in them"),
        _row("queries", covered, 0.5, "warns" if covered < 0.5 else "ok",
             f"{covered:.1%} of the log's searches are of queries that the candidate has"),
        _row("clicks", clicks, _FEW, "warns" if clicks < _FEW else "ok",
             f"{clicks:,.0f} clicks belong to these searches"),
        _row("looks", thin, 0.2, "warns" if thin > 0.2 else "ok",
             f"{thin:.1%} of the candidate's known documents were looked at less than "
             f"{_THIN:.0f} times"),
    ]  # fmt: skip


def _row(check: str, value: float, limit: float, outcome: str, words: str) -> dict[str, Any]:
    return {
        "check": check, "value": float(value), "limit": float(limit), "outcome": outcome,
        "words": words,
    }  # fmt: skip


def _measures(
    found: Estimated, draws: Sequence[tuple[Floats, Floats, Floats]], level: float
) -> list[dict[str, Any]]:
    """Values of the best model; intervals from the lowest to the highest of all models.

    Ends are percentiles of resamples; the difference is of the same resamples.
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    rows = []
    for at, name in enumerate(NAMES):
        ends, changes, most = (
            np.array([np.quantile(values, tails) for values in by_model])
            for by_model in (
                [one[:, at] for one, _, _ in draws],
                [one[:, at] - logged[:, at] for one, _, logged in draws],
                [most[:, at] - logged[:, at] for _, most, logged in draws],
            )
        )
        rows.append(
            {"measure": name, "logged": found.logged[at], "candidate": found.candidate[at],
             "low": ends[:, 0].min(), "high": ends[:, 1].max(),
             "delta": found.candidate[at] - found.logged[at],
             "delta_low": changes[:, 0].min(), "delta_high": changes[:, 1].max(),
             "most": found.most[at], "most_high": most[:, 1].max()}
        )  # fmt: skip
    return rows


def _by_rank(candidate: Candidate, found: Estimated, k: int) -> pl.DataFrame:
    curve = np.append(found.fitted.curve, np.full(k, np.nan))[:k]
    shares = _support(candidate, found.traffic)["by_rank"]
    rows = {"rank": np.arange(1, k + 1), "examination": curve, "shown": shares}
    return pl.DataFrame(rows).with_columns(pl.col(pl.Float64).fill_nan(None)).cast(RANKS_OF_LISTS)  # type: ignore[arg-type]


def _by_query(
    queries: list[str], candidate: Candidate, found: Estimated, *, refused: bool
) -> pl.DataFrame:
    shown = ((candidate.pair >= 0) & candidate.filled).sum(axis=1)
    table = pl.DataFrame(
        {"query_id": queries, "searches": np.round(found.traffic),
         "shown": shown / np.maximum(candidate.filled.sum(axis=1), 1),
         "candidate": found.by_query[:, 0], "logged": found.by_query[:, 1],
         "delta": found.by_query[:, 0] - found.by_query[:, 1]}
    )  # fmt: skip
    if refused:
        table = table.with_columns(candidate=None, delta=None)
    return table.cast(QUERIES).sort("searches", "query_id", descending=[True, False])  # type: ignore[arg-type]
