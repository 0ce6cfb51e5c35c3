"""Simulate clicks on lists: for tests, and for plans of experiments with a known truth.

Clicks of a click model are drawn on lists; a check shows if a simulator that was learned from a log
behaves like the users of the log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import replace_file
from rankgate.data import read_qrels, read_run
from rankgate.measurement.scoring.scoring_facts import refuse_strange_documents
from rankgate.online.clicks.cascade_models import Chain, chain_model
from rankgate.online.clicks.click_model import Estimates, Settings
from rankgate.online.clicks.click_models import MODELS
from rankgate.online.clicks.packed_searches import PackedSearches, pack_events
from rankgate.online.clicks.simulated_users import USERS
from rankgate.online.clicks.simulation import RANKS, VARIANTS, Simulation
from rankgate.online.events.events import Events

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.online.clicks.click_model import ClickModel
    from rankgate.online.events.events import EventsLike


@dataclass(frozen=True)
class Simulator:
    """A click model with its parameters."""

    model: ClickModel
    parameters: Estimates

    def clicks(self, lists: PackedSearches, random: np.random.Generator) -> PackedSearches:
        """The lists with clicks drawn rank by rank, given the clicks above."""
        draws = random.random(lists.pair.shape)
        clicked = np.zeros(lists.pair.shape, np.bool_)
        for rank in range(lists.depth):
            chance = self.model.conditional(self.parameters, replace(lists, clicked=clicked))
            clicked[:, rank] = (draws[:, rank] < chance[:, rank]) & lists.shown[:, rank]
        return replace(lists, clicked=clicked)

    def expected(self, lists: PackedSearches) -> NDArray[np.float64]:
        """(N, K) the true probability of each click."""
        return np.asarray(self.model.marginal(self.parameters, lists) * lists.shown)


def mean_rates(weights: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """(K,) weighted means over searches; NaN at ranks where nothing was shown."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((weights * values).sum(axis=0) / weights.sum(axis=0))


def rates_by_rank(
    clicks: PackedSearches,
    expected: NDArray[np.float64],
    unseen: PackedSearches | None = None,
    predicted: NDArray[np.float64] | None = None,
) -> pl.DataFrame:
    """Rates of clicks at each rank.

    Args:
        clicks: the simulated clicks.
        expected: (N, K) the true probabilities of these clicks.
        unseen: searches of the log that were not used to fit the simulator.
        predicted: (M, K) the click rates that the simulator expects for these searches.
    """
    simulated = mean_rates(clicks.weights, clicks.clicked.astype(np.float64))
    true_rate = mean_rates(clicks.weights, expected)
    depth = clicks.depth
    observed, error = np.full(depth, np.nan), np.full(depth, np.nan)
    if unseen is not None and predicted is not None:
        count = unseen.weights.sum(axis=0)
        rate = mean_rates(unseen.weights, unseen.clicked.astype(np.float64))
        common_depth = min(depth, unseen.depth)
        observed[:common_depth] = rate[:common_depth]
        variance = mean_rates(unseen.weights, predicted * (1 - predicted))
        with np.errstate(invalid="ignore", divide="ignore"):
            error[:common_depth] = np.sqrt(variance / count)[:common_depth]
        true_rate = mean_rates(unseen.weights, predicted)[:depth]
    rows = pl.DataFrame(
        {
            "rank": np.arange(1, depth + 1),
            "simulated": simulated,
            "expected": true_rate,
            "observed": observed,
            "error": error,
        }
    )
    shown_ranks = rows.filter(pl.col("simulated").is_not_nan())
    return shown_ranks.with_columns(pl.col("simulated", "expected", "observed", "error").fill_nan(None)).cast(
        RANKS  # type: ignore[arg-type]
    )


MIN_TIMES_SHOWN = 20
"""The number of times that a list must have been shown to be compared with another one."""

_MAX_STANDARD_ERRORS = 3  # standard errors by which the rate of a rank may differ


def check_reliability(
    unseen: PackedSearches, predicted: NDArray[np.float64], table: pl.DataFrame
) -> dict[str, float | None]:
    """Compare a simulator with searches that were not used to fit it.

    Args:
        unseen: searches of the log.
        predicted: (N, K) the probability of each click by the simulator.
        table: rates by rank, as `sampling.by_rank` makes them.
    """
    is_different = (table["expected"] - table["observed"]).abs() > _MAX_STANDARD_ERRORS * table["error"]
    correct_pairs, pairs = _count_ordered_pairs(unseen, predicted)
    return {
        "ranks": float(is_different.fill_null(value=False).sum()),
        "pairs": float(pairs),
        "agreement": correct_pairs / pairs if pairs else None,
    }


