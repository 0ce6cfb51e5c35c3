"""A candidate ranking on logged clicks: the result of ``replay``."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.charts.chart_views import ZERO, Axis, ChartView, Panel, highlight, interval
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import QUERY_ID
from rankgate.core.present.layout import NOTICES, Sentence, ShownChart, View, fill
from rankgate.online.clicks.click_models import MODELS
from rankgate.online.events.diagnosis import spoiled_notice
from rankgate.online.off_policy.off_policy_estimate import CHECKS, CHECKS_VIEW, check_notices

MEASURES = Columns(
    "One row per measure; no rows where the log cannot answer.",
    Column(
        "measure",
        pl.String,
        "clicks of a search, chance of a click at rank ``first``, or ``dcg``",
        {"clicks": "clicks a search", "first": "click at rank 1", "dcg": "DCG"},
    ),
    Column("logged", pl.Float64, "the value of the lists that were shown"),
    Column(
        "candidate", pl.Float64, "the value of the candidate if documents that were never shown earn nothing"
    ),
    Column("low", pl.Float64, "the low end of the interval of candidate"),
    Column("high", pl.Float64, "the high end of the interval of candidate"),
    Column("delta", pl.Float64, "candidate − logged", "signed"),
    Column("delta_low", pl.Float64, "the low end of the interval of delta", "signed", header="interval"),
    Column("delta_high", pl.Float64, "the high end of the interval of delta", "signed"),
    Column(
        "most",
        pl.Float64,
        "the candidate's value if documents that were never shown are as good as the query's best",
        header="at\nmost",
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

    kind = "counterfactual_replay"
    csv_table = None
    label = "Replay on logged clicks"
    charts: ClassVar = {
        "replay": ChartView(
            "What users would do with {candidate}",
            "Right of 0 the candidate would earn more than the lists that were shown. Intervals are "
            "{level:.0%}; grey ones show no difference.",
            "{searches:n search}, {support:.0%} of the candidate ever shown",
            (
                Panel(
                    "measures",
                    Axis("delta", "candidate less logged", form="+.0%"),
                    Axis("measure", scale="names"),
                    (ZERO, *interval("delta")),
                    (
                        "measure",
                        pl.col("delta") / pl.col("logged"),
                        (pl.col("delta_low") / pl.col("logged")).alias("low"),
                        (pl.col("delta_high") / pl.col("logged")).alias("high"),
                    ),
                    row_filter=pl.col("logged") != 0,
                    colour=highlight("datum.low > 0 || datum.high < 0"),
                    width=420,
                    height=36,
                ),
            ),
            "replay",
            "the log allows no estimate.",
        )
    }
    order = 12
    SCHEMAS: ClassVar = {
        "measures": MEASURES,
        "checks": CHECKS,
        "by_rank": RANKS_OF_LISTS,
        "by_query": QUERIES,
    }
    layout = (
        Sentence(
            "{searches:n search} of {queries:n query}; {support:.1%} of the top {k} of {candidate} was ever "
            "shown for its query."
        ),
        View(
            "measures",
            "against what was shown",
            ("measure", "logged", "candidate", ("low", "high"), "delta", ("delta_low", "delta_high"), "most"),
        ),
        ShownChart("replay", "measures"),
        CHECKS_VIEW,
        View("by_rank", "ranks"),
        View(
            "by_query",
            "queries with the most searches",
            ("query_id", "searches", "shown", "logged", "candidate", "delta"),
            first=20,
        ),
        NOTICES,
        Sentence(
            "No estimate is given: show such documents to a few users (interleaving, swaps of neighbours), "
            "or replay a candidate that is nearer to the logged lists.",
            "verdict",
        ),
        Sentence(
            "{method_text} Documents that were never shown earn nothing (candidate), or as much as the "
            "query's best if it were looked at (at most). The probability that users look at a rank is "
            "estimated from documents shown at several ranks. Intervals are {level:.0%}, by the bootstrap "
            "over sessions; each resample fits the model again.{other_models} A candidate that learned from "
            "these clicks looks better here than it is: replay it on later ones.",
            "measures",
        ),
    )
    notice_texts = (*check_notices("{candidate}"), spoiled_notice("spoiled-clicks", "clicks or ranks"))

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
    def headline(self) -> str:
        """The difference in clicks."""
        if self.verdict:
            return f"the log cannot show the clicks of users on {self.candidate}"
        row = self.measures.row(by_predicate=pl.col("measure") == "clicks", named=True)
        ends = " a search ({delta_low:+.4f} to {delta_high:+.4f})"
        text = "no difference shown between {candidate} and the logged lists: {delta:+.4f}" + ends[9:]
        if row["delta_low"] > 0:
            text = "{candidate} would earn more clicks: {delta:+.4f}" + ends
        elif row["most_high"] < 0:
            text = "{candidate} would earn fewer clicks: {delta:+.4f}" + ends
        elif row["delta_high"] < 0:
            text = "fewer clicks on documents that were shown, {delta:+.4f}" + ends
            text += "; what never was could make it {most_high:+.4f}"
        return fill(text, self, {**row, "candidate": self.candidate})

    @property
    def outcome(self) -> str:
        """The verdict."""
        return self.verdict

    @property
    def method_text(self) -> str:
        """How lists are valued."""
        if self.examination_given:
            return "The probability that users look at each rank was given."
        return f"Lists are valued by the click model {self.model}: {MODELS[self.model].formula}."

    @property
    def other_models(self) -> str:
        """The other models that intervals cover, in a sentence."""
        if len(self.models) < 2:
            return ""
        names = ", ".join(self.models[1:])
        return f" They also cover those of {names}, which may predict clicks on other searches equally well."

    @property
    def verdict(self) -> str:
        """``inconclusive`` where the log cannot answer; else empty."""
        return "" if len(self.measures) else "inconclusive"

    @property
    def status(self) -> int:
        """The exit code: 3 where the log cannot answer, else 0."""
        return 3 if self.verdict else 0
