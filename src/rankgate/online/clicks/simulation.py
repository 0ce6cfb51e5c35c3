"""A simulated log: the result of ``simulate``, and its document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import VARIANT
from rankgate.core.present.document_model import Document, Grid, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun

VARIANTS = Columns(
    "One row per variant.",
    VARIANT,
    Column("searches", pl.Int64, "how many searches were simulated"),
    Column("clicks", pl.Int64, "how many clicks were simulated"),
    Column("clicks_per_search", pl.Float64, "the simulated clicks of a search"),
    Column(
        "expected",
        pl.Float64,
        "the true clicks of a search; the simulated value differs from them only by chance",
    ),
)
RANKS = Columns(
    "One row per rank.",
    Column("rank", pl.Int64, "the rank, from 1"),
    Column("simulated", pl.Float64, "the simulated rate of clicks"),
    Column("expected", pl.Float64, "the true rate of clicks"),
    Column(
        "observed",
        pl.Float64,
        "the rate in searches of the log that were not learned from; null without a log",
    ),
    Column(
        "error",
        pl.Float64,
        "the standard error of the difference of observed and expected; null without a log",
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

    kind: ClassVar[str] = "simulation"
    label: ClassVar[str] = "Simulated clicks"
    document_from: ClassVar[str] = "rankgate.online.clicks.simulation:simulation_document"
    order: ClassVar[int] = 64
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {"variants": VARIANTS, "by_rank": RANKS}

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
    def notices(self) -> tuple[Notice, ...]:
        """A warning if the simulator failed the check of its reliability."""
        if self.trusted is not False:
            return ()
        return (
            Notice(
                "unreliable-simulator",
                "the simulator did not pass the check of its reliability: use its clicks to test software, "
                "not to decide which system is better",
            ),
        )


_RANKS = 10


def simulation_document(result: Simulation) -> Document:
    """Clicks of each variant with the truth, rates by rank, and the check of the simulator."""
    searches, clicks = (int(result.variants[name].sum()) for name in ("searches", "clicks"))
    variants = tuple(
        (
            make_printable(row["variant"]),
            f"{row['searches']:,}",
            f"{row['clicks']:,}",
            f"{row['clicks_per_search']:.4f}",
            f"{row['expected']:.4f}",
        )
        for row in result.variants.iter_rows(named=True)
    )
    header = ("variant", "searches", "clicks", "clicks a\nsearch", "true\nvalue")
    return made(
        f"{count_noun(searches, 'simulated search')} with {count_noun(clicks, 'click')}, by {result.user}",
        Table("", Grid(header, variants)),
        Table("clicks by rank", _ranks(result)),
        _reliability(result),
        Warnings.from_notices(result.notices),
        *([f"Written to {make_printable(result.output)}."] if result.output else []),
    )


def _ranks(result: Simulation) -> Grid:
    observed = result.by_rank["observed"].is_not_null().any()
    rows = []
    for row in result.by_rank.head(_RANKS).iter_rows(named=True):
        cells = [str(row["rank"]), f"{row['simulated']:.4f}", f"{row['expected']:.4f}"]
        if observed:
            has_observed = row["observed"] is not None
            cells += [
                f"{row['observed']:.4f}" if has_observed else "–",
                f"{row['error']:.4f}" if has_observed else "–",
            ]
        rows.append(tuple(cells))
    header = ("rank", "simulated", "true\nvalue")
    more = ("in unseen\nsearches", "standard\nerror") if observed else ()
    return Grid((*header, *more), tuple(rows))


def _reliability(result: Simulation) -> str:
    reliability = result.reliability
    if not reliability:
        return ""
    order = (
        "no two lists of a query were shown often enough to compare"
        if reliability["agreement"] is None
        else f"{reliability['agreement']:.1%} of {reliability['pairs']:.0f} pairs of lists are in the order "
        "of the log"
    )
    return (
        f"Check of the simulator: {reliability['ranks']:.0f} ranks differ from unseen searches by more than "
        f"three standard errors; {order}. "
        f"{'Passed' if result.trusted else 'Not passed'}."
    )
