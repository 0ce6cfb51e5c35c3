"""A candidate ranking on logged clicks: the result of ``replay``, and its document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import QUERY_ID
from rankgate.core.present.document_model import Chart, Document, Grid, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun
from rankgate.online.clicks.click_models import MODELS
from rankgate.online.events.diagnosis import spoiled_notice
from rankgate.online.off_policy.off_policy_estimate import CHECKS, checks_grid

MEASURES = Columns(
    "One row per measure; no rows where the log cannot answer.",
    Column("measure", pl.String, "clicks of a search, chance of a click at rank ``first``, or ``dcg``"),
    Column("logged", pl.Float64, "the value of the lists that were shown"),
    Column(
        "candidate", pl.Float64, "the value of the candidate if documents that were never shown earn nothing"
    ),
    Column("low", pl.Float64, "the low end of the interval of candidate"),
    Column("high", pl.Float64, "the high end of the interval of candidate"),
    Column("delta", pl.Float64, "candidate − logged", "signed"),
    Column("delta_low", pl.Float64, "the low end of the interval of delta", "signed"),
    Column("delta_high", pl.Float64, "the high end of the interval of delta", "signed"),
    Column(
        "most",
        pl.Float64,
        "the candidate's value if documents that were never shown are as good as the query's best",
    ),
    Column("most_high", pl.Float64, "the high end of the interval of its difference"),
)
RANKS_OF_LISTS = Columns(
    "One row per rank.",
    Column("rank", pl.Int64, "the rank, from 1"),
    Column("examination", pl.Float64, "how often the rank is looked at", ".3f", header="looked\nat"),
    Column(
        "shown",
        pl.Float64,
        "the share of the candidate's documents there that was ever shown for its query",
        ".1%",
        header="candidate's\never shown",
    ),
)
QUERIES = Columns(
    "One row per query.",
    QUERY_ID,
    Column("searches", pl.Int64, "searches of the log", ",", unit="searches"),
    Column(
        "shown",
        pl.Float64,
        "the share of the candidate's documents that was ever shown for the query",
        ".0%",
        header="ever\nshown",
    ),
    Column(
        "candidate",
        pl.Float64,
        "clicks of a search with the candidate's list",
        ".3f",
        header="clicks,\ncandidate",
    ),
    Column("logged", pl.Float64, "clicks of a search with the logged lists", ".3f", header="clicks,\nlogged"),
    Column("delta", pl.Float64, "candidate − logged", "+.3f"),
)


@dataclass(frozen=True)
class CounterfactualReplay(Result):
    """A candidate ranking on logged clicks.

    Attributes:
        candidate: the run.
        model: the click model by which lists are valued.
        k: how many ranks of its lists count.
        searches: of the log, of queries that the candidate has.
        queries: that both have.
        support: the share of the candidate's top k that was ever shown for its query.
        measures: the columns of `MEASURES`.
        checks: the columns of `CHECKS`.
        by_rank: the columns of `RANKS_OF_LISTS`.
        by_query: the columns of `QUERIES`.
        examination_given: whether the examination of ranks was given, not estimated.
        level: of the intervals.
        resamples: of the bootstrap over sessions.
        seed: of the bootstrap.
        faults: codes of what the log doctor found that spoils clicks or ranks.
        models: over which intervals reach: ``model``, and those that may predict clicks on other
            searches as well; empty in results of older versions.
    """

    kind: ClassVar[str] = "counterfactual_replay"
    label: ClassVar[str] = "Replay on logged clicks"
    document_from: ClassVar[str] = "rankgate.online.off_policy.counterfactual_replay:replay_document"
    charts: ClassVar[Mapping[str, str]] = {"replay": "rankgate.online.charts.click_charts:measures"}
    order: ClassVar[int] = 12
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {
        "measures": MEASURES,
        "checks": CHECKS,
        "by_rank": RANKS_OF_LISTS,
        "by_query": QUERIES,
    }

    candidate: str
    model: str
    k: int
    searches: int
    queries: int
    support: float
    measures: pl.DataFrame
    checks: pl.DataFrame
    by_rank: pl.DataFrame
    by_query: pl.DataFrame
    examination_given: bool
    level: float
    resamples: int
    seed: int
    faults: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """``inconclusive`` where the log cannot answer; else empty."""
        return "" if len(self.measures) else "inconclusive"

    @property
    def status(self) -> int:
        """The exit code: 3 where the log cannot answer, else 0."""
        return 3 if self.verdict else 0

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Checks that spoil the estimate, and faults of the log."""
        notices = [
            Notice(
                row["check"],
                f"{'refused' if row['outcome'] == 'blocks' else 'warning'}: {row['words']}",
                self.candidate,
            )
            for row in self.checks.filter(pl.col("outcome") != "ok").iter_rows(named=True)
        ]
        if self.faults:
            notices.append(spoiled_notice("spoiled-clicks", self.faults, "clicks or ranks"))
        return tuple(notices)