def _count_ordered_pairs(unseen: PackedSearches, predicted: NDArray[np.float64]) -> tuple[float, int]:
    """The number of pairs of a query's lists in the same order as in the log, and of all pairs."""
    lists: dict[bytes, list[int]] = defaultdict(list)
    for row, key in enumerate(np.where(unseen.shown, unseen.pair, -1)):
        lists[key.tobytes()].append(row)
    query_of = unseen.pairs["query_id"].rank("dense").to_numpy()
    by_query: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for rows in lists.values():
        weight = unseen.weight[rows]
        if weight.sum() < MIN_TIMES_SHOWN:
            continue
        observed = float((weight[:, None] * unseen.clicked[rows]).sum() / weight.sum())
        query = int(query_of[unseen.pair[rows[0], 0]])
        by_query[query].append((observed, float(predicted[rows[0]].sum())))
    correct_pairs, pairs = 0.0, 0
    for list_rates in by_query.values():
        for index, (observed_rate, predicted_rate) in enumerate(list_rates):
            for other_observed, other_predicted in list_rates[index + 1 :]:
                if observed_rate == other_observed:
                    continue
                pairs += 1
                correct_pairs += (observed_rate > other_observed) == (predicted_rate > other_predicted)
    return correct_pairs, pairs


FIRST_SEARCH_TIME = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of the first simulated search; one follows the other after a minute."""

_SECONDS_BETWEEN_SEARCHES = 60  # seconds
_SECONDS_PER_RANK = 5  # seconds from one rank to the next


def simulate(
    qrels: QrelsLike | None = None,
    runs: Sequence[RunLike] = (),
    *,
    user: str = "navigational",
    learned_from: EventsLike | None = None,
    model: str = "dbn",
    searches: Count = 10_000,
    ranks: Count = 10,
    output: str | Path | None = None,
    seed: Annotated[int, Range(0)] = 0,
) -> Simulation:
    """Simulate clicks of users on the lists of runs, or as a click model that a log taught.

    With several runs each search is answered by one of them at random, which is its variant.

    Args:
        qrels: judgments: what declared users click on.
        runs: the runs that users are shown.
        user: who clicks: perfect, navigational or informational.
        learned_from: the log from which a click model is learned; its lists are shown again.
        model: the click model that is learned.
        searches: the number of simulated searches.
        ranks: the number of ranks of a list that are shown.
        output: a Parquet file for the events.
        seed: the seed of the clicks.

    Raises:
        InputError: files that cannot be read; runs without a query that is judged.
        UsageError: no such user or model; neither judgments and runs, nor a log.
    """
    random = np.random.default_rng(seed)
    if learned_from is not None:
        scenario = _learned_scenario(learned_from, model, searches, ranks, random)
    elif qrels is not None and runs:
        scenario = _declared_scenario(qrels, runs, user, searches, ranks, random)
    else:
        problem = "name judgments and runs, or a log with --learned-from."
        raise UsageError(problem, code="missing-argument")
    clicks = scenario.simulator.clicks(scenario.lists, random)
    expected = scenario.simulator.expected(scenario.lists)
    predicted = None if scenario.unseen is None else scenario.simulator.expected(scenario.unseen)
    table = rates_by_rank(clicks, expected, scenario.unseen, predicted)
    reliability = {}
    if scenario.unseen is not None and predicted is not None:
        reliability = check_reliability(scenario.unseen, predicted, table)
    events = _event_table(clicks, scenario.variants)
    if output is not None:
        with replace_file(output) as stream:
            events.write_parquet(stream)
    return Simulation(
        model if learned_from is not None else user,
        _variant_table(clicks, expected, scenario.variants),
        table,
        reliability,
        seed,
        None if output is None else str(output),
        events,
    )


@dataclass(frozen=True)
class _Scenario:
    """The simulator, the lists that it clicks on, their variants, and unseen searches."""

    simulator: Simulator
    lists: PackedSearches
    variants: NDArray[np.str_]
    unseen: PackedSearches | None = None


def _learned_scenario(
    events: EventsLike, name: str, count: int, ranks: int, random: np.random.Generator
) -> _Scenario:
    """Fit a model to half of the searches of a log; the lists of the other half are shown."""
    with Events.of(events).open() as log:
        searches = pack_events(log.base, ranks)
    train, unseen = searches.split(0.5, int(random.integers(2**31)))
    if not (train.searches and unseen.searches):
        raise InputError("too few searches to learn from.", code="too-few-searches")
    click_model = MODELS.find(name)
    simulator = Simulator(click_model, click_model.fit(train, Settings(prior=0.5)))
    sampled_rows = random.choice(len(unseen.weight), count, p=unseen.weight / unseen.searches)
    return _Scenario(simulator, _select_lists(unseen, sampled_rows), np.full(count, "simulated"), unseen)


def _declared_scenario(
    qrels: QrelsLike, runs: Sequence[RunLike], user: str, count: int, ranks: int, random: np.random.Generator
) -> _Scenario:
    """Declared users on the lists of runs, each search of a random run and judged query."""
    declared_user = USERS.find(user)
    grades = read_qrels(qrels).by_document().table.select("query_id", "doc_id", "grade")
    read_runs = [read_run(run, f"run{number}") for number, run in enumerate(runs, 1)]
    tables = [run.table.select("query_id", "doc_id", "score", variant=pl.lit(run.name)) for run in read_runs]
    names = [run.name for run in read_runs]
    if len(set(names)) != len(names):
        raise UsageError("two runs have the same name.", code="same-name")
    rows = pl.concat(tables).with_columns(
        rank=pl.col("score").rank("ordinal", descending=True).over("variant", "query_id")
    )
    judged = grades["query_id"].implode()
    rows = rows.filter(pl.col("rank") <= ranks, pl.col("query_id").is_in(judged))
    if rows.is_empty():
        raise InputError("no query of the runs is judged.", code="no-common-queries")
    for name in names:
        refuse_strange_documents(name, rows.filter(variant=name), grades)
    lists = rows.with_columns(
        search=pl.struct("variant", "query_id").rank("dense"), clicked=pl.lit(value=False)
    ).sort("search", "rank")
    packed_lists = PackedSearches.unmerged(lists)
    of_list = lists.group_by("search", maintain_order=True).agg(pl.col("variant").first())
    sampled_rows = random.integers(len(packed_lists.weight), size=count)
    highest_grade = max(float(grades["grade"].max() or 0), 1.0)  # type: ignore[arg-type]
    graded_pairs = packed_lists.pairs.join(
        grades, on=["query_id", "doc_id"], how="left", maintain_order="left"
    )
    value = (graded_pairs["grade"].fill_null(0.0).clip(0) / highest_grade).to_numpy()
    parameters = Estimates(
        declared_user.attractive(value), np.ones(len(value)), shared={"after": declared_user.after(value)}
    )
    variants = of_list["variant"].to_numpy()[sampled_rows]
    return _Scenario(Simulator(_USER, parameters), _select_lists(packed_lists, sampled_rows), variants)


def _user_chain(estimates: Estimates, searches: PackedSearches) -> Chain:
    attractive = estimates.attractiveness[searches.pair] * searches.shown
    return Chain(attractive, 1.0, estimates.shared["after"][searches.pair])


def _refuse_fit(searches: PackedSearches, settings: Settings) -> Estimates:  # noqa: ARG001 - as models
    raise UsageError("a declared user is not fitted.", code="usage-error")


_USER = chain_model("user", _user_chain, _refuse_fit, "Declared user", "", "")


def _select_lists(source: PackedSearches, sampled_rows: NDArray[np.int64]) -> PackedSearches:
    """The selected lists, one for each search, without clicks."""
    empty = np.zeros((len(sampled_rows), source.depth), np.bool_)
    return PackedSearches(
        source.pairs, source.pair[sampled_rows], source.shown[sampled_rows], empty, np.ones(len(sampled_rows))
    )


def _variant_table(
    clicks: PackedSearches, expected: NDArray[np.float64], variants: NDArray[np.str_]
) -> pl.DataFrame:
    rows = []
    for name in sorted(set(variants.tolist())):
        has_variant = variants == name
        count = int(clicks.clicked[has_variant].sum())
        searches = int(has_variant.sum())
        true_value = float(expected[has_variant].sum() / searches)
        rows.append((name, searches, count, count / searches, true_value))
    return pl.DataFrame(rows, schema=VARIANTS, orient="row")


def _event_table(clicks: PackedSearches, variants: NDArray[np.str_]) -> pl.DataFrame:
    """The table of events with searches, impressions and clicks."""
    rows, positions = np.nonzero(clicks.shown)
    pairs = clicks.pairs[clicks.pair[rows, positions]]
    base = pl.DataFrame(
        {
            "search": rows,
            "rank": positions + 1,
            "query": pairs["query_id"],
            "doc_id": pairs["doc_id"],
            "clicked": clicks.clicked[rows, positions],
            "variant": pl.Series(variants[rows].tolist()),
        }
    )
    impressions = base.with_columns(kind=pl.lit("impression"), after=pl.lit(0))
    click_events = base.filter("clicked").with_columns(
        kind=pl.lit("click"), after=pl.col("rank") * _SECONDS_PER_RANK
    )
    search_events = base.unique("search", keep="first", maintain_order=True).with_columns(
        kind=pl.lit("search"), after=pl.lit(0), rank=pl.lit(None), doc_id=pl.lit(None, pl.String)
    )
    events = pl.concat([search_events, impressions, click_events], how="vertical_relaxed")
    start_time = pl.lit(FIRST_SEARCH_TIME).cast(pl.Datetime("us", "UTC"))
    name = pl.col("search").cast(pl.String)
    seconds = pl.col("search") * _SECONDS_BETWEEN_SEARCHES + pl.col("after")
    order = pl.col("kind").replace_strict({"search": 0, "impression": 1, "click": 2})
    return (
        events.sort("search", order, "rank", nulls_last=False)
        .with_row_index("source_line", 1)
        .select(
            event_id=pl.lit("e") + pl.col("source_line").cast(pl.String),
            at=start_time + pl.duration(seconds=seconds),
            kind="kind",
            action="kind",
            query_event_id=pl.lit("s") + name,
            query="query",
            session=pl.lit("v") + name,
            user=pl.lit("u") + name,
            doc_id="doc_id",
            rank=pl.col("rank").cast(pl.Int32),
            variant="variant",
            state=pl.when(pl.col("kind") == "search").then(pl.lit("ok")),
            source_file=pl.lit("simulated"),
            source_line=pl.col("source_line").cast(pl.Int64),
        )
    )
