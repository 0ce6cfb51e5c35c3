"""Simulate clicks on lists: for tests, and for plans of experiments whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.target import replacing
from rankgate.data import read_qrels, read_run
from rankgate.measurement.scoring.input_cautions import refuse_strange_documents
from rankgate.online.clicks.cascade import of_chain
from rankgate.online.clicks.catalogue import MODELS
from rankgate.online.clicks.chain import Chain
from rankgate.online.clicks.click_counts import packed
from rankgate.online.clicks.estimates import Estimates
from rankgate.online.clicks.model import Settings
from rankgate.online.clicks.packed import PackedSearches
from rankgate.online.events.events import Events
from rankgate.online.simulation.reliability import checked
from rankgate.online.simulation.sampling import Simulator, by_rank
from rankgate.online.simulation.simulation import VARIANTS, Simulation
from rankgate.online.simulation.users import USERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.online.events.events import EventsLike

START = datetime(2026, 1, 1, tzinfo=UTC)
"""When simulated searches begin; one follows the other after a minute."""

_APART = 60  # seconds
_READING = 5  # seconds from one rank to the next


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
        qrels: judgments that say what declared users click on.
        runs: what they are shown.
        user: who clicks: perfect, navigational or informational.
        learned_from: what users did, from which a click model is learned; its lists are shown
            again.
        model: the click model that is learned.
        searches: how many are simulated.
        ranks: how many ranks of a list are shown.
        output: a Parquet file for the events.
        seed: of the clicks.

    Raises:
        InputError: files that cannot be read; runs without a query that is judged.
        UsageError: no such user or model; neither judgments and runs, nor a log.
    """
    random = np.random.default_rng(seed)
    if learned_from is not None:
        made = _learned(learned_from, model, searches, ranks, random)
    elif qrels is not None and runs:
        made = _declared(qrels, runs, user, searches, ranks, random)
    else:
        problem = "name judgments and runs, or a log with --learned-from."
        raise UsageError(problem, code="missing-argument")
    clicks = made.simulator.clicks(made.lists, random)
    expected = made.simulator.expected(made.lists)
    predicted = None if made.unseen is None else made.simulator.expected(made.unseen)
    table = by_rank(clicks, expected, made.unseen, predicted)
    reliability = {}
    if made.unseen is not None and predicted is not None:
        reliability = checked(made.unseen, predicted, table)
    events = _events(clicks, made.variants)
    if output is not None:
        with replacing(output) as stream:
            events.write_parquet(stream)
    return Simulation(
        model if learned_from is not None else user,
        _variants(clicks, expected, made.variants), table, reliability, seed,
        None if output is None else str(output), events,
    )  # fmt: skip


@dataclass(frozen=True)
class _Made:
    """What is simulated: who clicks, on which lists, of which variants; unseen searches."""

    simulator: Simulator
    lists: PackedSearches
    variants: NDArray[np.str_]
    unseen: PackedSearches | None = None


def _learned(
    events: EventsLike,
    name: str,
    count: int,
    ranks: int,
    random: np.random.Generator,
) -> _Made:
    """A model of half of the searches of a log; the other half's lists are shown."""
    with Events.of(events).open() as log:
        every = packed(log.base, ranks)
    known, unseen = every.split(0.5, int(random.integers(2**31)))
    if not (known.searches and unseen.searches):
        raise InputError("too few searches to learn from.", code="too-few-searches")
    found = MODELS.named(name)
    simulator = Simulator(found, found.fit(known, Settings(prior=0.5)))
    drawn = random.choice(len(unseen.weight), count, p=unseen.weight / unseen.searches)
    return _Made(simulator, _lists(unseen, drawn), np.full(count, "simulated"), unseen)


