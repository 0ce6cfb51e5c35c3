"""Judgments from clicks: fit models, choose one, make grades."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import UsageError
from rankgate.online.clicks.baselines import coec_opensearch, counts
from rankgate.online.clicks.catalogue import MODELS
from rankgate.online.clicks.click_counts import counts_in, packed, packed_counts
from rankgate.online.clicks.click_judgments import CURVES, JUDGMENTS, ClickJudgments
from rankgate.online.clicks.click_judgments import MODELS as MODEL_COLUMNS
from rankgate.online.clicks.click_judgments import RANKS as RANK_COLUMNS
from rankgate.online.clicks.grades import Grading, graded
from rankgate.online.clicks.model import Settings, fitness, surprise_over_ranks
from rankgate.online.clicks.packed import RANKS, PackedSearches
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.faults.diagnose import diagnosed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import QrelsLike
    from rankgate.online.clicks.estimates import Estimates
    from rankgate.online.clicks.model import ClickModel

_LEVEL = 0.95
_FEW = 3  # pairs that a correlation needs
OPENSEARCH = "coec_opensearch"
"""COEC with the formula of OpenSearch Search Relevance, to compare with; it predicts no clicks."""
_FITTED = {OPENSEARCH: "dctr"}  # the click model that is fitted in its place


def judgments(
    events: EventsLike | PackedSearches,
    *,
    model: str = "auto",
    models: Sequence[str] = (),
    ranks: Count = RANKS,
    grading: Grading | None = None,
    prior: Annotated[float, Range(0)] | None = None,
    no_click: Literal["drop", "all_examined"] | None = None,
    held_out: Annotated[float, Range(0, 0.9)] = 0.2,
    human: QrelsLike | None = None,
    resamples: Annotated[int, Range(0)] = 20,
    seed: Annotated[int, Range(0)] = 0,
) -> ClickJudgments:
    """Learn from clicks what documents are worth, and make judgments of it.

    Args:
        events: what users did: a folder of events, a table of them, files of logs, ``Events``,
            packed searches, or click counts (of ``rankgate.spark.click_counts``) as a frame or
            Parquet files.
        model: the click model, such as sdbn; auto takes the one that predicts held-out clicks best.
        models: the click models that are compared; with auto all by default.
        ranks: how many ranks of each list count.
        grading: how values become grades; relative to the highest of the query by default.
        prior: clicks and non-clicks that are added to each document; by default those of the model:
            1 in coec, dcm, dbn and ccm, else 0.
        no_click: what searches without a click say to cascade models: nothing (drop), or that
            everything was looked at (all_examined); by default what the model's paper says.
        held_out: the share of searches on which models are compared, and on which a model must
            predict clicks better than their ranks alone; 0 compares on all searches, without this
            condition.
        human: judgments of people, to compare with.
        resamples: bootstrap samples of sessions, for intervals of the parameters that all documents
            share, such as how often a rank is looked at; 0 gives none.
        seed: of the held-out searches and of the resamples.

    Raises:
        InputError: a log that cannot be read, or without lists.
        UsageError: no such model.
        MissingExtraError: DuckDB is not installed.
    """
    grading = grading or Grading()
    names = _names(model, models)
    searches, faults = _searches(events, ranks)
    settings = Settings(prior=prior, no_click=no_click or "")
    halves = searches.split(held_out, seed) if held_out else None
    if halves and not all(half.searches for half in halves):
        halves = None
    compared, by_rank, unidentified = _compared(names, searches, halves, settings)
    candidates = _candidates(compared) if model == "auto" else [model]
    best, estimates, tried = _accepted(candidates, searches, halves, settings)
    refused = {name: reason for name, reason in unidentified.items() if name != best} | tried
    value = coec_opensearch(searches) if best == OPENSEARCH else estimates.relevance
    table = _table(searches, estimates, value, best)
    judged = graded(table.head(0) if best in refused else table, grading)
    made_by = {
        **grading.to_dict(),
        "model": best,
        "prior": prior if prior is not None else MODELS[_FITTED.get(best, best)].prior,
        "ranks": ranks,
        **({"no_click": no_click} if no_click else {}),
    }
    return ClickJudgments(
        best,
        round(searches.searches),
        len(searches.pairs),
        judged.select(pl.col(name).cast(kind) for name, kind in JUDGMENTS.items()),
        compared,
        by_rank,
        _curves(best, estimates, searches, settings, resamples, seed),
        held_out,
        made_by,
        {} if human is None else _agreement(table, human),
        faults,
        refused,
    )


def _names(model: str, models: Sequence[str]) -> list[str]:
    if model == "auto":
        return [MODELS.named(name).name for name in models] or list(MODELS)
    if model != OPENSEARCH:
        MODELS.named(model)
    others = [MODELS.named(name).name for name in models]
    return list(dict.fromkeys([*([model] if model != OPENSEARCH else []), *others]))


def _candidates(compared: pl.DataFrame) -> list[str]:
    """The compared models that tell documents apart, the best first.

    Raises:
        UsageError: there is none.
    """
    names = [str(name) for name in compared["model"] if MODELS[name].of_documents]
    if not names:
        raise UsageError("no compared model tells documents apart; add dctr.", code="no-model")
    return names


def _accepted(
    names: Sequence[str],
    searches: PackedSearches,
    halves: tuple[PackedSearches, PackedSearches] | None,
    settings: Settings,
) -> tuple[str, Estimates, dict[str, str]]:
    """The first model that this log can teach, on all searches; else the first one.

    Returns:
        Its name, its estimates, and by name why it, or models before it, make no judgments.
    """
    refused: dict[str, str] = {}
    first: tuple[str, Estimates] | None = None
    for name in names:
        model = MODELS[_FITTED.get(name, name)]
        estimates = model.fit(searches, settings)
        first = first or (name, estimates)
        reason = estimates.refusal
        if halves and not reason:
            reason = _no_better_than_ranks(model, *halves, settings)
        if not reason:
            return name, estimates, refused
        refused[name] = reason
    assert first is not None
    return *first, refused


def _no_better_than_ranks(
    model: ClickModel, train: PackedSearches, test: PackedSearches, settings: Settings
) -> str:
    """Why a model is not used that predicts held-out clicks no better than their ranks do."""
    if not model.of_documents:
        return "it does not tell documents apart"
    documents, ranks = surprise_over_ranks(model, model.fit(train, settings), train, test)
    if documents < ranks:
        return ""
    return (
        f"it predicts held-out clicks no better than their ranks alone (perplexity "
        f"{documents:.4g} against {ranks:.4g}): there are too few clicks to tell documents apart, "
        "or documents have little to do with clicks; collect more searches"
    )


def _searches(
    events: EventsLike | PackedSearches, ranks: int
) -> tuple[PackedSearches, tuple[str, ...]]:
    """The searches, and what the log doctor says that spoils clicks."""
    if isinstance(events, PackedSearches):
        return events, ()
    events = Events.of(events)
    counted = counts_in(events.log)
    if counted is not None:
        return packed_counts(counted, ranks), ()
    with events.open() as log:
        found = diagnosed(log.base, log.manifest)
        faults = tuple(each.code for each in found.blocking(("clicks", "ranks", "impressions")))
        return packed(log.base, ranks), faults


def _compared(
    names: Sequence[str],
    searches: PackedSearches,
    halves: tuple[PackedSearches, PackedSearches] | None,
    settings: Settings,
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, str]]:
    """Models by how well they predict searches that they have not seen, the best first.

    Returns:
        Models; perplexities by rank; by model why the searches do not identify it.
    """
    train, test = halves or (searches, searches)
    rows, by_rank, refusals = [], [], {}
    for name in names:
        began = time.perf_counter()
        estimates = MODELS[name].fit(train, settings)
        seconds = time.perf_counter() - began
        if estimates.refusal:
            refusals[name] = estimates.refusal
        measured = fitness(MODELS[name], estimates, test)
        rows.append({"model": name, "log_likelihood": measured.log_likelihood,
                     "perplexity": measured.perplexity, "seconds": round(seconds, 3)})  # fmt: skip
        by_rank += [
            {"model": name, "rank": rank, "perplexity": float(perplexity)}
            for rank, perplexity in enumerate(measured.by_rank, 1)
            if np.isfinite(perplexity)
        ]
    table = pl.DataFrame(rows, schema=MODEL_COLUMNS)
    return (
        table.sort("log_likelihood", descending=True),
        pl.DataFrame(by_rank, schema=RANK_COLUMNS),
        refusals,
    )


def _table(
    searches: PackedSearches, found: Estimates, value: NDArray[np.float64], model: str
) -> pl.DataFrame:
    """What is known of each pair, with the model's interval, else Jeffreys' on expected looks."""
    from scipy.special import betaincinv

    clicks, shown = counts(searches)
    if found.identified is not None:
        value = np.where(found.identified, value, np.nan)
    hits = np.clip(value, 0, 1) * found.examined
    misses = np.maximum(found.examined - hits, 0)
    tail = (1 - _LEVEL) / 2
    low = betaincinv(hits + 0.5, misses + 0.5, tail)
    high = betaincinv(hits + 0.5, misses + 0.5, 1 - tail)
    low, high = np.where(hits <= 0, 0.0, low), np.where(misses <= 0, 1.0, high)
    if found.low is not None and found.high is not None:
        low, high = found.low, found.high
    satisfied = np.full(len(shown), np.nan) if found.satisfaction is None else found.satisfaction
    return searches.pairs.with_columns(
        impressions=pl.Series(np.round(shown)).cast(pl.Int64),
        clicks=pl.Series(np.round(clicks)).cast(pl.Int64),
        examined=pl.Series(found.examined),
        attractiveness=pl.Series(found.attractiveness).fill_nan(None),
        satisfaction=pl.Series(satisfied).fill_nan(None),
        value=pl.Series(value),
        low=pl.Series(low),
        high=pl.Series(high),
        model=pl.lit(model),
    )


def _curves(
    name: str,
    found: Estimates,
    searches: PackedSearches,
    settings: Settings,
    resamples: int,
    seed: int,
) -> pl.DataFrame:
    """Shared parameters; intervals by bootstrap standard errors and Student's t."""
    from scipy.special import stdtrit

    random = np.random.default_rng(seed)
    drawn: list[Mapping[str, NDArray[np.float64]]] = []
    if found.shared and name in MODELS:
        drawn = [
            MODELS[name].fit(searches.resampled(random), settings).shared for _ in range(resamples)
        ]
    rows = []
    for parameter, values in found.shared.items():
        curve = _first_column(values)
        half = np.full(len(curve), np.nan)
        if drawn:
            samples = np.array([_first_column(each[parameter]) for each in drawn])
            with np.errstate(invalid="ignore"):
                if len(samples) > 1:
                    wide = stdtrit(len(samples) - 1, (1 + _LEVEL) / 2)
                    half = wide * samples.std(axis=0, ddof=1)
        linked = np.ones(len(curve), np.bool_)
        if found.linked is not None:
            linked = _first_column(found.linked.reshape(values.shape))
        rows += [
            (parameter, place, float(value), float(max(value - wide, 0.0)), float(value + wide))
            for place, (value, wide, sure) in enumerate(zip(curve, half, linked, strict=True), 1)
            if np.isfinite(value) and sure
        ]
    table = pl.DataFrame(rows, schema=CURVES, orient="row")
    return table.with_columns(pl.col("low", "high").fill_nan(None))


def _first_column(values: NDArray[Any]) -> NDArray[Any]:
    """Parameters by rank; of those by rank and click before, without one."""
    return values if values.ndim == 1 else values[:, 0]


def _agreement(table: pl.DataFrame, human: QrelsLike) -> dict[str, float | None]:
    """Rank correlation with grades of people on the pairs that both have."""
    from scipy.stats import kendalltau, spearmanr

    from rankgate.data import read_qrels

    grades = read_qrels(human).table.select("query_id", "doc_id", grade="grade")
    both = table.join(grades, on=["query_id", "doc_id"]).filter(pl.col("value").is_not_nan())
    if len(both) < _FEW or both["grade"].n_unique() < 2 or both["value"].n_unique() < 2:
        return {"pairs": float(len(both)), "spearman": None, "kendall": None}
    one, other = both["value"].to_numpy(), both["grade"].to_numpy()
    return {
        "pairs": float(len(both)),
        "spearman": float(spearmanr(one, other).statistic),
        "kendall": float(kendalltau(one, other).statistic),
    }
