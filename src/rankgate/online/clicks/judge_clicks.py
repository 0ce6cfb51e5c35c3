"""Judgments from clicks: fit models, choose one, make grades.

`Grading` is the rule that turns the estimates of a click model into judgments.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range, check_fields
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.spark_tables import is_on_spark, run_on_spark
from rankgate.online.clicks.click_judgments import CURVES, JUDGMENTS, MODEL_COLUMNS, ClickJudgments
from rankgate.online.clicks.click_judgments import RANKS as RANK_COLUMNS
from rankgate.online.clicks.click_model import (
    Settings,
    coec_opensearch,
    count_clicks_by_pair,
    fitness,
    perplexity_over_ranks,
)
from rankgate.online.clicks.click_models import MODELS
from rankgate.online.clicks.packed_searches import (
    DEFAULT_RANKS,
    PackedSearches,
    pack_counts,
    pack_events,
    read_counts,
)
from rankgate.online.events.diagnosis import diagnose_events
from rankgate.online.events.events import Events, EventsLike

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.input_types import QrelsLike
    from rankgate.online.clicks.click_model import ClickModel, Estimates


GradeRule = Literal["relative", "cuts", "quantiles", "value"]
"""The rule for grades: ``relative`` to the highest of the query, by fixed ``cuts`` of the
value, by ``quantiles`` of the query's documents, or the value itself."""

CUTS = (0.25, 0.5, 0.75)
"""The lowest values of grades 1, 2, and so on."""


@dataclass(frozen=True)
class Grading:
    """The way the estimates of a click model become grades; judgments keep it in ``made_by``.

    Attributes:
        grades: The way values become grades: relative to the highest of the query, by fixed cuts of
            the value, by quantiles of the query's documents, or the value itself.
        cuts: The lower bounds of grades: the first gives grade 1, the second grade 2, and so on.
        min_examined: The number of expected examinations of a document
            that a judgment needs.

    Raises:
        UsageError: No such rule; cuts that do not rise; a number below 0.
    """

    grades: GradeRule = "relative"
    cuts: Sequence[float] = CUTS
    min_examined: Annotated[float, Range(0)] = 10.0

    def __post_init__(self) -> None:
        check_fields(self, "grades", "min_examined")
        if not self.cuts or list(self.cuts) != sorted(set(self.cuts)):
            problem = f"cuts must rise, as in 0.25,0.5,0.75, not {', '.join(map(str, self.cuts))}."
            raise UsageError(problem, code="invalid-cuts")

    def to_dict(self) -> dict[str, Any]:
        """The rule of the grades, as judgments keep it in ``made_by``."""
        cuts = {} if self.grades == "value" else {"cuts": list(self.cuts)}
        return {"rule": self.grades, **cuts, "min_examined": self.min_examined}


def add_grades(table: pl.DataFrame, grading: Grading) -> pl.DataFrame:
    """Add ``grade`` to pairs with enough evidence; leave others out.

    Args:
        table: ``query_id``, ``value``, ``examined``.
        grading: the rule that makes grades of values.
    """
    rule, cuts = grading.grades, grading.cuts
    with_evidence = table.filter(pl.col("examined") >= grading.min_examined, pl.col("value").is_not_nan())
    measure = pl.col("value")
    if rule == "relative":
        highest_value = pl.col("value").max().over("query_id")
        measure = pl.when(highest_value > 0).then(pl.col("value") / highest_value).otherwise(0.0)
    elif rule == "quantiles":
        # the share of the query's documents below; half of the ties; 1/2 for a single document
        rank, count = pl.col("value").rank("average").over("query_id"), pl.len().over("query_id")
        measure = (rank - 0.5) / count
    if rule == "value":
        return with_evidence.with_columns(grade=measure)
    steps = [(measure >= cut).cast(pl.Float64) for cut in cuts]
    return with_evidence.with_columns(grade=pl.sum_horizontal(steps))


_LEVEL = 0.95
_MIN_PAIRS = 3  # pairs that a correlation needs
OPENSEARCH = "coec_opensearch"
"""COEC with the formula of OpenSearch Search Relevance, to compare with; it predicts no clicks."""
_FITTED_MODEL = {OPENSEARCH: "dctr"}  # the click model that is fitted instead


