"""Preference between systems, and searches that interleaving and A/B tests need.

`Preference` is the result of scoring interleaved lists, `Sensitivity` the result of
``sensitivity``. The module also has their documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import SYSTEM
from rankgate.core.present.document_model import Chart, Document, Grid, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun

PAIRS = Columns(
    "One row per pair of systems.",
    Column("one", pl.String, "the first system"),
    Column("other", pl.String, "the second system"),
    Column("wins_one", pl.Int64, "units with a click that prefer the first", unit="units"),
    Column("wins_other", pl.Int64, "units with a click that prefer the second", unit="units"),
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
    Column("p_t", pl.Float64, "the p-value of the t-test of credits", "p"),
    Column(
        "p_value",
        pl.Float64,
        "the p-value of the method's test, by Holm's correction where there are several pairs",
        "p",
    ),
    Column(
        "needed",
        pl.Int64,
        "units for a power of 80 % at this effect, with a winner for the sign test",
        unit="units",
    ),
    Column("preferred", pl.String, "the system that users prefer; null where they prefer none"),
)
SLOTS = Columns(
    "One row per slot and system, for methods with teams.",
    Column("slot", pl.Int64, "the rank in the mixed list, from 1"),
    SYSTEM,
    Column("shown", pl.Int64, "lists in which the slot is the system's"),
    Column("clicks", pl.Int64, "clicks on it"),
)


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

    kind: ClassVar[str] = "preference"
    label: ClassVar[str] = "Interleaving"
    document_from: ClassVar[str] = "rankgate.online.interleaving.preference:preference_document"
    charts: ClassVar[Mapping[str, str]] = {"preference": "rankgate.online.charts.click_charts:preferences"}
    order: ClassVar[int] = 66
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {"pairs": PAIRS, "slots": SLOTS}

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
    def verdict(self) -> str:
        """``inconclusive`` where the log contradicts the draw of teams; else empty."""
        unbalanced = self.p_teams is not None and self.p_teams < self.UNBALANCED
        return "inconclusive" if unbalanced else ""

    @property
    def status(self) -> int:
        """The exit code: 3 where nothing may be concluded, else 0."""
        return 3 if self.verdict else 0

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about the preference."""
        notices = []
        if self.verdict:
            notices.append(
                Notice(
                    "unbalanced-teams",
                    f"systems have had unequal shares of slots (p = {self.p_teams:.2g}): lists were not "
                    "shown as drawn, or requests are lost for one system; no preference is given",
                )
            )
        min_decisive = min((row["wins_one"] + row["wins_other"] for row in self.pairs.to_dicts()), default=0)
        if min_decisive < self.FEW:
            notices.append(
                Notice(
                    "few-decisive-units",
                    f"a pair has only {min_decisive} {self.unit}s with a winner; collect more",
                )
            )
        for row in self.pairs.iter_rows(named=True) if self.test == "sign" else ():
            p_values = (row["p_sign"], row["p_t"])
            if None not in p_values and (p_values[0] < 1 - self.level) != (p_values[1] < 1 - self.level):
                notices.append(
                    Notice(
                        "tests-disagree",
                        f"{row['one']} against {row['other']}: the sign test (p = {p_values[0]:.3g}) and the "
                        f"t-test of credits (p = {p_values[1]:.3g}) disagree; a few {self.unit}s may have "
                        f"most of the clicks",
                        row["other"],
                    )
                )
        return tuple(notices)