def _declared(
    qrels: QrelsLike,
    runs: Sequence[RunLike],
    user: str,
    count: int,
    ranks: int,
    random: np.random.Generator,
) -> _Made:
    """Declared users on the lists of runs, each search of a random run and judged query."""
    who = USERS.named(user)
    grades = read_qrels(qrels).by_document().table.select("query_id", "doc_id", "grade")
    read = [read_run(run, f"run{place}") for place, run in enumerate(runs, 1)]
    tables = [
        run.table.select("query_id", "doc_id", "score", variant=pl.lit(run.name)) for run in read
    ]
    names = [run.name for run in read]
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
    known = PackedSearches.unmerged(lists)
    of_list = lists.group_by("search", maintain_order=True).agg(pl.col("variant").first())
    drawn = random.integers(len(known.weight), size=count)
    top = max(float(grades["grade"].max() or 0), 1.0)  # type: ignore[arg-type]
    worth = known.pairs.join(grades, on=["query_id", "doc_id"], how="left", maintain_order="left")
    value = (worth["grade"].fill_null(0.0).clip(0) / top).to_numpy()
    parameters = Estimates(
        who.attractive(value), np.ones(len(value)), shared={"after": who.after(value)}
    )
    variants = of_list["variant"].to_numpy()[drawn]
    return _Made(Simulator(_USER, parameters), _lists(known, drawn), variants)


def _chain(found: Estimates, searches: PackedSearches) -> Chain:
    attractive = found.attractiveness[searches.pair] * searches.shown
    return Chain(attractive, 1.0, found.shared["after"][searches.pair])


def _no_fit(searches: PackedSearches, settings: Settings) -> Estimates:  # noqa: ARG001 - as models
    raise UsageError("a declared user is not fitted.", code="usage-error")


_USER = of_chain("user", _chain, _no_fit, "Declared user", "", "")


def _lists(of: PackedSearches, drawn: NDArray[np.int64]) -> PackedSearches:
    """Some lists, each a search, without clicks."""
    empty = np.zeros((len(drawn), of.depth), np.bool_)
    return PackedSearches(of.pairs, of.pair[drawn], of.shown[drawn], empty, np.ones(len(drawn)))


def _variants(
    clicks: PackedSearches, expected: NDArray[np.float64], variants: NDArray[np.str_]
) -> pl.DataFrame:
    rows = []
    for name in sorted(set(variants.tolist())):
        chosen = variants == name
        count = int(clicks.clicked[chosen].sum())
        searches = int(chosen.sum())
        true = float(expected[chosen].sum() / searches)
        rows.append((name, searches, count, count / searches, true))
    return pl.DataFrame(rows, schema=VARIANTS, orient="row")


def _events(clicks: PackedSearches, variants: NDArray[np.str_]) -> pl.DataFrame:
    """Searches, impressions and clicks as the table of events."""
    rows, places = np.nonzero(clicks.shown)
    pairs = clicks.pairs[clicks.pair[rows, places]]
    base = pl.DataFrame(
        {"search": rows, "rank": places + 1, "query": pairs["query_id"], "doc_id": pairs["doc_id"],
         "clicked": clicks.clicked[rows, places], "variant": pl.Series(variants[rows].tolist())}
    )  # fmt: skip
    shown = base.with_columns(kind=pl.lit("impression"), after=pl.lit(0))
    hits = base.filter("clicked").with_columns(
        kind=pl.lit("click"), after=pl.col("rank") * _READING
    )
    first = base.unique("search", keep="first", maintain_order=True).with_columns(
        kind=pl.lit("search"), after=pl.lit(0), rank=pl.lit(None), doc_id=pl.lit(None, pl.String)
    )
    whole = pl.concat([first, shown, hits], how="vertical_relaxed")
    begin = pl.lit(START).cast(pl.Datetime("us", "UTC"))
    name = pl.col("search").cast(pl.String)
    seconds = pl.col("search") * _APART + pl.col("after")
    order = pl.col("kind").replace_strict({"search": 0, "impression": 1, "click": 2})
    return (
        whole.sort("search", order, "rank", nulls_last=False)
        .with_row_index("source_line", 1)
        .select(
            event_id=pl.lit("e") + pl.col("source_line").cast(pl.String),
            at=begin + pl.duration(seconds=seconds),
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