def judgments(
    events: EventsLike | PackedSearches,
    *,
    model: str = "auto",
    models: Sequence[str] = (),
    ranks: Count = DEFAULT_RANKS,
    grading: Grading | None = None,
    prior: Annotated[float, Range(0)] | None = None,
    no_click: Literal["drop", "all_examined"] | None = None,
    held_out: Annotated[float, Range(0, 0.9)] = 0.2,
    human: QrelsLike | None = None,
    resamples: Annotated[int, Range(0, 1_000_000)] = 20,
    seed: Annotated[int, Range(0)] = 0,
) -> ClickJudgments:
    """Learn from clicks what documents are worth, and make judgments of it.

    Args:
        events: the log: a folder of events, a table of them, files of logs, ``Events``, packed
            searches, or click counts (of ``rankgate.spark.click_counts``) as a frame or Parquet
            files. Clicks of a table on Spark are counted there.
        model: the click model, such as sdbn; auto takes the one that predicts held-out clicks best,
            among those within two standard errors of it one that separates ranks from documents.
        models: the click models that are compared; with auto all by default.
        ranks: the number of ranks of each list that count.
        grading: the rule that makes grades of values; relative to the highest of the query by
            default.
        prior: clicks and non-clicks that are added to each document; by default those of the model:
            1 in coec, dcm, dbn and ccm, else 0.
        no_click: the meaning of searches without a click for cascade models: no information (drop),
            or all documents were looked at (all_examined); by default as in the model's paper.
        held_out: the share of searches on which models are compared, and on which a model must
            predict clicks better than their ranks alone; 0 compares on all searches, without this
            condition.
        human: judgments of people, to compare with.
        resamples: bootstrap samples of sessions, for intervals of the parameters that all documents
            share, such as how often a rank is looked at; 0 gives none.
        seed: the seed of the held-out searches and of the resamples.

    Raises:
        InputError: a log that cannot be read, or without lists.
        UsageError: no such model.
        MissingExtraError: DuckDB is not installed.
    """
    grading = grading or Grading()
    names = _model_names(model, models)
    searches, faults = read_searches(events, ranks)
    names = [name for name in names if not _needs_lists(name, searches)]
    settings = Settings(prior=prior, no_click=no_click or "")
    halves = searches.split(held_out, seed) if held_out else None
    if halves and not all(half.searches for half in halves):
        halves = None
    compared, by_rank, unidentified_models = _compare_models(names, searches, halves, settings)
    candidates = _candidates(compared) if model == "auto" else [model]
    best, estimates, refused_models = _first_identified_model(candidates, searches, halves, settings)
    refused = {name: reason for name, reason in unidentified_models.items() if name != best} | refused_models
    if reason := _nothing_to_learn(searches) or _needs_lists(best, searches):
        refused[best] = reason
    value = coec_opensearch(searches) if best == OPENSEARCH else estimates.relevance
    table = _pair_table(searches, estimates, value, best)
    judged = add_grades(table.head(0) if best in refused else table, grading)
    made_by = {
        **grading.to_dict(),
        "model": best,
        "prior": prior if prior is not None else MODELS[_FITTED_MODEL.get(best, best)].prior,
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
        _shared_curves(best, estimates, searches, settings, resamples, seed),
        held_out,
        made_by,
        {} if human is None else _agreement_with_people(table, human),
        faults,
        refused,
    )


def _model_names(model: str, models: Sequence[str]) -> list[str]:
    if model == "auto":
        return [MODELS.find(name).name for name in models] or list(MODELS)
    if model != OPENSEARCH:
        MODELS.find(model)
    compared_models = [MODELS.find(name).name for name in models]
    return list(dict.fromkeys([*([model] if model != OPENSEARCH else []), *compared_models]))


_TIED = 2.0  # standard errors


def _candidates(compared: pl.DataFrame) -> list[str]:
    """The compared models that distinguish documents, the best first.

    Models that are tied with the best and separate ranks from documents come before the others.

    Raises:
        UsageError: no candidate is left.
    """
    likelihoods = compared["log_likelihood"].to_numpy()
    distances = likelihoods.max(initial=-np.inf) - likelihoods
    tied = distances <= _TIED * compared["error"].fill_null(0.0).to_numpy()
    models = [(MODELS[name], is_tied) for name, is_tied in zip(compared["model"], tied, strict=True)]
    preferred = sorted(models, key=lambda pair: not (pair[1] and pair[0].separates))
    names = [model.name for model, _ in preferred if model.of_documents]
    if not names:
        raise UsageError("no compared model distinguishes documents; add dctr.", code="no-model")
    return names


def _nothing_to_learn(searches: PackedSearches) -> str:
    """The reason why no model can learn from the searches; empty if one can."""
    if not searches.clicked.any():
        return "the log has no click on a shown document"
    impressions = searches.by_pair(searches.weights)
    if len(impressions) and impressions.max() <= 1:
        return "no document was shown twice for a query, so that clicks say nothing of documents"
    return ""


