"""Judgments from clicks: fit models, choose one, make grades."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import polars as pl

from rankgate.declare import Count, Range
from rankgate.errors import UsageError
from rankgate.online.clicks.baselines import coec_opensearch, counts
from rankgate.online.clicks.catalogue import MODELS
from rankgate.online.clicks.click_counts import counts_in, packed, packed_counts
from rankgate.online.clicks.click_judgments import CURVES, JUDGMENTS, ClickJudgments
from rankgate.online.clicks.click_judgments import MODELS as MODEL_COLUMNS
from rankgate.online.clicks.click_judgments import RANKS as RANK_COLUMNS
from rankgate.online.clicks.grades import CUTS, GradeRule, graded
from rankgate.online.clicks.model import Settings, fitness
from rankgate.online.clicks.packed import RANKS, PackedSearches
from rankgate.online.database import database
from rankgate.online.events.opened import EventsLike, open_events
from rankgate.online.faults.diagnose import diagnosed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import QrelsLike
    from rankgate.online.clicks.estimates import Estimates
    from rankgate.online.clicks.model import ClickModel
    from rankgate.online.events.mapping import LogMapping

_LEVEL = 0.95
_Z = 1.959963984540054
_FEW = 3  # pairs that a correlation needs
OPENSEARCH = "coec_opensearch"
"""COEC with the formula of OpenSearch Search Relevance, to compare with; it predicts no clicks."""


def judgments(
    events: EventsLike | PackedSearches,
    *,
    mapping: str | Path | LogMapping | None = None,
    model: str = "auto",
    models: Sequence[str] = (),
    ranks: Count = RANKS,
    grades: GradeRule = "relative",
    cuts: Sequence[float] = CUTS,
    min_examined: Annotated[float, Range(0)] = 10.0,
    prior: Annotated[float, Range(0)] = 0.0,
    no_click: Literal["drop", "all_examined"] | None = None,
    held_out: Annotated[float, Range(0, 0.9)] = 0.2,
    human: QrelsLike | None = None,
    resamples: Annotated[int, Range(0)] = 20,
    seed: Annotated[int, Range(0)] = 0,
) -> ClickJudgments:
    """Learn from clicks what documents are worth, and make judgments of it.

    Args:
        events: a folder of events, a table of them, files of logs, packed searches, or click
            counts (of ``rankgate.spark.click_counts``) as a frame or Parquet files.
        mapping: a TOML file that says which column of a log holds what; without it it is UBI.
        model: the click model, such as sdbn; auto takes the one that predicts held-out clicks best.
        models: the click models that are compared; with auto all by default.
        ranks: how many ranks of each list count.
        grades: how values become grades: relative to the highest of the query, by fixed cuts of
            the value, by quantiles of the query's documents, or the value itself.
        cuts: where grades begin: the first gives grade 1, the second grade 2, and so on.
        min_examined: how many impressions of a document must have been looked at, as the model
            expects, for a judgment.
        prior: clicks and non-clicks that are added to each document.
        no_click: what searches without a click say to cascade models: nothing (drop), or that
            everything was looked at (all_examined); by default what the model's paper says.
        held_out: the share of searches on which models are compared.
        human: judgments of people, to compare with.
        resamples: bootstrap samples of sessions, for intervals of the parameters that all documents
            share, such as how often a rank is looked at; 0 gives none.
        seed: of the held-out searches and of the resamples.

    Raises:
        InputError: a log that cannot be read, or without lists.
        UsageError: no such model; cuts that do not rise.
        MissingExtraError: DuckDB is not installed.
    """
    _refuse_cuts(cuts)
    names = _names(model, models)
    searches, faults = _searches(events, mapping, ranks)
    settings = Settings(prior=prior, no_click=no_click or "")
    compared, by_rank = _compared(names, searches, settings, held_out, seed)
    best = _best(compared) if model == "auto" else model
    found, value = _fitted(best, searches, settings)
    table = _table(searches, found, value, best)
    made_by = {
        "rule": grades,
        **({} if grades == "value" else {"cuts": list(cuts)}),
        "min_examined": min_examined,
        "model": best,
        "prior": prior,
        "ranks": ranks,
        **({"no_click": no_click} if no_click else {}),
    }
    judged = graded(table, grades, cuts, min_examined)
    return ClickJudgments(
        best,
        round(searches.searches),
        len(searches.pairs),
        judged.select(pl.col(name).cast(kind) for name, kind in JUDGMENTS.items()),
        compared,
        by_rank,
        _curves(best, found, searches, settings, resamples, seed),
        held_out,
        made_by,
        {} if human is None else _agreement(table, human),
        faults,
    )


def _refuse_cuts(cuts: Sequence[float]) -> None:
    if not cuts or list(cuts) != sorted(set(cuts)):
        problem = f"cuts must rise, as in 0.25,0.5,0.75, not {', '.join(map(str, cuts))}."
        raise UsageError(problem, code="invalid-cuts")


def _names(model: str, models: Sequence[str]) -> list[str]:
    if model == "auto":
        return [MODELS.named(name).name for name in models] or list(MODELS)
    if model != OPENSEARCH:
        MODELS.named(model)
    others = [MODELS.named(name).name for name in models]
    return list(dict.fromkeys([*([model] if model != OPENSEARCH else []), *others]))


def _best(compared: pl.DataFrame) -> str:
    """The best of the models that tell documents apart.

    Raises:
        UsageError: none of the compared models does.
    """
    for name in compared["model"]:
        if MODELS[name].of_documents:
            return str(name)
    raise UsageError("no compared model tells documents apart; add dctr.", code="no-model")


def _searches(
    events: EventsLike | PackedSearches, mapping: str | Path | LogMapping | None, ranks: int
) -> tuple[PackedSearches, tuple[str, ...]]:
    """The searches, and what the log doctor says that spoils clicks."""
    if isinstance(events, PackedSearches):
        return events, ()
    counted = counts_in(events)
    if counted is not None:
        return packed_counts(counted, ranks), ()
    with database() as base:
        manifest = open_events(base, events, mapping)
        found = diagnosed(base, manifest)
        faults = tuple(each.code for each in found.blocking(("clicks", "ranks", "impressions")))
        return packed(base, ranks), faults


def _compared(
    names: Sequence[str], searches: PackedSearches, settings: Settings, held_out: float, seed: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Models by how well they predict searches that they have not seen, the best first."""
    train, test = searches.split(held_out, seed) if held_out else (searches, searches)
    if not (train.searches and test.searches):
        train = test = searches
    rows, by_rank = [], []
    for name in names:
        began = time.perf_counter()
        found = MODELS[name].fit(train, settings)
        seconds = time.perf_counter() - began
        measured = fitness(MODELS[name], found, test)
        rows.append({"model": name, "log_likelihood": measured.log_likelihood,
                     "perplexity": measured.perplexity, "seconds": round(seconds, 3)})  # fmt: skip
        by_rank += [
            {"model": name, "rank": rank, "perplexity": float(each)}
            for rank, each in enumerate(measured.by_rank, 1)
            if np.isfinite(each)
        ]
    table = pl.DataFrame(rows, schema=MODEL_COLUMNS)
    return (
        table.sort("log_likelihood", descending=True),
        pl.DataFrame(by_rank, schema=RANK_COLUMNS),
    )


