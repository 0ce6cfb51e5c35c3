"""A simulation as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from rankgate.online.simulation.simulation import Simulation

_RANKS = 10


def document(result: Simulation) -> Document:
    """Clicks of each variant with the truth, rates by rank, and the check of the simulator."""
    searches, clicks = result.variants["searches"].sum(), result.variants["clicks"].sum()
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
        f"{searches:,} simulated searches with {clicks:,} clicks, by {result.user}",
        Table("", Grid(header, variants)),
        Table("clicks by rank", _ranks(result)),
        _reliability(result),
        Warnings(tuple(notice.text for notice in result.notices)),
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
        else f"{reliability['agreement']:.1%} of {reliability['pairs']:.0f} pairs of lists are in "
        "the order of the log"
    )
    return (
        f"Check of the simulator: {reliability['ranks']:.0f} ranks differ from unseen searches "
        f"by more than three standard errors; {order}. "
        f"{'Passed' if result.trusted else 'Not passed'}."
    )