_READ_LISTS = ("cascade", "sdbn", "dbn", "ccm", "dcm", "ubm")
"""The models that read clicks from the other documents of a list."""


def _needs_lists(name: str, searches: PackedSearches) -> str:
    """The reason why a model cannot read lists of one document each, as from counts; empty if it can."""
    if name not in _READ_LISTS or not searches.searches or searches.shown.sum(axis=1).max() > 1:
        return ""
    return "no list has two documents, as in counts by rank; choose pbm, coec or dctr"


def _first_identified_model(
    names: Sequence[str],
    searches: PackedSearches,
    halves: tuple[PackedSearches, PackedSearches] | None,
    settings: Settings,
) -> tuple[str, Estimates, dict[str, str]]:
    """The first model that this log identifies, fitted to all searches; else the first model.

    Returns:
        The name, the estimates, and by model name the reasons for missing judgments.
    """
    refused: dict[str, str] = {}
    first_choice: tuple[str, Estimates] | None = None
    for name in names:
        model = MODELS[_FITTED_MODEL.get(name, name)]
        estimates = model.fit(searches, settings)
        first_choice = first_choice or (name, estimates)
        reason = estimates.refusal
        if halves and not reason:
            reason = _no_better_than_ranks(model, *halves, settings)
        if not reason:
            return name, estimates, refused
        refused[name] = reason
    assert first_choice is not None
    return *first_choice, refused


def _no_better_than_ranks(
    model: ClickModel, train: PackedSearches, test: PackedSearches, settings: Settings
) -> str:
    """The reason for refusing a model that predicts clicks no better than ranks alone."""
    if not model.of_documents:
        return "it does not distinguish documents"
    documents, ranks = perplexity_over_ranks(model, model.fit(train, settings), train, test)
    if documents < ranks:
        return ""
    return (
        f"it predicts held-out clicks no better than their ranks alone (perplexity {documents:.4g} against "
        f"{ranks:.4g}): there are too few clicks to distinguish documents, or documents have little to do "
        "with clicks; collect more searches"
    )


def read_searches(
    events: EventsLike | PackedSearches, ranks: int = DEFAULT_RANKS
) -> tuple[PackedSearches, tuple[str, ...]]:
    """Read the searches, and the codes of faults in the log that spoil clicks."""
    if isinstance(events, PackedSearches):
        return events, ()
    events = Events.of(events)
    if is_on_spark(events.log):
        return pack_counts(run_on_spark("click_counts", events, ranks), ranks), ()
    click_counts = read_counts(events.log)
    if click_counts is not None:
        return pack_counts(click_counts, ranks), ()
    with events.open() as log:
        diagnosis = diagnose_events(log.base, log.manifest)
        faults = tuple(fault.code for fault in diagnosis.blocking(("clicks", "ranks", "impressions")))
        return pack_events(log.base, ranks), faults


def _compare_models(
    names: Sequence[str],
    searches: PackedSearches,
    halves: tuple[PackedSearches, PackedSearches] | None,
    settings: Settings,
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, str]]:
    """Compare models by their predictions of held-out searches, the best first.

    Returns:
        The models; perplexities by rank; by model the reason why the searches do not identify it.
    """
    train, test = halves or (searches, searches)
    rows: list[dict[str, Any]] = []
    by_rank, refusals = [], {}
    by_search = []
    for name in names:
        start_time = time.perf_counter()
        estimates = MODELS[name].fit(train, settings)
        seconds = time.perf_counter() - start_time
        if estimates.refusal:
            refusals[name] = estimates.refusal
        model_fitness = fitness(MODELS[name], estimates, test)
        by_search.append(model_fitness.by_search)
        rows.append(
            {
                "model": name,
                "log_likelihood": model_fitness.log_likelihood,
                "perplexity": model_fitness.perplexity,
                "seconds": round(seconds, 3),
            }
        )
        by_rank += [
            {"model": name, "rank": rank, "perplexity": float(perplexity)}
            for rank, perplexity in enumerate(model_fitness.by_rank, 1)
            if np.isfinite(perplexity)
        ]
    best_row = int(np.argmax([row["log_likelihood"] for row in rows])) if rows else 0
    for row, logs in zip(rows, by_search, strict=True):
        row["error"] = _error_of_mean(by_search[best_row] - logs, test.weight)
    table = pl.DataFrame(rows, schema=MODEL_COLUMNS)
    return (
        table.sort("log_likelihood", descending=True),
        pl.DataFrame(by_rank, schema=RANK_COLUMNS),
        refusals,
    )