TESTS = Columns(
    "One row per test.",
    Column("test", pl.String, "an interleaving method or a KPI"),
    Column("design", pl.String, "interleaving or A/B"),
    Column("effect", pl.Float64, "the mean difference of a search, second less first", "signed"),
    Column("spread", pl.Float64, "the standard deviation of that difference (of both arms together for A/B)"),
    Column("low", pl.Float64, "the low end of its 95 % interval", "signed"),
    Column("high", pl.Float64, "the high end of its 95 % interval", "signed"),
    Column(
        "needed",
        pl.Int64,
        "searches in all arms for a power of 80 % at 5 %; null without an effect",
        unit="searches",
    ),
    Column("times_fewer", pl.Float64, "how many times fewer searches than the best A/B test"),
    Column("better", pl.String, "the system that is better by the test; null where none is"),
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

    kind: ClassVar[str] = "sensitivity"
    label: ClassVar[str] = "Sensitivity of interleaving"
    document_from: ClassVar[str] = "rankgate.online.interleaving.preference:sensitivity"
    charts: ClassVar[Mapping[str, str]] = {"sensitivity": "rankgate.online.charts.click_charts:sensitivities"}
    order: ClassVar[int] = 65
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {"tests": TESTS}

    systems: tuple[str, str]
    user: str
    searches: int
    tests: pl.DataFrame
    seed: int

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


_DASH = "–"
_MAX_SLOTS = 10


def preference_document(result: Preference) -> Document:
    """The preferred system, wins and credits of each pair, and the shares of slots."""
    return made(
        _title(result),
        f"{count_noun(result.clicks, 'click')} on {count_noun(result.requests, 'list')}; {result.clicked:,} "
        f"of {result.units:,} {result.unit}s have a click. The systems rank {result.competitive:.1%} of the "
        f"shown documents differently. Lists are mixed by {result.method}.",
        Table("wins", _wins(result)),
        *([Table("credit of a click", _credits(result))] if result.test == "sign" else []),
        *([Chart("rankgate.online.charts.click_charts:preferences", result)] if len(result.pairs) else []),
        Table("slots and clicks by system", _slots(result)),
        Warnings.from_notices(result.notices),
        _describe_method(result),
        f"Known limit of {result.method}: {result.bias}." if result.bias else "",
        status=result.verdict,
    )


def _describe_method(result: Preference) -> str:
    signs = result.test == "sign"
    test_name = "of the sign test on wins" if signs else "of the t-test on credits"
    reason = (
        ""
        if signs
        else (
            f" (wins of {result.method} are not equally frequent where users click at random, only mean "
            "credits are)"
        )
    )
    holm = ", p corrected by Holm" if len(result.pairs) > 1 else ""
    estimate = (
        "(wins of the second + ties / 2) / all - 50 %"
        if signs
        else f"the credit of the second less that of the first, a {result.unit} with a click"
    )
    return (
        f"Preference is {estimate}; its interval and p are {test_name}{reason}{holm}. Needed: {result.unit}s "
        f"with a {'winner' if signs else 'click'} for a power of 80 % at this effect."
    )


def _title(result: Preference) -> str:
    if result.verdict:
        return "no preference: the shares of the systems do not fit the draw"
    decided_pairs = [row for row in result.pairs.iter_rows(named=True) if row["preferred"]]
    if len(result.pairs) == 1:
        row = result.pairs.row(0, named=True)
        if not decided_pairs:
            return f"no preference shown between {row['one']} and {row['other']}"
        loser = row["one"] if row["preferred"] == row["other"] else row["other"]
        return f"users prefer {row['preferred']} to {loser}"
    return f"{len(decided_pairs)} of {count_noun(len(result.pairs), 'pair')} of systems show a preference"


def _wins(result: Preference) -> Grid:
    rows = tuple(
        (
            make_printable(row["one"]),
            make_printable(row["other"]),
            f"{row['wins_one']:,}",
            f"{row['wins_other']:,}",
            f"{row['ties']:,}",
            _format_preference(row["preference"], result),
            _interval(row["low"], row["high"], result),
            _format_p_value(row["p_value"]),
            _DASH if row["needed"] is None else f"{row['needed']:,}",
            row["preferred"] or _DASH,
        )
        for row in result.pairs.iter_rows(named=True)
    )
    header = (
        "first",
        "second",
        "first\nwins",
        "second\nwins",
        "ties",
        "preference",
        "interval",
        "p",
        "needed",
        "preferred",
    )
    return Grid(header, rows, frozenset({0, 1, 9}), keys=2)


def _credits(result: Preference) -> Grid:
    rows = tuple(
        (
            make_printable(row["one"]),
            make_printable(row["other"]),
            _DASH if row["credit"] is None else f"{row['credit']:+.4f}",
            _DASH if row["credit_low"] is None else f"{row['credit_low']:+.4f} to {row['credit_high']:+.4f}",
            _format_p_value(row["p_t"]),
        )
        for row in result.pairs.iter_rows(named=True)
    )
    header = ("first", "second", f"second less first,\na {result.unit}", "interval", "p (t)")
    return Grid(header, rows, frozenset({0, 1}), keys=2)


def _slots(result: Preference) -> Grid:
    table = result.slots.filter(result.slots["slot"] <= _MAX_SLOTS)
    counts_of_slot = {(row[0], row[1]): row[2:] for row in table.iter_rows()}
    rows = tuple(
        (
            str(slot),
            *(
                f"{counts[1]:,}/{counts[0]:,}" if (counts := counts_of_slot.get((slot, name))) else _DASH
                for name in result.systems
            ),
        )
        for slot in sorted({slot for slot, _ in counts_of_slot})
    )
    return Grid(("slot", *map(make_printable, result.systems)), rows)


def _format_preference(value: float | None, result: Preference) -> str:
    """Format a preference: of wins in per cent, of credits as a plain number."""
    if value is None:
        return _DASH
    return f"{value:+.1%}" if result.test == "sign" else f"{value:+.4f}"


def _interval(low: float | None, high: float | None, result: Preference) -> str:
    if low is None or high is None:
        return _DASH
    return f"{_format_preference(low, result)} to {_format_preference(high, result)}"


def _format_p_value(value: float | None) -> str:
    return _DASH if value is None else f"{value:.4f}" if value >= 1e-4 else "<0.0001"


def sensitivity(result: Sensitivity) -> Document:
    """The searches that each method and an A/B test need, and the agreement of the methods."""
    rows = tuple(
        (
            row["test"],
            row["design"],
            f"{row['effect']:+.4f}",
            f"{row['spread']:.4f}",
            _DASH if row["needed"] is None else f"{row['needed']:,}",
            _DASH if row["times_fewer"] is None else f"{row['times_fewer']:.3g}x",
            row["better"] or _DASH,
        )
        for row in result.tests.iter_rows(named=True)
    )
    header = (
        "test",
        "design",
        "effect\na search",
        "standard\ndeviation",
        "searches\nneeded",
        "fewer than\nbest A/B",
        "better",
    )
    return made(
        _sensitivity_title(result),
        Table("", Grid(header, rows, frozenset({0, 1, 6}))),
        Warnings.from_notices(result.notices),
        f"{count_noun(result.searches, 'simulated search')} for each test, by {result.user} users. Needed: "
        "searches in all arms together for a power of 80 % at 5 %, two-sided; – where the simulation shows "
        "no effect. Simulated users prefer documents with better judgments; real users may need more "
        "searches. Interleaving measures which list is preferred, not what revenue, latency or return visits "
        "will be: an A/B test follows.",
    )


def _sensitivity_title(result: Sensitivity) -> str:
    detected = [row for row in result.tests.iter_rows(named=True) if row["needed"] is not None]
    interleaving_tests = [row for row in detected if row["design"] == "interleaving"]
    if not interleaving_tests:
        return f"interleaving shows no preference between {' and '.join(result.systems)}"
    best = min(interleaving_tests, key=lambda row: row["needed"])
    return (
        f"{best['test']} needs {count_noun(best['needed'], 'search')} to tell {' from '.join(result.systems)}"
    )
