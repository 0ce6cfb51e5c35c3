"""Preference between systems, and searches that interleaving and A/B tests need.

`Preference` is the result of scoring interleaved lists, `Sensitivity` the result of
``sensitivity``.
"""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, NoticeText, Result
from rankgate.core.present.charts.chart_style import BLUE, GREY
from rankgate.core.present.charts.chart_views import ZERO, Axis, ChartView, Mark, Panel, highlight, interval
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import SYSTEM
from rankgate.core.present.layout import NOTICES, CrossView, Sentence, ShownChart, View
from rankgate.core.present.number_formats import count_noun

PAIRS = Columns(
    "One row per pair of systems.",
    Column("one", pl.String, "the first system", header="first"),
    Column("other", pl.String, "the second system", header="second"),
    Column(
        "wins_one", pl.Int64, "units with a click that prefer the first", unit="units", header="first\nwins"
    ),
    Column(
        "wins_other",
        pl.Int64,
        "units with a click that prefer the second",
        unit="units",
        header="second\nwins",
    ),
    Column("ties", pl.Int64, "units with a click that prefer neither", unit="units"),
    Column(
        "preference",
        pl.Float64,
        "the estimate that the method's test is of: for the sign test (wins of other + ties / 2) / all − "
        "1/2, for the t-test the mean difference of credits",
        "signed",
    ),
    Column(
        "low", pl.Float64, "the low end of its interval (Clopper and Pearson for the sign test)", "signed"
    ),
    Column(
        "high", pl.Float64, "the high end of its interval (Clopper and Pearson for the sign test)", "signed"
    ),
    Column("p_sign", pl.Float64, "the p-value of the sign test of wins", "p"),
    Column("credit", pl.Float64, "the mean difference of credits, other less one", "signed"),
    Column("credit_low", pl.Float64, "the low end of its interval (Student's t)", "signed"),
    Column("credit_high", pl.Float64, "the high end of its interval (Student's t)", "signed"),
    Column("p_t", pl.Float64, "the p-value of the t-test of credits", "p", header="p (t)"),
    Column(
        "p_value",
        pl.Float64,
        "the p-value of the method's test, by Holm's correction where there are several pairs",
        "p",
        header="p",
    ),
    Column(
        "needed",
        pl.Int64,
        "units for a power of 80 % at this effect, with a winner for the sign test",
        unit="units",
    ),
    Column("preferred", pl.String, "the system that users prefer; null where they prefer none", empty="–"),
)
_WINS = (
    "one",
    "other",
    "wins_one",
    "wins_other",
    "ties",
    "preference",
    ("low", "high"),
    "p_value",
    "needed",
    "preferred",
)
_IN_PER_CENT = dict.fromkeys(("preference", "low", "high"), "+.1%")
SLOTS = Columns(
    "One row per slot and system, for methods with teams.",
    Column("slot", pl.Int64, "the rank in the mixed list, from 1"),
    SYSTEM,
    Column("shown", pl.Int64, "lists in which the slot is the system's"),
    Column("clicks", pl.Int64, "clicks on it"),
)


def _preference_panel(value: str, low: str, high: str, title: str, form: str) -> Panel:
    """The preference of each pair with its interval."""
    return Panel(
        "pairs",
        Axis("value", title, form=form),
        Axis("pair", scale="names"),
        (ZERO, *interval("value")),
        (
            pl.format("{} against {}", "other", "one").alias("pair"),
            pl.col(value).alias("value"),
            pl.col(low).alias("low"),
            pl.col(high).alias("high"),
            pl.col("preferred").fill_null("none"),
        ),
        row_filter=pl.col(low).is_not_null(),
        colour=highlight(("preferred", "none"), GREY, BLUE),
        width=420,
        height=34,
        tooltip=("preferred",),
    )


_WINS_PANEL = _preference_panel("preference", "low", "high", "preference", "+.0%")
_CREDITS_PANEL = _preference_panel("credit", "credit_low", "credit_high", "difference of credits", "")