def _error_of_mean(values: NDArray[np.float64], weight: NDArray[np.float64]) -> float | None:
    """The standard error of a mean over searches; None for fewer than two."""
    total = float(weight.sum())
    if total < 2:
        return None
    mean = float(weight @ values) / total
    return float(np.sqrt(weight @ (values - mean) ** 2 / (total - 1) / total))


def _pair_table(
    searches: PackedSearches, estimates: Estimates, value: NDArray[np.float64], model: str
) -> pl.DataFrame:
    """Tabulate each pair with the model's interval, else Jeffreys' on expected looks."""
    from rankgate.measurement.stats.special_functions import betaincinv

    clicks, impressions = count_clicks_by_pair(searches)
    if estimates.identified is not None:
        value = np.where(estimates.identified, value, np.nan)
    hits = np.clip(value, 0, 1) * estimates.examined
    misses = np.maximum(estimates.examined - hits, 0)
    tail = (1 - _LEVEL) / 2
    low = betaincinv(hits + 0.5, misses + 0.5, tail)
    high = betaincinv(hits + 0.5, misses + 0.5, 1 - tail)
    low, high = np.where(hits <= 0, 0.0, low), np.where(misses <= 0, 1.0, high)
    if estimates.low is not None and estimates.high is not None:
        low, high = estimates.low, estimates.high
    satisfied = (
        np.full(len(impressions), np.nan) if estimates.satisfaction is None else estimates.satisfaction
    )
    return searches.pairs.with_columns(
        impressions=pl.Series(np.round(impressions)).cast(pl.Int64),
        clicks=pl.Series(np.round(clicks)).cast(pl.Int64),
        examined=pl.Series(estimates.examined),
        attractiveness=pl.Series(estimates.attractiveness).fill_nan(None),
        satisfaction=pl.Series(satisfied).fill_nan(None),
        value=pl.Series(value),
        low=pl.Series(low),
        high=pl.Series(high),
        model=pl.lit(model),
    )


def _shared_curves(
    name: str, estimates: Estimates, searches: PackedSearches, settings: Settings, resamples: int, seed: int
) -> pl.DataFrame:
    """Shared parameters; intervals by bootstrap standard errors and Student's t."""
    from rankgate.measurement.stats.special_functions import stdtrit

    random = np.random.default_rng(seed)
    resampled_parameters: list[Mapping[str, NDArray[np.float64]]] = []
    if estimates.shared and name in MODELS:
        resampled_parameters = [
            MODELS[name].fit(searches.resampled(random), settings).shared for _ in range(resamples)
        ]
    rows = []
    for parameter, values in estimates.shared.items():
        curve = _first_column(values)
        half_widths = np.full(len(curve), np.nan)
        if resampled_parameters:
            samples = np.array([_first_column(parameters[parameter]) for parameters in resampled_parameters])
            with np.errstate(invalid="ignore"):
                if len(samples) > 1:
                    quantile = stdtrit(len(samples) - 1, (1 + _LEVEL) / 2)
                    half_widths = quantile * samples.std(axis=0, ddof=1)
        linked = np.ones(len(curve), np.bool_)
        if estimates.linked is not None:
            linked = _first_column(estimates.linked.reshape(values.shape))
        rows += [
            (parameter, rank, float(value), float(max(value - half_width, 0.0)), float(value + half_width))
            for rank, (value, half_width, is_linked) in enumerate(
                zip(curve, half_widths, linked, strict=True), 1
            )
            if np.isfinite(value) and is_linked
        ]
    table = pl.DataFrame(rows, schema=CURVES, orient="row")
    return table.with_columns(pl.col("low", "high").fill_nan(None))


def _first_column(values: NDArray[Any]) -> NDArray[Any]:
    """The parameters by rank; if the previous click matters too, those without a click."""
    return values if values.ndim == 1 else values[:, 0]


def _agreement_with_people(table: pl.DataFrame, human: QrelsLike) -> dict[str, float | None]:
    """Rank correlation with grades of people on the pairs that both have."""
    from scipy.stats import kendalltau, spearmanr

    from rankgate.data import read_qrels

    grades = read_qrels(human).table.select("query_id", "doc_id", grade="grade")
    joined = table.join(grades, on=["query_id", "doc_id"]).filter(pl.col("value").is_not_nan())
    if len(joined) < _MIN_PAIRS or joined["grade"].n_unique() < 2 or joined["value"].n_unique() < 2:
        return {"pairs": float(len(joined)), "spearman": None, "kendall": None}
    model_values, human_grades = joined["value"].to_numpy(), joined["grade"].to_numpy()
    return {
        "pairs": float(len(joined)),
        "spearman": float(spearmanr(model_values, human_grades).statistic),
        "kendall": float(kendalltau(model_values, human_grades).statistic),
    }