_MAX_ROWS = 20
_MEASURE_LABELS = {"clicks": "clicks a search", "first": "click at rank 1", "dcg": "DCG"}


def replay_document(result: CounterfactualReplay) -> Document:
    """The candidate against what was shown, what the log allows, ranks and queries."""
    chart = Chart("rankgate.online.charts.click_charts:measures", result)
    charts = (chart,) if len(result.measures) else ()
    return made(
        _title(result),
        f"{count_noun(result.searches, 'search')} of {count_noun(result.queries, 'query')}; "
        f"{result.support:.1%} of the top {result.k} of {make_printable(result.candidate)} was ever shown "
        "for its query.",
        Table("against what was shown", _measures(result)),
        *charts,
        Table("what the log allows", checks_grid(result.checks)),
        Table("ranks", RANKS_OF_LISTS.grid(result.by_rank)),
        Table("queries with the most searches", _queries(result), find=True),
        Warnings.from_notices(result.notices),
        _closing_note(result),
        status=result.verdict,
    )


def _title(result: CounterfactualReplay) -> str:
    name = make_printable(result.candidate)
    if result.verdict:
        return f"the log cannot show the clicks of users on {name}"
    row = result.measures.row(by_predicate=pl.col("measure") == "clicks", named=True)
    ends = f"({row['delta_low']:+.4f} to {row['delta_high']:+.4f})"
    if row["delta_low"] > 0:
        return f"{name} would earn more clicks: {row['delta']:+.4f} a search {ends}"
    if row["most_high"] < 0:
        return f"{name} would earn fewer clicks: {row['delta']:+.4f} a search {ends}"
    if row["delta_high"] < 0:
        return (
            f"fewer clicks on documents that were shown, {row['delta']:+.4f} a search {ends}; what never was "
            f"could make it {row['most_high']:+.4f}"
        )
    return f"no difference shown between {name} and the logged lists: {row['delta']:+.4f} {ends}"


def _measures(result: CounterfactualReplay) -> Grid:
    rows = tuple(
        (
            _MEASURE_LABELS[row["measure"]],
            f"{row['logged']:.4f}",
            f"{row['candidate']:.4f}",
            f"{row['low']:.4f} to {row['high']:.4f}",
            f"{row['delta']:+.4f}",
            f"{row['delta_low']:+.4f} to {row['delta_high']:+.4f}",
            f"{row['most']:.4f}",
        )
        for row in result.measures.iter_rows(named=True)
    )
    header = ("measure", "logged", "candidate", "interval", "delta", "interval ", "at\nmost")
    return Grid(header, rows)


def _queries(result: CounterfactualReplay) -> Grid:
    names = ("query_id", "searches", "shown", "logged", "candidate", "delta")
    return QUERIES.grid(result.by_query.head(_MAX_ROWS), *names)


def _closing_note(result: CounterfactualReplay) -> str:
    if result.verdict:
        return (
            "No estimate is given: show such documents to a few users (interleaving, swaps of neighbours), "
            "or replay a candidate that is nearer to the logged lists."
        )
    method = (
        "The probability that users look at each rank was given."
        if result.examination_given
        else f"Lists are valued by the click model {result.model}: {MODELS[result.model].formula}."
    )
    other_models = ", ".join(result.models[1:])
    note = (
        f" They also cover those of {other_models}, which may predict clicks on other searches equally well."
        if other_models
        else ""
    )
    return (
        f"{method} Documents that were never shown earn nothing (candidate), or as much as the query's best "
        "if it were looked at (at most). The probability that users look at a rank is estimated from "
        f"documents shown at several ranks. Intervals are {result.level:.0%}, by the bootstrap over "
        f"sessions; each resample fits the model again.{note} A candidate that learned from these clicks "
        "looks better here than it is: replay it on later ones."
    )
