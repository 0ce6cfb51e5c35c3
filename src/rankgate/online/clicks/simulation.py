"""A simulated log: the result of ``simulate``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import VARIANT
from rankgate.core.present.layout import NOTICES, Sentence, View

VARIANTS = Columns(
    "One row per variant.",
    VARIANT,
    Column("searches", pl.Int64, "how many searches were simulated"),
    Column("clicks", pl.Int64, "how many clicks were simulated"),
    Column("clicks_per_search", pl.Float64, "the simulated clicks of a search", header="clicks a\nsearch"),
    Column(
        "expected",
        pl.Float64,
        "the true clicks of a search; the simulated value differs from them only by chance",
        header="true\nvalue",
    ),
)
RANKS = Columns(
    "One row per rank.",
    Column("rank", pl.Int64, "the rank, from 1"),
    Column("simulated", pl.Float64, "the simulated rate of clicks"),
    Column("expected", pl.Float64, "the true rate of clicks", header="true\nvalue"),
    Column(
        "observed",
        pl.Float64,
        "the rate in searches of the log that were not learned from; null without a log",
        header="in unseen\nsearches",
    ),
    Column(
        "error",
        pl.Float64,
        "the standard error of the difference of observed and expected; null without a log",
        header="standard\nerror",
    ),
)

MIN_PAIRS = 20
"""Pairs of lists that a check of the order of lists needs."""


@dataclass(frozen=True)
class Simulation(Result):
    """Simulated clicks, with what is known to be true of them.

    Attributes:
        user: the declared user, or the click model, that clicked.
        variants: the columns of `VARIANTS`.
        by_rank: the columns of `RANKS`.
        reliability: of a simulator that was learned: ``ranks`` that differ by more than three
            standard errors, ``pairs`` of lists of one query, ``agreement``: the share of them that
            it puts into the order of the log; empty for declared users.
        seed: of the clicks.
        output: the file of the events, or None.
        events: the simulated events; None in a result that was read from JSON.
    """

    kind = "simulation"
    csv_table = None
    label = "Simulated clicks"
    order = 64
    SCHEMAS: ClassVar = {"variants": VARIANTS, "by_rank": RANKS}
    headline_text = "{searches:n simulated search} with {clicks:n click}, by {user}"
    layout = (
        View("variants"),
        View("by_rank", "clicks by rank", first=10, optional=("observed", "error")),
        Sentence(
            "Check of the simulator: {reliability[ranks]:.0f} ranks differ from unseen searches by more than "
            "three standard errors; {order_text}. {trust_text}.",
            "reliability",
        ),
        NOTICES,
        Sentence("Written to {output}.", "output"),
    )
    notice_texts = (
        NoticeText(
            "unreliable-simulator",
            "the simulator did not pass the check of its reliability: use its clicks to test software, not "
            "to decide which system is better",
            lambda simulation: simulation.trusted is False,
        ),
    )

    user: str
    variants: pl.DataFrame
    by_rank: pl.DataFrame
    reliability: Mapping[str, float | None]
    seed: int
    output: str | None = None
    events: pl.DataFrame | None = field(default=None, compare=False, repr=False, metadata={"stored": False})

    @property
    def trusted(self) -> bool | None:
        """True if a learned simulator may compare systems; None for declared users.

        It must not differ from unseen searches at any rank by more than three standard errors, and
        must put at least three quarters of 20 or more pairs of lists into the log's order.
        """
        if not self.reliability:
            return None
        agreement = self.reliability["agreement"]
        pairs = self.reliability["pairs"] or 0
        agrees = agreement is not None and agreement >= 0.75
        return bool(agrees and pairs >= MIN_PAIRS and not self.reliability["ranks"])

    @property
    def searches(self) -> int:
        """The number of searches of all variants."""
        return int(self.variants["searches"].sum())

    @property
    def clicks(self) -> int:
        """The number of clicks of all variants."""
        return int(self.variants["clicks"].sum())

    @property
    def order_text(self) -> str:
        """How many pairs of lists are in the order of the log."""
        if self.reliability["agreement"] is None:
            return "no two lists of a query were shown often enough to compare"
        pairs = f"{self.reliability['pairs']:.0f} pairs of lists"
        return f"{self.reliability['agreement']:.1%} of {pairs} are in the order of the log"

    @property
    def trust_text(self) -> str:
        """Whether the simulator passed the check."""
        return "Passed" if self.trusted else "Not passed"