@dataclass(frozen=True)
class Preference(Result):
    """The system that users prefer.

    Attributes:
        method: how lists were mixed.
        systems: their names.
        unit: the unit of observation of clicks: request, session, user or query.
        requests: how many lists were shown.
        units: how many observations there are.
        clicked: how many of them have a click; the others show no preference.
        clicks: on slots.
        competitive: the share of shown slots whose document the systems rank differently.
        pairs: the columns of `PAIRS`.
        slots: the columns of `SLOTS`.
        p_teams: of the test that the systems have had equal shares of each slot; None without
            teams.
        level: of the intervals and tests.
        test: sign or t, the one that keeps its level for the method.
        bias: what the method is known to get wrong.
    """

    kind = "preference"
    csv_table = None
    label = "Interleaving"
    charts: ClassVar = {
        "preference": ChartView(
            "Which system users prefer",
            "Right of 0 users prefer the first named system. Intervals are {level:.0%}; grey ones show no "
            "preference.",
            "{clicked:,} {unit}s with clicks, {method}",
            lambda result: (_WINS_PANEL if result.by_wins else _CREDITS_PANEL,),
            "interleaving",
            "no pair has clicks enough for an interval.",
        )
    }
    order = 66
    SCHEMAS: ClassVar = {"pairs": PAIRS, "slots": SLOTS}
    layout = (
        Sentence(
            "{clicks:n click} on {requests:n list}; {clicked:,} of {units:,} {unit}s have a click. The "
            "systems rank {competitive:.1%} of the shown documents differently. Lists are mixed by {method}."
        ),
        View("pairs", "wins", _WINS, keys=2, formats=_IN_PER_CENT, condition="by_wins"),
        View("pairs", "wins", _WINS, keys=2, condition="by_credits"),
        View(
            "pairs",
            "credit of a click",
            ("one", "other", "credit", ("credit_low", "credit_high"), "p_t"),
            headers={"credit": "second less first,\na {unit}"},
            keys=2,
            condition="by_wins",
        ),
        ShownChart("preference", "pairs"),
        CrossView(
            "slots_by_system",
            "slots and clicks by system",
            ("slot",),
            column_key="system",
            value=("clicks", "/", "shown"),
            columns=SLOTS,
            row_filter=pl.col("slot") <= 10,
        ),
        NOTICES,
        Sentence(
            "Preference is (wins of the second + ties / 2) / all - 50 %; its interval and p are of the sign "
            "test on wins{holm}. Needed: {unit}s with a winner for a power of 80 % at this effect.",
            "by_wins",
        ),
        Sentence(
            "Preference is the credit of the second less that of the first, a {unit} with a click; its "
            "interval and p are of the t-test on credits (wins of {method} are not equally frequent where "
            "users click at random, only mean credits are){holm}. Needed: {unit}s with a click for a power "
            "of 80 % at this effect.",
            "by_credits",
        ),
        Sentence("Known limit of {method}: {bias}.", "bias"),
    )
    notice_texts = (
        NoticeText(
            "unbalanced-teams",
            "systems have had unequal shares of slots (p = {p_teams:.2g}): lists were not shown as drawn, or "
            "requests are lost for one system; no preference is given",
            "verdict",
        ),
        NoticeText(
            "few-decisive-units",
            "a pair has only {min_decisive} {unit}s with a winner; collect more",
            lambda preference: preference.min_decisive < preference.FEW,
        ),
        NoticeText(
            "tests-disagree",
            "{one} against {other}: the sign test (p = {p_sign:.3g}) and the t-test of credits "
            "(p = {p_t:.3g}) disagree; a few {unit}s may have most of the clicks",
            lambda preference: preference.test == "sign",
            "undecided_pairs",
            "{other}",
        ),
    )

    method: str
    systems: tuple[str, ...]
    unit: str
    requests: int
    units: int
    clicked: int
    clicks: int
    competitive: float
    pairs: pl.DataFrame
    slots: pl.DataFrame
    p_teams: float | None
    level: float
    test: str = "sign"
    bias: str = ""

    UNBALANCED: ClassVar[float] = 0.001
    FEW: ClassVar[int] = 20

    @property
    def by_wins(self) -> bool:
        """True if the preference is of wins, with the sign test."""
        return self.test == "sign"

    @property
    def by_credits(self) -> bool:
        """True if the preference is of mean credits, with the t-test."""
        return not self.by_wins

    @property
    def slots_by_system(self) -> pl.DataFrame:
        """`slots`, the rows of a slot in the order of the systems."""
        order = pl.col("system").replace_strict(
            {name: i for i, name in enumerate(self.systems)}, default=None
        )
        return self.slots.sort("slot", order)

    @property
    def holm(self) -> str:
        """The correction of p-values."""
        return ", p corrected by Holm" if len(self.pairs) > 1 else ""

    @property
    def outcome(self) -> str:
        """The verdict."""
        return self.verdict

    @property
    def headline(self) -> str:
        """The system that users prefer."""
        if self.verdict:
            return "no preference: the shares of the systems do not fit the draw"
        decided_pairs = [row for row in self.pairs.iter_rows(named=True) if row["preferred"]]
        if len(self.pairs) > 1:
            return (
                f"{len(decided_pairs)} of {count_noun(len(self.pairs), 'pair')} of systems show a preference"
            )
        row = self.pairs.row(0, named=True)
        if not decided_pairs:
            return f"no preference shown between {row['one']} and {row['other']}"
        loser = row["one"] if row["preferred"] == row["other"] else row["other"]
        return f"users prefer {row['preferred']} to {loser}"

    @property
    def verdict(self) -> str:
        """``inconclusive`` where the log contradicts the draw of teams; else empty."""
        unbalanced = self.p_teams is not None and self.p_teams < self.UNBALANCED
        return "inconclusive" if unbalanced else ""

    @property
    def status(self) -> int:
        """The exit code: 3 where nothing may be concluded, else 0."""
        return 3 if self.verdict else 0

    @property
    def min_decisive(self) -> int:
        """The smallest number of units with a winner of a pair."""
        return min((row["wins_one"] + row["wins_other"] for row in self.pairs.to_dicts()), default=0)

    @property
    def undecided_pairs(self) -> pl.DataFrame:
        """The pairs of which one test is significant and the other is not."""
        alpha = 1 - self.level
        return self.pairs.filter((pl.col("p_sign") < alpha) != (pl.col("p_t") < alpha))