def _fitted(
    name: str, searches: PackedSearches, settings: Settings
) -> tuple[Estimates, NDArray[np.float64]]:
    """A model on all searches, and what its grades are made of."""
    chosen: ClickModel = MODELS["dctr"] if name == OPENSEARCH else MODELS[name]
    found = chosen.fit(searches, settings)
    return found, coec_opensearch(searches) if name == OPENSEARCH else found.relevance


def _table(
    searches: PackedSearches, found: Estimates, value: NDArray[np.float64], model: str
) -> pl.DataFrame:
    """What is known of each pair; the interval is Jeffreys' on the looks that were expected."""
    from scipy.special import betaincinv

    clicks, shown = counts(searches)
    hits = np.clip(value, 0, 1) * found.examined
    misses = np.maximum(found.examined - hits, 0)
    tail = (1 - _LEVEL) / 2
    low = betaincinv(hits + 0.5, misses + 0.5, tail)
    high = betaincinv(hits + 0.5, misses + 0.5, 1 - tail)
    satisfied = np.full(len(shown), np.nan) if found.satisfaction is None else found.satisfaction
    return searches.pairs.with_columns(
        impressions=pl.Series(np.round(shown)).cast(pl.Int64),
        clicks=pl.Series(np.round(clicks)).cast(pl.Int64),
        examined=pl.Series(found.examined),
        attractiveness=pl.Series(found.attractiveness).fill_nan(None),
        satisfaction=pl.Series(satisfied).fill_nan(None),
        value=pl.Series(value),
        low=pl.Series(np.where(hits <= 0, 0.0, low)),
        high=pl.Series(np.where(misses <= 0, 1.0, high)),
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
    """Shared parameters; intervals are 1.96 bootstrap standard errors wide on both sides."""
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
                half = _Z * samples.std(axis=0, ddof=1) if len(samples) > 1 else half
        rows += [
            (parameter, place, float(value), float(max(value - wide, 0.0)), float(value + wide))
            for place, (value, wide) in enumerate(zip(curve, half, strict=True), 1)
            if np.isfinite(value)
        ]
    table = pl.DataFrame(rows, schema=CURVES, orient="row")
    return table.with_columns(pl.col("low", "high").fill_nan(None))


def _first_column(values: NDArray[np.float64]) -> NDArray[np.float64]:
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