TESTS = Columns(
    "One row per test.",
    Column("test", pl.String, "an interleaving method or a KPI"),
    Column("design", pl.String, "interleaving or A/B"),
    Column(
        "effect",
        pl.Float64,
        "the mean difference of a search, second less first",
        "signed",
        header="effect\na search",
    ),
    Column(
        "spread",
        pl.Float64,
        "the standard deviation of that difference (of both arms together for A/B)",
        header="standard\ndeviation",
    ),
    Column("low", pl.Float64, "the low end of its 95 % interval", "signed"),
    Column("high", pl.Float64, "the high end of its 95 % interval", "signed"),
    Column(
        "needed",
        pl.Int64,
        "searches in all arms for a power of 80 % at 5 %; null without an effect",
        unit="searches",
        header="searches\nneeded",
    ),
    Column(
        "times_fewer",
        pl.Float64,
        "how many times fewer searches than the best A/B test",
        ".3g",
        header="times fewer\nthan best A/B",
    ),
    Column("better", pl.String, "the system that is better by the test; null where none is", empty="–"),
)


@dataclass(frozen=True)
class Sensitivity(Result):
    """Searches that tests of two systems need, by simulation.

    Attributes:
        systems: the two.
        user: who clicks.
        searches: simulated for each test.
        tests: the columns of `TESTS`.
        seed: of the simulation.
    """

    kind = "sensitivity"
    csv_table = None
    label = "Sensitivity of interleaving"
    charts: ClassVar = {
        "sensitivity": ChartView(
            "How many searches tests need",
            "Blue points are interleaving, grey ones KPIs of an A/B test; further left is better. For a "
            "power of 80 % at 5 %.",
            "{searches:n simulated search}, {user} users",
            (
                Panel(
                    lambda result: result.tests.sort("needed"),
                    Axis("needed", "searches needed", "log"),
                    Axis("test", scale="names"),
                    (Mark("point", "needed"),),
                    ("test", "design", "needed"),
                    row_filter=pl.col("needed").is_not_null(),
                    colour=highlight(("design", "A/B"), GREY, BLUE),
                    width=420,
                    height=34,
                    tooltip=("design",),
                ),
            ),
            "interleaving",
            "no test shows an effect.",
        )
    }
    order = 65
    SCHEMAS: ClassVar = {"tests": TESTS}
    layout = (
        View(
            "tests", cells=("test", "design", "effect", "spread", "needed", "times_fewer", "better"), keys=2
        ),
        NOTICES,
        Sentence(
            "{searches:n simulated search} for each test, by {user} users. Needed: searches in all arms "
            "together for a power of 80 % at 5 %, two-sided; – where the simulation shows no effect. "
            "Simulated users prefer documents with better judgments; real users may need more searches. "
            "Interleaving measures which list is preferred, not what revenue, latency or return visits will "
            "be: an A/B test follows."
        ),
    )

    systems: tuple[str, str]
    user: str
    searches: int
    tests: pl.DataFrame
    seed: int

    @property
    def headline(self) -> str:
        """The interleaving method that needs the fewest searches."""
        needed = self.tests.filter(pl.col("needed").is_not_null(), design="interleaving").sort("needed")
        if needed.is_empty():
            return f"interleaving shows no preference between {' and '.join(self.systems)}"
        best = needed.row(0, named=True)
        searches = count_noun(best["needed"], "search")
        return f"{best['test']} needs {searches} to tell {' from '.join(self.systems)}"

    @property
    def notices(self) -> tuple[Notice, ...]:
        """A warning if tests name different systems."""
        with_better = self.tests.filter(pl.col("better").is_not_null())
        if with_better["better"].n_unique() < 2:
            return ()
        parts = [
            f"{', '.join(rows['test'])} {'find' if len(rows) > 1 else 'finds'} {name} better"
            for (name,), rows in with_better.group_by("better", maintain_order=True)
        ]
        return (Notice("tests-disagree", "; ".join(parts)),)
